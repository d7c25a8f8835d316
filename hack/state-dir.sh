#!/bin/sh
# state-dir.sh NAME: the state folder of this checkout's sandbox of that name. Checkouts do not share sandboxes, and a
# sandbox that a killed run left behind is found by the next one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd -P)
echo "${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-kruise/sandbox/$1-$(printf %s "$root" | cksum | cut -d' ' -f1)"
