// Decodes request bodies, strictly and only once. The API server gets the decoded value encoded again, so it can't read
// the same bytes differently.
import type { IncomingHttpHeaders } from 'node:http'
import type { UserInfo } from '../../authn/caller.ts'
import { isList, isMap, type Json, type JsonMap } from '../../domain/json/json.ts'
import { strictJsonError } from '../../domain/json/strict-json.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { hasOddCharacter, parsePlainYaml } from '../../runtime/yaml.ts'
import {
  type BufferedAnswer,
  LONGEST_PARSED_BODY,
  readBody,
  refuse,
} from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { SELF_SERVICE_ERRORS } from './errors.ts'

/** The kinds of patches (contract 12.5). */
type PatchKind = 'json' | 'merge' | 'apply'

/** The content types of supported patches: custom resources have no strategic merge. */
const PATCH_KINDS: ReadonlyMap<string, PatchKind> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/apply-patch+yaml', 'apply'],
])

const PLAIN_TYPES: ReadonlySet<string> = new Set(['', 'application/json', 'application/yaml'])
const YAML_TYPES: ReadonlySet<string> = new Set([
  'application/yaml',
  'application/apply-patch+yaml',
])

/** The longest YAML in bytes: parsing it blocks the event loop for some 30 ms. */
export const LONGEST_YAML = 16 * 1024

/**
 * Limits concurrent requests with bodies of more than `aboveBytes`, or of unknown length: one key may have 400 requests
 * in flight, and 400 of the longest bodies exceed the memory. `ofOne` is the limit for one user, whatever the keys: a
 * slow sender does not block the others.
 */
export const LARGE_BODY_LIMITS = { aboveBytes: 64 * 1024, inAll: 16, ofOne: 4 } as const

const largeBodySemaphore = createSemaphore(LARGE_BODY_LIMITS.inAll, LARGE_BODY_LIMITS.ofOne)

/** Bodies parsed in one turn of the event loop, so that a burst of bodies does not block it. */
const turn = createTurnQueue(16)

/** A request with a body, and its caller. */
export interface Sender {
  readonly call: HttpRequest
  readonly caller: { readonly identity: Pick<UserInfo, 'user'> }
}

/** A decoded body, or the refusal of it. */
export type Sent<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly answer: BufferedAnswer }

const refused = (answer: BufferedAnswer): { ok: false; answer: BufferedAnswer } => ({
  ok: false,
  answer,
})

/** The kind of patch by the content type, or the 415 for any other type. */
export function patchKindOf({ headers }: Pick<HttpRequest, 'headers'>): Sent<PatchKind> {
  const kind = PATCH_KINDS.get(typeOf(headers))
  if (kind !== undefined) return { ok: true, value: kind }
  return refused(
    refuse(SELF_SERVICE_ERRORS.patchType, { types: [...PATCH_KINDS.keys()].join(', ') }),
  )
}

/** The object in a body of JSON or YAML; an empty object if there is no body and `mayBeEmpty`. */
export async function sentObject(sender: Sender, mayBeEmpty: boolean): Promise<Sent<JsonMap>> {
  if (!PLAIN_TYPES.has(typeOf(sender.call.headers)))
    return refused(refuse(SELF_SERVICE_ERRORS.bodyType))
  return mapIn(await sentValue(sender, mayBeEmpty))
}

/** The object in the body of a merge patch or an apply. */
export const sentMap = async (sender: Sender): Promise<Sent<JsonMap>> =>
  mapIn(await sentValue(sender, false))

function mapIn(sent: Sent<Json>): Sent<JsonMap> {
  if (!sent.ok) return sent
  const { value } = sent
  return isMap(value) ? { ok: true, value } : refused(refuse(SELF_SERVICE_ERRORS.bodyNotObject))
}

/** The list in the body of a JSON patch. */
export async function sentList(sender: Sender): Promise<Sent<readonly Json[]>> {
  const sent = await sentValue(sender, false)
  if (!sent.ok) return sent
  const { value } = sent
  return isList(value) ? { ok: true, value } : refused(refuse(SELF_SERVICE_ERRORS.patchNotList))
}

async function sentValue({ call, caller }: Sender, mayBeEmpty: boolean): Promise<Sent<Json>> {
  const encoding = call.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') return refused(refuse(SELF_SERVICE_ERRORS.bodyEncoding))
  const read = (): Promise<Sent<Json>> => readValue(call, mayBeEmpty)
  return isLarge(call.headers) ? largeBodySemaphore(caller.identity.user, read) : read()
}

const isLarge = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined ||
  Number(headers['content-length'] ?? 0) > LARGE_BODY_LIMITS.aboveBytes

async function readValue(call: HttpRequest, mayBeEmpty: boolean): Promise<Sent<Json>> {
  const bytes = await readBody(call.body)
  if (bytes === null)
    return refused(refuse(SELF_SERVICE_ERRORS.bodyTooLong, { limit: LONGEST_PARSED_BODY }))
  if (bytes.length === 0 && mayBeEmpty) return { ok: true, value: {} }
  await turn()
  const text = decodedText(bytes)
  if (text === null) return refused(refuse(SELF_SERVICE_ERRORS.bodyNotUtf8))
  return YAML_TYPES.has(typeOf(call.headers)) ? fromYaml(text) : fromJson(text)
}

function fromYaml(text: string): Sent<Json> {
  // Most clients send JSON, which is YAML except for some characters.
  if (/^\s*\{/.test(text) && !hasOddCharacter(text)) {
    const json = fromJson(text)
    if (json.ok) return json
  }
  if (text.length > LONGEST_YAML)
    return refused(refuse(SELF_SERVICE_ERRORS.yamlTooLong, { limit: LONGEST_YAML }))
  try {
    return fromJson(JSON.stringify(parsePlainYaml(text)))
  } catch (error) {
    const fault =
      error instanceof Error && error.message.startsWith('not valid')
        ? error.message
        : 'not valid YAML'
    return refused(refuse(SELF_SERVICE_ERRORS.bodyNotYaml, { fault }))
  }
}

function fromJson(text: string): Sent<Json> {
  const fault = strictJsonError(text)
  if (fault !== null) return refused(refuse(SELF_SERVICE_ERRORS.bodyAmbiguous, { fault }))
  try {
    return { ok: true, value: JSON.parse(text) as Json }
  } catch {
    // V8's own message quotes the text.
    return refused(refuse(SELF_SERVICE_ERRORS.bodyNotJson))
  }
}

function decodedText(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

const typeOf = (headers: IncomingHttpHeaders): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
