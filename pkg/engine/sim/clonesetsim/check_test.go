package clonesetsim_test

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/apps/v1beta1"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/budget"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/cloneset"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/sim/clonesetsim"
)

// limits are the numbers of a spec, worked out anew for the checks.
type limits struct {
	replicas, partition, unavailable, surge int
	minReady                                time.Duration
	still                                   bool // paused or OnDelete: nothing is updated
	policy                                  v1beta1.PodUpdatePolicy
	named                                   []string
	// exclude: pods on their way to deletion do not count when pods are made.
	exclude bool
	// scale bounds the unavailable pods while pods are made.
	scale int
}

func limitsOf(set *v1beta1.CloneSet) limits {
	n := *set.Spec.Replicas
	r := set.Spec.UpdateStrategy.RollingUpdate
	partition, _ := budget.Partition(r.Partition, n)
	surge, _ := budget.MaxSurge(r.MaxSurge, n)
	if r.Paused {
		surge = 0
	}
	unavailable, _ := budget.MaxUnavailable(r.MaxUnavailable, n, surge)
	scale := int32(math.MaxInt32)
	if limit := set.Spec.ScaleStrategy.MaxUnavailable; limit != nil {
		scale, _ = budget.ScaleMaxUnavailable(limit, n)
	}
	return limits{
		scale:    int(scale),
		replicas: int(n), partition: int(partition), unavailable: int(unavailable), surge: int(surge),
		minReady: time.Duration(set.Spec.MinReadySeconds) * time.Second,
		still:    r.Paused || set.Spec.UpdateStrategy.Type == v1beta1.OnDeleteCloneSetUpdateStrategyType,
		policy:   r.PodUpdatePolicy, named: set.Spec.ScaleStrategy.PodsToDelete, exclude: set.Spec.ScaleStrategy.ExcludePreparingDelete,
	}
}

// knowledge is what a driver knew when it made its last plan.
type knowledge struct {
	limits
	pods   []*corev1.Pod // active ones
	update string        // the hash of the update revision
	// excused is how many pods were marked for deletion and unavailable: their loss is not the driver's doing.
	excused int
	// broken is how many unavailable pods the update revision had, begun how many updates followed from the plan; the same for
	// the way back and all other revisions.
	broken, begun, brokenBack, begunBack int
	// down is how many pods count against the scale limit.
	down int
}

// room is how many pods of the update revision may be unavailable when a pod is moved. Missing pods count too, unless the
// pod is one that prepares and so keeps them from being made.
func (n *knowledge) room(moved *corev1.Pod) int {
	if len(n.pods) < n.replicas+n.surge && n.down >= n.scale && moved.Labels[keys.LifecycleStateLabel] == keys.StatePreparingUpdate {
		return n.unavailable + n.surge
	}
	return n.unavailable + len(n.pods) - n.replicas
}

// checker watches a run. All rules are judged at the writes themselves, by what is true in the cluster then; what a driver
// could not know yet is put to its credit.
type checker struct {
	c        *sim.Cluster
	run      *sim.Run
	rollback bool
	knows    map[string]*knowledge
	// took says which driver made a pod unavailable, and with which write.
	took map[types.UID]taken
	// moves says the same of updates and marks.
	moves map[types.UID]taken
	// made says which driver created a pod.
	made map[types.UID]string
	last *cloneset.Plan
	// fault is the first that was wrong with a plan or an operator.
	fault error
	// rollout is the one in batches, if any; ran says that it has begun.
	rollout *rollout
	ran     bool
}

func (k *checker) fail(err error) {
	if k.fault == nil {
		k.fault = err
	}
}

type taken struct {
	by string
	rv int
}

// ownDoing says that what a driver has not seen of a pod is among its own deeds. A driver that leads has to know what
// the one before it did; only two that act at once are strangers.
func (k *checker) ownDoing(deeds map[types.UID]taken, by string, seen *corev1.Pod) bool {
	t := deeds[seen.UID]
	return (t.by == by || t.by != "" && !k.strangers()) && version(seen) < t.rv
}

func (k *checker) strangers() bool { return k.run.Faulted[sim.Intrude] > 0 }

