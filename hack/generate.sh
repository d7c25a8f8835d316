#!/bin/sh
# Writes what is generated from the types in pkg/apis: deepcopy functions beside
# them and the CRDs into pkg/install/crds. `make generate` calls it by way of
# go generate, with the pinned controller-gen first in PATH.
set -eu
cd "$(dirname "$0")/.."

if ! command -v controller-gen >/dev/null; then
	echo "generate: controller-gen is not in PATH; run: make generate" >&2
	exit 1
fi
find pkg/apis -name 'zz_generated.*.go' -exec rm {} +
rm -rf pkg/install/crds
controller-gen object paths=./pkg/apis/...
controller-gen crd paths=./pkg/apis/... output:crd:artifacts:config=pkg/install/crds
