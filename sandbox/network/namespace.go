package network

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/process"
)

// Bridge is the interface that joins the pods, inside the sandbox's namespace.
const Bridge = "pods"

// Lay makes the sandbox's network namespace at the file: a link to the machine, the nodes' addresses and the bridge of
// the pods. Firewall rules and interfaces of the sandbox are all inside, so they go when it goes.
func (p Plan) Lay(netns string, nodes int) error {
	if err := process.CreateNetNS(netns); err != nil {
		return err
	}
	outside := []string{
		fmt.Sprintf("link add %s type veth peer name machine netns %s", p.HostInterface(), netns),
		fmt.Sprintf("addr add %s/24 dev %s", p.HostAddr(), p.HostInterface()),
		fmt.Sprintf("link set %s up", p.HostInterface()),
		fmt.Sprintf("route add %s via %s dev %s", p.Prefix(), p.LinkAddr(), p.HostInterface()),
	}
	inside := []string{
		"link set lo up",
		fmt.Sprintf("addr add %s/24 dev machine", p.LinkAddr()),
		"link set machine up",
		"route add default via " + p.HostAddr().String(),
		"link add " + Bridge + " type bridge",
		fmt.Sprintf("addr add %s/%d dev %s", p.Gateway(), p.PodCIDR().Bits(), Bridge),
		"link set " + Bridge + " up",
	}
	for n := 1; n <= nodes; n++ {
		inside = append(inside, fmt.Sprintf("addr add %s/32 dev lo", p.NodeAddr(n)))
	}
	for _, args := range outside {
		if err := ip(args); err != nil {
			return err
		}
	}
	return process.In(netns, func() error {
		for _, args := range inside {
			if err := ip(args); err != nil {
				return err
			}
		}
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})
}

// Remove undoes Lay, whole or in part.
func (p Plan) Remove(netns string) error {
	if _, err := os.Stat("/sys/class/net/" + p.HostInterface()); err == nil {
		if err := ip("link del " + p.HostInterface()); err != nil {
			return err
		}
	}
	return process.RemoveNetNS(netns)
}

func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Port formats an address and port.
func Port(host fmt.Stringer, port int) string { return host.String() + ":" + strconv.Itoa(port) }
