// Records of a key's last use on a real API server: one write, and two replicas that write while others change the
// key. No operator runs here, so every write of a status is one of the recorders.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import type { AccessKey } from '../../../src/domain/accesskey/access-key.ts'
import { formatTimestamp, parseTimestamp } from '../../../src/domain/time.ts'
import { writeLastActivity } from '../../../src/gateway/activity/write.ts'
import { auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'
import { type StoredObject, objectClientOf } from '../../support/object-client.ts'
import { inWhole } from '../../support/tier.ts'
import { type ActivityReplica, startActivityReplica } from './in-process-gateway.ts'

type StoredKey = OwnedAccessKey & StoredObject

const plane = await privateControlPlane()
const keys = objectClientOf<StoredKey>(plane, ACCESS_KEYS)
const SOON = { withinMs: 10_000 }
const never = new AbortController().signal

let replicas: readonly ActivityReplica[] = []
const firstReplica = (): ActivityReplica => {
  const [first] = replicas
  if (!first) throw new Error('no replica was started')
  return first
}

beforeAll(async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  replicas = [await startActivityReplica(kubeconfig), await startActivityReplica(kubeconfig)]
})
afterAll(async () => {
  for (const replica of replicas) await replica.close()
})

/** A new key that is in the store of every replica. */
async function createKnownKey(
  spec: OwnedAccessKey['spec'] = {},
  metadata = {},
): Promise<StoredKey> {
  const key = await keys.create(newKey(spec, metadata))
  const { name, uid } = key.metadata
  await eventually(
    `${name} is in every store`,
    () => replicas.every((replica) => replica.keys.get(name)?.uid === uid) || undefined,
    SOON,
  )
  return key
}

const viewOf = ({ metadata: { name } }: StoredKey): AccessKey => firstReplica().caller(name).key

const always = (): boolean => true

const recording = (key: AccessKey, atMs: number, isWanted: (now: AccessKey) => boolean = always) =>
  writeLastActivity(firstReplica(), { key, atMs, isWanted, signal: never })

const lastActivity = async (key: StoredKey): Promise<string | undefined> =>
  (await keys.read(key))?.status.lastActivity

describe('a record of a use (3.4, 14.1)', () => {
  const atMs = Date.UTC(2026, 10, 21, 10, 0, 0, 120)
  const earlier = '2026-11-21T09:00:00.123456+00:00'

  test.each<{ name: string; status: object | null }>([
    { name: 'no status', status: null },
    { name: 'a status with other fields', status: { keyID: 'x' } },
    { name: 'an earlier use', status: { lastActivity: '2026-11-21T09:00:00.5Z' } },
    { name: 'an earlier use in microseconds', status: { lastActivity: earlier } },
  ])('sets lastActivity over $name and changes nothing else', async ({ status }) => {
    const key = await createKnownKey()
    if (status) await keys.patch(key, { status }, 'status')
    const written = await recording(viewOf(key), atMs)
    expect(written?.written).toBe(true)
    expect(written?.key.lastActivityMs).toBe(atMs)
    expect(firstReplica().keys.get(key.metadata.name)?.lastActivityMs).toBe(atMs)
    const now = await keys.read(key)
    // The API server's default for a new object (4.3) stays until the operator's first status.
    const first = { observedGeneration: -1 }
    expect(now?.status).toEqual({ ...first, ...status, lastActivity: '2026-11-21T10:00:00.120Z' })
    expect(now?.spec).toEqual(key.spec)
  })

  test('keeps a later use that the replica has not seen yet', async () => {
    const key = await createKnownKey()
    const view = viewOf(key)
    const later = formatTimestamp(atMs + 5)
    await keys.patch(key, { status: { lastActivity: later } }, 'status')
    const kept = await recording(view, atMs, ({ lastActivityMs }) => (lastActivityMs ?? 0) < atMs)
    expect(kept?.written).toBe(false)
    expect(kept?.key.lastActivityMs).toBe(atMs + 5)
    expect(await lastActivity(key)).toBe(later)
  })

  test.each<{ name: string; change: (key: StoredKey) => Promise<unknown> }>([
    { name: 'deleted', change: (key) => keys.remove(key) },
    {
      name: 'replaced by another of its name',
      change: async (key) => {
        await keys.remove(key)
        await keys.create(newKey({}, { name: key.metadata.name }))
      },
    },
  ])('is not written when the key was $name', async ({ change }) => {
    const key = await createKnownKey()
    const view = viewOf(key)
    await change(key)
    expect(await recording(view, atMs)).toBeNull()
    expect((await keys.read(key))?.status.lastActivity).toBeUndefined()
  })

  test('is not written when the key is being deleted', async () => {
    const key = await createKnownKey({}, { finalizers: ['example.com/hold'] })
    const view = viewOf(key)
    await keys.remove(key)
    const left = await recording(view, atMs, ({ isDeleting }) => !isDeleting)
    expect(left).toMatchObject({ written: false, key: { isDeleting: true } })
    expect(await lastActivity(key)).toBeUndefined()
    await keys.patch(key, { metadata: { finalizers: null } })
  })
})

