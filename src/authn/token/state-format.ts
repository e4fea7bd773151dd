// The file in which a direct endpoint keeps its state over restarts (contract 9.2). Three parts: a line with the format
// and the digest of the rest, a line with keys and the prefix, and the list of revoked tokens as the issuer serves it. A
// file that is damaged anywhere is ignored as a whole.
import { createHash, hash } from 'node:crypto'
import { isMap, ownValue, parseJsonMap } from '../../domain/json/json.ts'
import { namespacePrefix } from '../../domain/settings/formats.ts'
import { formatTimestamp, parseTimestamp } from '../../domain/time.ts'
import { revokedTokensJson } from '../../domain/token/revocation.ts'
import type { RevokedList, Steps } from '../../domain/token/revoked-list.ts'
import { inTurns, parseKeys, parseListDocument } from './issuer-documents.ts'
import type { IssuerState } from './issuer-state.ts'

/** Another number for another format: files of other versions are not read. */
const FORMAT = 1

/** A state that is worth a file: one with a list. */
export type KeptState = IssuerState & { readonly list: RevokedList }

/** The bytes of a file, in chunks; it yields to the event loop in between. */
export async function stateFileOf(issuer: string, kept: KeptState): Promise<readonly Buffer[]> {
  const { keys, list, projectNamespacePrefix } = kept
  const missing = [...keys.missingSinceMs].map(([kid, ms]) => [kid, formatTimestamp(ms)] as const)
  const head = {
    issuer,
    keys: [...keys.keys.values()],
    missing: Object.fromEntries(missing),
    projectNamespacePrefix,
  }
  const { chunks, digest } = await inTurns(contentOf(`${JSON.stringify(head)}\n`, list))
  return [Buffer.from(`${JSON.stringify({ format: FORMAT, sha256: digest })}\n`), ...chunks]
}

/** The state in a file, or why the file is ignored, as a clause. */
type ReadState =
  | { readonly ok: true; readonly kept: KeptState }
  | { readonly ok: false; readonly because: string }

/** Reads the bytes of a file. */
export async function readStateFile(bytes: Buffer, issuer: string): Promise<ReadState> {
  const [first, content] = splitLine(bytes)
  const seal = parseJsonMap(first)
  if (seal === null || seal['format'] !== FORMAT) return refusal('it has another format')
  if (seal['sha256'] !== hash('sha256', content, 'base64url')) return refusal('it is damaged')
  const [second, listBytes] = splitLine(content)
  const head = parseJsonMap(second) ?? {}
  if (head['issuer'] !== issuer) return refusal('it belongs to another issuer')
  const list = await inTurns(parseListDocument(listBytes))
  const keys = parseKeys(Buffer.from(JSON.stringify({ keys: head['keys'] ?? [] })))
  const missingSinceMs = missingIn(ownValue(head, 'missing'))
  const prefix = head['projectNamespacePrefix']
  if (list === null || missingSinceMs === null || !isPrefix(prefix)) return refusal('it is damaged')
  const byKid = new Map(keys.ok ? keys.value.map((jwk) => [jwk.kid, jwk]) : [])
  return {
    ok: true,
    kept: {
      keys: { keys: byKid, missingSinceMs },
      list,
      projectNamespacePrefix: prefix,
    },
  }
}

/** The first line, and the rest; without a line break there is no line. */
function splitLine(bytes: Buffer): readonly [line: string, rest: Buffer] {
  const end = bytes.indexOf('\n')
  return [bytes.subarray(0, Math.max(end, 0)).toString(), bytes.subarray(end + 1)]
}

/** null = the issuer had not sent it when the file was written. */
const isPrefix = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && namespacePrefix(value) === null)

function missingIn(value: unknown): ReadonlyMap<string, number> | null {
  if (!isMap(value)) return null
  const entries = Object.entries(value).map(([kid, since]) => [kid, parseTimestamp(since)] as const)
  const valid = entries.filter((entry): entry is [string, number] => entry[1] !== null)
  return valid.length === entries.length ? new Map(valid) : null
}

/** Entries in a chunk: one or two milliseconds. */
const CHUNK = 1000

/** The content after the first line, in chunks, and its digest. */
interface StateContent {
  readonly chunks: readonly Buffer[]
  readonly digest: string
}

function* contentOf(head: string, { asOfMs, tokens }: RevokedList): Steps<StateContent> {
  const chunks: Buffer[] = []
  const sha256 = createHash('sha256')
  const add = (text: string): void => {
    const chunk = Buffer.from(text)
    chunks.push(chunk)
    sha256.update(chunk)
  }
  add(head)
  add(`{"asOf":"${formatTimestamp(asOfMs)}","tokens":{`)
  let entries: (readonly [string, number])[] = []
  const addEntries = (): void => {
    add(`${chunks.length > 2 ? ',' : ''}${revokedTokensJson(entries)}`)
    entries = []
  }
  for (const entry of tokens) {
    entries.push(entry)
    if (entries.length < CHUNK) continue
    addEntries()
    yield
  }
  if (entries.length > 0) addEntries()
  add('}}')
  return { chunks, digest: sha256.digest('base64url') }
}

const refusal = (because: string): { readonly ok: false; readonly because: string } => ({
  ok: false,
  because,
})
