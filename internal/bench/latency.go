package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// changer is one way to change the image of one running pod.
type changer struct {
	name   string
	pods   *pods
	change func(ctx context.Context, image string) error
	// ran comes when the new container runs.
	ran func(ctx context.Context) error

	running, ready []time.Duration
}

// latency compares how long one in-place change of an image takes on a real node: by a few lines of client code, by the
// foreground loop, and by the verb. They take turns, each time with an image that is new to the pod.
func latency(ctx context.Context) error {
	const rounds = 15
	l, err := enter()
	if err != nil {
		return err
	}
	var changers []*changer
	for _, begin := range []func(context.Context) (*changer, func(), error){l.floor, l.loop, l.verb} {
		c, end, err := begin(ctx)
		if end != nil {
			defer end()
		}
		if err != nil {
			return err
		}
		changers = append(changers, c)
	}
	for round := range rounds + 1 {
		image := fmt.Sprintf("lab/app:%d", round+2)
		// A kubelet looks at its containers once a second, and at such a look a pod is seen to be ready. So a round's pause
		// says at which part of the second the change begins: the same for all, another one in each round.
		pause := time.Second + time.Duration(round)*time.Second/rounds
		for _, c := range changers {
			running, ready, err := c.once(ctx, image, pause)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 { // the first is a warm-up
				c.running, c.ready = append(c.running, running), append(c.ready, ready)
			}
		}
	}
	var rows [][]string
	for _, c := range changers {
		over := func(of, floor []time.Duration) string {
			more := make([]time.Duration, len(of))
			for i := range of {
				more[i] = of[i] - floor[i]
			}
			return fmt.Sprintf("%+.2f s", median(more).Seconds())
		}
		rows = append(rows, []string{c.name, seconds(median(c.running)), over(c.running, changers[0].running), seconds(median(c.ready)), over(c.ready, changers[0].ready)})
	}
	table(fmt.Sprintf("One in-place change of an image on a real node, medians of %d", rounds),
		[]string{"changed by", "new container runs", "over the floor", "pod ready again", "over the floor"}, rows)
	return nil
}

// once waits for a ready pod, pauses, changes the image and measures until the new container runs and until the pod is
// ready again.
func (c *changer) once(ctx context.Context, image string, pause time.Duration) (running, ready time.Duration, err error) {
	if _, err := c.pods.until(ctx, "a ready pod", func(now map[string]*corev1.Pod) bool { return len(now) == 1 && isReady(only(now)) }); err != nil {
		return 0, 0, err
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	began := time.Now()
	if err := c.change(ctx, image); err != nil {
		return 0, 0, err
	}
	ran, err := c.pods.until(ctx, image+" to run", func(now map[string]*corev1.Pod) bool { return isNew(only(now), image) })
	if err != nil {
		return 0, 0, err
	}
	if c.ran != nil {
		if err := c.ran(ctx); err != nil {
			return 0, 0, err
		}
	}
	again, err := c.pods.until(ctx, "the pod to be ready again", settled(1, image))
	return ran.Sub(began), again.Sub(began), err
}

func only(now map[string]*corev1.Pod) *corev1.Pod {
	for _, p := range now {
		return p
	}
	return &corev1.Pod{}
}

// isNew says that the pod's first container runs this image.
func isNew(p *corev1.Pod, image string) bool {
	if len(p.Status.ContainerStatuses) == 0 {
		return false
	}
	s := p.Status.ContainerStatuses[0]
	return s.State.Running != nil && (s.Image == image || s.Image == "docker.io/"+image)
}

func realPod() map[string]any {
	return map[string]any{"terminationGracePeriodSeconds": int64(1), "containers": []any{map[string]any{"name": "app", "image": "lab/app:1"}}}
}

const inPlaceReady = "InPlaceUpdateReady"

// floor is a bare pod with the gate that pods of CloneSets have, changed by what any client would have to do: the gate to
// False, the image, the gate to True.
func (l *lab) floor(ctx context.Context) (*changer, func(), error) {
	namespace, end, err := l.space(ctx)
	if err != nil {
		return nil, nil, err
	}
	grace := int64(1)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare"}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		ReadinessGates:                []corev1.PodReadinessGate{{ConditionType: inPlaceReady}},
		Containers:                    []corev1.Container{{Name: "app", Image: "lab/app:1"}},
	}}
	if _, err := l.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, end, err
	}
	patch := func(ctx context.Context, body, subresource string) error {
		_, err := l.client.CoreV1().Pods(namespace).Patch(ctx, "bare", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, subresource)
		return err
	}
	gate := func(ctx context.Context, status string) error {
		ready := ""
		if status == "False" {
			ready = `,{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady"}`
		}
		return patch(ctx, fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}%s]}}`, inPlaceReady, status, ready), "status")
	}
	if err := gate(ctx, "True"); err != nil {
		return nil, end, err
	}
	p, err := l.follow(ctx, namespace)
	return &changer{name: "the floor: a few lines of client code", pods: p,
		change: func(ctx context.Context, image string) error {
			if err := gate(ctx, "False"); err != nil {
				return err
			}
			return patch(ctx, fmt.Sprintf(`{"spec":{"containers":[{"name":"app","image":%q}]}}`, image), "")
		},
		ran: func(ctx context.Context) error { return gate(ctx, "True") },
	}, end, err
}

// loop is a CloneSet that `kubectl kruise reconcile` works on.
func (l *lab) loop(ctx context.Context) (*changer, func(), error) {
	namespace, remove, err := l.space(ctx)
	if err != nil {
		return nil, nil, err
	}
	loop := l.plugin(ctx, namespace, "reconcile")
	if err := loop.Start(); err != nil {
		return nil, remove, err
	}
	end := func() {
		interrupt(loop)
		remove()
	}
	if err := l.cloneset(ctx, namespace, "InPlaceOnly", 1, realPod()); err != nil {
		return nil, end, err
	}
	p, err := l.follow(ctx, namespace)
	return &changer{name: "kubectl kruise reconcile, after the patch of the CloneSet", pods: p,
		change: func(ctx context.Context, image string) error { return l.setImage(ctx, namespace, image) },
	}, end, err
}

// interrupt ends a command as Ctrl-C does.
func interrupt(cmd *exec.Cmd) {
	if cmd.Process.Signal(os.Interrupt) == nil {
		_ = cmd.Wait() // it ends with the code of the signal
	}
}

// verb is a CloneSet that `kubectl kruise rollout` works on; the start of the program counts.
func (l *lab) verb(ctx context.Context) (*changer, func(), error) {
	namespace, remove, err := l.space(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := l.cloneset(ctx, namespace, "InPlaceOnly", 1, realPod()); err != nil {
		return nil, remove, err
	}
	if err := l.plugin(ctx, namespace, "rollout", "cloneset/app").Run(); err != nil {
		return nil, remove, fmt.Errorf("rollout: %w", err)
	}
	p, err := l.follow(ctx, namespace)
	var running *exec.Cmd
	return &changer{name: "kubectl kruise rollout, from its start", pods: p,
		change: func(ctx context.Context, image string) error {
			if running != nil {
				if err := running.Wait(); err != nil {
					return fmt.Errorf("rollout: %w", err)
				}
			}
			running = l.plugin(ctx, namespace, "rollout", "cloneset/app", "--image", "app="+image)
			return running.Start()
		},
	}, remove, err
}
