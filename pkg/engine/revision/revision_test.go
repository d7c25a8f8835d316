package revision_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/revision"
)

func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "sample"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: image}}},
	}
}

// defaulted fills in what OpenKruise's webhook fills in for the sample (cloneset.md 13.1).
func defaulted(t *corev1.PodTemplateSpec) {
	grace := int64(30)
	c := &t.Spec.Containers[0]
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullAlways
	}
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	t.Spec.RestartPolicy, t.Spec.DNSPolicy = corev1.RestartPolicyAlways, corev1.DNSClusterFirst
	t.Spec.SchedulerName, t.Spec.SecurityContext = "default-scheduler", &corev1.PodSecurityContext{}
	t.Spec.TerminationGracePeriodSeconds = &grace
}

func data(t testing.TB, template *corev1.PodTemplateSpec) revision.Data {
	t.Helper()
	d, err := revision.FromTemplate(template)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNames(t *testing.T) {
	t.Parallel()
	full := template("nginx:alpine")
	defaulted(full)
	long := fmt.Sprintf("%0300d", 7)
	for _, tc := range []struct{ name, got, want string }{
		{"9.0.3 check vector", revision.Name("sample", revision.Hash(data(t, template("nginx:alpine")), 0)), "sample-597d4cb8fd"},
		{"check vector with the defaults of cloneset.md 13.1", revision.Name("sample", revision.Hash(data(t, full), 0)), "sample-d4d4fb5bd"},
		{"9.0.3 long names are cut", revision.Name(long, "x"), long[:223] + "-x"},
		{"short of a name", revision.Short("a-b-c"), "c"},
		{"short of a hash", revision.Short("c"), "c"},
		{"hash of a revision without the label", revision.HashOf(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "a-b"}}), "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.got != tc.want {
				t.Errorf("got %s, want %s", tc.got, tc.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"web-abc", "web-abc", true},
		{"web-abc", "abc", true},
		{"abc", "other-abc", true},
		{"web-abc", "web-abd", false},
		{"", "", false},
		{"", "web-abc", false},
		{"web-", "", false},
	} {
		if got := revision.Same(tc.a, tc.b); got != tc.want {
			t.Errorf("Same(%q, %q) is %v", tc.a, tc.b, got)
		}
	}
}

