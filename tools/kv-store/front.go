package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/hashicorp/go-secure-stdlib/parseutil"
	"github.com/hashicorp/vault/sdk/helper/jsonutil"
	"github.com/hashicorp/vault/sdk/logical"
)

const (
	// The server's own bound of a body.
	maxBodyBytes = 32 << 20
	tokenPaths   = "auth/token/"
	mountPaths   = "sys/internal/ui/mounts/"
	mergePatch   = "application/merge-patch+json"
)

// newFront serves /v1/ as the server around the engine does.
func newFront(store *store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		request, code, err := requestOf(r)
		if code != 0 {
			logical.RespondError(w, code, err)
			return
		}
		answer, err := store.handle(r, request)
		respond(w, request, answer, err)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		logical.RespondError(w, http.StatusNotFound, nil)
	})
	return mux
}

// requestOf is the request as engines get it. code: 0, or that of the refusal.
func requestOf(r *http.Request) (request *logical.Request, code int, err error) {
	request = &logical.Request{Path: strings.TrimPrefix(r.URL.Path, "/v1/"), Headers: r.Header.Clone()}
	request.ID = newID()
	switch r.Method {
	case http.MethodGet, "LIST":
		return listing(r, request)
	case http.MethodDelete:
		request.Operation, request.Data = logical.DeleteOperation, parameters(r)
		return request, 0, nil
	case http.MethodPost, http.MethodPut:
		request.Operation = logical.UpdateOperation
	case http.MethodPatch:
		request.Operation = logical.PatchOperation
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != mergePatch {
			return nil, http.StatusUnsupportedMediaType, fmt.Errorf("PATCH requires Content-Type of %s, provided %s", mergePatch, kind)
		}
	default:
		return nil, http.StatusMethodNotAllowed, nil
	}
	if err := jsonutil.DecodeJSONFromReader(r.Body, &request.Data); err != nil && !errors.Is(err, io.EOF) {
		return nil, http.StatusBadRequest, fmt.Errorf("failed to parse JSON input: %w", err)
	}
	return request, 0, nil
}

// listing reads GET, which lists where the query says so, and LIST.
func listing(r *http.Request, request *logical.Request) (*logical.Request, int, error) {
	request.Operation, request.Data = logical.ReadOperation, parameters(r)
	list := r.Method == "LIST"
	if text := r.URL.Query().Get("list"); text != "" && !list {
		var err error
		if list, err = strconv.ParseBool(text); err != nil {
			return nil, http.StatusBadRequest, nil
		}
		delete(request.Data, "list")
	}
	if list {
		request.Operation = logical.ListOperation
		request.Path = strings.TrimSuffix(request.Path, "/") + "/"
	}
	return request, 0, nil
}

func parameters(r *http.Request) map[string]any {
	data := map[string]any{}
	for name, values := range r.URL.Query() {
		data[name] = values[0]
	}
	return data
}

// handle checks the token and the policy, and asks the engine.
func (s *store) handle(r *http.Request, request *logical.Request) (*logical.Response, error) {
	if isRelative(request.Path) {
		return nil, logical.CodedError(http.StatusBadRequest, logical.ErrRelativePath.Error())
	}
	in, path := s.resolve(r.Header.Get("X-Vault-Namespace"), request.Path)
	if in == nil {
		return nil, logical.CodedError(http.StatusNotFound, "namespace not found")
	}
	if strings.HasSuffix(path, "/") && (request.Operation == logical.UpdateOperation || request.Operation == logical.PatchOperation) {
		return logical.ErrorResponse("cannot write to a path ending in '/'"), nil
	}
	caller, ok := s.tokens.find(tokenOf(r))
	if !ok {
		return nil, logical.ErrPermissionDenied
	}
	if own, isOwn := strings.CutPrefix(path, tokenPaths); isOwn {
		return s.handleOwn(caller, request, own)
	}
	if asked, isMount := strings.CutPrefix(path, mountPaths); isMount && request.Operation == logical.ReadOperation {
		return in.describe(caller, asked)
	}
	// The path and policies of a token say the namespace, to which its engine is blind.
	whole := in.path + path
	found, prefix := in.route(path)
	request.Path, request.MountPoint, request.MountType = strings.TrimPrefix(path, prefix), prefix, "kv"
	if found != nil {
		request.Storage = found.storage
		if err := found.nameOperation(r, request); err != nil {
			return logical.ErrorResponse(err.Error()), logical.ErrInvalidRequest
		}
	}
	if !caller.may(request.Operation, whole) {
		return nil, multierror.Append(nil, logical.ErrPermissionDenied)
	}
	if found == nil {
		return logical.ErrorResponse("no handler for route %q. route entry not found.", path), logical.ErrUnsupportedPath
	}
	answer, err := found.HandleRequest(r.Context(), request)
	if answer != nil {
		answer.MountType = "kv"
	}
	return answer, err
}

