// Package apiserver gives tests a real API server: the one that KRUISE_TEST_KUBECONFIG names, with the CRDs installed and
// a namespace for each test. Tests are skipped when there is none; `make test-integration` starts one.
package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// Variable is the environment variable that names the kubeconfig of an administrator.
const Variable = "KRUISE_TEST_KUBECONFIG"

// CloneSets is the resource that the CRDs serve without the conversion webhook.
var CloneSets = schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Server is a real API server and a namespace on it.
type Server struct {
	// Config is an administrator's.
	Config    *rest.Config
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	Namespace string
}

var installed struct {
	sync.Once
	err error
}

// New makes a namespace that lives as long as the test.
func New(t *testing.T) *Server {
	t.Helper()
	path := os.Getenv(Variable)
	if path == "" {
		t.Skipf("%s names no cluster; run: make test-integration", Variable)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	check(t, err)
	config.QPS = -1
	s := &Server{Config: config}
	s.Kube, err = kubernetes.NewForConfig(config)
	check(t, err)
	s.Dynamic, err = dynamic.NewForConfig(config)
	check(t, err)
	installed.Do(func() { installed.err = s.install(t.Context()) })
	check(t, installed.err)

	s.Namespace = "t-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	_, err = s.Kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	check(t, err)
	t.Cleanup(func() {
		// The end of the test's context must not keep the namespace.
		_ = s.Kube.CoreV1().Namespaces().Delete(context.Background(), s.Namespace, metav1.DeleteOptions{})
	})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// install applies the CRDs and waits until they are served.
func (s *Server) install(ctx context.Context) error {
	list, err := install.CRDs(install.CRDsOnly)
	if err != nil {
		return err
	}
	objects, err := install.Objects(list)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		body, err := json.Marshal(obj)
		if err != nil {
			return err
		}
		force := true
		options := metav1.PatchOptions{FieldManager: "test", Force: &force}
		if _, err := s.Dynamic.Resource(crds).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options); err != nil {
			return fmt.Errorf("install %s: %w", obj.GetName(), err)
		}
	}
	for {
		_, err := s.Dynamic.Resource(CloneSets).List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// User is the configuration of a user who has these rights in the namespace and none elsewhere.
func (s *Server) User(t *testing.T, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	name := strings.ReplaceAll(s.Namespace, "t-", "user-")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	_, err := s.Kube.RbacV1().Roles(s.Namespace).Create(t.Context(), role, metav1.CreateOptions{})
	check(t, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
	_, err = s.Kube.RbacV1().RoleBindings(s.Namespace).Create(t.Context(), binding, metav1.CreateOptions{})
	check(t, err)
	config := rest.CopyConfig(s.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	return config
}
