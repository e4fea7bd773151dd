// What a Secret asks of the secret store, and which Secrets may ask (contract 36.2).
import { ACCESS_KEY_CLAIMS, CLAIM_LABEL, GROUP } from '../../api/names.ts'
import {
  SECRET_STORE_LABEL,
  SECRET_STORE_PATH_ANNOTATION,
  SECRET_STORE_VERSION_ANNOTATION,
} from '../../api/secret-store-names.ts'
import type { ObjectMeta, Secret } from '../../api/objects.ts'

/** `Pull` = the entry's data go into the Secret, `Push` = the Secret's data go into the store. */
export type StoreDirection = 'Pull' | 'Push'

/** The entry that a Secret asks for. */
export interface StoreRequest {
  readonly direction: StoreDirection
  /** `<project>/<path>`, below the mount: a project reaches nothing but its own part. */
  readonly path: string
  /** Version of the store's key-value engine. */
  readonly engine: 1 | 2
}

/** A request, or why a Secret has none: a sentence that says what would be right. */
type StoreRequestOutcome =
  | { readonly ok: true; readonly request: StoreRequest }
  | { readonly ok: false; readonly fault: string }

const refused = (fault: string): StoreRequestOutcome => ({ ok: false, fault })

/** The project of a namespace; null = it belongs to none. */
export const projectOf = (namespace: string, prefix: string): string | null =>
  namespace.startsWith(prefix) && namespace.length > prefix.length
    ? namespace.slice(prefix.length)
    : null

/** The request in the label and the annotations of a Secret. */
export function storeRequestOf(
  { name, labels = {}, annotations = {} }: Pick<ObjectMeta, 'name' | 'labels' | 'annotations'>,
  project: string,
): StoreRequestOutcome {
  const direction = labels[SECRET_STORE_LABEL]
  if (direction !== 'Pull' && direction !== 'Push')
    return refused(`Label ${SECRET_STORE_LABEL} is neither Pull nor Push.`)
  const version = annotations[SECRET_STORE_VERSION_ANNOTATION] ?? '2'
  if (version !== '1' && version !== '2')
    return refused(`Annotation ${SECRET_STORE_VERSION_ANNOTATION} is neither 1 nor 2.`)
  const engine = version === '1' ? 1 : 2
  if (engine === 1 && direction === 'Push')
    return refused(
      'A Secret is pushed to version 2 only, which has check-and-set: leave the version out.',
    )
  if (engine === 1 && API_OF_VERSION_2.has(project))
    return refused(`Version 1 has no project ${project}: the name stands for others in version 2.`)
  const path = annotations[SECRET_STORE_PATH_ANNOTATION] ?? name
  const fault = pathFault(path)
  return fault === null
    ? { ok: true, request: { direction, path: `${project}/${path}`, engine } }
    : refused(`Annotation ${SECRET_STORE_PATH_ANNOTATION} ${fault}.`)
}

/** What a request is read from. */
type RequestMeta = Pick<ObjectMeta, 'uid' | 'labels' | 'annotations'>

/** Whether two readings are of the same Secret, which asks for the same. */
export const isSameRequest = (one: RequestMeta, other: RequestMeta): boolean =>
  one.uid === other.uid &&
  one.labels?.[SECRET_STORE_LABEL] === other.labels?.[SECRET_STORE_LABEL] &&
  [SECRET_STORE_PATH_ANNOTATION, SECRET_STORE_VERSION_ANNOTATION].every(
    (name) => one.annotations?.[name] === other.annotations?.[name],
  )

/** First segments below a mount of version 2: read as version 1, they would lead to the entries of all projects. */
export const API_OF_VERSION_2: ReadonlySet<string> = new Set([
  'config',
  'data',
  'delete',
  'destroy',
  'detailed-metadata',
  'metadata',
  'subkeys',
  'undelete',
])

/** Characters of a path below its project. */
export const LONGEST_PATH = 512
const SEGMENT = /^[A-Za-z0-9._-]+$/

/** Why a text can't be a path in the store, as a clause; null = it is one. */
export function pathFault(path: string): string | null {
  if (path.length > LONGEST_PATH) return `has more than ${LONGEST_PATH} characters`
  const isPath = path
    .split('/')
    .every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..')
  return isPath
    ? null
    : 'cannot be a path: write names of letters, digits, ".", "_" and "-" with "/" between them, none of them "." or ".."'
}

/** Types of which others make something of their own, or that we make. */
const REFUSED_TYPES: readonly string[] = [
  'bootstrap.kubernetes.io/token',
  'helm.sh/release.v1',
  'kubernetes.io/service-account-token',
]

const OPEN_LABELS: readonly string[] = [CLAIM_LABEL, SECRET_STORE_LABEL]

/** Why a Secret is not synced whatever it asks for, as a sentence; null = it may be (contract 36.4). */
export function secretFault(
  { type = '', metadata }: Pick<Secret, 'type' | 'metadata'>,
  direction: StoreDirection,
): string | null {
  if (REFUSED_TYPES.includes(type) || type.includes(GROUP))
    return `A Secret of type ${type} is not synced with the store.`
  const { labels = {} } = metadata
  const ours = Object.keys(labels).find(
    (name) => name.includes(GROUP) && !OPEN_LABELS.includes(name),
  )
  if (ours !== undefined) return `A Secret with label ${ours} is not synced with the store.`
  return direction === 'Pull' && isOfClaim(metadata)
    ? 'The Secret of a claim has the data of its claim: it can be pushed, not pulled.'
    : null
}

/** Whether a claim delivers into the Secret; one that lost its label is still the claim's, which puts the label back. */
const isOfClaim = ({ labels = {}, ownerReferences = [] }: ObjectMeta): boolean =>
  labels[CLAIM_LABEL] !== undefined ||
  ownerReferences.some(
    ({ kind, apiVersion }) => kind === ACCESS_KEY_CLAIMS.kind && apiVersion.startsWith(`${GROUP}/`),
  )
