package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// health answers /healthz and /readyz. Everything that was named in newHealth has to be set before the process is ready.
type health struct {
	mu      sync.Mutex
	missing map[string]string
	leaving bool
}

// newHealth begins with parts that are not there yet.
func newHealth(parts ...string) *health {
	h := &health{missing: map[string]string{}}
	for _, part := range parts {
		h.missing[part] = "not there yet"
	}
	return h
}

// set says whether a part is there; a nil error says that it is.
func (h *health) set(part string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.missing[part] = err.Error()
	} else {
		delete(h.missing, part)
	}
}

// leave makes the process unready for good: it is about to end.
func (h *health) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = true
}

// ready says what is missing, if anything.
func (h *health) ready() error {
	h.mu.Lock()
	leaving := h.leaving
	var problems []string
	for part, why := range h.missing {
		problems = append(problems, part+": "+why)
	}
	h.mu.Unlock()
	switch {
	case leaving:
		return errors.New("about to end")
	case len(problems) > 0:
		slices.Sort(problems)
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// handler serves the two paths.
func (h *health) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := h.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// serve answers plain HTTP at an address until the context ends.
func serve(ctx context.Context, address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(closing) // a client that keeps its connection open gets it cut
		_ = server.Close()
	}()
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		<-done
		return nil
	}
	return err
}
