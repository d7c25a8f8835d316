#!/bin/sh
# Installs the Debian packages that the sandbox's real nodes need and that are not there. Without root, or without
# apt-get, it only says what is missing: everything but the real nodes works without them.
set -eu

packages="containerd runc containernetworking-plugins iptables iproute2 busybox-static"
missing=
for p in $packages; do
  # a package that was removed but not purged is known, but not "installed"
  dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "sandbox: real nodes need$missing (Debian's names); install them by your system's means" >&2
  exit 0
fi
if [ "$(id -u)" != 0 ]; then
  echo "sandbox: real nodes need packages that only root can install: apt-get install$missing" >&2
  exit 0
fi

echo "sandbox: installing$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { apt-get install -y -qq --no-install-recommends $missing >"$log" 2>&1 </dev/null; }
# On a new machine the package lists are absent or too old: fetch them and try again.
install || { apt-get update -qq && install; } || { cat "$log" >&2; exit 1; }
