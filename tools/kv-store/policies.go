package main

import (
	"slices"
	"strings"

	"github.com/hashicorp/vault/sdk/logical"
)

// rule is one `path` of a policy: it may end in * (any rest), and have segments that are + (any one segment).
type rule struct {
	Path         string   `json:"path"`
	Capabilities []string `json:"capabilities"`
}

// What a token may do with itself, from the policy that a server gives to every token.
var defaultRules = []rule{
	{"auth/token/lookup-self", []string{"read"}},
	{"auth/token/renew-self", []string{"update"}},
	{"auth/token/revoke-self", []string{"update"}},
}

// The capability that an operation takes.
var capabilityOf = map[logical.Operation]string{
	logical.ReadOperation:   "read",
	logical.ListOperation:   "list",
	logical.CreateOperation: "create",
	logical.UpdateOperation: "update",
	logical.PatchOperation:  "patch",
	logical.DeleteOperation: "delete",
}

// allows says whether the most specific of the rules allows an operation; rules of one path add up, and deny wins.
//
// path: with the namespace before it, as the rules have it.
func allows(rules []rule, operation logical.Operation, path string) bool {
	best := mostSpecific(rules, path)
	if best == "" && operation == logical.ListOperation {
		best = mostSpecific(rules, strings.TrimSuffix(path, "/"))
	}
	capabilities := []string{}
	for _, one := range rules {
		if one.Path == best {
			capabilities = append(capabilities, one.Capabilities...)
		}
	}
	return slices.Contains(capabilities, capabilityOf[operation]) && !slices.Contains(capabilities, "deny")
}

// mostSpecific is the path of the rule that decides; empty = no rule matches.
func mostSpecific(rules []rule, path string) string {
	best := ""
	for _, one := range rules {
		if one.Path == path {
			return path
		}
		if matches(one.Path, path) && (best == "" || compareSpecific(one.Path, best) > 0) {
			best = one.Path
		}
	}
	return best
}

func matches(pattern, path string) bool {
	open := strings.HasSuffix(pattern, "*")
	wanted := strings.Split(strings.TrimSuffix(pattern, "*"), "/")
	segments := strings.Split(path, "/")
	if len(segments) < len(wanted) || (!open && len(segments) != len(wanted)) {
		return false
	}
	for at, segment := range wanted {
		isLast := at == len(wanted)-1
		switch {
		case segment == "+" || segment == segments[at]:
		case open && isLast && strings.HasPrefix(segments[at], segment):
		default:
			return false
		}
	}
	return true
}

// compareSpecific is the server's order of patterns that match one path: a first wildcard further back, no * at the end, fewer
// segments that are +, the longer text, the greater text.
func compareSpecific(one, other string) int {
	firstOf := func(pattern string) int { return strings.IndexAny(pattern+"*", "+*") }
	openOf := func(pattern string) int { return strings.Count(pattern[len(pattern)-1:], "*") }
	for _, difference := range []int{
		firstOf(one) - firstOf(other),
		openOf(other) - openOf(one),
		strings.Count(other, "+") - strings.Count(one, "+"),
		len(one) - len(other),
	} {
		if difference != 0 {
			return difference
		}
	}
	return strings.Compare(one, other)
}
