// Many keys at once: copies of one, written to etcd as the API server stores it. 10,000 take seconds instead of minutes.
import { createHash, randomUUID } from 'node:crypto'
import { etcdOf, etcdValues } from '../../test/support/etcd-values.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'

/** Which copies to make. */
export interface Seeds {
  /** Names are this, a hyphen and a number. */
  readonly prefix: string
  readonly count: number
  /** When copy n ends, in epoch milliseconds; the same as the original when absent. The original must have a ttl. */
  readonly endMsOf?: (n: number) => number
}

const DIRECTORY = '/registry/management.platform.sh/ownedaccesskeys/'
/** etcd takes 128 at most. */
const PUTS_PER_TRANSACTION = 100

/** A stored key, as text, with what its copies replace. */
interface Original {
  readonly text: string
  readonly name: string
  readonly uid: string
  readonly key: string
  readonly keyId: string | null
  readonly createdMs: number
  readonly endMs: number | null
}

/**
 * Copies the key of this name: each copy has a name, a uid and a credential of its own, and their times where they end
 * at another time.
 *
 * @throws Error when there is no such key, or when etcd refuses
 */
export async function seedKeys(plane: ControlPlane, name: string, seeds: Seeds): Promise<void> {
  const text = (await etcdValues(plane, `${DIRECTORY}${name}`)).get(`${DIRECTORY}${name}`)
  if (text === undefined) throw new Error(`there is no key ${name}`)
  const original = originalOf(text.toString())
  const etcd = await etcdOf(plane)
  for (let first = 0; first < seeds.count; first += PUTS_PER_TRANSACTION) {
    const size = Math.min(PUTS_PER_TRANSACTION, seeds.count - first)
    const puts = Array.from({ length: size }, (_, n) => copyOf(original, seeds, first + n))
    await etcd('txn', { success: puts.map((put) => ({ request_put: put })) })
  }
}

/** Removes all keys with this prefix from etcd, finalizers or not. */
export async function removeSeeds(plane: ControlPlane, prefix: string): Promise<void> {
  const etcd = await etcdOf(plane)
  const range = {
    key: encoded(`${DIRECTORY}${prefix}-`),
    range_end: encoded(`${DIRECTORY}${prefix}.`),
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
    readonly spec: { readonly key: string }
    readonly status: { readonly keyID?: string; readonly expirationTimestamp?: string }
  }
  const { expirationTimestamp } = status
  return {
    text,
    name: metadata.name,
    uid: metadata.uid,
    key: spec.key,
    keyId: status.keyID ?? null,
    createdMs: Date.parse(metadata.creationTimestamp),
    endMs: expirationTimestamp === undefined ? null : Date.parse(expirationTimestamp),
  }
}

function copyOf(original: Original, { prefix, endMsOf }: Seeds, n: number) {
  const name = `${prefix}-${n}`
  // As long as the original's: sizes stay what they are.
  const key = `pak_${createHash('sha256').update(name).digest('hex')}`.slice(0, original.key.length)
  const replaced: [string, string][] = [
    [original.uid, randomUUID()],
    [original.key, key],
    [`"${original.name}"`, `"${name}"`],
  ]
  if (original.keyId !== null)
    replaced.push([original.keyId, createHash('sha256').update(key).digest('hex').slice(0, 16)])
  if (endMsOf && original.endMs !== null) {
    const shiftMs = endMsOf(n) - original.endMs
    replaced.push([timestamp(original.endMs), timestamp(original.endMs + shiftMs)])
    replaced.push([timestamp(original.createdMs), timestamp(original.createdMs + shiftMs)])
  }
  const value = replaced.reduce((text, [from, to]) => text.replaceAll(from, to), original.text)
  return { key: encoded(`${DIRECTORY}${name}`), value: encoded(value) }
}

const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
const encoded = (text: string): string => Buffer.from(text).toString('base64')
