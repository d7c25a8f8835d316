package cluster

import (
	"strings"
	"testing"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			kind, err := CloneSets(version)
			if err != nil {
				t.Fatal(err)
			}
			text := `{"apiVersion":"apps.kruise.io/` + version + `","kind":"CloneSet","metadata":{"name":"web","uid":"u1","resourceVersion":"7"},
				"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"app","ports":[{"containerPort":PORT}]}]}}}}`
			good, err := kind.decode([]byte(strings.ReplaceAll(text, "PORT", "80")))
			if err != nil {
				t.Fatal(err)
			}
			if set, ok := good.(*v1beta1.CloneSet); !ok || *set.Spec.Replicas != 3 {
				t.Errorf("decoded as %T: %+v", good, good)
			}
			bad, err := kind.decode([]byte(strings.ReplaceAll(text, "PORT", `"eighty"`)))
			if err != nil {
				t.Fatal(err)
			}
			u, ok := bad.(*Unreadable)
			if !ok || u.Name != "web" || u.UID != "u1" || u.ResourceVersion != "7" || !strings.Contains(u.Err.Error(), "containerPort") {
				t.Errorf("decoded as %T: %+v", bad, bad)
			}
			if copied, ok := u.DeepCopyObject().(*Unreadable); !ok || copied.Err != u.Err {
				t.Errorf("copied as %T", copied)
			}
		})
	}
}
