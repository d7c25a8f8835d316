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
controller-gen object paths=./pkg/apis/...

# A CRD whose kind is gone must go too, and a failed run must lose nothing.
crds=$(mktemp -d)
trap 'rm -rf "$crds"' EXIT
controller-gen crd paths=./pkg/apis/... output:crd:artifacts:config="$crds"
rm -f pkg/install/crds/*.yaml
cp "$crds"/*.yaml pkg/install/crds/
