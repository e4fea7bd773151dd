// Package key has the OwnedAccessKey as its CRD defines it, and what the product writes to one: the finalizer with
// the time of its creation, and its status. All programs here take both from this file, so that they store alike
// objects.
package key

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Kind is that of an access key.
	Kind = "OwnedAccessKey"
	// Path is where the API server has the access keys.
	Path = "/apis/management.platform.sh/v1/ownedaccesskeys"
	// Finalizer keeps a deleted key until the operator has taken it off.
	Finalizer = "management.platform.sh/revoke"
	// CreatedAnnotation has the time of creation, which a restore from a backup does not change.
	CreatedAnnotation = "management.platform.sh/created"

	longest   = 30 * 24 * time.Hour
	retention = 24 * time.Hour
)

// GroupVersion is that of the product's kinds.
var GroupVersion = schema.GroupVersion{Group: "management.platform.sh", Version: "v1"}

// OwnedAccessKey is a bearer credential.
type OwnedAccessKey struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Spec has every field of the CRD: a full update with fewer would remove the others.
type Spec struct {
	DisplayName          string                `json:"displayName,omitempty"`
	Description          string                `json:"description,omitempty"`
	User                 string                `json:"user,omitempty"`
	Team                 string                `json:"team,omitempty"`
	Subject              string                `json:"subject,omitempty"`
	Groups               []string              `json:"groups,omitempty"`
	Key                  string                `json:"key,omitempty"`
	Disabled             bool                  `json:"disabled,omitempty"`
	TTL                  int64                 `json:"ttl,omitempty"`
	TTLAfterLastActivity bool                  `json:"ttlAfterLastActivity,omitempty"`
	Scope                *runtime.RawExtension `json:"scope,omitempty"`
	Type                 string                `json:"type,omitempty"`
	Parent               string                `json:"parent,omitempty"`
	OIDCProvider         *runtime.RawExtension `json:"oidcProvider,omitempty"`
	IdentityRefresh      string                `json:"identityRefresh,omitempty"`
	Identity             *runtime.RawExtension `json:"identity,omitempty"`
	OIDCLogin            *runtime.RawExtension `json:"oidcLogin,omitempty"`
}

// Status is what the operator publishes. The gateway writes LastActivity.
type Status struct {
	ExpirationTimestamp *metav1.Time       `json:"expirationTimestamp,omitempty"`
	RemovalTimestamp    *metav1.Time       `json:"removalTimestamp,omitempty"`
	EffectiveTTLSeconds int64              `json:"effectiveTTLSeconds,omitempty"`
	KeyID               string             `json:"keyID,omitempty"`
	Identity            string             `json:"identity,omitempty"`
	LastActivity        string             `json:"lastActivity,omitempty"`
	ObservedGeneration  int64              `json:"observedGeneration,omitempty"`
	Conditions          []metav1.Condition `json:"conditions,omitempty"`
}

// OwnedAccessKeyList is a list of keys.
type OwnedAccessKeyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OwnedAccessKey `json:"items"`
}

// AddToScheme makes the types known to a client.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &OwnedAccessKey{}, &OwnedAccessKeyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Adopt sets what the product writes first.
func Adopt(key *OwnedAccessKey) {
	if key.Annotations == nil {
		key.Annotations = map[string]string{}
	}
	if key.Annotations[CreatedAnnotation] == "" {
		key.Annotations[CreatedAnnotation] = key.CreationTimestamp.UTC().Format(time.RFC3339)
	}
	key.Finalizers = append(key.Finalizers, Finalizer)
}

// IsAdopted tells whether Adopt's write has been done.
func IsAdopted(key *OwnedAccessKey) bool {
	return slices.Contains(key.Finalizers, Finalizer)
}

// Release takes the finalizer off.
func Release(key *OwnedAccessKey) {
	key.Finalizers = slices.DeleteFunc(key.Finalizers, func(one string) bool { return one == Finalizer })
}

// StatusOf is the status to publish, and when it has to be looked at again: at the key's end, then at its removal.
// The zero time means never.
func StatusOf(key *OwnedAccessKey, now time.Time) (Status, time.Time) {
	status := Status{
		KeyID:              IDOf(key),
		Identity:           identityOf(key.Spec),
		LastActivity:       key.Status.LastActivity,
		ObservedGeneration: key.Generation,
	}
	expires, message := lifetimeOf(key, &status)
	next := expires
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Active", Message: message}
	hasExpired := !expires.IsZero() && !now.Before(expires)
	if hasExpired {
		removal := metav1.NewTime(expires.Add(retention))
		status.RemovalTimestamp = &removal
		next = removal.Time
		ready.Status, ready.Reason = metav1.ConditionFalse, "Expired"
		ready.Message = fmt.Sprintf("The key expired %s, %d s after its creation; it is deleted %s.",
			text(expires), status.EffectiveTTLSeconds, text(next))
	}
	status.Conditions = []metav1.Condition{ready}
	if hasExpired {
		stalled := ready
		stalled.Type, stalled.Status = "Stalled", metav1.ConditionTrue
		status.Conditions = append(status.Conditions, stalled)
	}
	withTimes(status.Conditions, key, now)
	return status, next
}

func lifetimeOf(key *OwnedAccessKey, status *Status) (time.Time, string) {
	if key.Spec.TTL == 0 {
		return time.Time{}, "The key works and never expires."
	}
	start := key.CreationTimestamp.Time
	if first, err := time.Parse(time.RFC3339, key.Annotations[CreatedAnnotation]); err == nil && first.Before(start) {
		start = first
	}
	status.EffectiveTTLSeconds = min(key.Spec.TTL, int64(longest/time.Second))
	expires := metav1.NewTime(start.Add(time.Duration(status.EffectiveTTLSeconds) * time.Second))
	status.ExpirationTimestamp = &expires
	return expires.Time, fmt.Sprintf("The key works until %s, %d s after its creation.",
		text(expires.Time), status.EffectiveTTLSeconds)
}

// The time of a condition changes only with its status.
func withTimes(conditions []metav1.Condition, key *OwnedAccessKey, now time.Time) {
	for i := range conditions {
		one := &conditions[i]
		one.ObservedGeneration = key.Generation
		one.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		for _, was := range key.Status.Conditions {
			if was.Type == one.Type && was.Status == one.Status {
				one.LastTransitionTime = was.LastTransitionTime
			}
		}
	}
}

func text(at time.Time) string {
	return at.UTC().Format(time.RFC3339)
}

// IDOf names a key in logs without showing it.
func IDOf(object *OwnedAccessKey) string {
	key := object.Spec.Key
	if key == "" {
		return ""
	}
	if digest, found := strings.CutPrefix(key, "sha256:"); found {
		return digest[:16]
	}
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:8])
}

func identityOf(spec Spec) string {
	switch {
	case spec.User != "":
		return "user:" + spec.User
	case spec.Team != "":
		return "team:" + spec.Team
	case spec.Subject != "":
		return "subject:" + spec.Subject
	}
	return ""
}
