#!/usr/bin/env bash
# Tests that need a cluster: test-cluster.sh integration|e2e. Starts a sandbox for them and removes it afterwards,
# whatever happens. KRUISE_TEST_LONG=1 asks for the long forms; KRUISE_REQUIRE_E2E=1 makes it an error that a machine
# cannot run real nodes.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-}
case $kind in
integration) options=(--nodes 0 --fake-nodes 12) ;;
e2e) options=(--nodes 2 --fake-nodes 2) ;;
*) echo "usage: $0 integration|e2e" >&2; exit 2 ;;
esac

# lacking says what this machine lacks for real nodes.
lacking() {
  [ "$(id -u)" = 0 ] || { echo "root"; return; }
  local p
  for p in containerd runc iptables ip busybox; do command -v $p >/dev/null || { echo "$p"; return; }; done
}

if [ "$kind" = e2e ]; then
  hack/sandbox-deps.sh
  lack=$(lacking)
  if [ -n "$lack" ]; then
    echo "== end-to-end tests skipped: real nodes need root, containerd, runc, iptables and busybox; here is no $lack"
    [ -z "${KRUISE_REQUIRE_E2E:-}" ] || exit 1
    exit 0
  fi
fi

[ -n "${KRUISE_TEST_LONG:-}" ] || export RAPID_SEED=${RAPID_SEED:-1}

state=$(hack/state-dir.sh "$kind")
demo=$(hack/state-dir.sh demo)
install=$(hack/state-dir.sh install)
down() { [ ! -e "$1" ] || { bin/kruise-sandbox down -q --state "$1" && rm -rf "$1"; }; }
finish() {
  local code=$?
  trap '' INT TERM
  [ $code = 0 ] || [ ! -d "$state/log" ] || { rm -rf "bin/log-$kind" && cp -r "$state/log" "bin/log-$kind" && echo "the sandbox's logs: bin/log-$kind" >&2; }
  down "$state" || code=1
  [ "$kind" != e2e ] || down "$demo" || code=1
  [ "$kind" != e2e ] || down "$install" || code=1
  rm -f "${tally:-}"
  exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What happened is kept for spec-coverage.
record=bin/results-$kind.json
tally=$(mktemp)
go build -o "$tally" ./internal/tally
if [ "$kind" = e2e ]; then
  echo "== the sandbox itself"
  bin/kruise-sandbox build >/dev/null
  go test -C sandbox -json -count=1 -timeout 20m ./e2e | "$tally"
fi
bin/kruise-sandbox up --state "$state" "${options[@]}" >/dev/null

if [ "$kind" = integration ]; then
  echo "== tests against an API server with fake nodes"
  packages=$(grep -rlE 'KRUISE_TEST_KUBECONFIG|internal/apiserver"' --include='*_test.go' cmd pkg | xargs -n1 dirname | sort -u | sed 's#^#./#')
  export KRUISE_TEST_KUBECONFIG=$state/kubeconfig/admin
  go test -json -count=1 -timeout 20m $packages | tee "$record" | "$tally"
  soak=1m
  [ -z "${KRUISE_TEST_LONG:-}" ] || soak=10m
  echo "== many CloneSets with faults and kills, changed for $soak"
  KRUISE_SOAK=$soak go test -json -count=1 -timeout 60m ./internal/soak | "$tally"
else
  echo "== end-to-end tests on real nodes"
  KRUISE_E2E_STATE=$state KRUISE_E2E_DEMO_STATE=$demo KRUISE_E2E_INSTALL_STATE=$install \
    go test -json -count=1 -timeout 40m -parallel 4 ./e2e | tee "$record" | "$tally"
fi
