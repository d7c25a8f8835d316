package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// lab is a sandbox, found by KRUISE_BENCH_STATE, its state folder.
type lab struct {
	state   string
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func enter() (*lab, error) {
	l := &lab{state: os.Getenv("KRUISE_BENCH_STATE")}
	if l.state == "" {
		return nil, errors.New("KRUISE_BENCH_STATE names no sandbox; `make bench` starts one")
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(l.state, "kubeconfig", "admin"))
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, "bench"
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	l.dynamic, err = dynamic.NewForConfig(config)
	return l, err
}

// plugin is a command of the plugin in a namespace. What it says goes to the error stream when verbose.
func (l *lab) plugin(ctx context.Context, namespace string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "kubectl-kruise", append(args, "-n", namespace, "--kubeconfig", filepath.Join(l.state, "kubeconfig", "admin"))...)
	if os.Getenv("KRUISE_BENCH_VERBOSE") != "" {
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	}
	return cmd
}

// space makes a namespace; the returned function removes it.
func (l *lab) space(ctx context.Context) (string, func(), error) {
	meta := metav1.ObjectMeta{GenerateName: "bench-"}
	ns, err := l.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return "", nil, err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := l.client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	return ns.Name, func() {
		_ = l.client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}) // the sandbox goes anyway
	}, err
}

var clonesets = schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}

// cloneset creates a CloneSet with one container named app.
func (l *lab) cloneset(ctx context.Context, namespace, strategy string, replicas int64, pod map[string]any) error {
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"name": "app"},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": map[string]any{"app": "app"}},
			"updateStrategy": map[string]any{"type": strategy},
			"template":       map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "app"}}, "spec": pod},
		},
	}}
	_, err := l.dynamic.Resource(clonesets).Namespace(namespace).Create(ctx, set, metav1.CreateOptions{})
	return err
}

// setImage patches the image of the CloneSet's container.
func (l *lab) setImage(ctx context.Context, namespace, image string) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	_, err := l.dynamic.Resource(clonesets).Namespace(namespace).Patch(ctx, "app", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
