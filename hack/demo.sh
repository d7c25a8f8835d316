#!/usr/bin/env bash
# A cluster on this machine, a CloneSet, and a rollout in two batches, in place. STATE names another state folder of the
# sandbox than the default one.
set -euo pipefail
cd "$(dirname "$0")/.."

sandbox() { bin/kruise-sandbox "$1" --state "${STATE:-}" "${@:2}"; }
hack/sandbox-deps.sh >&2
sandbox up --nodes 2 >/dev/null
KUBECONFIG=$(sandbox kubeconfig)
export KUBECONFIG PATH=$PWD/bin:${KUBECONFIG%/*/*}/bin:$PATH

# The demo can be run again: it begins without the CloneSet and its pods.
if kubectl get clonesets cs-demo >/dev/null 2>&1; then
  kubectl delete cloneset cs-demo --cascade=foreground >/dev/null
fi

# run shows a command and what it prints.
run() {
  printf '$ %s\n' "$1"
  eval "$1" 2>&1
  echo
}
pods='kubectl get pods -o custom-columns-file=hack/pods.columns'

run 'kubectl get nodes'
run 'kubectl kruise install --crds-only'
run 'kubectl apply -f testdata/scenarios/cs-demo.yaml'
run 'kubectl kruise rollout cloneset/cs-demo'
run "$pods"
run 'kubectl kruise rollout cloneset/cs-demo --image nginx=nginx:1.27 --type InPlaceIfPossible --partition 80%'
run 'kubectl kruise rollout cloneset/cs-demo --partition 0'
run "$pods"

if [ -z "${STATE:-}" ]; then
  echo "The same three pods, each with one restart. The cluster stays up; go on in it with"
  echo "  export KUBECONFIG=$KUBECONFIG PATH=\$PWD/bin:${KUBECONFIG%/*/*}/bin:\$PATH"
  echo "and end it with: make sandbox-down"
fi
