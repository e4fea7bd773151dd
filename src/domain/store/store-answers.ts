// What the store of secrets answers (contract 36.3, 36.4): Vault's HTTP API of KV version 1 and 2, and of tokens. Each shape is checked, and
// what has another one is a fault. A fault is a clause after "the store", and quotes nothing of the answer.
import { rawMembers } from '../audit/raw-json.ts'
import { exceedsBounds, exceedsNames } from '../json/bounds.ts'
import { isList, isMap, type Json, type JsonMap, ownValue, parseJsonMap } from '../json/json.ts'
import { parseTimestamp } from '../time.ts'

/** What an answer says. */
export type KvAnswer<Found> =
  | { readonly kind: 'found'; readonly value: Found }
  /** There is no such entry, or its current version is deleted or destroyed. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'fault'; readonly fault: string }

/** Metadata of an entry of version 2. */
export interface EntryMetadata {
  /** 0 = the entry has no version yet. */
  readonly currentVersion: number
  /** When the current version was created; empty = there is none. */
  readonly createdTime: string
  /** The state of the current version; `none` = there is none. */
  readonly state: 'live' | 'deleted' | 'destroyed' | 'none'
  readonly customMetadata: Readonly<Record<string, string>>
}

/** Data of an entry. */
export interface EntryData {
  /** null = version 1 of the engine, which counts none. */
  readonly version: number | null
  /** When the version was created; empty = version 1 of the engine, which does not say. */
  readonly createdTime: string
  /** Strings as they are; other JSON as compact text, in which numbers keep their digits. */
  readonly content: Readonly<Record<string, string>>
}

/**
 * A version that was written. Its number alone is no name: a store that was emptied or restored from a backup gives it again, to
 * other data.
 */
export interface WrittenVersion {
  readonly version: number
  readonly createdTime: string
}

/** The life of a token. */
export interface TokenLife {
  /** Seconds until it ends; 0 = it never does. */
  readonly ttlSeconds: number
  readonly isRenewable: boolean
  /** Its whole life in seconds, from when it was created or renewed. */
  readonly creationTtlSeconds: number
}

/** An answer whose status has a body: its text must be read. */
export interface StoreBody {
  readonly status: number
  readonly body: Buffer
}

/** Largest depth and number of values: an entry has a few levels, and 1 MiB of it holds fewer values. */
const BOUNDS = { levels: 64, values: 200_000 }
/** Largest number of different names: a Secret takes 1,000 of them, and 150,000 hold the event loop for half a second. */
const MOST_NAMES = 20_000

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The text of an answer; null = it holds another value than a JSON object, or more values than one turn can read. */
function readable(body: Buffer): { readonly text: string; readonly answer: JsonMap } | null {
  if (exceedsBounds(body, BOUNDS) || exceedsNames(body, MOST_NAMES)) return null
  try {
    const text = UTF8.decode(body)
    const answer = parseJsonMap(text)
    return answer && { text, answer }
  } catch {
    return null
  }
}

const UNKNOWN_SHAPE =
  'gave an answer of an unknown shape, or with more than an entry may have: check the address, the mount and the entry'

const faulty = (fault: string): { readonly kind: 'fault'; readonly fault: string } => ({
  kind: 'fault',
  fault,
})
const found = <Found>(value: Found | null): KvAnswer<Found> =>
  value === null ? faulty(UNKNOWN_SHAPE) : { kind: 'found', value }

/** `GET <mount>/metadata/<path>`. @param nowMs epoch milliseconds: a version may be deleted at a time to come */
export function metadataIn(sent: StoreBody, nowMs: number): KvAnswer<EntryMetadata> {
  const read = readable(sent.body)
  if (read === null) return faulty(UNKNOWN_SHAPE)
  if (sent.status === 404) return absent(read.answer, false)
  return found(isOfVersion2(read.answer) ? metadataOf(mapAt(read.answer, 'data'), nowMs) : null)
}

function metadataOf(data: JsonMap, nowMs: number): EntryMetadata | null {
  const currentVersion = countOf(ownValue(data, 'current_version'))
  const versions = ownValue(data, 'versions')
  const customMetadata = textsOf(ownValue(data, 'custom_metadata') ?? {})
  if (currentVersion === null || !isMap(versions) || customMetadata === null) return null
  if (currentVersion === 0)
    return { currentVersion, createdTime: '', state: 'none', customMetadata }
  const current = mapAt(versions, String(currentVersion))
  const [state, createdTime] = [stateOf(current, nowMs), createdTimeOf(current)]
  if (state === null || createdTime === null) return null
  return { currentVersion, createdTime, state, customMetadata }
}