func version(pod *corev1.Pod) int {
	n, _ := strconv.Atoi(pod.ResourceVersion)
	return n
}

func available(pod *corev1.Pod, minReady time.Duration, now time.Time) bool {
	if !isActive(pod) || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	if state := pod.Labels[keys.LifecycleStateLabel]; state != "" && state != keys.StateNormal {
		return false
	}
	ready := false
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; c.Type {
		case corev1.PodReady:
			ready = c.Status == corev1.ConditionTrue && (minReady == 0 || !c.LastTransitionTime.Add(minReady).After(now))
		case keys.InPlaceUpdateReady:
			if c.Status != corev1.ConditionTrue {
				return false
			}
		}
	}
	return ready
}

func hash(pod *corev1.Pod) string {
	return short(pod.Labels[keys.ControllerRevisionHashLabel])
}

func (l *limits) specified(pod *corev1.Pod) bool {
	_, marked := pod.Labels[keys.SpecifiedDeleteLabel]
	return marked || slices.Contains(l.named, pod.Name)
}

// planned notes what a driver knows, and judges the plan itself.
func (k *checker) planned(driver string, v *sim.View, p *cloneset.Plan) error {
	k.last = p
	set, ok := v.Get(plan.CloneSetKind, namespace, setName).(*v1beta1.CloneSet)
	if !ok {
		return nil
	}
	know := &knowledge{limits: limitsOf(set), pods: active(v.List(plan.PodKind)), update: p.UpdateHash}
	for _, pod := range know.pods {
		if available(pod, know.minReady, k.c.Now()) {
			continue
		}
		if know.specified(pod) {
			know.excused++
		}
		if !know.specified(pod) || pod.Labels[keys.LifecycleStateLabel] == keys.StatePreparingDelete {
			know.down++
		}
		if hash(pod) == know.update {
			know.broken++
		} else {
			know.brokenBack++
		}
	}
	k.knows[driver] = know
	if err := reuses(set, v, p); err != nil {
		return err
	}
	if p.Done && !p.Empty() {
		return fmt.Errorf("a plan that is done has actions: %v", p.Actions())
	}
	return nil
}

// again plans the same world once more, with the facts cached or worked out anew, and compares.
func (k *checker) again(p *clonesetsim.Planner, v *sim.View, failures []sim.Failure, first *cloneset.Plan, cached bool) error {
	w, ok := p.World(v, failures, cached)
	if !ok {
		return nil
	}
	second, err := cloneset.Decide(w)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(first, second) {
		return fmt.Errorf("the same world gives two plans (facts cached: %v):\n%s\n%s", cached, describe(first), describe(second))
	}
	return nil
}

func describe(p *cloneset.Plan) string {
	var lines []string
	for _, a := range p.Actions() {
		lines = append(lines, sim.Describe(&a, ""))
	}
	return fmt.Sprintf("done %v wake %s verdicts %v\nwaits %v\n%s", p.Done, p.Wake, p.Verdicts, p.Waits, strings.Join(lines, "\n"))
}

// wrote judges one write.
func (k *checker) wrote(w sim.Write) error {
	know := k.knows[w.By]
	if know == nil || w.Action == nil {
		return nil
	}
	if w.Kind == plan.ClaimKind && w.Before != nil {
		return k.claimChanged(w)
	}
	if w.Kind != plan.PodKind {
		return nil
	}
	before, _ := w.Before.(*corev1.Pod)
	after, _ := w.After.(*corev1.Pod)
	if before == nil {
		k.made[after.UID] = w.By
		if missing := k.missingClaim(after); missing != "" {
			return fmt.Errorf("%s creates %s before its claim %s", w.By, after.Name, missing)
		}
		if other := k.sharesClaim(after); other != "" {
			return fmt.Errorf("%s creates %s with the claim of %s", w.By, after.Name, other)
		}
		return k.created(w.By, know, after)
	}
	if w.Action.Verb == plan.Delete && before.DeletionTimestamp == nil && k.set().Spec.Lifecycle != nil && before.Labels[holdDelete] != "" && isActive(before) {
		if k.set().Spec.Lifecycle.PreDelete != nil {
			return fmt.Errorf("%s deletes %s while its hook holds it", w.By, before.Name)
		}
	}
	now := k.c.Now()
	if available(before, know.minReady, now) && (after == nil || !available(after, know.minReady, now)) {
		k.took[before.UID] = taken{w.By, math.MaxInt}
		if after != nil {
			k.took[before.UID] = taken{w.By, version(after)}
		}
		if err := k.disrupted(w.By, know, before); err != nil {
			return err
		}
	}
	if isActive(before) && (after == nil || !isActive(after)) && !know.specified(know.seen(before)) && w.Action.Verb == plan.Delete && !k.lost(before) {
		if err := k.scaledIn(w.By, know, before); err != nil {
			return err
		}
	}
	if after == nil {
		return nil
	}
	if err := k.containers(know, before, after); err != nil {
		return err
	}
	if err := k.normal(w.By, before, after); err != nil {
		return err
	}
	return k.moved(w.By, know, before, after)
}

