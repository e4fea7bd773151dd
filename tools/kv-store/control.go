package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-uuid"
)

var discarded = log.New(io.Discard, "", 0)

// newControl serves the test, by http on an address of its own:
//
//	/v1/...                     the store's own API, past all faults, the seal, and the list of requests
//	POST /tokens                makes a token: wantedToken -> {"token"}
//	POST /tokens/expire         {"token"}: its life ends now
//	POST /namespaces            {"path"}
//	PUT  /sealed                {"on"}
//	PUT  /listening             {"on"}: whether the store's address takes connections; off breaks those that are
//	PUT  /fault                 fault
//	POST /requests/take         the list of requests since the last call
//	POST /backups               -> {"backup"}
//	POST /backups/restore       {"backup"}
func newControl(store *store, front http.Handler, faults *faults, seen *requests, public *listener) http.Handler {
	kept := &backups{}
	mux := http.NewServeMux()
	mux.Handle("/v1/", front)
	handle(mux, "POST /tokens", func(_ *http.Request, wanted wantedToken) (any, error) {
		made, err := newToken(wanted)
		if err == nil {
			store.tokens.put(made)
		}
		return named{Token: made.id}, err
	})
	handle(mux, "POST /tokens/expire", func(_ *http.Request, given named) (any, error) {
		found, ok := store.tokens.find(given.Token)
		if !ok {
			return nil, fmt.Errorf("there is no such token")
		}
		found.expires = time.Now()
		store.tokens.put(found)
		return nil, nil
	})
	handle(mux, "POST /namespaces", func(_ *http.Request, given named) (any, error) {
		return nil, store.addSpace(canonical(given.Path))
	})
	handle(mux, "PUT /sealed", func(_ *http.Request, given named) (any, error) {
		store.seal(given.On)
		return nil, nil
	})
	handle(mux, "PUT /listening", func(_ *http.Request, given named) (any, error) {
		if given.On {
			return nil, public.open()
		}
		return nil, public.close()
	})
	handle(mux, "PUT /fault", func(_ *http.Request, next fault) (any, error) {
		faults.become(next)
		return nil, nil
	})
	handle(mux, "POST /requests/take", func(*http.Request, struct{}) (any, error) { return seen.take(), nil })
	handle(mux, "POST /backups", func(r *http.Request, _ struct{}) (any, error) {
		made, err := store.backup(r.Context())
		return named{Backup: kept.add(made)}, err
	})
	handle(mux, "POST /backups/restore", func(_ *http.Request, given named) (any, error) {
		found, err := kept.get(given.Backup)
		if err != nil {
			return nil, err
		}
		return nil, store.restore(found)
	})
	return mux
}

// named has what a call of the test names.
type named struct {
	Token  string `json:"token,omitempty"`
	Path   string `json:"path,omitempty"`
	On     bool   `json:"on,omitempty"`
	Backup int    `json:"backup"`
}

// handle serves calls with a JSON body; an error is a 400 with its text.
func handle[Body any](mux *http.ServeMux, pattern string, act func(*http.Request, Body) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var body Body
		err := json.NewDecoder(r.Body).Decode(&body)
		if err == nil {
			var answer any
			if answer, err = act(r, body); err == nil {
				writeJSON(w, http.StatusOK, answer)
				return
			}
		}
		http.Error(w, err.Error(), http.StatusBadRequest)
	})
}

// backups are numbered from 0.
type backups struct {
	mutex sync.Mutex
	list  []*backup
}

func (b *backups) add(one *backup) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.list = append(b.list, one)
	return len(b.list) - 1
}

func (b *backups) get(number int) (*backup, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if number < 0 || number >= len(b.list) || b.list[number] == nil {
		return nil, fmt.Errorf("there is no backup %d", number)
	}
	return b.list[number], nil
}

func newID() string {
	id, err := uuid.GenerateUUID()
	if err != nil {
		panic(err)
	}
	return id
}
