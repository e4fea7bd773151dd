// Many keys or tokens at once: copies of one, written to etcd as the API server stores it. 10,000 take seconds instead
// of minutes.
import { createHash, randomUUID } from 'node:crypto'
import { ACCESS_KEYS, API_VERSION, TOKENS } from '../../src/api/names.ts'
import { eventually } from '../../test/support/eventually.ts'
import { etcdOf, etcdValues } from '../../test/support/etcd-values.ts'
import type { Testbed } from './comparators.ts'

/** The kind of the copied objects. */
export type SeedKind = 'keys' | 'tokens'

/** Which copies to make. */
export interface Seeds {
  /** Names are this, a hyphen and a number. */
  readonly prefix: string
  readonly count: number
  /** When copy n ends, in epoch milliseconds; the same as the original when absent. The original must have a ttl. */
  readonly endMsOf?: (n: number) => number
}

const KINDS = { keys: ACCESS_KEYS, tokens: TOKENS } as const

const directoryOf = (kind: SeedKind): string =>
  `/registry/${KINDS[kind].group}/${KINDS[kind].plural}/`

/** An API server reads some thousand objects a second. */
const READ_IN_TIME = { withinMs: 300_000 }

/** etcd takes 128 at most. */
const PUTS_PER_TRANSACTION = 100

/** A stored object, as text, with what its copies replace. */
interface Original {
  readonly text: string
  readonly name: string
  readonly uid: string
  /** A token has none. */
  readonly key: string | null
  readonly keyId: string | null
  readonly createdMs: number
  readonly endMs: number | null
}

/**
 * Copies the key or token of this name: each copy has a name, a uid and a credential of its own, and their times where
 * they end at another time. The signature of a copied JWT is that of the original.
 *
 * Resolves once the API server has read them. No operator may watch meanwhile: a hundred copies have one revision, so
 * that a watch which the API server closes between them goes on after the last one.
 *
 * @throws Error when there is no such object, or when etcd refuses
 */
export async function seed(
  { plane, raw }: Pick<Testbed, 'plane' | 'raw'>,
  kind: SeedKind,
  name: string,
  seeds: Seeds,
): Promise<void> {
  const directory = directoryOf(kind)
  const text = (await etcdValues(plane, `${directory}${name}`)).get(`${directory}${name}`)
  if (text === undefined) throw new Error(`there is no ${name} among the ${kind}`)
  const original = originalOf(text.toString())
  const etcd = await etcdOf(plane)
  const putOf = (n: number) => {
    const copy = copyOf(original, seeds, n)
    const put = { key: encoded(`${directory}${copy.name}`), value: encoded(copy.text) }
    return { request_put: put }
  }
  for (let first = 0; first < seeds.count; first += PUTS_PER_TRANSACTION) {
    const size = Math.min(PUTS_PER_TRANSACTION, seeds.count - first)
    await etcd('txn', { success: Array.from({ length: size }, (_, n) => putOf(first + n)) })
  }
  // A transaction is one revision, which the API server calls read once it has its first key: one more, and it has all.
  await untilRead({ raw }, kind, await etcd('txn', { success: [putOf(seeds.count - 1)] }))
}

/** Removes all objects with this prefix from etcd, finalizers or not. Resolves once the API server has seen that. */
export async function removeSeeds(
  { plane, raw }: Pick<Testbed, 'plane' | 'raw'>,
  prefix: string,
  kind: SeedKind = 'keys',
): Promise<void> {
  const etcd = await etcdOf(plane)
  const first = `${directoryOf(kind)}${prefix}-0`
  const rest = { key: encoded(`${first}\0`), range_end: encoded(`${directoryOf(kind)}${prefix}.`) }
  await etcd('deleterange', rest)
  // A revision of its own, for the same reason as in `seed`.
  const removed = await etcd('deleterange', { key: encoded(first) })
  if ((removed as { readonly deleted?: string }).deleted === '1')
    await untilRead({ raw }, kind, removed)
}

/** Waits until the API server's cache has the revision of this answer of etcd. */
async function untilRead(
  { raw }: Pick<Testbed, 'raw'>,
  kind: SeedKind,
  answer: unknown,
): Promise<void> {
  const { revision } = (answer as { readonly header: { readonly revision: string } }).header
  const path = `/apis/${API_VERSION}/${KINDS[kind].plural}?limit=1&resourceVersion=${revision}`
  await eventually(
    `the API server has read the ${kind}`,
    async () => (await raw('GET', path)).code === 200 || undefined,
    READ_IN_TIME,
  )
}

function originalOf(text: string): Original {
  const { metadata, spec, status } = JSON.parse(text) as {
    readonly metadata: {
      readonly name: string
      readonly uid: string
      readonly creationTimestamp: string
    }
    readonly spec?: { readonly key?: string }
    readonly status: { readonly keyID?: string; readonly expirationTimestamp?: string }
  }
  const key = spec?.key ?? null
  return {
    text,
    name: metadata.name,
    uid: metadata.uid,
    key,
    // The keyID of a token names the key that signed it.
    keyId: key === null ? null : (status.keyID ?? null),
    createdMs: Date.parse(metadata.creationTimestamp),
    endMs: status.expirationTimestamp === undefined ? null : Date.parse(status.expirationTimestamp),
  }
}

function copyOf(original: Original, { prefix, endMsOf }: Seeds, n: number) {
  const name = `${prefix}-${n}`
  const replaced: [string, string][] = [
    [original.uid, randomUUID()],
    [`"${original.name}"`, `"${name}"`],
  ]
  if (original.key !== null) {
    // As long as the original's: sizes stay what they are.
    const digest = createHash('sha256').update(name).digest('hex')
    const key = `pak_${digest}`.slice(0, original.key.length)
    replaced.push([original.key, key])
    if (original.keyId !== null)
      replaced.push([original.keyId, createHash('sha256').update(key).digest('hex').slice(0, 16)])
  }
  if (endMsOf && original.endMs !== null) {
    const shiftMs = endMsOf(n) - original.endMs
    replaced.push([timestamp(original.endMs), timestamp(original.endMs + shiftMs)])
    replaced.push([timestamp(original.createdMs), timestamp(original.createdMs + shiftMs)])
  }
  const withReplaced = (text: string): string =>
    replaced.reduce((before, [from, to]) => before.replaceAll(from, to), text)
  const text = withReplaced(original.text).replace(JWT_PAYLOAD, (payload) =>
    Buffer.from(withReplaced(Buffer.from(payload, 'base64url').toString())).toString('base64url'),
  )
  return { name, text }
}

/** The second part of a JWT in a field `token`. */
const JWT_PAYLOAD = /(?<="token":"[\w-]+\.)[\w-]+/

const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
const encoded = (text: string): string => Buffer.from(text).toString('base64')
