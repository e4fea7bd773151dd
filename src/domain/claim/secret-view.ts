// What a Secret shows of the delivery into it, without its data (contract 28.4).
import {
  CLAIM_LABEL,
  DELIVERY_FIELD_MANAGER,
  EXPIRES_ANNOTATION,
  KEY_ID_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TOKEN_ANNOTATION,
} from '../../api/names.ts'
import type { ManagedFieldsEntry, Secret } from '../../api/objects.ts'
import { canonicalJson, entriesPassing, isMap } from '../json/json.ts'
import type { Claim } from './claim.ts'

/** A Secret of a claim, as it was last read. */
export interface SecretView {
  readonly uid: string
  readonly resourceVersion: string
  /** Id of the key that it has, or whose token it has; empty = its annotation is gone. */
  readonly keyID: string
  /** Name of the token that it has; null = it has a key. */
  readonly token: string | null
  /** Annotation `expires`; empty = it is gone. */
  readonly expires: string
  /** Annotation `template`; empty = it is gone. */
  readonly template: string
  /** SHA-256 in hex of the data that our field manager owns: an entry that others have changed is theirs. */
  readonly dataDigest: string
  /** Labels and annotations of the claim's spec that our field manager owns. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Whether the claim owns it, so that it goes with the claim. */
  readonly isOwned: boolean
  /** Whether our field manager has created fields and not applied them: a later apply would not remove them. */
  readonly isCreatedOnly: boolean
}

/** The Secret of a claim. `unknown`: it has to be read. */
export type SecretState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'held'; readonly view: SecretView }

/** The Secret has to be read. */
export const UNKNOWN_SECRET: SecretState = { kind: 'unknown' }

/**
 * The view of a Secret; null = it is not of this claim, and must not be touched.
 *
 * @param sha256 returns the SHA-256 of a text in hex
 */
export function secretViewOf(
  { metadata, data = {} }: Secret,
  claim: Pick<Claim, 'uid'>,
  sha256: (text: string) => string,
): SecretView | null {
  const { labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = metadata
  if (labels[CLAIM_LABEL] !== claim.uid) return null
  const ours = managedFields.filter(({ manager }) => manager === DELIVERY_FIELD_MANAGER)
  const owned = (path: readonly string[]): ReadonlySet<string> => ownedNames(ours, path)
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    keyID: annotations[KEY_ID_ANNOTATION] ?? '',
    token: annotations[TOKEN_ANNOTATION] ?? null,
    expires: annotations[EXPIRES_ANNOTATION] ?? '',
    template: annotations[TEMPLATE_ANNOTATION] ?? '',
    dataDigest: sha256(canonicalJson(only(data, owned(['f:data'])))),
    labels: withoutOurs(only(labels, owned(['f:metadata', 'f:labels']))),
    annotations: withoutOurs(only(annotations, owned(['f:metadata', 'f:annotations']))),
    isOwned: ownerReferences.some(
      ({ uid, controller }) => uid === claim.uid && controller === true,
    ),
    isCreatedOnly: ours.some(({ operation }) => operation !== 'Apply'),
  }
}

/** The data that are ours, in base64, by name: what a later apply has to repeat. */
export function ownedData({ metadata, data = {} }: Secret): Readonly<Record<string, string>> {
  const ours = (metadata.managedFields ?? []).filter(
    ({ manager }) => manager === DELIVERY_FIELD_MANAGER,
  )
  return only(data, ownedNames(ours, ['f:data']))
}

/** The managed fields as if what we have created had been applied: later applies then remove what they no longer name. */
export const asApplied = (
  managedFields: readonly ManagedFieldsEntry[],
): readonly ManagedFieldsEntry[] =>
  managedFields.map((entry) =>
    entry.manager === DELIVERY_FIELD_MANAGER ? { ...entry, operation: 'Apply' } : entry,
  )

function ownedNames(
  entries: readonly ManagedFieldsEntry[],
  path: readonly string[],
): ReadonlySet<string> {
  const names = entries.flatMap(({ fieldsV1 }) => {
    const fields = path.reduce<unknown>(
      (at, name) => (isMap(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      fieldsV1,
    )
    return isMap(fields) ? Object.keys(fields) : []
  })
  return new Set(names.filter((name) => name.startsWith('f:')).map((name) => name.slice(2)))
}

const only = (
  map: Readonly<Record<string, string>>,
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> => entriesPassing(map, (name) => names.has(name))

/** Names of this product that a claim sets in every Secret; others with its group are those that users may set. */
const SET_ALWAYS: ReadonlySet<string> = new Set([
  CLAIM_LABEL,
  KEY_ID_ANNOTATION,
  TOKEN_ANNOTATION,
  EXPIRES_ANNOTATION,
  TEMPLATE_ANNOTATION,
])

const withoutOurs = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  entriesPassing(map, (name) => !SET_ALWAYS.has(name))
