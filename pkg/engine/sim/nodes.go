package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Node is a place where pods run.
type Node struct {
	Name   string
	Labels map[string]string
	// Gone: it has vanished without a word.
	Gone bool
}

// Trouble is what an image does to a container.
type Trouble string

// The troubles of images.
const (
	PullFails Trouble = "pull fails"
	Crashes   Trouble = "crashes"
)

// BadImage is an image that does not work.
type BadImage struct {
	Image   string
	Trouble Trouble
}

// Nodes are the nodes as they are.
func (c *Cluster) Nodes() []Node { return c.nodes }

// NodeLabels are the labels of all nodes that exist, by name.
func (c *Cluster) NodeLabels() map[string]map[string]string {
	m := make(map[string]map[string]string, len(c.nodes))
	for _, n := range c.nodes {
		m[n.Name] = n.Labels
	}
	return m
}

// SetNodeGone lets a node vanish or come back.
func (c *Cluster) SetNodeGone(name string, gone bool) {
	for i := range c.nodes {
		if c.nodes[i].Name == name {
			c.nodes[i].Gone = gone
		}
	}
	c.reconsider()
}

// SetImage says what an image does from now on; no trouble means that it works.
func (c *Cluster) SetImage(image string, trouble Trouble) {
	c.bad = slices.DeleteFunc(slices.Clone(c.bad), func(b BadImage) bool { return b.Image == image })
	if trouble != "" {
		c.bad = append(c.bad, BadImage{image, trouble})
	}
	c.reconsider()
}

// trouble is what an image does; empty if it works.
func (c *Cluster) trouble(image string) Trouble {
	for i := range c.bad {
		if c.bad[i].Image == image {
			return c.bad[i].Trouble
		}
	}
	return ""
}

// nodeGone says that the pod's node is not there any more.
func (b Body) nodeGone() bool {
	if b.Spec.NodeName == "" {
		return false
	}
	i := slices.IndexFunc(b.c.nodes, func(n Node) bool { return n.Name == b.Spec.NodeName })
	return i < 0 || b.c.nodes[i].Gone
}

// pickNode chooses among the nodes that are there; empty if there are none.
func (b Body) pickNode() string {
	alive := 0
	for i := range b.c.nodes {
		if !b.c.nodes[i].Gone {
			alive++
		}
	}
	if alive == 0 {
		return ""
	}
	n := int(b.c.chance(uint64(alive), b.Name, b.c.rv))
	for i := range b.c.nodes {
		if b.c.nodes[i].Gone {
			continue
		}
		if n == 0 {
			return b.c.nodes[i].Name
		}
		n--
	}
	return ""
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// setCondition replaces the conditions of a pod by a list in which one has a new state.
func (c *Cluster) setCondition(pod *corev1.Pod, t corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
	now := corev1.PodCondition{Type: t, Status: status, Reason: reason, Message: message, LastTransitionTime: c.stamp()}
	list := make([]corev1.PodCondition, len(pod.Status.Conditions), len(pod.Status.Conditions)+4)
	copy(list, pod.Status.Conditions)
	pod.Status.Conditions = list
	if old := condition(pod, t); old != nil {
		if old.Status == status {
			now.LastTransitionTime = old.LastTransitionTime
		}
		*old = now
		return
	}
	pod.Status.Conditions = append(list, now)
}
