// Changes of objects: decoded, and encoded again for the API server (contract 12.4, 12.5).
import { API_VERSION, CONFIGS, type Resource } from '../../api/names.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  pointerSegments,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isMap, quoteForMessage } from '../../domain/json/json.ts'
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { secretsAt, secretsIn, withHidden } from '../redaction/fields.ts'
import { type Sender, type Sent, patchKindOf, sentList, sentMap, sentObject } from './decode.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { type DraftStep, patchingOf } from './json-patch-draft.ts'
import { withMarksOf } from './write-options.ts'

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

const VERSION: NamePath = ['metadata', 'resourceVersion']
const OF_WHICH: readonly NamePath[] = [VERSION, ['metadata', 'uid']]

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

/** Secrets in the change itself: no failure repeats them. */
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
    return patched.ok ? { ok: true, value: { type, json: patched.operations } } : patched
  }
  const metadata = nestedField(change.sent, ['metadata']) ?? {}
  if (!isMap(metadata)) return no(refuse(SELF_SERVICE_ERRORS.metadataNotObject))
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

/** A patch leaves the fields that it lacks; into settings it may put the redacted values that the client read. */
const withSettings = (resource: Resource, sent: JsonMap, current: JsonMap): JsonMap =>
  resource === CONFIGS ? withHidden(resource, sent, current) : sent

const enveloped = ({ kind }: Resource, sent: JsonMap): JsonMap => ({
  apiVersion: API_VERSION,
  kind,
  ...sent,
})

/** Names this object wherever the client named none. */
const guarded = (sent: JsonMap, current: JsonMap, names: readonly string[]): JsonMap =>
  names.reduce((whole, name) => {
    const path = ['metadata', name]
    return nestedString(whole, path) === ''
      ? setNestedField(whole, path, nestedString(current, path))
      : whole
  }, sent)

/** Manifests lack the platform's metadata: a PUT without it keeps it. */
const withMarks = (sent: JsonMap, current: JsonMap): JsonMap =>
  ['finalizers', 'ownerReferences'].reduce(
    (whole, name) => keeping(whole, current, ['metadata', name]),
    withMarksOf(current, sent),
  )

function keeping(sent: JsonMap, current: JsonMap, path: NamePath): JsonMap {
  const there = nestedField(current, path)
  return there === undefined || nestedField(sent, path) !== undefined
    ? sent
    : setNestedField(sent, path, there)
}

// JSON patches (contract 12.4, 12.5): no operation may disclose a hidden field.

/** The operations to send, or the refusal of the patch. */
type PatchReading =
  | { readonly ok: true; readonly operations: readonly JsonMap[] }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Operations of one patch: each is judged on the event loop of all requests. */
const MOST_OPERATIONS = 1000
const MOST_TESTS = 100
/** Objects of ours have a few levels, and names of annotations 317 characters. */
const MOST_PARTS = 64
const LONGEST_PATH = 1024

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'test'])

/**
 * The operations to send for those that a client sent, for the object as it is: they fail when it has
 * changed since. Each is judged on the object as those before it leave it. What they put in place of a part
 * with something hidden keeps that.
 */
export function jsonPatchOf(
  resource: Resource,
  sent: readonly Json[],
  current: JsonMap,
): PatchReading {
  const many = tooMany(sent)
  if (many !== null) return no(many)
  const first = guards(current, sent)
  const patching = patchingOf(resource, current)
  for (const { op, path } of first)
    if (op === 'add') patching.take({ op, path: pointerSegments(path), value: {} })
  const operations: JsonMap[] = []
  for (const one of sent) {
    const path = pathIn(one)
    if (isAnswer(path)) return no(path)
    const [op, pointer, value] = [
      nestedString(one, ['op']),
      nestedString(one, ['path']),
      nestedField(one, ['value']),
    ]
    if (isStep(op)) {
      const taken = patching.take({ op, path, value: value ?? null })
      if (!taken.ok) {
        const { because } = taken
        const values = { operation: op, path: quoteForMessage(pointer), because }
        return no(refuse(SELF_SERVICE_ERRORS.operationRefused, values))
      }
      operations.push({ op, path: pointer, ...(op === 'remove' ? {} : { value: taken.value }) })
      continue
    }
    const because = patching.untestable(path)
    if (because !== null)
      return no(
        refuse(SELF_SERVICE_ERRORS.testRefused, { path: quoteForMessage(pointer), because }),
      )
    operations.push({ op, path: pointer, ...(value === undefined ? {} : { value }) })
  }
  return { ok: true, operations: [...first, ...operations] }
}

const isStep = (op: string): op is DraftStep['op'] => op !== 'test'

const no = (answer: WholeAnswer): { readonly ok: false; readonly answer: WholeAnswer } => ({
  ok: false,
  answer,
})

function tooMany(sent: readonly Json[]): WholeAnswer | null {
  if (sent.length > MOST_OPERATIONS)
    return refuse(SELF_SERVICE_ERRORS.tooManyOperations, { limit: MOST_OPERATIONS })
  const tests = sent.filter((one) => nestedString(one, ['op']) === 'test')
  return tests.length > MOST_TESTS
    ? refuse(SELF_SERVICE_ERRORS.tooManyTests, { limit: MOST_TESTS })
    : null
}

/** The path of an operation, or the refusal of the operation. */
export function pathIn(one: Json): NamePath | WholeAnswer {
  const [op, pointer] = [nestedString(one, ['op']), nestedField(one, ['path'])]
  if (!OPERATIONS.has(op))
    return refuse(SELF_SERVICE_ERRORS.operationUnknown, {
      operation: quoteForMessage(op),
      operations: [...OPERATIONS].join(', '),
    })
  const path = pointerOf(pointer)
  if (path === null) return refuse(SELF_SERVICE_ERRORS.pathMissing)
  return path === 'long' || path.length > MOST_PARTS
    ? refuse(SELF_SERVICE_ERRORS.pathTooLong, { parts: MOST_PARTS, characters: LONGEST_PATH })
    : path
}

/** Whether the operation of a path is refused. */
export const isAnswer = (path: NamePath | WholeAnswer): path is WholeAnswer => 'status' in path

/** The parts of a JSON pointer; null when it is none. */
function pointerOf(pointer: Json | undefined): NamePath | 'long' | null {
  if (pointer === '') return []
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return null
  return pointer.length > LONGEST_PATH ? 'long' : pointerSegments(pointer)
}

/** The secrets that a patch sets, and that no answer may repeat. */
export const secretsOf = (resource: Resource, sent: readonly Json[]): readonly string[] =>
  sent.flatMap((one) => {
    const path = pathIn(one)
    return isAnswer(path) ? [] : secretsAt(resource, nestedField(one, ['value']), path)
  })

interface Guard extends JsonMap {
  readonly op: string
  readonly path: string
}

/** First of all: it is still the object that was judged, and annotations can be added (contract 12.5). */
function guards(current: JsonMap, sent: readonly Json[]): readonly Guard[] {
  const test = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: nestedString(current, ['metadata', 'resourceVersion']),
  }
  const adds = sent.some((one) => /^\/metadata\/annotations\/./s.test(nestedString(one, ['path'])))
  if (!adds || nestedField(current, ['metadata', 'annotations']) !== undefined) return [test]
  return [test, { op: 'add', path: '/metadata/annotations', value: {} }]
}
