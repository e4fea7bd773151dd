// How the last use of a key is written, as the API server takes it, and what two gateways and others who
// write at the same time make of it. There is no operator here: every write of status is one of ours.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import type { AccessKey } from '../../../src/domain/accesskey/access-key.ts'
import { formatTimestamp, parseTimestamp } from '../../../src/domain/time.ts'
import { record } from '../../../src/gateway/activity/write.ts'
import { auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'
import { type StoredObject, objectClientOf } from '../../support/object-client.ts'
import { inWhole } from '../../support/tier.ts'
import { type ActivityReplica, startActivityReplica } from './activity-replica.ts'

type StoredKey = OwnedAccessKey & StoredObject

const plane = await privateControlPlane()
const keys = objectClientOf<StoredKey>(plane, ACCESS_KEYS)
const SOON = { withinMs: 10_000 }
const never = new AbortController().signal

let recorders: readonly ActivityReplica[] = []
const one = (): ActivityReplica => {
  const [first] = recorders
  if (!first) throw new Error('no recorder was started')
  return first
}

beforeAll(async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  recorders = [await startActivityReplica(kubeconfig), await startActivityReplica(kubeconfig)]
})
afterAll(async () => {
  for (const recorder of recorders) await recorder.close()
})

/** A new key that every recorder knows. */
async function known(spec: OwnedAccessKey['spec'] = {}, metadata = {}): Promise<StoredKey> {
  const key = await keys.create(newKey(spec, metadata))
  const { name, uid } = key.metadata
  await eventually(
    `${name} is known`,
    () => recorders.every((recorder) => recorder.keys.get(name)?.uid === uid) || undefined,
    SOON,
  )
  return key
}

const viewOf = ({ metadata: { name } }: StoredKey): AccessKey => one().caller(name).key

const always = (): boolean => true

const recording = (key: AccessKey, atMs: number, isWanted: (now: AccessKey) => boolean = always) =>
  record(one(), { key, atMs, isWanted, signal: never })

const lastActivity = async (key: StoredKey): Promise<string | undefined> =>
  (await keys.read(key))?.status.lastActivity

describe('a use is written (3.4, 14.1)', () => {
  const atMs = Date.UTC(2026, 10, 21, 10, 0, 0, 120)
  const earlier = '2026-11-21T09:00:00.123456+00:00'

  test.each<{ name: string; status: object | null }>([
    { name: 'nothing', status: null },
    { name: 'another part of the status', status: { keyID: 'x' } },
    { name: 'an earlier use', status: { lastActivity: '2026-11-21T09:00:00.5Z' } },
    { name: 'an earlier use in other digits', status: { lastActivity: earlier } },
  ])('over $name, and nothing else is', async ({ status }) => {
    const key = await known()
    if (status) await keys.patch(key, { status }, 'status')
    const written = await recording(viewOf(key), atMs)
    expect(written?.written).toBe(true)
    expect(written?.key.lastActivityMs).toBe(atMs)
    expect(one().keys.get(key.metadata.name)?.lastActivityMs).toBe(atMs)
    const now = await keys.read(key)
    // What the API server gives a new object (4.3) stays until the operator has looked at it.
    const first = { observedGeneration: -1 }
    expect(now?.status).toEqual({ ...first, ...status, lastActivity: '2026-11-21T10:00:00.120Z' })
    expect(now?.spec).toEqual(key.spec)
  })

  test('not over a later one that our view did not have', async () => {
    const key = await known()
    const view = viewOf(key)
    const later = formatTimestamp(atMs + 5)
    await keys.patch(key, { status: { lastActivity: later } }, 'status')
    const kept = await recording(view, atMs, ({ lastActivityMs }) => (lastActivityMs ?? 0) < atMs)
    expect(kept?.written).toBe(false)
    expect(kept?.key.lastActivityMs).toBe(atMs + 5)
    expect(await lastActivity(key)).toBe(later)
  })

  test.each<{ name: string; becomes: (key: StoredKey) => Promise<unknown> }>([
    { name: 'gone', becomes: (key) => keys.remove(key) },
    {
      name: 'made anew under its name',
      becomes: async (key) => {
        await keys.remove(key)
        await keys.create(newKey({}, { name: key.metadata.name }))
      },
    },
  ])('not when the key is $name', async ({ becomes }) => {
    const key = await known()
    const view = viewOf(key)
    await becomes(key)
    expect(await recording(view, atMs)).toBeNull()
    expect((await keys.read(key))?.status.lastActivity).toBeUndefined()
  })

  test('not when the key is being deleted', async () => {
    const key = await known({}, { finalizers: ['example.com/hold'] })
    const view = viewOf(key)
    await keys.remove(key)
    const left = await recording(view, atMs, ({ isDeleting }) => !isDeleting)
    expect(left).toMatchObject({ written: false, key: { isDeleting: true } })
    expect(await lastActivity(key)).toBeUndefined()
    await keys.patch(key, { metadata: { finalizers: null } })
  })
})

/** Every state of the key's last use from now on, in the order of etcd, as they are told; until told to stop. */
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

const AT_ONCE = 'two gateways write at once, while others change the keys (F8, I7)'
describe.each(inWhole(AT_ONCE))('%s', () => {
  /** Half of a lifetime is more than a busy machine stands still, and all of it less than they write. */
  const FOR_MS = 15_000
  const TTL_SECONDS = 12

  test('the last use never moves back, and the key lives as long as it is used', async () => {
    const key = await known({ ttl: TTL_SECONDS, ttlAfterLastActivity: true })
    const { name } = key.metadata
    const over = new AbortController()
    const past = await history(key, over.signal)
    const audit = auditOf(plane)
    const mark = await audit.mark()
    const untilMs = Date.now() + FOR_MS
    const noted = new Map<string, number>()
    let latestMs = 0
    const use = async ({ activity, caller }: ActivityReplica): Promise<void> => {
      while (Date.now() < untilMs) {
        const atMs = Date.now()
        const how = await activity.started(caller(name))
        noted.set(how, (noted.get(how) ?? 0) + 1)
        if (how !== 'unavailable') latestMs = Math.max(latestMs, atMs)
        await delay(3)
      }
    }
    const disturb = async (): Promise<void> => {
      while (Date.now() < untilMs) {
        await keys.patch(key, { metadata: { labels: { disturbed: randomUUID() } } })
        await delay(10)
      }
    }
    await Promise.all([...recorders.map(use), disturb()])
    for (const { activity } of recorders) await activity.flush()

    expect(noted.get('unavailable')).toBeUndefined()
    const lastMs = parseTimestamp(await lastActivity(key)) ?? 0
    expect(lastMs).toBeGreaterThanOrEqual(latestMs)
    await eventually(
      'the watch has told the last use',
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
    expect(writes.length).toBeLessThan((noted.get('later') ?? 0) / 10)
  })
})
