// Package network decides which addresses, ports and names a sandbox uses, and lays the network of one with real
// nodes. Sandboxes side by side differ by their index alone, so no two share an address, a port or a name.
package network

import (
	"fmt"
	"net/netip"
)

// MaxIndex is the highest index of a sandbox on one machine; the lowest is 1.
const MaxIndex = 31

// MaxNodes is how many real nodes one sandbox can have.
const MaxNodes = 9

// Plan holds every number of one sandbox. All addresses lie in one /16, the only route that a sandbox with real nodes
// adds to the machine.
//
//	.0.1, .0.2     the machine's and the sandbox's end of the link between them
//	.1.N           node N
//	.2.1           all fake nodes
//	.16.0/20       Services
//	.128.0/18      pods of real nodes, a /24 each
//	.192.0/18      pods of fake nodes, which no packet reaches
type Plan struct {
	Index int
	// Isolated sandboxes have real nodes and live in a network namespace; the others listen on 127.0.0.1.
	Isolated bool
}

func (p Plan) addr(third, fourth int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(207 + p.Index), byte(third), byte(fourth)})
}

// Prefix is the /16 of all the sandbox's addresses.
func (p Plan) Prefix() netip.Prefix { return netip.PrefixFrom(p.addr(0, 0), 16) }

// HostAddr is the machine's end of the link to the sandbox.
func (p Plan) HostAddr() netip.Addr { return p.addr(0, 1) }

// LinkAddr is the sandbox's end of the link to the machine.
func (p Plan) LinkAddr() netip.Addr { return p.addr(0, 2) }

// NodeAddr is the address of real node n, counted from 1.
func (p Plan) NodeAddr(n int) netip.Addr { return p.addr(1, n) }

// FakeNodeAddr is the address that all fake nodes show.
func (p Plan) FakeNodeAddr() netip.Addr { return p.addr(2, 1) }

// ServiceCIDR is the range of cluster IPs.
func (p Plan) ServiceCIDR() netip.Prefix { return netip.PrefixFrom(p.addr(16, 0), 20) }

// APIServiceAddr is the cluster IP of the Service kubernetes.default.
func (p Plan) APIServiceAddr() netip.Addr { return p.addr(16, 1) }

// DNSAddr is the cluster IP that pods get as name server; nothing answers there.
func (p Plan) DNSAddr() netip.Addr { return p.addr(16, 10) }

// PodCIDR is the range of the pods of all real nodes.
func (p Plan) PodCIDR() netip.Prefix { return netip.PrefixFrom(p.addr(128, 0), 18) }

// Gateway is the bridge's address: where pods reach the API server.
func (p Plan) Gateway() netip.Addr { return p.addr(128, 1) }

// PodRange is the first and last pod address of real node n.
func (p Plan) PodRange(n int) (first, last netip.Addr) { return p.addr(128+n, 2), p.addr(128+n, 254) }

// FakePodCIDR is the range of the pods of fake nodes.
func (p Plan) FakePodCIDR() netip.Prefix { return netip.PrefixFrom(p.addr(192, 0), 18) }

// HostInterface is the machine's network interface towards the sandbox.
func (p Plan) HostInterface() string { return fmt.Sprintf("kruisesb%d", p.Index) }

// Name is the sandbox's name on this machine, used for cgroups and CNI networks.
func (p Plan) Name() string { return fmt.Sprintf("kruise-sandbox-%d", p.Index) }

// Ports of the components. In a namespace of its own a sandbox uses the usual ones; on 127.0.0.1 they follow from the
// index and lie below the range from which the kernel takes ports for outgoing connections.
type Ports struct {
	API, Etcd, EtcdPeer, ControllerManager, Scheduler, Kwok, Registry int
}

// Ports returns the ports the components listen on.
func (p Plan) Ports() Ports {
	if p.Isolated {
		return Ports{API: 6443, Etcd: 2379, EtcdPeer: 2380, ControllerManager: 10257, Scheduler: 10259, Kwok: 10247, Registry: 5000}
	}
	base := 21000 + 10*p.Index
	return Ports{API: base, Etcd: base + 1, EtcdPeer: base + 2, ControllerManager: base + 3, Scheduler: base + 4, Kwok: base + 5}
}

// All lists the ports that are in use.
func (p Ports) All() []int {
	var out []int
	for _, port := range []int{p.API, p.Etcd, p.EtcdPeer, p.ControllerManager, p.Scheduler, p.Kwok, p.Registry} {
		if port != 0 {
			out = append(out, port)
		}
	}
	return out
}

// APIHost is where programs on the machine reach the API server.
func (p Plan) APIHost() netip.Addr {
	if p.Isolated {
		return p.LinkAddr()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
