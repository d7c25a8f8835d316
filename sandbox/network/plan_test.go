package network

import (
	"net/netip"
	"testing"
)

func TestPlansShareNothing(t *testing.T) {
	t.Parallel()
	prefixes, names, interfaces := map[netip.Prefix]int{}, map[string]int{}, map[string]int{}
	ports := map[int]int{}
	for index := 1; index <= MaxIndex; index++ {
		p := Plan{Index: index, Isolated: true}
		for other, o := range prefixes {
			if other.Overlaps(p.Prefix()) {
				t.Errorf("sandboxes %d and %d share addresses: %s, %s", o, index, other, p.Prefix())
			}
		}
		prefixes[p.Prefix()] = index
		if o, taken := names[p.Name()]; taken {
			t.Errorf("sandboxes %d and %d share the name %s", o, index, p.Name())
		}
		names[p.Name()] = index
		if o, taken := interfaces[p.HostInterface()]; taken || len(p.HostInterface()) > 15 {
			t.Errorf("sandbox %d: interface %s is taken by %d or too long", index, p.HostInterface(), o)
		}
		interfaces[p.HostInterface()] = index
		for _, port := range (Plan{Index: index}).Ports().All() {
			if o, taken := ports[port]; taken || port >= 32768 {
				t.Errorf("sandbox %d: port %d is taken by %d or in the range of outgoing connections", index, port, o)
			}
			ports[port] = index
		}
	}
}

func TestPlanRangesAreDisjoint(t *testing.T) {
	t.Parallel()
	for _, index := range []int{1, MaxIndex} {
		p := Plan{Index: index, Isolated: true}
		ranges := []netip.Prefix{
			netip.PrefixFrom(p.HostAddr(), 24).Masked(), netip.PrefixFrom(p.NodeAddr(1), 24).Masked(),
			netip.PrefixFrom(p.FakeNodeAddr(), 24).Masked(), p.ServiceCIDR(), p.PodCIDR(), p.FakePodCIDR(),
		}
		for i, r := range ranges {
			if r != r.Masked() {
				t.Errorf("%s does not begin at its network address", r)
			}
			if !p.Prefix().Contains(r.Addr()) || r.Bits() < p.Prefix().Bits() {
				t.Errorf("%s is outside of %s", r, p.Prefix())
			}
			for _, other := range ranges[i+1:] {
				if r.Overlaps(other) {
					t.Errorf("%s and %s overlap", r, other)
				}
			}
		}
		if !p.ServiceCIDR().Contains(p.APIServiceAddr()) || !p.ServiceCIDR().Contains(p.DNSAddr()) {
			t.Errorf("cluster IPs %s, %s are outside of %s", p.APIServiceAddr(), p.DNSAddr(), p.ServiceCIDR())
		}
		last := p.Gateway()
		for n := 1; n <= MaxNodes; n++ {
			from, to := p.PodRange(n)
			if !last.Less(from) || !from.Less(to) || !p.PodCIDR().Contains(to) {
				t.Errorf("node %d: pods %s to %s do not follow %s inside of %s", n, from, to, last, p.PodCIDR())
			}
			last = to
		}
	}
}

func TestClash(t *testing.T) {
	t.Parallel()
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	p := Plan{Index: 1, Isolated: true} // 10.208.0.0/16
	for name, c := range map[string]struct {
		routes string
		free   bool
	}{
		"a default route is none":      {"eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", true},
		"another network":              {"eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", true},
		"the neighbour sandbox":        {"kruisesb2\t0000D10A\t00000000\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0\n", true},
		"part of the range":            {"eth1\t0005D00A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", false},
		"beside the range":             {"tun0\t0000C00A\t00000000\t0001\t0\t0\t0\t0000F0FF\t0\t0\t0\n", true},
		"a wider range that covers it": {"tun0\t0000D00A\t00000000\t0001\t0\t0\t0\t0000F0FF\t0\t0\t0\n", false},
		"a very wide range":            {"tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n", true},
		"a broken line":                {"eth0\tnonsense\t0\t0\t0\t0\t0\t0\t0\t0\t0\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := p.clash(head + c.routes); (err == nil) != c.free {
				t.Errorf("clash = %v, want free %t", err, c.free)
			}
		})
	}
}
