package v1alpha1

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// inPlaceToHub takes the grace period from the field and the pre-download
// values from the annotations, or, where there is none that can be read, from
// the fields, which OpenKruise's own conversion ignores.
func inPlaceToHub(in *v1beta1.InPlaceUpdateStrategy, annotations map[string]string) *v1beta1.InPlaceUpdateStrategy {
	var out v1beta1.InPlaceUpdateStrategy
	if in != nil {
		out = *in
	}
	if text, found := annotations[keys.ImagePreDownloadParallelismAnnotation]; found {
		value := intstr.Parse(text)
		out.ImagePreDownloadParallelism = &value
	}
	if value, ok := readInt32(annotations, keys.ImagePreDownloadTimeoutSecondsAnnotation); ok {
		out.ImagePreDownloadTimeoutSeconds = &value
	}
	if value, ok := readInt32(annotations, keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation); ok {
		out.ImagePreDownloadMinUpdatedReadyPods = &value
	}
	if in == nil && out == (v1beta1.InPlaceUpdateStrategy{}) {
		return nil
	}
	return &out
}

// inPlaceFromHub leaves the grace period in the field and moves the
// pre-download values to annotations. An annotation that already says the same
// keeps its spelling; one that says something the field does not is removed.
func inPlaceFromHub(in *v1beta1.InPlaceUpdateStrategy, annotations *map[string]string) *v1beta1.InPlaceUpdateStrategy {
	var values v1beta1.InPlaceUpdateStrategy
	if in != nil {
		values = *in
	}
	writeParallelism(annotations, values.ImagePreDownloadParallelism)
	writeInt32(annotations, keys.ImagePreDownloadTimeoutSecondsAnnotation, values.ImagePreDownloadTimeoutSeconds)
	writeInt32(annotations, keys.ImagePreDownloadMinUpdatedReadyPodsAnnotation, values.ImagePreDownloadMinUpdatedReadyPods)
	if in == nil {
		return nil
	}
	return &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: values.GracePeriodSeconds}
}

func writeParallelism(annotations *map[string]string, value *intstr.IntOrString) {
	key := keys.ImagePreDownloadParallelismAnnotation
	if value == nil {
		delete(*annotations, key)
		return
	}
	if text, found := (*annotations)[key]; !found || intstr.Parse(text) != *value {
		put(annotations, key, value.String())
	}
}

func writeInt32(annotations *map[string]string, key string, value *int32) {
	present, ok := readInt32(*annotations, key)
	switch {
	case value == nil && ok:
		delete(*annotations, key)
	case value != nil && (!ok || present != *value):
		put(annotations, key, strconv.FormatInt(int64(*value), 10))
	}
}

// readInt32 treats a malformed annotation as absent, as OpenKruise does.
func readInt32(annotations map[string]string, key string) (int32, bool) {
	value, err := strconv.ParseInt(annotations[key], 10, 32)
	return int32(value), err == nil
}
