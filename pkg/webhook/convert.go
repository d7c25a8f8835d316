package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// maxReview limits what is read of one request: a list of CloneSets comes as one.
const maxReview = 256 << 20

// conversions are the kinds that are served in several versions.
var conversions = map[schema.GroupKind]conversion{cloneSetKind: cloneSetConversion}

// ConvertedCRDs names the CRDs that may be told to ask us for conversions.
func ConvertedCRDs() []string { return []string{v1beta1.CloneSetResource + "." + v1beta1.GroupName} }

// conversion turns an object into another version of its kind. The object is its own and may be changed.
type conversion func(object map[string]any, from, to string) (map[string]any, error)

// converter answers requests for other versions of objects.
type converter struct{ Options }

// ServeHTTP implements http.Handler. Both versions of a review have the same shape; the answer names the one that came.
func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	review := apiextensionsv1.ConversionReview{}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err == nil && review.Request == nil {
		err = errors.New("the review holds no request")
	}
	if err != nil {
		c.tell(begin, false)
		http.Error(w, fmt.Sprintf("decode conversion review: %v", err), http.StatusBadRequest)
		return
	}
	review.Response = c.answer(review.Request)
	review.Request = nil
	c.tell(begin, review.Response.Result.Status == metav1.StatusSuccess)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		c.Log.Error("conversion could not be answered", "error", err.Error())
	}
}

func (c *converter) tell(begin time.Time, fine bool) {
	if c.Observe != nil {
		c.Observe(Answer{Path: keys.ConvertPath, Took: time.Since(begin), Allowed: fine})
	}
}

// answer converts all objects of a request, or none.
func (c *converter) answer(req *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	response := &apiextensionsv1.ConversionResponse{UID: req.UID, ConvertedObjects: make([]runtime.RawExtension, 0, len(req.Objects))}
	for i := range req.Objects {
		raw, err := convert(req.Objects[i].Raw, req.DesiredAPIVersion)
		if err != nil {
			c.Log.Error("object could not be converted", "to", req.DesiredAPIVersion, "error", err.Error())
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return response
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: raw})
	}
	response.Result = metav1.Status{Status: metav1.StatusSuccess}
	return response
}

// convert turns one object into the wanted version. One that has it already comes back as it is.
func convert(raw []byte, wanted string) (out []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("convert to %s: %v", wanted, cause)
		}
	}()
	value, err := tree(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("what is to be converted is no object")
	}
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	from, err := schema.ParseGroupVersion(version)
	if err != nil {
		return nil, err
	}
	to, err := schema.ParseGroupVersion(wanted)
	if err != nil {
		return nil, err
	}
	if from == to {
		return raw, nil
	}
	turn := conversions[schema.GroupKind{Group: from.Group, Kind: kind}]
	if turn == nil || from.Group != to.Group {
		return nil, fmt.Errorf("%s %s cannot be converted to %s", version, kind, wanted)
	}
	converted, err := turn(object, from.Version, to.Version)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s to %s: %w", version, kind, wanted, err)
	}
	converted["apiVersion"] = wanted
	return json.Marshal(converted)
}
