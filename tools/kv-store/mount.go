package main

import (
	"strings"

	"github.com/hashicorp/vault/sdk/logical"
)

const mountPaths = "sys/internal/ui/mounts/"

// describe says which mount a path is in, to a token that may do anything there.
func (s *store) describe(caller token, in *space, path string) (*logical.Response, error) {
	path = strings.TrimSuffix(path, "/") + "/"
	found, prefix := in.route(path)
	if found == nil || !caller.hasAccess(in.path+prefix) {
		return logical.ErrorResponse(
			"preflight capability check returned 403, please ensure client's policies grant access to path %q", path,
		), logical.ErrPermissionDenied
	}
	return &logical.Response{Data: map[string]any{
		"accessor":    "kv_" + strings.TrimSuffix(prefix, "/"),
		"description": "",
		"options":     map[string]string{"version": s.versions[strings.TrimSuffix(prefix, "/")]},
		"path":        prefix,
		"type":        "kv",
	}}, nil
}

// hasAccess is whether a rule of a token lies below a mount, or matches it, and denies nothing.
func (t token) hasAccess(mount string) bool {
	if t.root {
		return true
	}
	for _, one := range t.rules {
		isThere := strings.HasPrefix(one.Path, mount) || matches(one.Path, mount)
		if isThere && strings.Join(one.Capabilities, "") != "" && !strings.Contains(strings.Join(one.Capabilities, ","), "deny") {
			return true
		}
	}
	return false
}
