package faulty

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSort(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, url string
		want        Request
	}{
		{"POST", "/api/v1/namespaces/n/pods", Write},
		{"PATCH", "/api/v1/namespaces/n/pods/p/status", Write},
		{"DELETE", "/api/v1/namespaces/n/pods/p", Write},
		{"GET", "/api/v1/namespaces/n/pods?watch=true", Watch},
		{"GET", "/api/v1/namespaces/n/pods?watch=1&resourceVersion=7", Watch},
		{"GET", "/api/v1/namespaces/n/pods", List},
		{"GET", "/api/v1/pods?labelSelector=a", List},
		{"GET", "/apis/apps.kruise.io/v1alpha1/namespaces/n/clonesets", List},
		{"GET", "/apis/apps.kruise.io/v1alpha1/clonesets?watch=false", List},
		{"GET", "/api/v1/namespaces", List},
		{"GET", "/api/v1/namespaces/n/pods/p", Other},
		{"GET", "/api/v1/namespaces/n", Other},
		{"GET", "/apis/apps.kruise.io/v1alpha1", Other},
		{"GET", "/api", Other},
		{"GET", "/", Other},
		{"GET", "/version", Other},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, tt.url, nil)
		if got := Sort(r); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.method, tt.url, got, tt.want)
		}
	}
}

// faulted is a client of a server that counts what arrives, whose requests all meet the fault.
func faulted(t *testing.T, fault Fault) (get func(method, path string) (int, string, error), arrived *atomic.Int32, transport *Transport) {
	t.Helper()
	arrived = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := arrived.Add(1)
		_, _ = io.WriteString(w, strings.Repeat("x", int(n)))
		if Sort(r) == Watch {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	transport = &Transport{Next: server.Client().Transport, Choose: func(Request, *http.Request) Fault { return fault }, Life: func() time.Duration { return time.Millisecond }}
	return func(method, path string) (int, string, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			return 0, "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}, arrived, transport
}

const (
	pods    = "/api/v1/namespaces/n/pods"
	watched = pods + "?watch=true"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault        Fault
		method, path string
		code         int
		says         string
		fails        bool
		arrives      int32
	}{
		{None, "POST", pods, 200, "x", false, 1},
		{Conflict, "PATCH", pods + "/p", 409, `"reason":"Conflict"`, false, 0},
		{Busy, "PATCH", pods + "/p", 429, `"retryAfterSeconds":1`, false, 0},
		{Broken, "POST", pods, 500, `"reason":"InternalError"`, false, 0},
		{Lost, "POST", pods, 0, "", true, 0},
		{LostAnswer, "POST", pods, 0, "", true, 1},
		{Gap, "GET", watched, 200, `"code":410`, false, 0},
		{Cut, "GET", watched, 200, "", true, 1},
		{Cut, "POST", pods, 200, "x", false, 1},
		{Gap, "GET", pods, 200, "x", false, 1},
		{Broken, "GET", "/version", 200, "x", false, 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault)+" "+tt.method+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			do, arrived, transport := faulted(t, tt.fault)
			code, body, err := do(tt.method, tt.path)
			if (err != nil) != tt.fails || code != tt.code || !strings.Contains(body, tt.says) || arrived.Load() != tt.arrives {
				t.Errorf("got code %d, body %q, error %v, %d arrived", code, body, err, arrived.Load())
			}
			suits := tt.fault != None && tt.path != "/version" && (tt.path == watched || tt.method != "GET") && (tt.fault != Cut || tt.path == watched)
			want := map[Fault]int{}
			if suits {
				want[tt.fault] = 1
			}
			if diff := cmp.Diff(want, transport.Counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStaleList(t *testing.T) {
	t.Parallel()
	do, arrived, transport := faulted(t, Stale)
	for i, want := range []string{"x", "x"} {
		if _, body, err := do("GET", pods); body != want || err != nil {
			t.Errorf("list %d: got %q, %v", i, body, err)
		}
	}
	if _, body, _ := do("GET", pods+"?limit=1"); body != "xx" {
		t.Errorf("another list: got %q", body)
	}
	if arrived.Load() != 2 || transport.Counts()[Stale] != 1 {
		t.Errorf("%d arrived, counts %v", arrived.Load(), transport.Counts())
	}
}
