#!/bin/sh
# Installs the Debian packages that the sandbox's real nodes need and that are not there. Where it may not, it only says
# what is missing: everything but the real nodes works without them.
set -eu
"$(dirname "$0")/packages.sh" "real nodes" containerd runc containernetworking-plugins iptables iproute2 busybox-static || [ $? = 3 ]
