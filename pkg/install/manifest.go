package install

import (
	"bytes"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Objects are the CRDs as they are applied.
func Objects(crds []*apiextensionsv1.CustomResourceDefinition) ([]*unstructured.Unstructured, error) {
	list := make([]runtime.Object, len(crds))
	for i, crd := range crds {
		list[i] = crd
	}
	return Applied(list)
}

// Applied are objects as they are applied: without the status, which belongs to the API server.
func Applied(list []runtime.Object) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(list))
	for _, one := range list {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one)
		if err != nil {
			return nil, fmt.Errorf("convert %T: %w", one, err)
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
	return Documents(objects)
}

// Documents is objects as a stream of YAML documents.
func Documents(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.Bytes(), nil
}
