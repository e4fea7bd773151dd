import { describe, expect, test } from 'vitest'
import { HEARTBEAT_NAME } from '../../../../src/api/names.ts'
import { KEY_INDEXERS, KEY_ORDERS } from '../../../../src/controllers/indexes/access-keys.ts'
import { countKeys, exportKeyExpiry } from '../../../../src/controllers/ownedaccesskey/metrics.ts'
import { plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { Store } from '../../../../src/kube/informer/store.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { accessKey, after, circumstances, stepped } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { peopleOf } from '../../people/people-builder.ts'

const NOBODY = peopleOf([], [])

const eventLoop = new EventLoopShare(manualClock(after(0)))
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

const keyWith = (digest: string, differing: Partial<AccessKey>): AccessKey =>
  accessKey({ uid: digest, digest, ...differing })

/** The key after its status at that time was published. */
function published(key: AccessKey, nowMs: number): AccessKey {
  const now = stepped(key, plan(key, circumstances({ nowMs })))
  if (!now) throw new Error('the key is gone')
  return now
}

describe('keys by state (8.4)', () => {
  test('counts the current state, whatever status says', async () => {
    const keys = storeOf({
      active: keyWith('a', {}),
      expired: keyWith('b', { ttl: 60 }),
      disabled: keyWith('c', { isDisabled: true }),
      withoutIdentity: keyWith('d', { identity: null }),
      older: keyWith('e', {}),
      newer: keyWith('e', { uid: 'f', creationMs: after(1) }),
      deleting: keyWith('g', { isDeleting: true }),
      owned: keyWith('h', { ownerRef: { name: 'disabled', uid: 'c' } }),
    })
    const { byState } = await countKeys(keys, NOBODY, CAPS, after(60), eventLoop)
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

  test('counts keys that the cap shortens', async () => {
    const keys = storeOf({
      a: keyWith('a', { ttl: 60 }),
      b: keyWith('b', { ttl: 90 }),
      c: keyWith('c', {}),
    })
    const counts = await countKeys(
      keys,
      NOBODY,
      { ...CAPS, maxTtlSeconds: 60 },
      after(0),
      eventLoop,
    )
    expect(counts.capped).toBe(2)
  })

  test('the heartbeat key of the gateways is not counted, and has no expiry (10.4)', async () => {
    const keys = storeOf({
      [HEARTBEAT_NAME]: accessKey({ uid: 'h', digest: null, type: 'Reset' }),
      a: keyWith('a', {}),
    })
    const caps = { ...CAPS, maxTtlSeconds: 60 }
    const counts = await countKeys(keys, NOBODY, caps, after(0), eventLoop)
    expect(counts).toMatchObject({ byState: { active: 1 }, capped: 1 })
    const ends: [string, number][] = []
    await exportKeyExpiry(keys, caps, after(0), eventLoop, (...end) => ends.push(end))
    expect(ends).toEqual([['a', after(60)]])
  })
})

describe('overdue keys: past their end, without Expired in status (8.4)', () => {
  const minute = keyWith('a', { ttl: 60 })
  const keys = storeOf({
    minute,
    published: published(keyWith('b', { ttl: 60 }), after(60)),
    active: published(keyWith('c', { ttl: 90 }), after(0)),
    deleting: keyWith('d', { ttl: 60, isDeleting: true }),
    withoutIdentity: keyWith('e', { ttl: 60, identity: null }),
    never: keyWith('f', {}),
  })
  test.each([
    { name: 'none', nowMs: after(60) - 1, overdue: { count: 0, longestMs: 0 } },
    { name: 'one, at its end', nowMs: after(60), overdue: { count: 1, longestMs: 0 } },
    { name: 'one, 10 s after its end', nowMs: after(70), overdue: { count: 1, longestMs: 10_000 } },
    {
      name: 'two, the first 40 s after its end',
      nowMs: after(100),
      overdue: { count: 2, longestMs: 40_000 },
    },
  ])('$name', async ({ nowMs, overdue }) => {
    expect(await countKeys(keys, NOBODY, CAPS, nowMs, eventLoop)).toMatchObject({ overdue })
  })
})

/** Reads of the creation time while `count` keys with one secret are added and counted twice. */
async function countReads(count: number): Promise<number> {
  let reads = 0
  const names = Array.from({ length: count }, (_, at) => `key-${at}`)
  const counted = (key: AccessKey): AccessKey =>
    new Proxy(key, {
      get: (target, member) => {
        if (member === 'creationMs' || member === 'holdsDigest') reads += 1
        return Reflect.get(target, member) as unknown
      },
    })
  const keys = Object.fromEntries(
    names.map((name, at) => [name, keyWith('a', { uid: name, creationMs: after(-at) })]),
  )
  const store = new Store(
    ({ metadata }) => counted({ ...(keys[metadata.name] as AccessKey), name: metadata.name }),
    KEY_INDEXERS,
    KEY_ORDERS,
  )
  for (const name of names) store.put(keyObject({ metadata: { name, uid: name } }))
  for (const _ of [1, 2]) {
    const { byState } = await countKeys(store, NOBODY, CAPS, after(0), eventLoop)
    expect(byState).toEqual({ active: 1, key_conflict: count - 1 })
  }
  return reads
}

test('the cost of counting keys with one secret grows linearly (3.3)', async () => {
  const few = await countReads(100)
  expect((await countReads(400)) / few).toBeLessThan(6)
})
