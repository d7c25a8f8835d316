package webhook_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// BenchmarkPodAdmission is one answer to the creation of a pod, from the bytes of the request to those of the answer.
func BenchmarkPodAdmission(b *testing.B) {
	const plain = `{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"web-5d8c7f9b6-","namespace":"default","creationTimestamp":null,` +
		`"labels":{"app":"web","pod-template-hash":"5d8c7f9b6"},"annotations":{"a":"b"},"ownerReferences":[{"apiVersion":"apps/v1",` +
		`"kind":"ReplicaSet","name":"web-5d8c7f9b6","uid":"0a1b","controller":true,"blockOwnerDeletion":true}],"managedFields":[{` +
		`"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{` +
		`"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"one\"}":{` +
		`".":{},"f:image":{},"f:name":{}}}}}}]},"spec":{"volumes":[{"name":"token","projected":{"sources":[{"serviceAccountToken":{` +
		`"expirationSeconds":3607,"path":"token"}}],"defaultMode":420}}],"containers":[{"name":"one","image":"lab/app:1","resources":{` +
		`"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[{"name":"token","readOnly":true,"mountPath":"/var/run/secrets"}],` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"},{"name":"two",` +
		`"image":"lab/app:1","resources":{}}],"restartPolicy":"Always","dnsPolicy":"ClusterFirst","schedulerName":"default-scheduler"},"status":{}}`
	ordered := strings.Replace(plain, `"a":"b"`, `"`+keys.LaunchPriorityAnnotation+`":"Ordered"`, 1)
	for name, pod := range map[string]string{"unchanged": plain, "ordered": ordered} {
		b.Run(name, func(b *testing.B) {
			request := creation("default", pod)
			request.UID = "u"
			body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
			if err != nil {
				b.Fatal(err)
			}
			handler := handlers(features.Defaults())[keys.MutatePodPath]
			b.ReportAllocs()
			for b.Loop() {
				asked := httptest.NewRequest(http.MethodPost, keys.MutatePodPath, bytes.NewReader(body))
				asked.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, asked)
				if recorder.Code != http.StatusOK {
					b.Fatalf("code %d", recorder.Code)
				}
			}
		})
	}
}
