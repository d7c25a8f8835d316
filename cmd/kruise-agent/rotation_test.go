package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
)

// workloadspread.md H6 and H5 on a real API server, with two replicas and short lives: a pod is created every 100 ms by
// way of a webhook whose failure policy is Fail, while the server's certificate, then the CA, then the whole Secret is
// replaced. None fails.
func TestRotation(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	short := func(f *managerFlags) { f.caLife, f.certLife = 45*time.Second, 12*time.Second }
	one := start(t, s, "one", short)
	register(t, s, one.flags.webhookPort)
	one.awaitReady(t)
	eventually(t, "the CA in the configurations", func() error { return trusts(t, s) })
	two := start(t, s, "two", short)
	two.awaitReady(t)

	creating, stop := context.WithCancel(t.Context())
	var creator sync.WaitGroup
	defer creator.Wait()
	defer stop()
	created := 0
	creator.Go(func() {
		for ; cluster.Pause(creating, 100*time.Millisecond); created++ {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, SchedulerName: "nobody"},
			}
			if _, err := s.Kube.CoreV1().Pods(s.Namespace).Create(creating, pod, metav1.CreateOptions{}); err != nil && creating.Err() == nil {
				t.Errorf("pod %d: %v", created, err)
				return
			}
		}
	})
	secret := func() (*corev1.Secret, error) {
		return s.Kube.CoreV1().Secrets(s.Namespace).Get(t.Context(), keys.WebhookSecret, metav1.GetOptions{})
	}
	first, err := secret()
	if err != nil {
		t.Fatal(err)
	}
	changed := func(key string, from *corev1.Secret) func() error {
		return func() error {
			now, err := secret()
			if err == nil && (string(now.Data[key]) == string(from.Data[key]) || len(now.Data["previous-ca-cert.pem"])+len(now.Data["next-ca-cert.pem"]) > 0) {
				err = fmt.Errorf("%s is still the first one, or the change is not over", key)
			}
			return err
		}
	}
	eventually(t, "another certificate of the server", changed("cert.pem", first))
	eventually(t, "another CA", changed("ca-cert.pem", first))
	second, err := secret()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kube.CoreV1().Secrets(s.Namespace).Delete(t.Context(), keys.WebhookSecret, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new Secret", changed("ca-cert.pem", second))
	stop()
	creator.Wait()
	if created < 50 {
		t.Errorf("only %d pods were created meanwhile", created)
	}
}
