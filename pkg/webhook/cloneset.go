package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1alpha1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/validation"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
)

// lookUpTime is how long reading the pods that podsToDelete names may take, all together.
const lookUpTime = 500 * time.Millisecond

// cloneSets answers for CloneSets in both versions (cloneset.md 13).
type cloneSets struct{ Options }

// mutate writes the defaults.
func (c *cloneSets) mutate(_ context.Context, req admission.Request) (admission.Response, []string) {
	if req.SubResource != "" || req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return admission.Allowed(""), nil
	}
	var response admission.Response
	var err error
	switch req.Kind.Version {
	case v1alpha1.SchemeGroupVersion.Version:
		response, err = defaulted(req, (*v1alpha1.CloneSet).DeepCopy, v1alpha1.SetCloneSetAdmissionDefaults, c.Gates)
	case v1beta1.SchemeGroupVersion.Version:
		response, err = defaulted(req, (*v1beta1.CloneSet).DeepCopy, v1beta1.SetCloneSetAdmissionDefaults, c.Gates)
	default:
		err = unknownVersion(req)
	}
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err), nil
	}
	return response, nil
}

func unknownVersion(req admission.Request) error {
	return fmt.Errorf("version %q of CloneSet is not known, want %s or %s",
		req.Kind.Version, v1alpha1.SchemeGroupVersion.Version, v1beta1.SchemeGroupVersion.Version)
}

// defaulted is the patch that sets the defaults of an object.
func defaulted[T any](req admission.Request, clone func(*T) *T, set func(object, old *T, gates features.Gates), gates features.Gates) (admission.Response, error) {
	object, old, err := decode[T](req)
	if err != nil {
		return admission.Response{}, err
	}
	after := clone(object)
	set(after, old, gates)
	return patched(req.Object.Raw, object, after)
}

// decode reads the object of a request and the one before it; the latter is nil for a creation.
func decode[T any](req admission.Request) (object, old *T, err error) {
	if len(req.Object.Raw) > 0 {
		object = new(T)
		if err := json.Unmarshal(req.Object.Raw, object); err != nil {
			return nil, nil, fmt.Errorf("the object is no %s: %w", req.Kind.Kind, err)
		}
	}
	if len(req.OldObject.Raw) > 0 {
		old = new(T)
		if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
			return nil, nil, fmt.Errorf("the old object is no %s: %w", req.Kind.Kind, err)
		}
	}
	if object == nil && req.Operation != admissionv1.Delete {
		return nil, nil, fmt.Errorf("the request holds no %s", req.Kind.Kind)
	}
	return object, old, nil
}

// validate judges a creation, an update or a deletion.
func (c *cloneSets) validate(ctx context.Context, req admission.Request) (admission.Response, []string) {
	if req.SubResource != "" {
		return admission.Allowed(""), nil
	}
	var response admission.Response
	var err error
	switch req.Kind.Version {
	case v1alpha1.SchemeGroupVersion.Version:
		response, err = judge(ctx, c, req, alphaRules)
	case v1beta1.SchemeGroupVersion.Version:
		response, err = judge(ctx, c, req, betaRules)
	default:
		err = unknownVersion(req)
	}
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err), nil
	}
	return response, nil
}

// rules are the judgements about one version.
type rules[T any] struct {
	create   func(*T, validation.PodLookup) field.ErrorList
	update   func(set, old *T, pods validation.PodLookup, gates features.Gates) field.ErrorList
	delete   func(*T, features.Gates) error
	hub      func(*T) *v1beta1.CloneSet
	metaName func(*T) string
}

var alphaRules = rules[v1alpha1.CloneSet]{
	create: validation.AlphaCloneSetCreate, update: validation.AlphaCloneSetUpdate, delete: validation.AlphaCloneSetDelete,
	hub: v1alpha1.CloneSetToHub, metaName: (*v1alpha1.CloneSet).GetName,
}

var betaRules = rules[v1beta1.CloneSet]{
	create: validation.CloneSetCreate, update: validation.CloneSetUpdate, delete: validation.CloneSetDelete,
	hub: func(set *v1beta1.CloneSet) *v1beta1.CloneSet { return set }, metaName: (*v1beta1.CloneSet).GetName,
}

func judge[T any](ctx context.Context, c *cloneSets, req admission.Request, r rules[T]) (admission.Response, error) {
	set, old, err := decode[T](req)
	if err != nil {
		return admission.Response{}, err
	}
	if req.Operation == admissionv1.Delete {
		if old == nil { // deletions of collections by old API servers
			return admission.Allowed(""), nil
		}
		if err := r.delete(old, c.Gates); err != nil {
			return admission.Denied(err.Error()), nil
		}
		return admission.Allowed(""), nil
	}
	pods := &podReader{ctx: ctx, find: c.FindPod, namespace: req.Namespace, until: time.Now().Add(lookUpTime)}
	lookup := pods.lookup()
	if (old == nil) != (req.Operation == admissionv1.Create) {
		return admission.Response{}, fmt.Errorf("the operation %s does not fit the objects of the request", req.Operation)
	}
	var faults field.ErrorList
	if old == nil {
		faults = r.create(set, lookup)
	} else {
		faults = r.update(set, old, lookup, c.Gates)
	}
	if pods.err != nil { // an answer that could not be had is no fault of the object
		faults = nil
		if old == nil {
			faults = r.create(set, nil)
		} else {
			faults = r.update(set, old, nil, c.Gates)
		}
	}
	response := admission.Allowed("")
	if len(faults) > 0 {
		name := r.metaName(set)
		status := apierrors.NewInvalid(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, name, faults).Status()
		response = admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
	}
	response = response.WithWarnings(pods.warnings()...)
	return response.WithWarnings(cloneSetWarnings(r.hub(set), c.Gates)...), nil
}

// podReader looks pods up until one cannot be had.
type podReader struct {
	ctx       context.Context
	find      func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	namespace string
	until     time.Time
	err       error
}

func (p *podReader) lookup() validation.PodLookup {
	if p.find == nil {
		return nil
	}
	return func(name string) *corev1.Pod {
		if p.err != nil {
			return nil
		}
		ctx, cancel := context.WithDeadline(p.ctx, p.until)
		defer cancel()
		pod, err := p.find(ctx, p.namespace, name)
		p.err = err
		return pod
	}
}

func (p *podReader) warnings() []string {
	if p.err == nil {
		return nil
	}
	return []string{fmt.Sprintf("spec.scaleStrategy.podsToDelete: not compared with the pods: %v", p.err)}
}
