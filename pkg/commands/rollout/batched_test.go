package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/batch"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

func parseBatchFlags(t *testing.T, line ...string) (*batchOptions, error) {
	t.Helper()
	var f flags
	var b batchFlags
	set := pflag.NewFlagSet("rollout", pflag.ContinueOnError)
	f.add(set)
	b.add(set)
	if err := set.Parse(line); err != nil {
		t.Fatal(err)
	}
	return b.parse(set.Changed)
}

func TestEveryBatchFlagShowsInTheOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line []string
		want batchOptions
	}{
		"nothing":  {nil, batchOptions{until: untilComplete, onFailure: batch.Stop}},
		"batches":  {[]string{"--batches", "1,100%"}, batchOptions{batches: "1,100%", until: untilComplete, onFailure: batch.Stop}},
		"a time":   {[]string{"--batches", "1", "--pause-between", "90s"}, batchOptions{batches: "1", pause: "1m30s", until: untilComplete, onFailure: batch.Stop}},
		"approval": {[]string{"--batches", "1", "--pause-between=approve"}, batchOptions{batches: "1", pause: "approve", until: untilComplete, onFailure: batch.Stop}},
		"until":    {[]string{"--until", "batch"}, batchOptions{until: untilBatch, onFailure: batch.Stop}},
		"undo":     {[]string{"--batches", "1", "--on-failure", "undo"}, batchOptions{batches: "1", until: untilComplete, onFailure: batch.Undo}},
	} {
		got, err := parseBatchFlags(t, c.line...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(batchOptions{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBatchFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, line := range map[string][]string{
		`--until "soon": want batch, paused or complete`:                               {"--until", "soon"},
		`--on-failure "panic": want stop or undo`:                                      {"--on-failure", "panic"},
		`--pause-between "5": want a duration above 0, e.g. 10m, or approve`:           {"--batches", "1", "--pause-between", "5"},
		`--pause-between needs --batches, e.g. --batches 1,25%,100%`:                   {"--pause-between", "5m"},
		`--on-failure needs --batches, e.g. --batches 1,25%,100%`:                      {"--on-failure", "undo"},
		`--batches and --partition exclude each other: the batches move the partition`: {"--batches", "1", "--partition", "3"},
		`--batches and --paused exclude each other: the batches move the partition`:    {"--batches", "1", "--paused"},
		`--batches "": want numbers of pods or percentages that grow, e.g. 1,25%,100%`: {"--batches", ""},
	} {
		if _, err := parseBatchFlags(t, line...); err == nil || err.Error() != want {
			t.Errorf("%v: error %v, want %s", line, err, want)
		}
	}
}

func TestTheStateOfARunIsReadFromTheWorkload(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	run := &batch.Run{ID: "x", TargetRevision: "web-b", Batches: []string{"1", "100%"}, Batch: 1, Version: batch.Version, Replicas: 4, Partition: 3}
	text, err := run.Encode()
	if err != nil {
		t.Fatal(err)
	}
	partition, deadline := intstr.FromString("75%"), int32(60)
	set := &v1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{keys.RunAnnotation: text, keys.ApproveAnnotation: "b/2"}},
		Spec: v1beta1.CloneSetSpec{ProgressDeadlineSeconds: &deadline,
			UpdateStrategy: v1beta1.CloneSetUpdateStrategy{RollingUpdate: &v1beta1.RollingUpdateCloneSetStrategy{Partition: &partition}}}}
	ill := func(name, revision string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{keys.ControllerRevisionHashLabel: revision}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "nginx",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName"}}}}}}
	}
	parts := map[schema.GroupKind][]plan.Object{plan.PodKind: {ill("new", "b"), ill("old", "a")}}
	got, _, found, err := stateOf(now, set, parts, view.Counts{Wanted: 4, Updated: 1, UpdateRevision: "web-b"})
	if err != nil || !found {
		t.Fatal(err, found)
	}
	if diff := cmp.Diff([]any{int32(3), time.Minute, "b/2", []string{"new"}}, []any{got.Partition, got.Deadline, got.Approval, got.Failure.Pods}); diff != "" {
		t.Error(diff)
	}
	set.Annotations[keys.RunAnnotation] = "{"
	if _, _, _, err := stateOf(now, set, parts, view.Counts{}); err == nil {
		t.Error("a cursor that cannot be read is no error")
	}
	delete(set.Annotations, keys.RunAnnotation)
	if _, _, found, err := stateOf(now, set, parts, view.Counts{}); found || err != nil {
		t.Errorf("without a run: found %t, error %v", found, err)
	}
}
