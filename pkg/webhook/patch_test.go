package webhook

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func read(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) any {
	t.Helper()
	value, err := tree([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// raw is what came, from what this build understood of it, to what it made of that.
func TestGraft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, raw, from, to, want string }{
		{"a field is added beside an unknown one", `{"a":1,"x":2}`, `{"a":1}`, `{"a":1,"b":3}`, `{"a":1,"x":2,"b":3}`},
		{"a field is removed", `{"a":1,"x":2}`, `{"a":1}`, `{}`, `{"x":2}`},
		{"what is empty on both sides stays unsaid", `{}`, `{"status":{}}`, `{"status":{},"b":1}`, `{"b":1}`},
		{"an object that was not said", `{}`, `{"s":{}}`, `{"s":{"b":1}}`, `{"s":{"b":1}}`},
		{"an object that was null", `{"s":null}`, `{"s":{}}`, `{"s":{"b":1}}`, `{"s":{"b":1}}`},
		{"an entry in front", `{"l":[{"name":"a","x":1}]}`, `{"l":[{"name":"a"}]}`, `{"l":[{"name":"b"},{"name":"a"}]}`, `{"l":[{"name":"b"},{"name":"a","x":1}]}`},
		{"an entry that changes and moves", `{"l":[{"name":"a","x":1},{"name":"b","x":2}]}`, `{"l":[{"name":"a"},{"name":"b"}]}`,
			`{"l":[{"name":"b","v":3},{"name":"a"}]}`, `{"l":[{"name":"b","x":2,"v":3},{"name":"a","x":1}]}`},
		{"texts", `{"l":["a","b"]}`, `{"l":["a","b"]}`, `{"l":["b","c"]}`, `{"l":["b","c"]}`},
		{"a list that was understood otherwise", `{"l":null}`, `{"l":[]}`, `{"l":[1]}`, `{"l":[1]}`},
		{"a number keeps its spelling", `{"n":1.0,"m":1}`, `{"n":1,"m":1}`, `{"n":1,"m":2}`, `{"n":1.0,"m":2}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := graft(read(t, tc.raw), read(t, tc.from), read(t, tc.to))
			if diff := cmp.Diff(read(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// drawValue makes a JSON value of limited depth.
func drawValue(t *rapid.T, depth int) any {
	switch rapid.IntRange(0, 4+min(depth, 2)).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return json.Number(rapid.StringMatching(`[1-9][0-9]{0,3}`).Draw(t, "number"))
	case 2, 3:
		return rapid.StringMatching(`[a-c/~]{0,2}`).Draw(t, "text")
	case 4:
		return rapid.Bool().Draw(t, "bool")
	case 5:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			m[rapid.SampledFrom([]string{"name", "a", "b", "a/b", "~"}).Draw(t, "key")] = drawValue(t, depth-1)
		}
		return m
	}
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		list = append(list, drawValue(t, depth-1))
	}
	return list
}

// The operations do what they are made for.
func TestDifferenceIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := map[string]any{"v": drawValue(t, 3)}
		to := map[string]any{"v": drawValue(t, 3)}
		body, err := json.Marshal(difference(nil, "", from, to))
		if err != nil {
			t.Fatalf("encode operations: %v", err)
		}
		before, _ := json.Marshal(from)
		patch, err := jsonpatch.DecodePatch(body)
		if string(body) == "null" {
			patch, err = nil, nil
		}
		if err != nil {
			t.Fatalf("decode %s: %v", body, err)
		}
		after, err := patch.Apply(before)
		if err != nil {
			t.Fatalf("apply %s to %s: %v", body, before, err)
		}
		if diff := cmp.Diff(any(to), read(t, string(after))); diff != "" {
			t.Errorf("%s applied to %s (-want +got):\n%s", body, before, diff)
		}
	})
}

// Without anything unknown the result is exactly what was made.
func TestGraftIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawValue(t, 3), drawValue(t, 3)
		if diff := cmp.Diff(to, graft(from, from, to)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(from, graft(from, to, to)); diff != "" {
			t.Errorf("no change, and yet (-want +got):\n%s", diff)
		}
	})
}
