package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
)

// fault is what happens to requests whose path contains a text; empty = all.
type fault struct {
	Path    string `json:"path"`
	DelayMS int    `json:"delayMs"`
	// Every so many requests gets the code and not its answer: 1 = each, 0 = none.
	Every int `json:"every"`
	// Code 0 = the connection breaks.
	Code int `json:"code"`
}

// faults has the fault of the moment.
type faults struct {
	mutex  sync.Mutex
	now    fault
	passed int
}

func (f *faults) become(next fault) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.now, f.passed = next, 0
}

// of says what happens to a request.
func (f *faults) of(r *http.Request) (delay time.Duration, fails bool, code int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !strings.Contains(r.URL.Path, f.now.Path) {
		return 0, false, 0
	}
	f.passed++
	fails = f.now.Every > 0 && f.passed%f.now.Every == 0
	return time.Duration(f.now.DelayMS) * time.Millisecond, fails, f.now.Code
}

// before delays and refuses what comes, and all where the store is sealed.
func (f *faults) before(store *store, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		delay, fails, code := f.of(r)
		wait(r.Context(), delay)
		switch {
		case fails && code == 0:
			panic(http.ErrAbortHandler)
		case fails:
			logical.RespondError(w, code, textOf(code, r.URL.Path))
		case store.isSealed():
			logical.RespondError(w, http.StatusServiceUnavailable, consts.ErrSealed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func wait(ctx context.Context, delay time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(delay):
	}
}

// textOf is what the server says with a code; nil = nothing.
func textOf(code int, path string) error {
	switch code {
	case http.StatusNotFound:
		return nil
	case http.StatusForbidden:
		return logical.ErrPermissionDenied
	case http.StatusTooManyRequests:
		return fmt.Errorf("request path %q: %w", strings.TrimPrefix(path, "/v1/"), logical.ErrRateLimitQuotaExceeded)
	case http.StatusServiceUnavailable:
		return consts.ErrOverloaded
	}
	return errors.New("internal error")
}

// seenRequest is one line of the list; no body and no token is kept.
type seenRequest struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Namespace string `json:"namespace"`
	// Code 0 = there was no answer.
	Code int `json:"code"`
}

// requests is the list of those that were answered.
type requests struct {
	mutex sync.Mutex
	list  []seenRequest
}

func (l *requests) add(one seenRequest) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.list = append(l.list, one)
}

// take returns the list, and begins another.
func (l *requests) take() []seenRequest {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	taken := l.list
	l.list = nil
	return append([]seenRequest{}, taken...)
}

func (l *requests) recording(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &codeKeeper{ResponseWriter: w}
		defer func() {
			l.add(seenRequest{r.Method, r.URL.RequestURI(), r.Header.Get("X-Vault-Namespace"), kept.code})
		}()
		next.ServeHTTP(kept, r)
	})
}

type codeKeeper struct {
	http.ResponseWriter
	code int
}

func (k *codeKeeper) WriteHeader(code int) {
	k.code = code
	k.ResponseWriter.WriteHeader(code)
}

// listener can be closed, with all its connections, and opened again at the same address.
type listener struct {
	address string
	tls     *tls.Config
	handler http.Handler
	mutex   sync.Mutex
	server  *http.Server
}

func (l *listener) open() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.server != nil {
		return nil
	}
	socket, err := net.Listen("tcp", l.address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: l.handler, TLSConfig: l.tls, ErrorLog: discarded}
	l.server = server
	if l.tls == nil {
		go func() { _ = server.Serve(socket) }()
	} else {
		go func() { _ = server.ServeTLS(socket, "", "") }()
	}
	return nil
}

func (l *listener) close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.server == nil {
		return nil
	}
	err := l.server.Close()
	l.server = nil
	return err
}
