// Decodes changes of objects, and encodes them again for the API server (contract 12.4, 12.5).
import { API_VERSION, CONFIGS, type Resource } from '../../api/names.ts'
import {
  type NamePath,
  nestedField,
  nestedString,
  pointerSegments,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isMap, quoteForMessage } from '../../domain/json/json.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { secretsAt, secretsIn, withHiddenFields } from '../../domain/redaction/fields.ts'
import { type Sender, type Sent, patchKindOf, sentList, sentMap, sentObject } from './decode.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'
import { withFilledFields } from './filled-fields.ts'
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

/** The content type of an apply. The gateway sends it as JSON that is YAML too. */
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
const PRECONDITIONS: readonly NamePath[] = [VERSION, ['metadata', 'uid']]

/** The version that the client named for its change; empty = none, or a JSON patch. */
export const versionIn = (change: Change): string =>
  change.by === 'json' ? '' : nestedString(change.sent, VERSION)

/**
 * Whether the client named another uid or version than this object has. A JSON patch names them in its tests, which the
 * API server checks.
 */
export const isOfAnother = (change: Change, current: JsonMap): boolean =>
  change.by !== 'json' &&
  PRECONDITIONS.some(
    (path) => !['', nestedString(current, path)].includes(nestedString(change.sent, path)),
  )

/** The secrets in the change itself: no failure may repeat them. */
export const secretsInChange = (resource: Resource, change: Change): readonly string[] =>
  change.by === 'json' ? secretsOf(resource, change.sent) : secretsIn(resource, change.sent)

/**
 * The body to send for a change. It keeps the fields that the client could not see, and fails if the object is another
 * one by now.
 */
export function bodyOf(resource: Resource, change: Change, current: JsonMap): Sent<Body> {
  const type = TYPES[change.by]
  if (change.by === 'json') {
    const patched = jsonPatchOf(resource, change.sent, current)
    return patched.ok ? { ok: true, value: { type, json: patched.operations } } : patched
  }
  const metadata = nestedField(change.sent, ['metadata']) ?? {}
  if (!isMap(metadata)) return refusedBecause(refuse(SELF_SERVICE_ERRORS.metadataNotObject))
  return { ok: true, value: { type, json: BODIES[change.by](resource, change.sent, current) } }
}

/** A body for the same verb that changes nothing. */
export const nothingChanged = ({ by }: Change, current: JsonMap): Body =>
  by === 'put' ? { type: TYPES.put, json: current } : { type: TYPES.json, json: [] }

const BODIES: Readonly<
  Record<
    'put' | 'merge' | 'apply',
    (resource: Resource, sent: JsonMap, current: JsonMap) => JsonMap
  >
> = {
  // The client of a PUT must name the version: the API server refuses a PUT without one.
  put: (resource, sent, current) =>
    withPreconditions(
      withEnvelope(
        resource,
        withPlatformMetadata(
          withHiddenFields(resource, withFilledFields(resource, sent, current), current),
          current,
        ),
      ),
      current,
      ['uid'],
    ),
  merge: (resource, sent, current) =>
    withPreconditions(withSettings(resource, sent, current), current, ['uid', 'resourceVersion']),
  apply: (resource, sent, current) =>
    withPreconditions(withEnvelope(resource, withSettings(resource, sent, current)), current, [
      'name',
      'uid',
      'resourceVersion',
    ]),
}

/** A patch keeps the fields that it does not name. The settings in it may hold redacted values: they are restored. */
const withSettings = (resource: Resource, sent: JsonMap, current: JsonMap): JsonMap =>
  resource === CONFIGS ? withHiddenFields(resource, sent, current) : sent

const withEnvelope = ({ kind }: Resource, sent: JsonMap): JsonMap => ({
  apiVersion: API_VERSION,
  kind,
  ...sent,
})

/** Adds these fields of the object's metadata where the client named none, as preconditions. */
const withPreconditions = (sent: JsonMap, current: JsonMap, names: readonly string[]): JsonMap =>
  names.reduce((whole, name) => {
    const path = ['metadata', name]
    return nestedString(whole, path) === ''
      ? setNestedField(whole, path, nestedString(current, path))
      : whole
  }, sent)

/** A PUT without the platform's metadata keeps it: clients' manifests lack it. */
const withPlatformMetadata = (sent: JsonMap, current: JsonMap): JsonMap =>
  ['finalizers', 'ownerReferences'].reduce(
    (whole, name) => withKept(whole, current, ['metadata', name]),
    withMarksOf(current, sent),
  )

function withKept(sent: JsonMap, current: JsonMap, path: NamePath): JsonMap {
  const stored = nestedField(current, path)
  return stored === undefined || nestedField(sent, path) !== undefined
    ? sent
    : setNestedField(sent, path, stored)
}

// JSON patches (contract 12.4, 12.5): no operation may disclose a hidden field.

