package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is what an Action does to its object.
type Verb string

// The verbs of actions.
const (
	Create Verb = "create"
	Patch  Verb = "patch"
	Delete Verb = "delete"
	Evict  Verb = "evict"
	Record Verb = "event"
)

// Subresources that actions write to; the empty string is the object itself.
const (
	StatusSubresource = "status"
	ResizeSubresource = "resize"
)

// The kinds that planners write. A workload kind is named in its hub group; the cluster layer finds the served version.
var (
	PodKind                = schema.GroupKind{Kind: "Pod"}
	ConfigMapKind          = schema.GroupKind{Kind: "ConfigMap"}
	ClaimKind              = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	ControllerRevisionKind = schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}
	CloneSetKind           = schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}
)

// Ref names one object. UID is the identity that a write is bound to: an executor must refuse to patch or delete an
// object of the same name with another UID. It is empty only for objects that are about to be created.
type Ref struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
	UID       types.UID
}

// Object is an API object with metadata, as both the executor and the simulator need it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Action is one write. It is a value, not a closure: it can be printed, compared and applied.
type Action struct {
	Verb        Verb
	On          Ref
	Subresource string
	// Object is what Create sends. The action owns it; executors and simulators copy before they change it.
	Object Object
	// Change is what Patch sends.
	Change Change
	// ResourceVersion, when set, makes the write fail with a conflict if the object has moved on since it was judged.
	// A conflict means: observe again. It is never retried blindly (inplace.md 3.4).
	ResourceVersion string
	// Event is what a Record action writes on On.
	Event *Event
	// Done and Failed are written as events on the subject after the action has succeeded or failed. The message of
	// Failed is completed with the error's text. A conflict writes neither.
	Done, Failed *Event
	// Then is a further write on the same object or on one that belongs to it, sent after this one has succeeded and left
	// out when it has failed. It shares this action's place in the stage, so that one object's conflict holds up no other.
	Then *Action
	// Why is one sentence without a period for people who read the plan.
	Why string
}

// Event is a Kubernetes event: its type is Normal or Warning; reasons and messages are upstream's (cloneset.md 14).
type Event struct {
	Type, Reason, Message string
}

// Stage is a set of chains of actions (see Action.Then) that may run in parallel. When an action
// of a stage fails, the others of the stage may still run, but the later stages are not begun.
type Stage struct {
	// Name says which step of the algorithm the stage belongs to, such as "scale" or "update".
	Name    string
	Actions []Action
}
