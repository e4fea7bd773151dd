// What a client sends to change an object, and what is sent on for it (contract 12.4, 12.5).
import { API_VERSION, CONFIGS, type Resource } from '../../api/names.ts'
import { type Json, type JsonMap, isMap } from '../../domain/json/json.ts'
import {
  type FieldPath,
  nestedField,
  nestedString,
  setNestedField,
} from '../../domain/json/nested-fields.ts'
import { failure } from '../../serving/http/answer.ts'
import { secretsIn, withHidden } from '../redaction/fields.ts'
import { type Sender, type Sent, patchKindOf, sentList, sentMap, sentObject } from './decode.ts'
import { jsonPatchOf, secretsOf } from './json-patch.ts'
import { withMarksOf } from './marks.ts'

/** A change as the client sent it. */
export type Change =
  | { readonly by: 'put' | 'merge' | 'apply'; readonly sent: JsonMap }
  | { readonly by: 'json'; readonly sent: readonly Json[] }

/** A body to send. */
export interface Body {
  readonly type: string
  readonly json: Json
}

/** The type of an apply. Its YAML is always JSON here. */
export const APPLY = 'application/apply-patch+yaml'

const TYPES: Readonly<Record<Change['by'], string>> = {
  put: 'application/json',
  merge: 'application/merge-patch+json',
  apply: APPLY,
  json: 'application/json-patch+json',
}

/** Reads the body of a PUT. */
export async function sentPut(sender: Sender): Promise<Sent<Change>> {
  const sent = await sentObject(sender, false)
  return sent.ok ? { ok: true, value: { by: 'put', sent: sent.value } } : sent
}

/** Reads the body of a patch. */
export async function sentPatch(sender: Sender): Promise<Sent<Change>> {
  const kind = patchKindOf(sender.call)
  if (!kind.ok) return kind
  if (kind.value === 'json') {
    const list = await sentList(sender)
    return list.ok ? { ok: true, value: { by: 'json', sent: list.value } } : list
  }
  const sent = await sentMap(sender)
  return sent.ok ? { ok: true, value: { by: kind.value, sent: sent.value } } : sent
}

const VERSION: FieldPath = ['metadata', 'resourceVersion']
const OF_WHICH: readonly FieldPath[] = [VERSION, ['metadata', 'uid']]

/** The version that the client says its change is of; empty where it says none. */
export const versionIn = (change: Change): string =>
  change.by === 'json' ? '' : nestedString(change.sent, VERSION)

/**
 * Whether the client says that its change is of another object than this one, or of another version. A JSON
 * patch says so in tests, which it is sent with.
 */
export const isOfAnother = (change: Change, current: JsonMap): boolean =>
  change.by !== 'json' &&
  OF_WHICH.some(
    (path) => !['', nestedString(current, path)].includes(nestedString(change.sent, path)),
  )

/** Secrets that the client itself sends: no failure repeats them. */
export const secretsInChange = (resource: Resource, change: Change): readonly string[] =>
  change.by === 'json' ? secretsOf(resource, change.sent) : secretsIn(resource, change.sent)

/**
 * The body to send for a change: it holds what the client could not see, and fails when the object is
 * no longer this one.
 */
export function bodyOf(resource: Resource, change: Change, current: JsonMap): Sent<Body> {
  const type = TYPES[change.by]
  if (change.by === 'json') {
    const patched = jsonPatchOf(resource, change.sent, current)
    return patched.ok
      ? { ok: true, value: { type, json: patched.operations } }
      : { ok: false, answer: failure('Invalid', patched.because) }
  }
  const metadata = nestedField(change.sent, ['metadata']) ?? {}
  if (!isMap(metadata))
    return { ok: false, answer: failure('Invalid', 'metadata must be an object') }
  return { ok: true, value: { type, json: WHOLE[change.by](resource, change.sent, current) } }
}

/** The body of a change of the same verb that changes nothing. */
export const nothingChanged = ({ by }: Change, current: JsonMap): Body =>
  by === 'put' ? { type: TYPES.put, json: current } : { type: TYPES.json, json: [] }

const WHOLE: Readonly<
  Record<
    'put' | 'merge' | 'apply',
    (resource: Resource, sent: JsonMap, current: JsonMap) => JsonMap
  >
> = {
  // That a PUT names a version is the client's part: without one the API server refuses it.
  put: (resource, sent, current) =>
    guarded(enveloped(resource, withMarks(withHidden(resource, sent, current), current)), current, [
      'uid',
    ]),
  merge: (resource, sent, current) =>
    guarded(withSettings(resource, sent, current), current, ['uid', 'resourceVersion']),
  apply: (resource, sent, current) =>
    guarded(enveloped(resource, withSettings(resource, sent, current)), current, [
      'name',
      'uid',
      'resourceVersion',
    ]),
}

/** A patch that says nothing of a field leaves it; of settings it may send back what it was shown. */
const withSettings = (resource: Resource, sent: JsonMap, current: JsonMap): JsonMap =>
  resource === CONFIGS ? withHidden(resource, sent, current) : sent

const enveloped = ({ kind }: Resource, sent: JsonMap): JsonMap => ({
  apiVersion: API_VERSION,
  kind,
  ...sent,
})

/** Where the client does not say which object it means, it is this one. */
const guarded = (sent: JsonMap, current: JsonMap, names: readonly string[]): JsonMap =>
  names.reduce((whole, name) => {
    const path = ['metadata', name]
    return nestedString(whole, path) === ''
      ? setNestedField(whole, path, nestedString(current, path))
      : whole
  }, sent)

/** A manifest knows nothing of what the platform put on the object: a PUT without any of it keeps it. */
const withMarks = (sent: JsonMap, current: JsonMap): JsonMap =>
  ['finalizers', 'ownerReferences'].reduce(
    (whole, name) => keeping(whole, current, ['metadata', name]),
    withMarksOf(current, sent),
  )

function keeping(sent: JsonMap, current: JsonMap, path: FieldPath): JsonMap {
  const there = nestedField(current, path)
  return there === undefined || nestedField(sent, path) !== undefined
    ? sent
    : setNestedField(sent, path, there)
}