/** Every later lastActivity of the key in the order of etcd, by a watch that ends with the signal. */
async function history(key: StoredKey, signal: AbortSignal): Promise<() => readonly number[]> {
  const { name, resourceVersion } = key.metadata
  const query = { watch: 'true', resourceVersion, fieldSelector: `metadata.name=${name}` }
  const stream = await plane.admin.watch(ACCESS_KEYS, query, undefined, signal)
  let text = ''
  stream
    .setEncoding('utf8')
    .on('data', (part: string) => void (text += part))
    .on('error', () => undefined)
  return () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { readonly object: StoredKey })
      .map(({ object }) => parseTimestamp(object.status?.lastActivity) ?? 0)
}

const CONCURRENT = 'two replicas record uses while others change the key (F8, I7)'
describe.each(inWhole(CONCURRENT))('%s', () => {
  /** Half of the ttl is longer than a busy machine stands still; the whole of it is shorter than the test. */
  const FOR_MS = 15_000
  const TTL_SECONDS = 12

  test('lastActivity never moves back, and the key lives as long as it is used', async () => {
    const key = await createKnownKey({ ttl: TTL_SECONDS, ttlAfterLastActivity: true })
    const { name } = key.metadata
    const over = new AbortController()
    const past = await history(key, over.signal)
    const audit = auditOf(plane)
    const mark = await audit.mark()
    const untilMs = Date.now() + FOR_MS
    const outcomes = new Map<string, number>()
    let latestMs = 0
    const use = async ({ activity, caller }: ActivityReplica): Promise<void> => {
      while (Date.now() < untilMs) {
        const atMs = Date.now()
        const outcome = await activity.started(caller(name))
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (outcome !== 'unavailable') latestMs = Math.max(latestMs, atMs)
        await delay(3)
      }
    }
    const disturb = async (): Promise<void> => {
      while (Date.now() < untilMs) {
        await keys.patch(key, { metadata: { labels: { disturbed: randomUUID() } } })
        await delay(10)
      }
    }
    await Promise.all([...replicas.map(use), disturb()])
    for (const { activity } of replicas) await activity.flush()

    expect(outcomes.get('unavailable')).toBeUndefined()
    const lastMs = parseTimestamp(await lastActivity(key)) ?? 0
    expect(lastMs).toBeGreaterThanOrEqual(latestMs)
    await eventually(
      'the watch delivers the last use',
      () => past().at(-1) === lastMs || undefined,
      SOON,
    )
    over.abort()
    const seen = past()
    expect(seen.length).toBeGreaterThan(20)
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    const writes = await audit.writesSince(mark, { user: GATEWAY_USER })
    expect(
      writes.every(({ verb, subresource }) => verb === 'patch' && subresource === 'status'),
    ).toBe(true)
    const successes = writes.filter(({ code }) => code === 200)
    expect(successes.length).toBe(new Set(seen.filter((usedMs) => usedMs > 0)).size)
    expect(writes.length).toBeLessThan((outcomes.get('later') ?? 0) / 10)
  })
})