func pods(c *sim.Cluster) []*corev1.Pod { return active(c.List(plan.PodKind)) }

// created: never more active pods than replicas and surge.
func (k *checker) created(by string, know *knowledge, pod *corev1.Pod) error {
	count := 0
	for _, p := range pods(k.c) {
		maker, other := k.made[p.UID]
		if k.strangers() && other && maker != by && !know.knew(p.UID) {
			continue // another driver's, not seen yet
		}
		if know.exclude && p.Labels[keys.LifecycleStateLabel] == keys.StatePreparingDelete {
			continue
		}
		count++
	}
	if count > know.replicas+know.surge {
		return fmt.Errorf("%s creates %s: %d active pods, replicas %d and surge %d", by, pod.Name, count, know.replicas, know.surge)
	}
	return nil
}

func (know *knowledge) knew(uid types.UID) bool {
	return slices.ContainsFunc(know.pods, func(p *corev1.Pod) bool { return p.UID == uid })
}

// seen is the pod as the driver saw it when it planned.
func (know *knowledge) seen(pod *corev1.Pod) *corev1.Pod {
	if i := slices.IndexFunc(know.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID }); i >= 0 {
		return know.pods[i]
	}
	return pod
}

// disrupted: enough pods stay available, but for those that were lost unseen or whose loss was asked for.
func (k *checker) disrupted(by string, know *knowledge, pod *corev1.Pod) error {
	now := k.c.Now()
	up := map[types.UID]bool{}
	count := 0
	for _, p := range pods(k.c) {
		if available(p, know.minReady, now) {
			up[p.UID] = true
			count++
		}
	}
	unseen := 0
	for _, p := range know.pods {
		if available(p, know.minReady, now) && !up[p.UID] && !k.ownDoing(k.took, by, p) {
			unseen++
		}
	}
	if count+unseen+know.excused < know.replicas-know.unavailable {
		return fmt.Errorf("%s disrupts %s: %d pods stay available (%d lost unseen, %d excused), replicas %d, maxUnavailable %d",
			by, pod.Name, count, unseen, know.excused, know.replicas, know.unavailable)
	}
	return nil
}

// lost says that a pod is on its way to deletion and cannot be taken back (cloneset.md 8 rule 9).
func (k *checker) lost(pod *corev1.Pod) bool {
	l := k.set().Spec.Lifecycle
	return pod.Labels[keys.LifecycleStateLabel] == keys.StatePreparingDelete && l != nil &&
		(l.PreDelete != nil && l.PreDelete.MarkPodNotReady || l.InPlaceUpdate != nil && l.InPlaceUpdate.MarkPodNotReady)
}

// scaledIn: a pod that nobody marked is deleted only if there are too many.
func (k *checker) scaledIn(by string, know *knowledge, pod *corev1.Pod) error {
	here := map[types.UID]bool{}
	for _, p := range pods(k.c) {
		here[p.UID] = true
	}
	count, unseen := len(here), 0
	for _, p := range know.pods {
		if !here[p.UID] && !k.ownDoing(k.took, by, p) && p.UID != pod.UID {
			unseen++
		}
	}
	if count+unseen < know.replicas {
		return fmt.Errorf("%s deletes %s: %d active pods are left (%d lost unseen), replicas %d", by, pod.Name, count, unseen, know.replicas)
	}
	return nil
}