/** The operations to send, or the refusal of the patch. */
type PatchReading =
  | { readonly ok: true; readonly operations: readonly JsonMap[] }
  | { readonly ok: false; readonly answer: BufferedAnswer }

/** Limits of one patch: each operation is checked on the event loop that serves all requests. */
const MOST_OPERATIONS = 1000
const MOST_TESTS = 100
/** Limits of one path: our objects have a few levels, and annotations have names of at most 317 characters. */
const MOST_PARTS = 64
const LONGEST_PATH = 1024

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'test'])

/**
 * The operations to send for a client's JSON patch. They fail if the object has changed since it was read. Each
 * operation is checked on the object as the operations before it leave it, and keeps the hidden fields of what it
 * replaces.
 */
export function jsonPatchOf(
  resource: Resource,
  sent: readonly Json[],
  current: JsonMap,
): PatchReading {
  const tooMany = countRefusal(sent)
  if (tooMany !== null) return refusedBecause(tooMany)
  const leading = leadingOperations(current, sent)
  const patching = patchingOf(resource, current)
  for (const { op, path } of leading)
    if (op === 'add') patching.apply({ op, path: pointerSegments(path), value: {} })
  const operations: JsonMap[] = []
  for (const operation of sent) {
    const path = pathIn(operation)
    if (isAnswer(path)) return refusedBecause(path)
    const [op, pointer, value] = [
      nestedString(operation, ['op']),
      nestedString(operation, ['path']),
      nestedField(operation, ['value']),
    ]
    if (isStep(op)) {
      const applied = patching.apply({ op, path, value: value ?? null })
      if (!applied.ok) {
        const { because } = applied
        const values = { operation: op, path: quoteForMessage(pointer), because }
        return refusedBecause(refuse(SELF_SERVICE_ERRORS.operationRefused, values))
      }
      operations.push({ op, path: pointer, ...(op === 'remove' ? {} : { value: applied.value }) })
      continue
    }
    const because = patching.untestable(path)
    if (because !== null)
      return refusedBecause(
        refuse(SELF_SERVICE_ERRORS.testRefused, { path: quoteForMessage(pointer), because }),
      )
    operations.push({ op, path: pointer, ...(value === undefined ? {} : { value }) })
  }
  return { ok: true, operations: [...leading, ...operations] }
}

const isStep = (op: string): op is DraftStep['op'] => op !== 'test'

const refusedBecause = (
  answer: BufferedAnswer,
): { readonly ok: false; readonly answer: BufferedAnswer } => ({
  ok: false,
  answer,
})

function countRefusal(sent: readonly Json[]): BufferedAnswer | null {
  if (sent.length > MOST_OPERATIONS)
    return refuse(SELF_SERVICE_ERRORS.tooManyOperations, { limit: MOST_OPERATIONS })
  const tests = sent.filter((operation) => nestedString(operation, ['op']) === 'test')
  return tests.length > MOST_TESTS
    ? refuse(SELF_SERVICE_ERRORS.tooManyTests, { limit: MOST_TESTS })
    : null
}

/** The path of an operation, or the refusal of the operation. */
export function pathIn(operation: Json): NamePath | BufferedAnswer {
  const [op, pointer] = [nestedString(operation, ['op']), nestedField(operation, ['path'])]
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

/** Whether `pathIn` returned a refusal. */
export const isAnswer = (path: NamePath | BufferedAnswer): path is BufferedAnswer =>
  'status' in path

/** The parts of a JSON pointer; null = it is not a pointer. */
function pointerOf(pointer: Json | undefined): NamePath | 'long' | null {
  if (pointer === '') return []
  if (typeof pointer !== 'string' || !pointer.startsWith('/')) return null
  return pointer.length > LONGEST_PATH ? 'long' : pointerSegments(pointer)
}

/** The secrets that a JSON patch sets: no answer may repeat them. */
export const secretsOf = (resource: Resource, sent: readonly Json[]): readonly string[] =>
  sent.flatMap((operation) => {
    const path = pathIn(operation)
    return isAnswer(path) ? [] : secretsAt(resource, nestedField(operation, ['value']), path)
  })

interface LeadingOperation extends JsonMap {
  readonly op: string
  readonly path: string
}

/**
 * The operations before the client's: a test that the object is still the one that was read, and an empty annotations
 * map if the patch adds an annotation to an object without any (contract 12.5).
 */
function leadingOperations(current: JsonMap, sent: readonly Json[]): readonly LeadingOperation[] {
  const test = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: nestedString(current, ['metadata', 'resourceVersion']),
  }
  const adds = sent.some((operation) =>
    /^\/metadata\/annotations\/./s.test(nestedString(operation, ['path'])),
  )
  if (!adds || nestedField(current, ['metadata', 'annotations']) !== undefined) return [test]
  return [test, { op: 'add', path: '/metadata/annotations', value: {} }]
}
