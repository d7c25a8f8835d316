package webhook_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/kubectl-kruise/kubectl-kruise/internal/apiserver"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

const realGroup = "apps.kruise.io"

// regroup answers conversions for a group of the test as for the real one: the cluster is shared, and the CRD of the real
// group is not the test's to change.
func regroup(group string, inner http.Handler) http.Handler {
	change := func(body []byte, from, to string) []byte {
		for _, key := range []string{"apiVersion", "desiredAPIVersion"} {
			body = bytes.ReplaceAll(body, []byte(`"`+key+`":"`+from+`/`), []byte(`"`+key+`":"`+to+`/`))
		}
		return body
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked := r.Clone(r.Context())
		asked.Body = io.NopCloser(bytes.NewReader(change(body, group, realGroup)))
		recorder := httptest.NewRecorder()
		inner.ServeHTTP(recorder, asked)
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(change(recorder.Body.Bytes(), realGroup, group)) // a client that is gone needs no answer
	})
}

// serveConversion installs the CRD of CloneSets under a group of the test, in the rendering that converts.
func serveConversion(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	group := s.Namespace + ".example.com"
	server := httptest.NewTLSServer(regroup(group, handlers(features.Defaults())[convertPath]))
	t.Cleanup(server.Close)
	crds, err := install.CRDs(install.Full)
	if err != nil {
		t.Fatal(err)
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range crds {
		if crd.Spec.Names.Kind != "CloneSet" {
			continue
		}
		crd.Name, crd.Spec.Group = "clonesets."+group, group
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: ptr.To(server.URL + convertPath), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}
		found = append(found, crd)
	}
	objects, err := install.Objects(found)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d CRDs of CloneSets, %v", len(objects), err)
	}
	resource := s.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := resource.Create(t.Context(), objects[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resource.Delete(context.Background(), "clonesets."+group, metav1.DeleteOptions{}) })
	return group
}

// A CloneSet that is written in either version is readable in both, and comes back as it was written: over a real API
// server, which stores v1beta1.
func TestBothVersionsAreServed(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	group := serveConversion(t, s)
	in := func(version string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: "clonesets"}
	}
	deadline := time.Now().Add(time.Minute)
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		for {
			_, err := s.Dynamic.Resource(in(version)).Namespace(s.Namespace).List(t.Context(), metav1.ListOptions{})
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not served: %v", version, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	template := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "creationTimestamp": nil},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i", "future": "x"}}, "future": int64(1)},
	}
	selector := map[string]any{"matchLabels": map[string]any{"app": "web"}}
	specs := map[string]map[string]any{
		"v1alpha1": {
			"replicas": int64(0), "selector": selector, "template": template, "scaleStrategy": map[string]any{"disablePVCReuse": true, "maxUnavailable": "10%"},
			"updateStrategy": map[string]any{
				"type": "InPlaceIfPossible", "partition": "80%", "maxUnavailable": int64(1), "maxSurge": int64(0), "paused": true,
				"inPlaceUpdateStrategy": map[string]any{"gracePeriodSeconds": int64(3)},
				"scatterStrategy":       []any{map[string]any{"key": "k", "value": "v"}},
			},
		},
		"v1beta1": {
			"replicas": int64(0), "selector": selector, "template": template,
			"scaleStrategy": map[string]any{"enablePVCReuse": true, "excludePreparingDelete": true},
			"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
				"podUpdatePolicy": "InPlaceOnly", "partition": int64(2), "maxUnavailable": "20%", "maxSurge": int64(0),
				"inPlaceUpdateStrategy": map[string]any{"gracePeriodSeconds": int64(3), "imagePreDownloadParallelism": int64(2), "imagePreDownloadTimeoutSeconds": int64(9)},
			}},
		},
	}
	for version, other := range map[string]string{"v1alpha1": "v1beta1", "v1beta1": "v1alpha1"} {
		sets, others := s.Dynamic.Resource(in(version)).Namespace(s.Namespace), s.Dynamic.Resource(in(other)).Namespace(s.Namespace)
		set := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": group + "/" + version, "kind": "CloneSet", "spec": specs[version],
			"metadata": map[string]any{"name": "of-" + version, "annotations": map[string]any{"apps.kruise.io/x": "y"}},
		}}
		created, err := sets.Create(t.Context(), set, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("create in %s: %v", version, err)
		}
		seen, err := others.Get(t.Context(), set.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatalf("read in %s: %v", other, err)
		}
		if replicas, _, _ := unstructured.NestedInt64(seen.Object, "spec", "replicas"); replicas != 0 || seen.GetAPIVersion() != group+"/"+other {
			t.Errorf("in %s it is %v", other, seen.Object)
		}
		// Written back in the other version, it is what it was.
		if _, err := others.Update(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("write in %s: %v", other, err)
		}
		again, err := sets.Get(t.Context(), set.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Fatalf("read in %s: %v", version, err)
		}
		for what, pair := range map[string][2]any{
			"as created":         {specs[version], created.Object["spec"]},
			"after a round trip": {specs[version], again.Object["spec"]},
			// The v1alpha1 forms of fields stay beside them (cloneset.md 3).
			"an annotation": {"y", again.GetAnnotations()["apps.kruise.io/x"]},
		} {
			if diff := cmp.Diff(fmt.Sprint(pair[0]), fmt.Sprint(pair[1])); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", version, what, strings.TrimSpace(diff))
			}
		}
	}
}