// moved: updates respect pause, policy and partition.
func (k *checker) moved(by string, know *knowledge, before, after *corev1.Pod) error {
	_, was := before.Labels[keys.SpecifiedDeleteLabel]
	_, is := after.Labels[keys.SpecifiedDeleteLabel]
	marked, changed := is && !was, hash(before) != hash(after)
	if !marked && !changed {
		return nil
	}
	k.moves[before.UID] = taken{by, version(after)}
	if know.still {
		return fmt.Errorf("%s updates %s although updates are stopped", by, before.Name)
	}
	if marked && know.policy == v1beta1.InPlaceOnlyPodUpdatePolicy {
		return fmt.Errorf("%s marks %s for replacement although only updates in place are allowed", by, before.Name)
	}
	back := marked && hash(before) == know.update || changed && hash(after) != know.update
	if back && !k.rollback {
		return fmt.Errorf("%s moves %s back without the gate", by, before.Name)
	}
	if back {
		return k.movedBack(by, know, before)
	}
	// The next update waits for the ones before, also where it costs nothing because the pod is down anyway (PF-CS-5).
	know.begun++
	if room := know.room(before); know.broken+know.begun > room {
		return fmt.Errorf("%s updates %s: %d pods of the update revision are unavailable and %d updates were begun, room for %d",
			by, before.Name, know.broken, know.begun, room)
	}
	kept := map[types.UID]bool{}
	isOld := func(p *corev1.Pod) bool { return hash(p) != know.update && !know.specified(p) }
	for _, p := range pods(k.c) {
		if isOld(p) {
			kept[p.UID] = true
		}
	}
	unseen := 0
	for _, p := range know.pods {
		if isOld(p) && !kept[p.UID] && !k.ownDoing(k.moves, by, p) && !k.ownDoing(k.took, by, p) {
			unseen++
		}
	}
	if len(kept)+unseen < know.partition {
		return fmt.Errorf("%s updates %s: %d old pods are left (%d lost unseen), partition %d", by, before.Name, len(kept), unseen, know.partition)
	}
	return nil
}

// movedBack: a pod goes back only if more are updated than the partition allows, and at the pace of every other update.
func (k *checker) movedBack(by string, know *knowledge, before *corev1.Pod) error {
	know.begunBack++
	if room := know.room(before); know.brokenBack+know.begunBack > room {
		return fmt.Errorf("%s moves %s back: %d pods of other revisions are unavailable and %d were begun, room for %d",
			by, before.Name, know.brokenBack, know.begunBack, room)
	}
	isNew := func(p *corev1.Pod) bool { return hash(p) == know.update && !know.specified(p) }
	kept, unseen := map[types.UID]bool{}, 0
	for _, p := range pods(k.c) {
		if isNew(p) {
			kept[p.UID] = true
		}
	}
	for _, p := range know.pods {
		if isNew(p) && !kept[p.UID] && !k.ownDoing(k.moves, by, p) && !k.ownDoing(k.took, by, p) {
			unseen++
		}
	}
	if len(kept)+unseen < know.replicas-know.partition {
		return fmt.Errorf("%s moves %s back: %d updated pods are left (%d lost unseen), replicas %d and partition %d",
			by, before.Name, len(kept), unseen, know.replicas, know.partition)
	}
	return nil
}

// reuses: where claims are reused, a pod with a new id is made only when no claims are left over.
func reuses(set *v1beta1.CloneSet, v *sim.View, p *cloneset.Plan) error {
	if !set.Spec.ScaleStrategy.EnablePVCReuse || len(set.Spec.VolumeClaimTemplates) == 0 {
		return nil
	}
	taken, free := map[string]bool{}, map[string]bool{}
	for _, obj := range v.List(plan.PodKind) {
		taken[strings.TrimPrefix(obj.GetName(), setName+"-")] = true
	}
	for _, obj := range v.List(plan.ClaimKind) {
		owned := slices.ContainsFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == set.UID })
		if id := obj.GetLabels()[keys.InstanceIDLabel]; owned && obj.GetDeletionTimestamp() == nil && !taken[id] {
			free[id] = true
		}
	}
	fresh := ""
	for _, a := range p.Actions() {
		if a.Verb != plan.Create || a.On.Kind != plan.PodKind {
			continue
		}
		if id := a.Object.GetLabels()[keys.InstanceIDLabel]; free[id] {
			delete(free, id)
		} else {
			fresh = id
		}
	}
	if fresh != "" && len(free) > 0 {
		return fmt.Errorf("a pod with the new id %s is made although the claims of %v are left over", fresh, slices.Sorted(maps.Keys(free)))
	}
	return nil
}

