package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/sdk/logical"
)

// The lifetimes that a server has where nothing is configured.
const leaseTTL = 768 * time.Hour

const readyWithin = 10 * time.Second

var system = logical.StaticSystemView{DefaultLeaseTTLVal: leaseTTL, MaxLeaseTTLVal: leaseTTL}

// mount is one KV engine with its storage.
type mount struct {
	logical.Backend
	storage *logical.InmemStorage
	version string
}

// space is a namespace: each has all mounts, with storage of its own.
type space struct {
	// path ends in a slash; that of the root namespace is empty.
	path   string
	mounts map[string]*mount
}

// store is all that a backup holds, and whether it is sealed.
type store struct {
	mutex    sync.RWMutex
	versions map[string]string
	spaces   map[string]*space
	tokens   *tokens
	sealed   bool
}

// newStore has the root namespace and its token.
func newStore(versions map[string]string, rootToken string) (*store, error) {
	made := &store{versions: versions, spaces: map[string]*space{}, tokens: newTokens(rootToken)}
	return made, made.addSpace("")
}

// addSpace creates a namespace, and those above it; one that is there stays as it is.
func (s *store) addSpace(path string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, one := range append(above(path), path) {
		if s.spaces[one] != nil {
			continue
		}
		made, err := newSpace(one, s.versions, func(string) contents { return nil })
		if err != nil {
			return err
		}
		s.spaces[one] = made
	}
	return nil
}

// above are the paths of the namespaces around one: "" and "a/" for "a/b/".
func above(path string) []string {
	paths := []string{}
	for at := range path {
		if at == 0 || path[at-1] == '/' {
			paths = append(paths, path[:at])
		}
	}
	return paths
}

// resolve finds the namespace that header and path name, and the rest of the path. @returns nil without such a namespace
func (s *store) resolve(header, path string) (*space, string) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	found := s.spaces[canonical(header)]
	if found == nil {
		return nil, path
	}
	for {
		segment, rest, more := strings.Cut(path, "/")
		child := s.spaces[found.path+segment+"/"]
		if !more || child == nil {
			return found, path
		}
		found, path = child, rest
	}
}

// canonical is "a/b/" for "/a/b".
func canonical(path string) string {
	if trimmed := strings.Trim(path, "/"); trimmed != "" {
		return trimmed + "/"
	}
	return ""
}

// route finds the mount of a path. @returns nil without one
func (s *space) route(path string) (found *mount, prefix string) {
	for at, one := range s.mounts {
		if strings.HasPrefix(path, at+"/") && len(at) >= len(prefix) {
			found, prefix = one, at+"/"
		}
	}
	return found, prefix
}

// contents are the entries of a mount's storage.
type contents map[string][]byte

func newSpace(path string, versions map[string]string, contentsOf func(mount string) contents) (*space, error) {
	made := &space{path: path, mounts: map[string]*mount{}}
	for at, version := range versions {
		one, err := newMount(at, version, contentsOf(at))
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", at, err)
		}
		made.mounts[at] = one
	}
	return made, nil
}

func newMount(at, version string, holding contents) (*mount, error) {
	ctx := context.Background()
	storage := &logical.InmemStorage{}
	for key, value := range holding {
		if err := storage.Put(ctx, &logical.StorageEntry{Key: key, Value: value}); err != nil {
			return nil, err
		}
	}
	backend, err := kv.Factory(ctx, &logical.BackendConfig{
		StorageView: storage,
		System:      system,
		Logger:      hclog.NewNullLogger(),
		Config:      map[string]string{"version": version},
		// It is the first part of each key in the storage, thus the same after a restore.
		BackendUUID: at,
	})
	if err != nil {
		return nil, err
	}
	made := &mount{Backend: backend, storage: storage, version: version}
	return made, made.ready(ctx, version)
}

// ready waits for version 2, which prepares its storage on its own.
func (m *mount) ready(ctx context.Context, version string) error {
	if version == "1" {
		return nil
	}
	for end := time.Now().Add(readyWithin); time.Now().Before(end); time.Sleep(time.Millisecond) {
		request := &logical.Request{Operation: logical.ReadOperation, Path: "config", Storage: m.storage}
		if answer, err := m.HandleRequest(ctx, request); err == nil && !answer.IsError() {
			return nil
		}
	}
	return errors.New("it does not become ready")
}

// backup is the store at one moment.
type backup struct {
	spaces map[string]map[string]contents
	tokens *tokens
}

func (s *store) backup(ctx context.Context) (*backup, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	made := &backup{spaces: map[string]map[string]contents{}, tokens: s.tokens.copied()}
	for path, one := range s.spaces {
		made.spaces[path] = map[string]contents{}
		for at, m := range one.mounts {
			held, err := entries(ctx, m.storage)
			if err != nil {
				return nil, err
			}
			made.spaces[path][at] = held
		}
	}
	return made, nil
}

func entries(ctx context.Context, storage logical.Storage) (contents, error) {
	keys, err := logical.CollectKeys(ctx, storage)
	if err != nil {
		return nil, err
	}
	held := contents{}
	for _, key := range keys {
		entry, err := storage.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		held[key] = slices.Clone(entry.Value)
	}
	return held, nil
}

// restore makes the store what it was: what was written since, tokens too, is gone.
func (s *store) restore(from *backup) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	spaces := map[string]*space{}
	for path, held := range from.spaces {
		made, err := newSpace(path, s.versions, func(at string) contents { return maps.Clone(held[at]) })
		if err != nil {
			return err
		}
		spaces[path] = made
	}
	s.spaces = spaces
	s.tokens.become(from.tokens)
	return nil
}

func (s *store) isSealed() bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.sealed
}

func (s *store) seal(sealed bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sealed = sealed
}
