package install

import (
	"bytes"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Objects are the CRDs as they are applied: without the status, which belongs
// to the API server.
func Objects(crds []*apiextensionsv1.CustomResourceDefinition) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(crds))
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return nil, fmt.Errorf("convert CRD %s: %w", crd.Name, err)
		}
		delete(content, "status")
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}

// YAML is the CRDs as a stream of YAML documents.
func YAML(crds []*apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	objects, err := Objects(crds)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode CRD %s: %w", object.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.Bytes(), nil
}