// describe says which engine a path leads to, to tokens that may do anything there.
func (s *space) describe(caller token, path string) (*logical.Response, error) {
	found, prefix := s.route(strings.TrimSuffix(path, "/") + "/")
	if found == nil || !caller.reaches(s.path+prefix) {
		return nil, logical.CodedError(http.StatusForbidden, fmt.Sprintf("preflight capability check returned 403, please ensure client's policies grant access to path %q", path))
	}
	return &logical.Response{Data: map[string]any{
		"path":    prefix,
		"type":    "kv",
		"options": map[string]string{"version": found.version},
	}}, nil
}

// nameOperation makes an update of what is not there a creation: policies tell them apart.
func (m *mount) nameOperation(r *http.Request, request *logical.Request) error {
	if request.Operation != logical.UpdateOperation {
		return nil
	}
	asked, exists, err := m.HandleExistenceCheck(r.Context(), request)
	if asked && !exists && err == nil {
		request.Operation = logical.CreateOperation
	}
	if errors.Is(err, logical.ErrUnsupportedPath) {
		return nil
	}
	return err
}

func (t token) may(operation logical.Operation, path string) bool {
	return t.root || (strings.HasPrefix(path, t.namespace) && allows(t.rules, operation, path))
}

// reaches says whether a rule of the token is for something below a mount.
func (t token) reaches(mount string) bool {
	return t.root || slices.ContainsFunc(t.rules, func(one rule) bool {
		return strings.HasPrefix(one.Path, mount) && !slices.Contains(one.Capabilities, "deny")
	})
}

// handleOwn serves what a token may ask about itself, in whatever namespace it asks.
func (s *store) handleOwn(caller token, request *logical.Request, path string) (*logical.Response, error) {
	if !caller.may(request.Operation, caller.namespace+tokenPaths+path) {
		return nil, multierror.Append(nil, logical.ErrPermissionDenied)
	}
	switch {
	case path == "lookup-self" && request.Operation == logical.ReadOperation:
		return caller.lookup(), nil
	case path == "renew-self" && request.Operation == logical.UpdateOperation:
		increment, err := parseutil.ParseDurationSecond(request.Data["increment"])
		if err != nil {
			return logical.ErrorResponse("Field validation failed: error converting input for field \"increment\": %v", err), nil
		}
		return s.tokens.renew(caller, increment.Truncate(time.Second))
	case path == "revoke-self" && request.Operation == logical.UpdateOperation:
		s.tokens.revoke(caller.id)
		return nil, nil
	}
	return nil, logical.ErrUnsupportedPath
}

func tokenOf(r *http.Request) string {
	if id := r.Header.Get("X-Vault-Token"); id != "" {
		return id
	}
	id, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return id
}

func isRelative(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// respond writes an answer, an error, or both, as the server does.
func respond(w http.ResponseWriter, request *logical.Request, answer *logical.Response, err error) {
	code, err := logical.RespondErrorCommon(request, answer, err)
	switch {
	case code != 0 && answer != nil && answer.Data["data"] != nil:
		logical.RespondErrorAndData(w, code, answer.Data["data"], err)
	case code != 0:
		logical.RespondError(w, code, err)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	case answer.Data[logical.HTTPStatusCode] != nil:
		respondRaw(w, answer.Data)
	default:
		body := logical.LogicalResponseToHTTPResponse(answer)
		body.RequestID = request.ID
		writeJSON(w, http.StatusOK, body)
	}
}

// respondRaw writes what the engine wrote itself: metadata that come with a 404.
func respondRaw(w http.ResponseWriter, data map[string]any) {
	if kind, ok := data[logical.HTTPContentType].(string); ok {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(data[logical.HTTPStatusCode].(int))
	switch body := data[logical.HTTPRawBody].(type) {
	case []byte:
		_, _ = w.Write(body)
	case string:
		_, _ = io.WriteString(w, body)
	}
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
