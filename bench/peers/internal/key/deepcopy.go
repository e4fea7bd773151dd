// The copies of the types, as kubebuilder would generate them.
package key

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto copies the key into another.
func (in *OwnedAccessKey) DeepCopyInto(out *OwnedAccessKey) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Groups = slices.Clone(in.Spec.Groups)
	out.Spec.Scope = in.Spec.Scope.DeepCopy()
	out.Spec.OIDCProvider = in.Spec.OIDCProvider.DeepCopy()
	out.Spec.Identity = in.Spec.Identity.DeepCopy()
	out.Spec.OIDCLogin = in.Spec.OIDCLogin.DeepCopy()
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyInto copies the status into another.
func (in *Status) DeepCopyInto(out *Status) {
	*out = *in
	out.ExpirationTimestamp = in.ExpirationTimestamp.DeepCopy()
	out.RemovalTimestamp = in.RemovalTimestamp.DeepCopy()
	// A condition has no pointers.
	out.Conditions = slices.Clone(in.Conditions)
}

// DeepCopyObject copies the key.
func (in *OwnedAccessKey) DeepCopyObject() runtime.Object {
	out := &OwnedAccessKey{}
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject copies the list.
func (in *OwnedAccessKeyList) DeepCopyObject() runtime.Object {
	out := &OwnedAccessKeyList{TypeMeta: in.TypeMeta, Items: make([]OwnedAccessKey, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
