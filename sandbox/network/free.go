package network

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"os"
	"strings"
)

// Free says whether the machine leaves the plan's addresses and ports alone: nil, or what is in the way.
func (p Plan) Free() error {
	if p.Isolated {
		table, err := os.ReadFile("/proc/thread-self/net/route")
		if err != nil {
			return err
		}
		return p.clash(string(table))
	}
	for _, port := range p.Ports().All() {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return fmt.Errorf("port %d is in use", port)
		}
		l.Close()
	}
	return nil
}

// clash looks for a route in a table of the form of /proc/net/route that covers part of the plan's range, other than
// the default route and very wide ones.
func (p Plan) clash(table string) error {
	for _, line := range strings.Split(table, "\n")[1:] {
		f := strings.Fields(line)
		if len(f) < 8 || f[0] == p.HostInterface() {
			continue
		}
		dest, err1 := hexWord(f[1])
		mask, err2 := hexWord(f[7])
		if err1 != nil || err2 != nil {
			return fmt.Errorf("route %q is not understood", line)
		}
		// The words are in the machine's byte order: the address's first byte is the lowest.
		var a [4]byte
		binary.LittleEndian.PutUint32(a[:], dest)
		route := netip.PrefixFrom(netip.AddrFrom4(a), bits.OnesCount32(mask))
		if route.Bits() > 9 && route.Overlaps(p.Prefix()) {
			return fmt.Errorf("the machine has a route to %s over %s", route, f[0])
		}
	}
	return nil
}

func hexWord(s string) (uint32, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 4 {
		return 0, fmt.Errorf("%q is not a 32-bit number", s)
	}
	return binary.BigEndian.Uint32(b), nil
}