func TestNormalForm(t *testing.T) {
	t.Parallel()
	got := data(t, &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{
			InitContainers:      []corev1.Container{{Name: "i", Args: []string{"<&>"}}},
			Containers:          []corev1.Container{{Name: "c"}},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e"}}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
			}}},
		},
	})
	want := `{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null},"spec":{` +
		`"containers":[{"name":"c","resources":{}}],` +
		`"ephemeralContainers":[{"name":"e","resources":{}}],` +
		`"initContainers":[{"args":["\u003c\u0026\u003e"],"name":"i","resources":{}}],` +
		`"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}},"name":"v"}]}}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("9.0.2 normal form (-want +got)\n%s", diff)
	}
}

func claims(size string) []corev1.PersistentVolumeClaim {
	return []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"not": "hashed"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			},
		},
	}}
}

func TestClaimHash(t *testing.T) {
	t.Parallel()
	two := append(claims("1Gi"), claims("2Gi")...)
	two[1].Name = "a"
	turned := []corev1.PersistentVolumeClaim{two[1], two[0]}
	hash := func(list []corev1.PersistentVolumeClaim) string {
		h, err := revision.ClaimHash(list)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if got := hash(nil); got != "" {
		t.Errorf("hash of no claims is %q", got)
	}
	if got := hash(claims("1Gi")); got != "3636919212" {
		t.Errorf("hash is %s, OpenKruise wrote 3636919212 for the same claims", got)
	}
	if hash(claims("2Gi")) == hash(claims("1Gi")) {
		t.Error("the size is not in the hash")
	}
	if hash(two) != hash(turned) {
		t.Error("the order of the claims is in the hash")
	}
}

const owner = types.UID("set")

func stored(name string, number int64, template *corev1.PodTemplateSpec, controller types.UID) *appsv1.ControllerRevision {
	d, err := revision.FromTemplate(template)
	if err != nil {
		panic(err)
	}
	rev := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": "sample"},
			Annotations: map[string]string{keys.ClaimTemplateHashAnnotation: ""},
		},
		Data: runtime.RawExtension{Raw: d}, Revision: number,
	}
	if controller != "" {
		yes := true
		rev.OwnerReferences = []metav1.OwnerReference{{Kind: "CloneSet", UID: controller, Controller: &yes}}
	}
	return rev
}

func input(template *corev1.PodTemplateSpec, revs ...*appsv1.ControllerRevision) revision.Input {
	return revision.Input{
		APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Namespace: "ns", Name: "sample", UID: owner,
		Annotations: map[string]string{"note": "x", keys.RunAnnotation: "{}"},
		Selector:    labels.SelectorFromSet(set("app", "sample")),
		Template:    template, HashClaims: true, Revisions: revs, Defaults: defaulted,
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	a, b, c := template("a"), template("b"), template("c")
	full := template("a")
	defaulted(full)
	other := template("a")
	other.Labels = set("app", "other")
	notOurs := stored("sample-x", 9, a, owner)
	notOurs.Labels = set("app", "other")
	unreadable := stored("broken", 3, a, owner)
	unreadable.Data.Raw = []byte(`{"spec":`)
	taken := stored(revision.Name("sample", revision.Hash(data(t, a), 0)), 4, b, "another")
	twin := stored(revision.Name("sample", revision.Hash(data(t, a), 0)), 4, a, "another")
	nameAt := func(n int32) string { return revision.Name("sample", revision.Hash(data(t, a), n)) }

	for _, tc := range []struct {
		name       string
		in         revision.Input
		update     string
		number     int64
		collisions int32
		verbs      []plan.Verb
	}{
		{"9.0.6a an equal newest revision is used unchanged", input(a, stored("r1", 1, b, owner), stored("r2", 2, a, owner)), "r2", 2, 0, nil},
		{"9.0.6a defaults make no difference, stored without", input(full, stored("r1", 1, a, owner)), "r1", 1, 0, nil},
		{"PF-IP-8", input(a, stored("r1", 1, full, owner)), "r1", 1, 0, nil},
		{"cloneset/52", input(a, stored("r1", 1, a, owner), stored("r2", 2, b, owner)), "r1", 3, 0, []plan.Verb{plan.Patch}},
		{"9.0.6b the newest of several equal ones", input(a, stored("r1", 1, a, owner), stored("r2", 2, a, owner), stored("r3", 3, b, owner)), "r2", 4, 0, []plan.Verb{plan.Patch}},
		{"9.0.6c none", input(a, stored("r1", 5, b, owner), stored("r2", 2, c, owner)), nameAt(0), 6, 0, []plan.Verb{plan.Create}},
		{"9.0.6c the first", input(a), nameAt(0), 1, 0, []plan.Verb{plan.Create}},
		{"9.0.6c a name clash with other data", input(a, taken), nameAt(1), 1, 1, []plan.Verb{plan.Create}},
		{"9.0.6c a name clash with the same data", input(a, twin), nameAt(0), 4, 0, nil},
		{"9.0.5 ownerless revisions take part", input(a, stored("r1", 1, a, "")), "r1", 1, 0, nil},
		{"9.0.5 those of others do not", input(a, stored("r1", 7, a, "another")), nameAt(0), 1, 0, []plan.Verb{plan.Create}},
		{"9.0.5 those outside the selector do not", input(a, notOurs), nameAt(0), 1, 0, []plan.Verb{plan.Create}},
		{"an unreadable revision equals nothing", input(a, unreadable), nameAt(0), 4, 0, []plan.Verb{plan.Create}},
		{"cloneset/50", func() revision.Input {
			in := input(a, stored("r1", 1, a, owner))
			in.ClaimTemplates = claims("2Gi")
			return in
		}(), "r1", 1, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			choice, err := revision.Choose(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if choice.Update.Name != tc.update || choice.Update.Revision != tc.number || choice.CollisionCount != tc.collisions {
				t.Errorf("chose %s number %d with %d collisions, want %s number %d with %d", choice.Update.Name,
					choice.Update.Revision, choice.CollisionCount, tc.update, tc.number, tc.collisions)
			}
			var verbs []plan.Verb
			for _, action := range choice.Actions {
				verbs = append(verbs, action.Verb)
			}
			if diff := cmp.Diff(tc.verbs, verbs); diff != "" {
				t.Errorf("verbs (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRollbackRefreshesTheClaimHash(t *testing.T) {
	t.Parallel()
	kruise, ours := stored("r1", 1, template("a"), owner), stored("r2", 2, template("b"), owner)
	ours.Annotations[revision.ClaimTemplatesAnnotation] = "[]"
	for _, tc := range []struct {
		name, image string
		want        string
	}{
		{"cloneset/52", "a", `{"metadata":{"annotations":{"kruise.io/cloneset-volumeclaimtemplate-hash":"3636919212"}},"revision":4}`},
		{"9.0.10 the snapshot of one that we made", "b", `{"metadata":{"annotations":{"kruise.io/cloneset-volumeclaimtemplate-hash":"3636919212",` +
			`"kubectl-kruise.github.io/claim-templates":"[{\"metadata\":{\"name\":\"data\",\"labels\":{\"not\":\"hashed\"}},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],` +
			`\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},\"status\":{}}]"}},"revision":4}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := input(template(tc.image), kruise, ours, stored("r3", 3, template("c"), owner))
			in.ClaimTemplates = claims("1Gi")
			before := kruise.DeepCopy()
			choice, err := revision.Choose(in)
			if err != nil {
				t.Fatal(err)
			}
			body, err := choice.Actions[0].Change.Body()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(body)); diff != "" {
				t.Errorf("patch (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(before, kruise); diff != "" {
				t.Errorf("the revision that was given has changed\n%s", diff)
			}
			if last := choice.All[len(choice.All)-1]; last != choice.Update || len(choice.All) != 3 {
				t.Errorf("the update revision is not the last of %d", len(choice.All))
			}
			if got := choice.Update.Annotations[keys.ClaimTemplateHashAnnotation]; got != "3636919212" {
				t.Errorf("claim hash of the copy is %q", got)
			}
		})
	}
}

func TestNewRevision(t *testing.T) {
	t.Parallel()
	in := input(template("nginx:alpine"))
	in.ClaimTemplates = claims("1Gi")
	choice, err := revision.Choose(in)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := revision.Snapshot(in.ClaimTemplates)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "sample-597d4cb8fd",
			Labels: map[string]string{"app": "sample", keys.RevisionHashLabel: "597d4cb8fd"},
			Annotations: map[string]string{
				"note": "x", keys.ClaimTemplateHashAnnotation: "3636919212", revision.ClaimTemplatesAnnotation: snapshot,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "sample", UID: owner, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Data: runtime.RawExtension{Raw: data(t, in.Template)}, Revision: 1,
	}
	if diff := cmp.Diff(want, choice.Update); diff != "" {
		t.Errorf("9.0.4 (-want +got)\n%s", diff)
	}
	got, err := revision.Claims(choice.Update, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in.ClaimTemplates, got); diff != "" {
		t.Errorf("9.0.10 snapshot (-want +got)\n%s", diff)
	}
	if got, _ := revision.Claims(stored("r", 1, in.Template, owner), claims("2Gi")); len(got) != 1 {
		t.Error("a revision without a snapshot does not get the present claims")
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	var revs []*appsv1.ControllerRevision
	for i := int64(1); i <= 4; i++ {
		revs = append(revs, stored(fmt.Sprintf("web-h%d", i), i, template(fmt.Sprint(i)), owner))
	}
	for _, tc := range []struct {
		name  string
		live  map[string]bool
		limit int32
		want  []string
	}{
		{"cloneset/59", map[string]bool{"web-h2": true}, 0, []string{"web-h1", "web-h3", "web-h4"}},
		{"live by hash", map[string]bool{"h4": true}, 1, []string{"web-h1", "web-h2"}},
		{"the oldest go", nil, 3, []string{"web-h1"}},
		{"none beyond the limit", nil, 4, nil},
		{"a negative limit keeps none", map[string]bool{"h1": true, "h2": true, "h3": true}, -1, []string{"web-h4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, action := range revision.History(revs, tc.live, tc.limit) {
				if action.Verb != plan.Delete || action.On.UID == "" {
					t.Errorf("action %+v", action)
				}
				got = append(got, action.On.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("deleted (-want +got)\n%s", diff)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	at := func(name string, number int64, second int) *appsv1.ControllerRevision {
		rev := stored(name, number, template("a"), owner)
		rev.CreationTimestamp = metav1.NewTime(time.Unix(int64(second), 0))
		return rev
	}
	revs := []*appsv1.ControllerRevision{at("c", 2, 5), at("b", 1, 9), at("d", 2, 6), at("a", 2, 6)}
	names := func(list []*appsv1.ControllerRevision) (names []string) {
		for _, rev := range list {
			names = append(names, rev.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"b", "c", "a", "d"}, names(revision.Candidates(revs, owner, labels.Everything()))); diff != "" {
		t.Errorf("9.0.5 (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"d", "a", "c", "b"}, names(revision.NewestFirst(revs))); diff != "" {
		t.Errorf("newest first (-want +got)\n%s", diff)
	}
}

func TestPodTemplateFor(t *testing.T) {
	t.Parallel()
	present := template("new")
	present.Spec.NodeSelector = map[string]string{"only": "present"}
	replacing := stored("r", 1, template("old"), owner)
	merging := replacing.DeepCopy()
	merging.Data.Raw = []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"old"}]}}}}`)
	merged := template("old")
	merged.Spec.NodeSelector = present.Spec.NodeSelector
	for _, tc := range []struct {
		name string
		rev  *appsv1.ControllerRevision
		want *corev1.PodTemplateSpec
	}{
		{"9.0.10 replaced as a whole", replacing, template("old")},
		{"9.0.10 merged", merging, merged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := revision.PodTemplateFor(tc.rev, present)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, raw := range []string{``, `{}`, `{"spec":{"template":null}}`, `{"spec":{"template":[]}}`} {
		broken := replacing.DeepCopy()
		broken.Data.Raw = []byte(raw)
		if _, err := revision.PodTemplateFor(broken, present); err == nil {
			t.Errorf("no error for data %q", raw)
		}
	}
}

// TestChooseProperties plays random histories of templates and checks what must hold for each choice.
func TestChooseProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var revs []*appsv1.ControllerRevision
		known := map[types.UID]*revision.Facts{}
		count := int32(0)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			want := template(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "image"))
			if rapid.Bool().Draw(t, "defaulted") {
				defaulted(want)
			}
			in := input(want, revs...)
			in.CollisionCount = &count
			plain, err := revision.Choose(in)
			if err != nil {
				t.Fatal(err)
			}
			in.RevisionFacts = known
			if in.Facts, err = revision.FactsOf(want, defaulted); err != nil {
				t.Fatal(err)
			}
			choice, err := revision.Choose(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain, choice); diff != "" {
				t.Fatalf("the choice depends on known facts\n%s", diff)
			}
			if choice.Update != choice.All[len(choice.All)-1] {
				t.Fatal("the update revision is not the newest")
			}
			if len(choice.All) > 4 {
				t.Fatal("a template has two revisions")
			}
			facts, err := revision.FactsOfRevision(choice.Update, defaulted)
			if err != nil || !facts.Equal(in.Facts) {
				t.Fatalf("the chosen revision holds another template (%v)", err)
			}
			revs, count = choice.All, choice.CollisionCount
			if choice.Created {
				choice.Update.UID = types.UID(fmt.Sprint("uid", step))
			}
			known[choice.Update.UID] = facts
			in.Revisions = rapid.Permutation(revs).Draw(t, "order")
			if again, err := revision.Choose(in); err != nil || len(again.Actions) > 0 || again.Update.Name != choice.Update.Name {
				t.Fatalf("choosing again gives %d actions on %s (%v)", len(again.Actions), again.Update.Name, err)
			}
		}
	})
}

func BenchmarkChooseSettled(b *testing.B) {
	revs := make([]*appsv1.ControllerRevision, 0, 10)
	for i := range int64(10) {
		revs = append(revs, stored(fmt.Sprint("r", i), i, template(fmt.Sprint(i)), owner))
	}
	in := input(template("9"), revs...)
	facts, err := revision.FactsOf(in.Template, defaulted)
	if err != nil {
		b.Fatal(err)
	}
	in.Facts = facts
	for b.Loop() {
		if _, err := revision.Choose(in); err != nil {
			b.Fatal(err)
		}
	}
}
