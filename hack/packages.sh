#!/bin/sh
# packages.sh FOR PACKAGE...: installs those of the Debian packages that are not there, and says so.
# When something is missing that it may not install, it says so and ends with exit code 3.
set -eu

for=$1
shift
missing=
for p; do
  # a package that was removed but not purged is known, but not "installed"
  dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "$for: needs$missing (Debian's names); install them by your system's means" >&2
  exit 3
fi
if [ "$(id -u)" != 0 ]; then
  echo "$for: needs packages that only root can install: apt-get install$missing" >&2
  exit 3
fi

echo "$for: installing$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1 </dev/null; }
# On a new machine the package lists are absent or too old: fetch them and try again.
install || { apt-get update -qq >>"$log" 2>&1 && install; } || { cat "$log" >&2; exit 1; }
