package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// Subject is the object on whose behalf a plan is carried out.
type Subject struct {
	plan.Ref
	// APIVersion is the served version; events name it.
	APIVersion string
	// Component is the source of the events.
	Component string
}

const (
	eventQueue   = 1000
	eventTimeout = 10 * time.Second
)

// Recorder writes events beside the main work: Record never waits. Equal events are counted, similar ones joined and
// floods cut off, as Kubernetes' own components do it. Events that cannot be written are dropped.
type Recorder struct {
	api        Writer
	correlator *record.EventCorrelator
	now        func() time.Time

	mu    sync.Mutex
	queue []*corev1.Event
	// idle is open while events are being written and closed when there are none left.
	idle chan struct{}
	// denied: we may not write events, so we no longer try.
	denied bool
}

// NewRecorder makes a Recorder that writes through api and dates events with now.
func NewRecorder(api Writer, now func() time.Time) *Recorder {
	idle := make(chan struct{})
	close(idle)
	return &Recorder{api: api, now: now, correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{}), idle: idle}
}

// Record queues an event about subject.
func (r *Recorder) Record(subject Subject, event plan.Event) {
	now := r.now()
	namespace := subject.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", subject.Name, now.UnixNano()), Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: subject.APIVersion, Kind: subject.Kind.Kind, Namespace: subject.Namespace, Name: subject.Name, UID: subject.UID,
		},
		Type: event.Type, Reason: event.Reason, Message: event.Message, Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
		Source: corev1.EventSource{Component: subject.Component}, ReportingController: subject.Component,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.denied || len(r.queue) >= eventQueue {
		return
	}
	r.queue = append(r.queue, e)
	select {
	case <-r.idle:
		r.idle = make(chan struct{})
		go r.work(r.idle)
	default:
	}
}

// Flush waits until the queued events are written or the context ends.
func (r *Recorder) Flush(ctx context.Context) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// work writes the queue and ends when it is empty.
func (r *Recorder) work(idle chan struct{}) {
	for {
		r.mu.Lock()
		if r.denied {
			r.queue = nil
		}
		if len(r.queue) == 0 {
			close(idle)
			r.mu.Unlock()
			return
		}
		event := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		if apierrors.IsForbidden(r.write(event)) {
			r.mu.Lock()
			r.denied = true
			r.mu.Unlock()
		}
	}
}

func (r *Recorder) write(event *corev1.Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	result, err := r.correlator.EventCorrelate(event)
	if err != nil || result.Skip {
		return err
	}
	event = result.Event
	var stored plan.Object
	if event.Count > 1 {
		ref := plan.Ref{Kind: eventKind, Namespace: event.Namespace, Name: event.Name, UID: event.UID}
		stored, err = r.api.Patch(ctx, ref, "", types.StrategicMergePatchType, result.Patch, false)
	}
	if event.Count <= 1 || apierrors.IsNotFound(err) {
		event.ResourceVersion, event.UID = "", ""
		stored, err = r.api.Create(ctx, eventKind, event, false)
	}
	if written, ok := stored.(*corev1.Event); ok && err == nil {
		r.correlator.UpdateState(written)
	}
	return err
}