function stateOf(version: JsonMap, nowMs: number): EntryMetadata['state'] | null {
  const { destroyed, deletion_time: deletion } = version
  const endMs = deletion === '' ? Number.POSITIVE_INFINITY : parseTimestamp(deletion)
  if (typeof destroyed !== 'boolean' || endMs === null) return null
  if (destroyed) return 'destroyed'
  return endMs > nowMs ? 'live' : 'deleted'
}

/** `GET <mount>/data/<path>`. */
export function dataOfVersion2In(sent: StoreBody): KvAnswer<EntryData> {
  const read = readable(sent.body)
  if (read === null) return faulty(UNKNOWN_SHAPE)
  const { answer, text } = read
  if (sent.status === 404) return absent(answer, true)
  const data = mapAt(answer, 'data')
  const written = writtenVersionOf(mapAt(data, 'metadata'))
  const isEntry = isOfVersion2(answer) && hasOnlyDataAndMetadata(data) && isMap(data['data'])
  if (!isEntry || written === null) return faulty(UNKNOWN_SHAPE)
  const content = contentOf(rawMember(rawMember(text, 'data'), 'data'))
  return found(content && { ...written, content })
}

/** `GET <mount>/<path>` of version 1. */
export function dataOfVersion1In(sent: StoreBody): KvAnswer<EntryData> {
  const read = readable(sent.body)
  if (read === null) return faulty(UNKNOWN_SHAPE)
  const { answer, text } = read
  if (sent.status === 404) return absent(answer, false)
  const data = ownValue(answer, 'data')
  if (!isMap(data)) return faulty(UNKNOWN_SHAPE)
  if (isOfVersion2(answer) && hasOnlyDataAndMetadata(data)) return faulty(NOT_VERSION_1)
  const content = contentOf(rawMember(text, 'data'))
  return found(content && { version: null, createdTime: '', content })
}

const NOT_VERSION_1 = 'has version 2 of the engine at this mount: leave out the version of the path'

/** `POST <mount>/data/<path>` with check-and-set: the version that was written. */
export function writtenIn({ status, body }: StoreBody): KvAnswer<WrittenVersion | 'conflict'> {
  const read = readable(body)
  if (read === null) return faulty(UNKNOWN_SHAPE)
  const { answer } = read
  if (status === 400 && hasError(answer, OTHER_VERSION)) return found('conflict' as const)
  if (status === 200) return found(writtenVersionOf(mapAt(answer, 'data')))
  return faulty(refusedWrite(answer, status))
}

/** The engine's own words. The engine has another error of check-and-set, which comes again whatever the version. */
const OTHER_VERSION = 'check-and-set parameter did not match the current version'

/** Why a write that was answered with an error was refused. */
export function writeFault({ status, body }: StoreBody): string {
  const read = readable(body)
  return read === null ? UNKNOWN_SHAPE : refusedWrite(read.answer, status)
}

const refusedWrite = (answer: JsonMap, status: number): string =>
  hasError(answer, NO_MOUNT) ? MOUNT_MISSING : `refused the write: ${status}`

/** `GET auth/token/lookup-self`. */
export function lookedUpTokenIn({ body }: StoreBody): KvAnswer<TokenLife> {
  const data = mapAt(readable(body)?.answer ?? {}, 'data')
  const ttl = countOf(ownValue(data, 'ttl'))
  const creationTtlSeconds = countOf(ownValue(data, 'creation_ttl'))
  const end = ownValue(data, 'expire_time')
  if (ttl === null || creationTtlSeconds === null || end === undefined)
    return found<TokenLife>(null)
  // A root token has no field `renewable`. In its last second a token that ends has ttl 0, too.
  const isRenewable = data['renewable'] === true
  return found({
    ttlSeconds: end === null ? ttl : Math.max(ttl, 1),
    isRenewable,
    creationTtlSeconds,
  })
}

/** `POST auth/token/renew-self`. */
export function renewedTokenIn({ body }: StoreBody): KvAnswer<TokenLife> {
  const auth = mapAt(readable(body)?.answer ?? {}, 'auth')
  const ttlSeconds = countOf(ownValue(auth, 'lease_duration'))
  const { renewable } = auth
  if (ttlSeconds === null || typeof renewable !== 'boolean') return found<TokenLife>(null)
  return found({ ttlSeconds, isRenewable: renewable, creationTtlSeconds: ttlSeconds })
}

/** `GET sys/internal/ui/mounts/<mount>`: whether the mount is of version 2. */
export function isVersion2In({ status, body }: StoreBody, mount: string): KvAnswer<true> {
  const data = mapAt(readable(body)?.answer ?? {}, 'data')
  // The store answers for the mount that the path is in.
  if (status !== 200 || data['path'] !== `${mount}/`) return faulty(MOUNT_MISSING)
  const isVersion2 = data['type'] === 'kv' && mapAt(data, 'options')['version'] === '2'
  return isVersion2 ? { kind: 'found', value: true } : faulty(NOT_VERSION_2)
}

