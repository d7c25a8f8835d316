package main

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	many     = 500
	oldImage = "nginx:1.14.2"
	newImage = "nginx:1.15.1"
)

// cost is what one piece of work took.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // bytes at most; 0 when other work ran in the same process
	requests  int
}

// scale compares the plugin with the built-in Deployment at many pods on fake nodes: wall time until all pods are as they
// should be, requests (from the audit log), and processor time and memory of the program that did it.
func scale(ctx context.Context) error {
	l, err := enter()
	if err != nil {
		return err
	}
	var rows [][]string
	row := func(name string, c, beside cost) {
		rss, ratio := "", ""
		if c.rss > 0 {
			rss = fmt.Sprintf("%d MiB", c.rss>>20)
		}
		if beside.wall > 0 {
			ratio = fmt.Sprintf("%.2f", c.wall.Seconds()/beside.wall.Seconds())
		}
		rows = append(rows, []string{name, seconds(c.wall), ratio, fmt.Sprintf("%.2f", float64(c.requests)/many), seconds(c.cpu), rss})
	}
	create, rollout, err := l.deployment(ctx)
	if err != nil {
		return fmt.Errorf("measure the Deployment: %w", err)
	}
	row("Deployment: create", create, cost{})
	row("Deployment: rollout", rollout, cost{})
	for _, strategy := range []string{"ReCreate", "InPlaceOnly"} {
		c, r, err := l.sets(ctx, strategy)
		if err != nil {
			return fmt.Errorf("measure the CloneSet: %w", err)
		}
		row("CloneSet: create ("+strategy+")", c, create)
		row("CloneSet: rollout ("+strategy+")", r, rollout)
	}
	table(fmt.Sprintf("%d pods on fake nodes, maxUnavailable 20 %%", many),
		[]string{"work", "wall", "of the Deployment's", "requests per pod", "processor", "peak memory"}, rows)
	return nil
}

// sets measures a CloneSet, created and rolled out by the verb.
func (l *lab) sets(ctx context.Context, strategy string) (create, rollout cost, err error) {
	namespace, remove, err := l.space(ctx)
	if err != nil {
		return
	}
	defer remove()
	p, err := l.follow(ctx, namespace)
	if err != nil {
		return
	}
	defer p.stop()
	work := func(image string, begin func() error, args ...string) (cost, error) {
		return l.measure(ctx, namespace, p, image, ours, func() (*exec.Cmd, error) {
			if begin != nil {
				if err := begin(); err != nil {
					return nil, err
				}
			}
			cmd := l.plugin(ctx, namespace, append([]string{"rollout", "cloneset/app"}, args...)...)
			return cmd, cmd.Start()
		})
	}
	create, err = work(oldImage, func() error { return l.cloneset(ctx, namespace, strategy, many, fakePod()) })
	if err != nil {
		return
	}
	rollout, err = work(newImage, nil, "--image", "app="+newImage)
	if err != nil {
		return
	}
	err = l.clear(ctx, namespace, p)
	return
}

// deployment measures the controllers that come with Kubernetes.
func (l *lab) deployment(ctx context.Context) (create, rollout cost, err error) {
	namespace, remove, err := l.space(ctx)
	if err != nil {
		return
	}
	defer remove()
	p, err := l.follow(ctx, namespace)
	if err != nil {
		return
	}
	defer p.stop()
	replicas, fifth, none := int32(many), intstr.FromString("20%"), intstr.FromInt32(0)
	labels := map[string]string{"app": "app"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &fifth, MaxSurge: &none}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"type": "kwok"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "app", Image: oldImage}},
		}},
	}}
	deployments := l.client.AppsV1().Deployments(namespace)
	create, err = l.measure(ctx, namespace, p, oldImage, builtIn, func() (*exec.Cmd, error) {
		_, err := deployments.Create(ctx, d, metav1.CreateOptions{})
		return nil, err
	})
	if err != nil {
		return
	}
	rollout, err = l.measure(ctx, namespace, p, newImage, builtIn, func() (*exec.Cmd, error) {
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":%q}]}}}}`, newImage)
		_, err := deployments.Patch(ctx, "app", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		return nil, err
	})
	if err != nil {
		return
	}
	if err = deployments.Delete(ctx, "app", metav1.DeleteOptions{}); err != nil {
		return
	}
	err = l.clear(ctx, namespace, p)
	return
}

// measure begins a piece of work and waits until all pods run the image and are ready. When the work is a process of its
// own, that must end well too.
func (l *lab) measure(ctx context.Context, namespace string, p *pods, image string, by requester, begin func() (*exec.Cmd, error)) (cost, error) {
	log, err := l.openAudit()
	if err != nil {
		return cost{}, err
	}
	before, err := l.controllerManagerCPU()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	cmd, err := begin()
	if err != nil {
		return cost{}, err
	}
	memory := func() int64 { return 0 }
	if cmd != nil {
		memory = sync.OnceValue(watchMemory(cmd))
		defer memory()
	}
	reached, err := p.until(ctx, fmt.Sprintf("%d pods with %s", many, image), settled(many, image))
	if err != nil {
		return cost{}, err
	}
	c := cost{wall: reached.Sub(began)}
	if cmd != nil {
		if err := cmd.Wait(); err != nil {
			return cost{}, fmt.Errorf("%s: %w", cmd, err)
		}
		c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		c.rss = memory()
	} else {
		if err := l.deploymentSettled(ctx, namespace); err != nil {
			return cost{}, err
		}
		after, err := l.controllerManagerCPU()
		if err != nil {
			return cost{}, err
		}
		c.cpu = after - before
	}
	c.requests, err = log.count(namespace, by)
	return c, err
}

// clear deletes what is left, so that the next piece of work finds an idle cluster.
func (l *lab) clear(ctx context.Context, namespace string, p *pods) error {
	if err := l.dynamic.Resource(clonesets).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	_, err := p.until(ctx, "all pods to go", func(now map[string]*corev1.Pod) bool { return len(now) == 0 })
	return err
}

func fakePod() map[string]any {
	return map[string]any{
		"nodeSelector": map[string]any{"type": "kwok"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
		"containers": []any{map[string]any{"name": "app", "image": oldImage}},
	}
}
