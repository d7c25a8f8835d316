#!/usr/bin/env bash
# Tests that need no cluster. KRUISE_HISTORIES sets how many histories the simulator plays (200000), RAPID_SEED which ones,
# KRUISE_TEST_LONG=1 asks for the long forms.
set -euo pipefail
cd "$(dirname "$0")/.."

long=${KRUISE_TEST_LONG:-}
histories=${KRUISE_HISTORIES:-200000}
racing=2000
# The short form plays the same random cases every time, so that a change alone decides whether it passes; the long form
# looks for new ones.
if [ -z "$long" ]; then
  export RAPID_SEED=${RAPID_SEED:-1}
else
  racing=20000
fi

tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
go build -o "$tally" ./internal/tally

echo "== unit tests, $histories simulated histories"
KRUISE_HISTORIES=$histories go test -json -count=1 -timeout 60m ./cmd/... ./internal/... ./pkg/... | "$tally"
go test -C sandbox -short -json -count=1 -timeout 10m ./... | "$tally"
go test -C internal/image -json -count=1 -timeout 10m . | "$tally"

# The race detector is linked by a C compiler.
if ! command -v gcc >/dev/null && ! hack/packages.sh "race detector" gcc libc6-dev; then
  echo "== no C compiler, so no second run with the race detector"
  exit 0
fi
echo "== again with the race detector: what runs in parallel, $racing simulated histories"
CGO_ENABLED=1 KRUISE_HISTORIES=$racing go test -race -json -count=1 -timeout 60m \
  ./pkg/cluster/... ./pkg/reconcile/... ./pkg/engine/sim/... | "$tally"