// sharesClaim names another pod, whatever its phase, that mounts a claim of this one; empty if there is none.
func (k *checker) sharesClaim(pod *corev1.Pod) string {
	for _, obj := range k.c.List(plan.PodKind) {
		other := obj.(*corev1.Pod)
		if other.UID == pod.UID {
			continue
		}
		for i := range pod.Spec.Volumes {
			for j := range other.Spec.Volumes {
				a, b := pod.Spec.Volumes[i].PersistentVolumeClaim, other.Spec.Volumes[j].PersistentVolumeClaim
				if a != nil && b != nil && a.ClaimName == b.ClaimName {
					return other.Name
				}
			}
		}
	}
	return ""
}

// normal: a new pod becomes Normal only with its hook's mark.
func (k *checker) normal(by string, before, after *corev1.Pod) error {
	l := k.set().Spec.Lifecycle
	if l == nil || l.PreNormal == nil || after.Labels[keys.LifecycleStateLabel] != keys.StateNormal {
		return nil
	}
	if before.Labels[keys.LifecycleStateLabel] == keys.StatePreparingNormal && before.Labels[markNormal] == "" {
		return fmt.Errorf("%s makes %s Normal before its hook has marked it", by, before.Name)
	}
	return nil
}

// containers: images change only in pods out of service, and a pod comes back only with the containers it asks for.
func (k *checker) containers(know *knowledge, before, after *corev1.Pod) error {
	changed := false
	for i := range after.Spec.Containers {
		changed = changed || before.Spec.Containers[i].Image != after.Spec.Containers[i].Image
	}
	if l := k.set().Spec.Lifecycle; changed && l != nil && l.InPlaceUpdate != nil && hash(before) != hash(after) && before.Labels[holdUpdate] != "" {
		return fmt.Errorf("containers of %s change while its hook holds it", before.Name)
	}
	if changed && gate(before) != corev1.ConditionFalse {
		return fmt.Errorf("containers of %s change while it is in service", before.Name)
	}
	if gate(before) == corev1.ConditionFalse && gate(after) == corev1.ConditionTrue {
		for i := range after.Status.ContainerStatuses {
			// A container that crashes between the two writes of an update is taken for the new one; nothing tells them apart.
			if s := &after.Status.ContainerStatuses[i]; s.Image != "" && s.Image != after.Spec.Containers[i].Image && s.LastTerminationState.Terminated == nil {
				return fmt.Errorf("%s comes back into service with %s instead of %s", after.Name, s.Image, after.Spec.Containers[i].Image)
			}
		}
	}
	return nil
}

func (k *checker) set() *v1beta1.CloneSet {
	return k.c.Get(plan.CloneSetKind, namespace, setName).(*v1beta1.CloneSet)
}

// missingClaim names a claim that a pod mounts and that does not exist or is on its way out; empty if there is none.
func (k *checker) missingClaim(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		if claim := k.c.Get(plan.ClaimKind, namespace, source.ClaimName); claim == nil || claim.GetDeletionTimestamp() != nil {
			return source.ClaimName
		}
	}
	return ""
}

// claimChanged: no active pod loses a claim.
func (k *checker) claimChanged(w sim.Write) error {
	for _, pod := range pods(k.c) {
		for i := range pod.Spec.Volumes {
			source := pod.Spec.Volumes[i].PersistentVolumeClaim
			if source != nil && source.ClaimName == w.Before.GetName() {
				return fmt.Errorf("%s takes claim %s from pod %s", w.By, source.ClaimName, pod.Name)
			}
		}
	}
	return nil
}

func gate(pod *corev1.Pod) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == keys.InPlaceUpdateReady {
			return pod.Status.Conditions[i].Status
		}
	}
	return ""
}
