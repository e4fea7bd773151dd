// Metadata, conditions and core kinds of Kubernetes, with the fields that this program reads or writes.

/** A reference from a dependent to its owner (specification, "ownerReferences entry"). */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** Which fields a manager owns; `fieldsV1` is a tree of `f:name`, `k:{...}`, `v:...` and `.`. */
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: 'Apply' | 'Update'
  readonly subresource?: string
  readonly fieldsV1?: Readonly<Record<string, unknown>>
}

/** Metadata of an object; times are RFC 3339 strings. The API server always sets name, uid and resourceVersion. */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly managedFields?: readonly ManagedFieldsEntry[]
}

/** Metadata of an object of a namespaced kind. */
interface NamespacedMeta extends ObjectMeta {
  readonly namespace: string
}

/** metav1.Condition: one observation about an object, keyed by type. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/** Any object as the API server sends it. */
export interface KubeObject<Spec = unknown, Status = unknown> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: Spec
  readonly status?: Status
}

/** A core ConfigMap. */
export interface ConfigMap extends KubeObject {
  readonly metadata: NamespacedMeta
  readonly data?: Readonly<Record<string, string>>
}

/** A core Secret; values are base64. */
export interface Secret extends KubeObject {
  readonly metadata: NamespacedMeta
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}

/** Texts or bytes as the data of a Secret. */
export const secretData = (
  texts: Readonly<Record<string, string | Buffer>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )

/** The text of a data key; bytes that are no UTF-8 are replaced. null = the Secret is absent, or has no such key. */
export function secretText(secret: Pick<Secret, 'data'> | undefined, key: string): string | null {
  const base64 = secret?.data?.[key]
  return base64 === undefined ? null : Buffer.from(base64, 'base64').toString('utf8')
}