const NOT_VERSION_2 =
  'has another engine than version 2 of KV at this mount, and writes need that one'

const NO_MOUNT = 'no handler for route'
const MOUNT_MISSING = 'has no such mount: check --secret-store-mount and the namespace'

/** What a 404 means. @param isData whether the answer may have the metadata of a deleted or destroyed version */
function absent(
  answer: JsonMap,
  isData: boolean,
): Exclude<KvAnswer<never>, { readonly kind: 'found' }> {
  const errors = ownValue(answer, 'errors')
  if (isList(errors) && errors.length === 0) return { kind: 'missing' }
  if (hasError(answer, NO_MOUNT)) return faulty(MOUNT_MISSING)
  if (hasText(ownValue(answer, 'warnings'), OTHER_ENGINE)) return faulty(NOT_VERSION_1)
  const data = mapAt(answer, 'data')
  const isEnded = isData && data['data'] === null && versionOf(mapAt(data, 'metadata')) !== null
  return isEnded ? { kind: 'missing' } : faulty(UNKNOWN_SHAPE)
}

/** Version 2 warns so of a path without `data/` or `metadata/`. */
const OTHER_ENGINE = 'Invalid path for a versioned K/V secrets engine'

/**
 * Whether version 2 of the engine has answered. Version 1 gives any entry a lease or the time in its field `ttl` or `lease`, so
 * an entry there cannot pass for an answer of version 2, whose paths `data/...` belong to a project of that name in version 1.
 */
function isOfVersion2(answer: JsonMap): boolean {
  const data = mapAt(answer, 'data')
  const hasLease = (ownValue(answer, 'lease_duration') ?? 0) !== 0
  return !hasLease && !Object.hasOwn(data, 'ttl') && !Object.hasOwn(data, 'lease')
}

const hasOnlyDataAndMetadata = (data: JsonMap): boolean =>
  Object.keys(data).toSorted().join() === 'data,metadata' &&
  versionOf(mapAt(data, 'metadata')) !== null

/** The version of a map; versions begin with 1. */
const versionOf = (metadata: JsonMap): number | null =>
  countOf(ownValue(metadata, 'version')) || null

function writtenVersionOf(metadata: JsonMap): WrittenVersion | null {
  const [version, createdTime] = [versionOf(metadata), createdTimeOf(metadata)]
  return version === null || createdTime === null ? null : { version, createdTime }
}

/** Of RFC 3339 with nanoseconds there are 35; it is remembered for each Secret. */
const LONGEST_TIME = 64

/** As it stands: it is compared, not read. */
function createdTimeOf(metadata: JsonMap): string | null {
  const text = ownValue(metadata, 'created_time')
  return typeof text === 'string' && text !== '' && text.length <= LONGEST_TIME ? text : null
}

const countOf = (value: Json | undefined): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null

function mapAt(map: JsonMap, name: string): JsonMap {
  const value = ownValue(map, name)
  return isMap(value) ? value : {}
}

function textsOf(value: Json): Readonly<Record<string, string>> | null {
  if (!isMap(value)) return null
  const entries = Object.entries(value)
  const areTexts = entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
  return areTexts ? Object.fromEntries(entries) : null
}

const hasText = (list: Json | undefined, text: string): boolean =>
  isList(list) && list.some((one) => typeof one === 'string' && one.includes(text))
const hasError = (answer: JsonMap, text: string): boolean =>
  hasText(ownValue(answer, 'errors'), text)

/** The member as JSON.parse reads it: the last one of the name. */
const rawMember = (json: string, name: string): string =>
  rawMembers(json).findLast((member) => member.name === name)?.value ?? ''

/** null = a string has half of a character, which no Secret can hold. */
function contentOf(json: string): EntryData['content'] | null {
  const entries = rawMembers(json).map(({ name, value }) => [name, textOf(value)] as const)
  return entries.every(([name, text]) => name.isWellFormed() && text.isWellFormed())
    ? Object.fromEntries(entries)
    : null
}

const textOf = (json: string): string =>
  json.startsWith('"') ? String(JSON.parse(json)) : compact(json)

/** Valid JSON without white space, its strings without the escapes that Go adds for HTML, its numbers as they stand. */
function compact(json: string): string {
  const parts: string[] = []
  for (let at = 0; at < json.length; ) {
    const end = json[at] === '"' ? endOfString(json, at) : at + 1
    const part = json.slice(at, end)
    parts.push(part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : part.trim())
    at = end
  }
  return parts.join('')
}

/** Where the text goes on after the string that begins at `from`. */
function endOfString(json: string, from: number): number {
  let at = from + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}
