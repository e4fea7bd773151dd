// Many keys or tokens at once: copies of one, written to etcd as the API server stores it. 10,000 take seconds instead
// of minutes.
import { createHash, randomUUID } from 'node:crypto'
import { etcdOf, etcdValues } from '../../test/support/etcd-values.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'

/** What is copied. */
export type SeedKind = 'keys' | 'tokens'

/** Which copies to make. */
export interface Seeds {
  /** Names are this, a hyphen and a number. */
  readonly prefix: string
  readonly count: number
  /** When copy n ends, in epoch milliseconds; the same as the original when absent. The original must have a ttl. */
  readonly endMsOf?: (n: number) => number
}

const DIRECTORIES: Readonly<Record<SeedKind, string>> = {
  keys: '/registry/management.platform.sh/ownedaccesskeys/',
  tokens: '/registry/management.platform.sh/directclusterendpointtokens/',
}
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
 * @throws Error when there is no such object, or when etcd refuses
 */
export async function seed(
  plane: ControlPlane,
  kind: SeedKind,
  name: string,
  seeds: Seeds,
): Promise<void> {
  const directory = DIRECTORIES[kind]
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
  await etcd('txn', { success: [putOf(seeds.count - 1)] })
}

/** Removes all objects with this prefix from etcd, finalizers or not. */
export async function removeSeeds(
  plane: ControlPlane,
  prefix: string,
  kind: SeedKind = 'keys',
): Promise<void> {
  const etcd = await etcdOf(plane)
  const range = {
    key: encoded(`${DIRECTORIES[kind]}${prefix}-`),
    range_end: encoded(`${DIRECTORIES[kind]}${prefix}.`),
  }
  await etcd('deleterange', range)
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
    // That of a token names the key which signed it.
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
