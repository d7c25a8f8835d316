#!/usr/bin/env bash
# Prints the tables of docs/benchmarks.md: planner, start-up, latency on a real node, 500 pods on fake nodes, admission. The last three
# need root and containerd. Nothing else should run on the machine meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

bench=bin/bench
go build -o $bench ./internal/bench
export KRUISE_BENCH_STATE
KRUISE_BENCH_STATE=$(hack/state-dir.sh bench)
sandbox() { bin/kruise-sandbox "$1" -q --state "$KRUISE_BENCH_STATE" "${@:2}"; }
finish() {
  local code=$?
  trap '' INT TERM
  [ ! -e "$KRUISE_BENCH_STATE" ] || { sandbox down && rm -rf "$KRUISE_BENCH_STATE"; } || code=1
  exit $code
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

printf 'Measured on: %s processors (%s), %s GiB, Linux %s, %s.\n' "$(nproc)" "$(uname -m)" \
  "$(awk '/MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)" "$(uname -r | cut -d. -f1,2)" "$(go env GOVERSION)"
$bench planner

hack/sandbox-deps.sh >&2
sandbox build >/dev/null # kubectl too
kubectl=$(sandbox build | grep '/kubectl$')
export PATH=$PWD/bin:${kubectl%/*}:$PATH
$bench start

if [ "$(id -u)" != 0 ] || ! command -v containerd >/dev/null; then
  echo
  echo "The other tables need root and containerd."
  exit 0
fi
sandbox up --nodes 1 --fake-nodes 10 --audit >/dev/null
kubectl-kruise install --crds-only --kubeconfig "$KRUISE_BENCH_STATE/kubeconfig/admin" >/dev/null
$bench latency
$bench scale
KRUISE_BENCH_MACHINE=$(bin/kruise-sandbox status --state "$KRUISE_BENCH_STATE" | sed -n 's/^the cluster reaches this machine at //p')
KRUISE_BENCH_AGENT=$PWD/bin/kruise-agent-$(go env GOARCH)
export KRUISE_BENCH_MACHINE KRUISE_BENCH_AGENT
$bench admission
