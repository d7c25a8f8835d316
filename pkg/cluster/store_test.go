package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/engine/plan"
)

// storedPod is a pod as far as the overlay cares: identity, version, and whether the selector app=web matches it.
func storedPod(uid string, version uint64, matches bool) plan.Object {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + uid, UID: types.UID(uid), ResourceVersion: strconv.FormatUint(version, 10)}}
	if matches {
		pod.Labels = map[string]string{"app": "web"}
	}
	return pod
}

func shown(s *store) map[string]string {
	view := map[string]string{}
	for uid, obj := range s.view {
		view[string(uid)] = obj.GetResourceVersion()
	}
	return view
}

func webStore() *store {
	return newStore(labels.SelectorFromSet(labels.Set{"app": "web"}), nil)
}

func TestStore(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(s *store)
		want map[string]string
	}{
		{"a write is shown before the watch has it", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.wrote(storedPod("a", 7, true))
			s.update(storedPod("a", 6, true))
		}, map[string]string{"a": "7"}},
		{"versions are numbers, not text", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 9, true)}, 9)
			s.wrote(storedPod("a", 10, true))
		}, map[string]string{"a": "10"}},
		{"the watch wins once it is ahead", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.wrote(storedPod("a", 7, true))
			s.update(storedPod("a", 8, true))
		}, map[string]string{"a": "8"}},
		{"a deleted object is gone before the watch has it", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true), storedPod("b", 4, true)}, 5)
			s.gone("a")
			s.update(storedPod("a", 6, true))
		}, map[string]string{"b": "4"}},
		{"created and deleted by us before the watch has either", func(s *store) {
			s.replace(nil, 5)
			s.wrote(storedPod("a", 6, true))
			s.gone("a")
			s.update(storedPod("a", 6, true))
		}, map[string]string{}},
		{"an answer that is later than the object's deletion brings it not back", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.update(storedPod("a", 6, true))
			s.remove(storedPod("a", 7, true))
			s.wrote(storedPod("a", 6, true))
		}, map[string]string{}},
		{"an older list does not undo what is known", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 9)
			s.replace(nil, 5)
		}, map[string]string{"a": "3"}},
		{"a list drops what it does not have", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.wrote(storedPod("a", 6, true))
			s.replace(nil, 8)
		}, map[string]string{}},
		{"a list older than our write keeps it", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.wrote(storedPod("b", 9, true))
			s.replace([]plan.Object{storedPod("a", 3, true)}, 8)
		}, map[string]string{"a": "3", "b": "9"}},
		{"an object outside the labels stays when it was read on purpose", func(s *store) {
			s.replace([]plan.Object{storedPod("a", 3, true)}, 5)
			s.remove(storedPod("a", 6, true))
			s.wrote(storedPod("a", 6, false))
			s.bookmark(20)
		}, map[string]string{"a": "6"}},
		{"a stray that comes back follows the watch again", func(s *store) {
			s.replace(nil, 5)
			s.wrote(storedPod("a", 4, false))
			s.update(storedPod("a", 6, true))
			s.remove(storedPod("a", 7, true))
		}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := webStore()
			tt.do(s)
			if diff := cmp.Diff(tt.want, shown(s)); diff != "" {
				t.Errorf("shown objects (-want +got):\n%s", diff)
			}
		})
	}
}

// history is a server's truth: what happened to each object and in which order, and how far the watch and the answers of
// writes have come. Everything random about it is the interleaving.
type history struct {
	version uint64
	live    map[types.UID]plan.Object
	events  []plan.Object // in order, with the objects at the version of the step
	removed []bool
	sent    int
	answers []func(*store)
	// newest is the newest version whose answer or event the store has had, per object; deleted those it knows to be gone.
	newest  map[types.UID]uint64
	deleted map[types.UID]bool
}

func (h *history) step(obj plan.Object, removed bool) {
	h.events, h.removed = append(h.events, obj), append(h.removed, removed)
}

func (h *history) write(uid types.UID) plan.Object {
	h.version++
	obj := storedPod(string(uid), h.version, true)
	h.live[uid] = obj
	h.step(obj, false)
	return obj
}

func (h *history) remove(uid types.UID) {
	h.version++
	h.step(storedPod(string(uid), h.version, true), true)
	delete(h.live, uid)
}

func (h *history) deliver(s *store) {
	obj, removed := h.events[h.sent], h.removed[h.sent]
	h.sent++
	if removed {
		s.remove(obj)
		h.deleted[obj.GetUID()] = true
		return
	}
	s.update(obj)
	h.newest[obj.GetUID()] = max(h.newest[obj.GetUID()], versionOf(obj))
}

