// Package faulty makes an API server fail on purpose, between a client and the wire: a round tripper for a client of a test, or
// for a proxy in front of a whole process.
package faulty

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is a way in which one request goes wrong.
type Fault string

// The faults. Faults says which suit which sort of request.
const (
	// None: the request is carried out.
	None Fault = ""
	// Conflict: the server says that the object has moved on, and does nothing.
	Conflict Fault = "conflict"
	// Busy: the server asks to come again after a second.
	Busy Fault = "429"
	// Broken: the server has an internal error.
	Broken Fault = "500"
	// Lost: the request never arrives.
	Lost Fault = "lost"
	// LostAnswer: the request is carried out, and the client never learns of it.
	LostAnswer Fault = "lost answer"
	// Cut: a watch ends in the middle after a while.
	Cut Fault = "watch cut"
	// Gap: a watch is refused because the server has forgotten the version that it starts from.
	Gap Fault = "watch gap"
	// Stale: a list is answered as it was the last time for the same client. A client that asks for the first time is never
	// served from the past: an API server answers it with what is committed.
	Stale Fault = "stale list"
)

// Request says which sort of request a fault is chosen for.
type Request string

// The sorts of requests.
const (
	Write Request = "write"
	Watch Request = "watch"
	List  Request = "list"
	Other Request = "other"
)

// Faults are those that suit a sort of request.
func Faults(sort Request) []Fault {
	switch sort {
	case Write:
		return []Fault{Conflict, Busy, Broken, Lost, LostAnswer}
	case Watch:
		return []Fault{Cut, Gap, Broken}
	case List:
		return []Fault{Stale, Broken, Lost}
	}
	return nil
}

// Sort tells which sort a request to an API server is. Other are those that no fault is made for: discovery, reads of one
// object.
func Sort(r *http.Request) Request {
	switch {
	case r.Method != http.MethodGet:
		return Write
	case strings.Contains(r.URL.RawQuery, "watch=") && r.URL.Query().Get("watch") != "false":
		return Watch
	case collection(r.URL.Path):
		return List
	}
	return Other
}

// collection says whether a path ends in a resource: /api/v1/…, /apis/GROUP/VERSION/… with or without a namespace.
func collection(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	prefix := 2
	if parts[0] == "apis" {
		prefix = 3
	}
	if len(parts) <= prefix {
		return false
	}
	rest := parts[prefix:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		rest = rest[2:]
	}
	return len(rest) == 1
}

// Transport passes requests on unless Choose wants them to fail. It may be used from several goroutines.
type Transport struct {
	Next http.RoundTripper
	// Choose is called for each request that can fail, from several goroutines at once. A fault that does not suit the
	// sort of request is not made.
	Choose func(Request, *http.Request) Fault
	// Life is how long a cut watch lives.
	Life func() time.Duration

	mu     sync.Mutex
	counts map[Fault]int
	lists  map[string]answer
}

// Counts are the faults made so far.
func (t *Transport) Counts() map[Fault]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[Fault]int{}
	for fault, n := range t.counts {
		counts[fault] = n
	}
	return counts
}

func (t *Transport) made(fault Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[Fault]int{}
	}
	t.counts[fault]++
}

// RoundTrip carries a request out, or not.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	sort := Sort(r)
	fault := None
	if sort != Other {
		fault = t.Choose(sort, r)
	}
	switch fault {
	case Conflict, Busy, Broken:
		t.made(fault)
		discard(r)
		return refusal(r, fault), nil
	case Lost:
		t.made(fault)
		discard(r)
		return nil, fmt.Errorf("%s %s: made to be lost", r.Method, r.URL.Path)
	case LostAnswer:
		t.made(fault)
		return nil, t.unanswered(r)
	case Gap:
		if sort == Watch {
			t.made(fault)
			return forgotten(r), nil
		}
	case Cut:
		if sort == Watch {
			t.made(fault)
			return t.cut(r)
		}
	}
	if sort == List {
		return t.list(r, fault == Stale)
	}
	return t.Next.RoundTrip(r)
}

func discard(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// unanswered carries a request out and forgets the answer.
func (t *Transport) unanswered(r *http.Request) error {
	response, err := t.Next.RoundTrip(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return fmt.Errorf("%s %s: the answer is made to be lost", r.Method, r.URL.Path)
}

func (t *Transport) cut(r *http.Request) (*http.Response, error) {
	response, err := t.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &cutBody{ReadCloser: response.Body, end: time.AfterFunc(t.Life(), func() { _ = response.Body.Close() })}
	return response, nil
}

// cutBody is closed under its reader's feet.
type cutBody struct {
	io.ReadCloser
	end *time.Timer
}

func (b *cutBody) Close() error {
	b.end.Stop()
	return b.ReadCloser.Close()
}

// answer is that to a list.
type answer struct {
	header http.Header
	body   []byte
}

// list keeps each answer, to give it again when a stale one is wanted. The first one cannot be stale.
func (t *Transport) list(r *http.Request, stale bool) (*http.Response, error) {
	url := r.RemoteAddr + " " + r.URL.RequestURI() + " " + r.Header.Get("Accept")
	t.mu.Lock()
	last, known := t.lists[url]
	t.mu.Unlock()
	if stale && known {
		t.made(Stale)
		return respond(r, http.StatusOK, last.header.Clone(), last.body), nil
	}
	response, err := t.Next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lists == nil {
		t.lists = map[string]answer{}
	}
	t.lists[url] = answer{response.Header.Clone(), body}
	return respond(r, http.StatusOK, response.Header, body), nil
}

// refusal is an answer as an API server words it.
func refusal(r *http.Request, fault Fault) *http.Response {
	code, reason, details := http.StatusInternalServerError, "InternalError", ""
	header := http.Header{"Content-Type": {"application/json"}}
	switch fault {
	case Conflict:
		code, reason = http.StatusConflict, "Conflict"
	case Busy:
		code, reason, details = http.StatusTooManyRequests, "TooManyRequests", `,"details":{"retryAfterSeconds":1}`
		header.Set("Retry-After", "1")
	}
	return respond(r, code, header, status(code, reason, details))
}

func status(code int, reason, details string) []byte {
	return []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"made to fail","reason":"` + reason + `"` + details + `,"code":` + strconv.Itoa(code) + `}`)
}

// forgotten is a watch that ends at once with the error that an API server sends for a version it has no more.
func forgotten(r *http.Request) *http.Response {
	event := `{"type":"ERROR","object":` + string(status(http.StatusGone, "Expired", "")) + "}\n"
	return respond(r, http.StatusOK, http.Header{"Content-Type": {"application/json"}}, []byte(event))
}

func respond(r *http.Request, code int, header http.Header, body []byte) *http.Response {
	header.Del("Content-Length")
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}
