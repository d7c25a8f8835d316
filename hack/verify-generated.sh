#!/bin/sh
# Fails when generated files differ from what the generators write now. It works
# on a copy, so the work tree stays as it is.
# usage: hack/verify-generated.sh DIRECTORY-OF-THE-TOOLS
set -eu
cd "$(dirname "$0")/.."
tools=$(cd "$1" && pwd)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R go.mod go.sum pkg hack "$copy"
(cd "$copy" && PATH="$tools:$PATH" hack/generate.sh)

if ! diff -r pkg "$copy/pkg"; then
	echo "generated files are stale; run: make generate" >&2
	exit 1
fi