func (h *history) list(s *store) {
	var list []plan.Object
	for uid, obj := range h.live {
		list = append(list, obj)
		h.newest[uid] = max(h.newest[uid], versionOf(obj))
	}
	for i := h.sent; i < len(h.events); i++ {
		if h.removed[i] {
			h.deleted[h.events[i].GetUID()] = true
		}
	}
	s.replace(list, h.version)
	h.sent = len(h.events)
}

func (h *history) pick(t *rapid.T) (types.UID, bool) {
	if len(h.live) == 0 {
		return "", false
	}
	uids := make([]types.UID, 0, len(h.live))
	for uid := range h.live {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return rapid.SampledFrom(uids).Draw(t, "uid"), true
}

// The view never goes back behind what it has been told, whatever the interleaving of writes by us and by others, late
// answers, watch events, lists and bookmarks; and once everything has arrived it equals the server.
func TestStoreNeverGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := webStore()
		h := &history{version: 1, live: map[types.UID]plan.Object{}, newest: map[types.UID]uint64{}, deleted: map[types.UID]bool{}}
		s.replace(nil, h.version)
		answer := func(obj plan.Object) {
			h.answers = append(h.answers, func(s *store) {
				s.wrote(obj)
				h.newest[obj.GetUID()] = max(h.newest[obj.GetUID()], versionOf(obj))
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"we create":     func(*rapid.T) { answer(h.write(types.UID(fmt.Sprint("p", h.version)))) },
			"others create": func(*rapid.T) { h.write(types.UID(fmt.Sprint("p", h.version))) },
			"we patch": func(t *rapid.T) {
				if uid, ok := h.pick(t); ok {
					answer(h.write(uid))
				}
			},
			"others patch": func(t *rapid.T) {
				if uid, ok := h.pick(t); ok {
					h.write(uid)
				}
			},
			"we delete": func(t *rapid.T) {
				// Nobody deletes what they have not seen.
				if uid, ok := h.pick(t); ok && h.newest[uid] > 0 {
					h.remove(uid)
					h.answers = append(h.answers, func(s *store) { s.gone(uid); h.deleted[uid] = true })
				}
			},
			"others delete": func(t *rapid.T) {
				if uid, ok := h.pick(t); ok {
					h.remove(uid)
				}
			},
			"an answer arrives": func(t *rapid.T) {
				if len(h.answers) > 0 {
					i := rapid.IntRange(0, len(h.answers)-1).Draw(t, "answer")
					h.answers[i](s)
					h.answers = slices.Delete(h.answers, i, i+1)
				}
			},
			"an event arrives": func(*rapid.T) {
				if h.sent < len(h.events) {
					h.deliver(s)
				}
			},
			"a list": func(*rapid.T) { h.list(s) },
			"the watch starts again from an older version": func(t *rapid.T) {
				h.sent = rapid.IntRange(0, h.sent).Draw(t, "from")
			},
			"a bookmark": func(*rapid.T) {
				if h.sent == len(h.events) {
					s.bookmark(h.version)
				}
			},
			"": func(t *rapid.T) {
				for uid, at := range h.newest {
					obj := s.view[uid]
					switch {
					case h.deleted[uid] && obj != nil:
						t.Fatalf("%s is shown at %s although it is known to be gone", uid, obj.GetResourceVersion())
					case obj == nil && !h.deleted[uid]:
						if _, live := h.live[uid]; live {
							t.Fatalf("%s is not shown although version %d of it is known", uid, at)
						}
					case obj != nil && versionOf(obj) < at:
						t.Fatalf("%s is shown at %s, behind the known %d", uid, obj.GetResourceVersion(), at)
					}
				}
			},
		})
		for _, arrive := range h.answers {
			arrive(s)
		}
		for h.sent < len(h.events) {
			h.deliver(s)
		}
		s.bookmark(h.version)
		want := map[string]string{}
		for uid, obj := range h.live {
			want[string(uid)] = obj.GetResourceVersion()
		}
		if diff := cmp.Diff(want, shown(s)); diff != "" {
			t.Fatalf("after everything arrived (-server +shown):\n%s", diff)
		}
		if len(s.own) > 0 || len(s.strays) > 0 {
			t.Fatalf("left over: %d writes, %d strays", len(s.own), len(s.strays))
		}
	})
}
