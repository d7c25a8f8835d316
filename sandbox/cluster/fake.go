package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/binaries"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
)

//go:embed stages.yaml
var stages []byte

// startFakeNodes starts kwok and creates the nodes whose kubelets it plays.
func (s *Sandbox) startFakeNodes(ctx context.Context, client *api) error {
	config := s.path("config", "stages.yaml")
	if err := os.WriteFile(config, stages, 0o600); err != nil {
		return err
	}
	err := s.run("kwok", s.Cache.Path(binaries.Kwok),
		"--kubeconfig="+s.path("kubeconfig", "kwok"), "--config="+config,
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--cidr="+s.plan.FakePodCIDR().String(), "--node-ip="+s.plan.FakeNodeAddr().String(),
		"--node-lease-duration-seconds=40", "--server-address="+network.Port(loopback, s.plan.Ports().Kwok))
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(8)
	for n := 1; n <= s.FakeNodes; n++ {
		group.Go(func() error { return client.create(ctx, "/api/v1/nodes", fakeNode("fake"+strconv.Itoa(n))) })
	}
	return group.Wait()
}

func fakeNode(name string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Node
metadata:
  name: %[1]s
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {type: kwok, kubernetes.io/hostname: %[1]s, kubernetes.io/os: linux, kubernetes.io/arch: amd64}
spec:
  taints:
  - {key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}
status:
  allocatable: {cpu: "64", memory: 256Gi, pods: "250"}
  capacity: {cpu: "64", memory: 256Gi, pods: "250"}
`, name)
}
