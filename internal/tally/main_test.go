package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTally(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   []string
		want string
		well bool
	}{
		"a package that passes": {
			in: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: chatter\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:4: histories: 5, seed 1\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:5: 7 events judged\n"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Output":"PASS\n"}`,
				`{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			want: "a_test.go:4: histories: 5, seed 1\na_test.go:5: 7 events judged\nok  \tp\t0.1s\n1 tests passed, 0 failed, 0 skipped, in 1 packages\n",
			well: true,
		},
		"what a failed test said is shown, what a passed one said is not": {
			in: []string{
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: wrong\n"}`,
				`{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: chatter\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want: "    a_test.go:3: wrong\nFAIL\tp\t0.1s\n1 tests passed, 1 failed, 0 skipped, in 1 packages\n",
		},
		"a build that fails": {
			in: []string{
				`{"ImportPath":"p","Action":"build-output","Output":"a.go:1: undefined: x\n"}`,
				`{"ImportPath":"p","Action":"build-fail"}`,
				`{"Action":"output","Package":"q","Test":"TestA","Output":"--- PASS: TestA\n"}`,
				`{"Action":"pass","Package":"q","Test":"TestA"}`,
				`{"Action":"pass","Package":"q"}`,
			},
			want: "a.go:1: undefined: x\n1 tests passed, 0 failed, 0 skipped, in 1 packages\n",
		},
		"a process that dies outside a test": {
			in: []string{
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Output":"panic: out of order\n"}`,
				`{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want: "FAIL\tp\t0.1s\npanic: out of order\n1 tests passed, 0 failed, 0 skipped, in 1 packages\n",
		},
		"the reason of a skip": {
			in: []string{
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: needs a cluster\n"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			want: "1 tests passed, 0 failed, 1 skipped, in 1 packages\n  1 skipped: needs a cluster\n",
			well: true,
		},
		"no test": {
			in:   []string{`{"Action":"skip","Package":"p"}`, "go: no packages"},
			want: "go: no packages\n0 tests passed, 0 failed, 0 skipped, in 0 packages\nno test ran\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			got := newTally(&out)
			if err := got.read(strings.NewReader(strings.Join(test.in, "\n") + "\n")); err != nil {
				t.Fatal(err)
			}
			if well := got.summary(); well != test.well {
				t.Errorf("well is %v, want %v", well, test.well)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
