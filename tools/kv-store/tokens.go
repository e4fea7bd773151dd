package main

import (
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/vault/sdk/framework"
	"github.com/hashicorp/vault/sdk/logical"
)

// token is what a server keeps of one.
type token struct {
	id, accessor string
	// namespace is where it was made: it may do nothing outside it.
	namespace string
	root      bool
	policies  []string
	// rules have the namespace before their paths.
	rules                         []rule
	creationTTL, period, maxTTL   time.Duration
	renewable                     bool
	created, expires, lastRenewal time.Time
}

// tokens holds them by id; an expired one is none.
type tokens struct {
	mutex sync.Mutex
	byID  map[string]token
}

func newTokens(rootID string) *tokens {
	root := token{id: rootID, accessor: rand.Text(), root: true, policies: []string{"root"}, created: time.Now()}
	return &tokens{byID: map[string]token{rootID: root}}
}

func (t *tokens) find(id string) (token, bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found, ok := t.byID[id]
	return found, ok && (found.expires.IsZero() || time.Now().Before(found.expires))
}

func (t *tokens) put(one token) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.byID[one.id] = one
}

func (t *tokens) revoke(id string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.byID, id)
}

func (t *tokens) copied() *tokens {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return &tokens{byID: maps.Clone(t.byID)}
}

func (t *tokens) become(other *tokens) {
	held := other.copied().byID
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.byID = held
}

// wantedToken is what a test asks for. Times are in seconds; 0 = the server's default, or no such limit.
type wantedToken struct {
	Namespace       string `json:"namespace"`
	Rules           []rule `json:"rules"`
	TTL             int    `json:"ttl"`
	Period          int    `json:"period"`
	ExplicitMaxTTL  int    `json:"explicitMaxTtl"`
	Renewable       bool   `json:"renewable"`
	NoDefaultPolicy bool   `json:"noDefaultPolicy"`
}

// newToken has a policy of its own, called "test", beside the one that every token gets.
func newToken(wanted wantedToken) (token, error) {
	made := token{
		id:        "hvs." + rand.Text(),
		accessor:  rand.Text(),
		namespace: canonical(wanted.Namespace),
		policies:  []string{"default", "test"},
		period:    seconds(wanted.Period),
		maxTTL:    seconds(wanted.ExplicitMaxTTL),
		renewable: wanted.Renewable,
		created:   time.Now(),
	}
	rules := wanted.Rules
	if wanted.NoDefaultPolicy {
		made.policies = []string{"test"}
	} else {
		rules = append(rules, defaultRules...)
	}
	for _, one := range rules {
		made.rules = append(made.rules, rule{made.namespace + one.Path, one.Capabilities})
	}
	ttl, _, err := framework.CalculateTTL(system, 0, seconds(wanted.TTL), made.period, 0, made.maxTTL, made.created)
	made.creationTTL = ttl
	made.expires = made.created.Add(ttl)
	return made, err
}

func seconds(count int) time.Duration { return time.Duration(count) * time.Second }

// lookup is the answer to lookup-self.
func (t token) lookup() *logical.Response {
	data := map[string]any{
		"id":               t.id,
		"accessor":         t.accessor,
		"policies":         t.policies,
		"path":             "auth/token/create",
		"meta":             nil,
		"display_name":     "token",
		"num_uses":         0,
		"orphan":           true,
		"creation_time":    t.created.Unix(),
		"creation_ttl":     int64(t.creationTTL.Seconds()),
		"expire_time":      nil,
		"ttl":              int64(0),
		"explicit_max_ttl": int64(t.maxTTL.Seconds()),
		"entity_id":        "",
		"type":             "service",
	}
	if t.root {
		data["path"], data["display_name"] = "auth/token/root", "root"
		return &logical.Response{Data: data}
	}
	if t.period > 0 {
		data["period"] = int64(t.period.Seconds())
	}
	if t.namespace != "" {
		data["namespace_path"] = t.namespace
	}
	if !t.lastRenewal.IsZero() {
		data["last_renewal"], data["last_renewal_time"] = t.lastRenewal, t.lastRenewal.Unix()
	}
	data["expire_time"] = t.expires
	data["ttl"] = int64(t.expires.Sub(time.Now().Round(time.Second)).Seconds())
	data["renewable"] = t.renewable
	data["issue_time"] = t.created
	return &logical.Response{Data: data}
}

// renew answers renew-self. increment: 0 = as long as before.
func (t *tokens) renew(one token, increment time.Duration) (*logical.Response, error) {
	if !one.renewable {
		return logical.ErrorResponse("lease is not renewable"), logical.ErrInvalidRequest
	}
	ttl, warnings, err := framework.CalculateTTL(system, increment, one.creationTTL, one.period, 0, one.maxTTL, one.created)
	if err != nil {
		return nil, err
	}
	one.lastRenewal = time.Now()
	one.expires = one.lastRenewal.Add(ttl)
	t.put(one)
	return &logical.Response{Warnings: warnings, Auth: &logical.Auth{
		LeaseOptions:  logical.LeaseOptions{TTL: ttl, Renewable: true},
		ClientToken:   one.id,
		Accessor:      one.accessor,
		Policies:      one.policies,
		TokenPolicies: one.policies,
		TokenType:     logical.TokenTypeService,
		Orphan:        true,
	}}, nil
}
