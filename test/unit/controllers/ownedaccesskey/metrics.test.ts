import { describe, expect, test } from 'vitest'
import { HEARTBEAT_KEY } from '../../../../src/api/names.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../../../src/controllers/ownedaccesskey/indexes.ts'
import { countKeys, exportKeyExpiry } from '../../../../src/controllers/ownedaccesskey/metrics.ts'
import { plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { manualClock } from '../../../support/clock.ts'
import { accessKey, after, circumstances, stepped } from '../../../support/key-builder.ts'
import { keyObject } from '../../../support/object-builder.ts'

const turns = new EventLoopShare(manualClock(after(0)))
const CAPS = { maxTtlSeconds: null, loginTtlSeconds: null }

/** A store with these keys, by name. */
function storeOf(keys: Readonly<Record<string, AccessKey>>): Store<AccessKey> {
  const store = new Store(
    ({ metadata }) => ({ ...(keys[metadata.name] as AccessKey), name: metadata.name }),
    KEY_INDEXERS,
    KEY_ORDERS,
  )
  store.begin()
  for (const name of Object.keys(keys)) store.put(keyObject({ metadata: { name, uid: name } }))
  store.end()
  return store
}

const of = (digest: string, differing: Partial<AccessKey>): AccessKey =>
  accessKey({ uid: digest, digest, ...differing })

/** The key once the operator has written what it is at that moment. */
function told(key: AccessKey, nowMs: number): AccessKey {
  const now = stepped(key, plan(key, circumstances({ nowMs })))
  if (!now) throw new Error('the key is gone')
  return now
}

describe('keys by state (8.4)', () => {
  test('as they are now, whatever status says', async () => {
    const keys = storeOf({
      active: of('a', {}),
      expired: of('b', { ttl: 60 }),
      disabled: of('c', { isDisabled: true }),
      nobody: of('d', { identity: null }),
      elder: of('e', {}),
      younger: of('e', { uid: 'f', creationMs: after(1) }),
      going: of('g', { isDeleting: true }),
      owned: of('h', { ownerRef: { name: 'disabled', uid: 'c' } }),
    })
    const { byState } = await countKeys(keys, CAPS, after(60), turns)
    expect(byState).toEqual({
      active: 2,
      expired: 1,
      disabled: 1,
      no_identity: 1,
      key_conflict: 1,
      terminating: 1,
      owner_not_ready: 1,
    })
  })

  test('those that the cap shortens', async () => {
    const keys = storeOf({ a: of('a', { ttl: 60 }), b: of('b', { ttl: 90 }), c: of('c', {}) })
    const counts = await countKeys(keys, { ...CAPS, maxTtlSeconds: 60 }, after(0), turns)
    expect(counts.capped).toBe(2)
  })

  test('the heartbeat of the gateways is not counted, and has no end (10.4)', async () => {
    const keys = storeOf({
      [HEARTBEAT_KEY]: accessKey({ uid: 'h', digest: null, type: 'Reset' }),
      a: of('a', {}),
    })
    const caps = { ...CAPS, maxTtlSeconds: 60 }
    const counts = await countKeys(keys, caps, after(0), turns)
    expect(counts).toMatchObject({ byState: { active: 1 }, capped: 1 })
    const ends: [string, number][] = []
    await exportKeyExpiry(keys, caps, after(0), turns, (...end) => ends.push(end))
    expect(ends).toEqual([['a', after(60)]])
  })
})

describe('keys whose end status does not tell (8.4)', () => {
  const minute = of('a', { ttl: 60 })
  const keys = storeOf({
    minute,
    told: told(of('b', { ttl: 60 }), after(60)),
    active: told(of('c', { ttl: 90 }), after(0)),
    going: of('d', { ttl: 60, isDeleting: true }),
    nobody: of('e', { ttl: 60, identity: null }),
    never: of('f', {}),
  })
  test.each([
    { name: 'none', nowMs: after(60) - 1, overdue: { count: 0, longestMs: 0 } },
    { name: 'one, since now', nowMs: after(60), overdue: { count: 1, longestMs: 0 } },
    { name: 'one for 10 s', nowMs: after(70), overdue: { count: 1, longestMs: 10_000 } },
    {
      name: 'two, the first for 40 s',
      nowMs: after(100),
      overdue: { count: 2, longestMs: 40_000 },
    },
  ])('$name', async ({ nowMs, overdue }) => {
    expect(await countKeys(keys, CAPS, nowMs, turns)).toMatchObject({ overdue })
  })
})

/** How often the age of a key is looked at while so many with one secret come, and are counted twice. */
async function looksOf(count: number): Promise<number> {
  let looks = 0
  const names = Array.from({ length: count }, (_, at) => `key-${at}`)
  const counted = (key: AccessKey): AccessKey =>
    new Proxy(key, {
      get: (target, member) => {
        if (member === 'creationMs' || member === 'holdsDigest') looks += 1
        return Reflect.get(target, member) as unknown
      },
    })
  const keys = Object.fromEntries(
    names.map((name, at) => [name, of('a', { uid: name, creationMs: after(-at) })]),
  )
  const store = new Store(
    ({ metadata }) => counted({ ...(keys[metadata.name] as AccessKey), name: metadata.name }),
    KEY_INDEXERS,
    KEY_ORDERS,
  )
  for (const name of names) store.put(keyObject({ metadata: { name, uid: name } }))
  for (const _ of [1, 2]) {
    const { byState } = await countKeys(store, CAPS, after(0), turns)
    expect(byState).toEqual({ active: 1, key_conflict: count - 1 })
  }
  return looks
}

test('keys with one secret are counted in steps that grow as they do (3.3)', async () => {
  const few = await looksOf(100)
  expect((await looksOf(400)) / few).toBeLessThan(6)
})
