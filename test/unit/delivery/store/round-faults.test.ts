import { describe, expect, test } from 'vitest'
import { SECRET_STORE_PATH_ANNOTATION } from '../../../../src/api/secret-store-names.ts'
import type { SyncOutcome } from '../../../../src/domain/store/round-status.ts'
import { NAMESPACE, StoreWorld, atPath } from '../../../support/store/store-world.ts'

/** A world with so many Secrets that are pulled from entries. */
function worldWith(secrets: number, namespace = NAMESPACE): StoreWorld {
  const world = new StoreWorld()
  world.namespace(namespace)
  for (let at = 0; at < secrets; at += 1) {
    world.secret('Pull', { name: `s${at}`, namespace })
    world.store.put(`shop/s${at}`, { value: `v${at}` })
  }
  return world
}

const count = (outcomes: readonly SyncOutcome[] = [], outcome: SyncOutcome): number =>
  outcomes.filter((one) => one === outcome).length

describe('a store that is away (36.5)', () => {
  test('is asked by 8 at once and a few more: the round ends, the others count as unreachable, and the next one heals', async () => {
    const world = worldWith(100)
    world.store.faultOf = () => 'unreachable'
    const rounds = world.rounds()
    await world.clock.advance(0)
    expect(world.store.calls.length).toBeLessThanOrEqual(15)
    expect(count(rounds.ended[0], 'unreachable')).toBe(100)
    expect(rounds.results[0]?.because).toBe('The store answered 503.')
    world.store.faultOf = () => null
    await world.clock.advance(60_000)
    expect(count(rounds.ended[1], 'written')).toBe(100)
    expect(rounds.results[1]?.because).toBe('')
    expect(world.events).toEqual([])
  })

  test('is noticed as soon where most Secrets rest after a fault of their own', async () => {
    const world = worldWith(100)
    for (let at = 0; at < 100; at += 2) world.store.remove(`shop/s${at}`)
    const rounds = world.rounds()
    await world.clock.advance(190_000)
    expect(count(rounds.ended.at(-1), 'not_found')).toBe(50)
    const calls = world.store.calls.length
    world.store.faultOf = () => 'unreachable'
    await world.clock.advance(60_000)
    expect(world.store.calls.length - calls).toBeLessThanOrEqual(15)
  })

  test('now and then does not end a round: one answer between is enough', async () => {
    const world = worldWith(100)
    world.store.faultOf = ({ method }, nth) =>
      method === 'readMetadata' && nth % 3 === 0 ? 'unreachable' : null
    const rounds = world.rounds()
    await world.clock.advance(0)
    const unreachable = count(rounds.ended[0], 'unreachable')
    expect(unreachable).toBeGreaterThan(8)
    expect(count(rounds.ended[0], 'written')).toBe(100 - unreachable)
  })

  test('in a tenth of all calls, and the API server too: after some rounds all are in step', async () => {
    const world = worldWith(100)
    for (let at = 0; at < 20; at += 1)
      world.secret('Push', { name: `p${at}`, data: { value: `v${at}` } })
    world.store.faultOf = (_, nth) => (nth % 10 === 7 ? 'unreachable' : null)
    let calls = 0
    world.server.faultOf = () => {
      calls += 1
      return calls % 10 === 3 ? { code: 500, reason: 'InternalError' } : null
    }
    world.rounds()
    await world.clock.advance(900_000)
    for (let at = 0; at < 100; at += 1) expect(world.data(`s${at}`)).toEqual({ value: `v${at}` })
    for (let at = 0; at < 20; at += 1) {
      expect(world.store.content(`shop/p${at}`)).toEqual({ value: `v${at}` })
      expect(world.store.version(`shop/p${at}`)).toBe(1)
    }
    world.store.faultOf = () => null
    world.server.faultOf = () => null
    await world.clock.advance(600_000)
    const { writes } = await world.counting(() => world.clock.advance(300_000))
    expect(writes).toEqual({ server: 0, store: 0 })
  })
})

describe('an API server that fails (36.5)', () => {
  test('for the namespaces: the next round tries again', async () => {
    const world = worldWith(1)
    world.server.faultOf = () => ({ code: 503, reason: 'ServiceUnavailable' })
    const rounds = world.rounds()
    await world.clock.advance(30_000)
    expect(rounds.ended).toEqual([])
    world.server.faultOf = () => null
    await world.clock.advance(30_000)
    expect(rounds.ended).toEqual([['written']])
  })

  test('without an answer for the Secrets of one namespace: the others are synced', async () => {
    const world = worldWith(2)
    world.namespace('p-blog')
    world.server.faultOf = ({ namespace }) => (namespace === 'p-blog' ? 'unsent' : null)
    const rounds = world.rounds()
    await world.clock.advance(10_000)
    expect(rounds.ended).toEqual([['failed', 'written', 'written']])
  })

  test.each([
    { unanswered: 2, ended: 1 },
    { unanswered: 3, ended: 0 },
    { unanswered: 9, ended: 0 },
  ])(
    'without an answer for $unanswered namespaces in a row: three are asked, $ended rounds end',
    async ({ unanswered, ended }) => {
      const world = worldWith(1)
      for (let at = 0; at < unanswered; at += 1) world.namespace(`p-a${at}`)
      let asked = 0
      world.server.faultOf = ({ namespace }) => {
        if (namespace?.startsWith('p-a') !== true) return null
        asked += 1
        return 'unsent'
      }
      const rounds = world.rounds()
      await world.clock.advance(10_000)
      expect(rounds.ended).toHaveLength(ended)
      expect(asked).toBe(Math.min(unanswered, 3))
    },
  )

  test('for the Secrets of one namespace, as where one cannot be decrypted: the others are synced', async () => {
    const world = worldWith(2)
    world.namespace('p-blog')
    world.secret('Push', { namespace: 'p-blog', data: { user: 'ada' } })
    const rounds = world.rounds()
    await world.clock.advance(1000)
    const version = world.store.version('blog/app')
    world.server.faultOf = ({ namespace }) =>
      namespace === 'p-blog' ? { code: 500, reason: 'InternalError' } : null
    world.store.put('shop/s0', { value: 'new' })
    await world.clock.advance(60_000)
    expect(rounds.ended.at(-1)).toEqual(['failed', 'unchanged', 'written'])
    expect(world.data('s0')).toEqual({ value: 'new' })
    world.server.faultOf = () => null
    const calls = world.store.calls.length
    await world.clock.advance(5000)
    // Its records were kept: the look that follows asks the store nothing.
    expect(world.store.calls).toHaveLength(calls)
    expect(world.store.version('blog/app')).toBe(version)
  })
})

describe('a Secret that fails by itself (36.5)', () => {
  test('is tried again after 10 s, 20 s and so on to 5 min', async () => {
    const world = worldWith(0)
    world.secret('Pull', { name: 'missing' })
    world.rounds()
    const triedMs: number[] = []
    const startMs = world.clock.monotonicMs()
    world.store.before = () => void triedMs.push((world.clock.monotonicMs() - startMs) / 60_000)
    await world.clock.advance(30 * 60_000)
    // In rounds of a minute: 10, 20 and 40 s are the next round.
    expect(triedMs).toEqual([0, 1, 2, 3, 5, 8, 13, 18, 23, 28])
  })

  test('is tried at once when it changes', async () => {
    const world = worldWith(0)
    world.secret('Push', { data: { user: 'ada' } })
    world.store.put('shop/app', { theirs: 'x' })
    world.rounds()
    await world.clock.advance(20 * 60_000)
    world.edit(atPath('free'))
    await world.clock.advance(5000)
    expect(world.store.content('shop/free')).toEqual({ user: 'ada' })
  })

  test('begins with 10 s again after it was in step', async () => {
    const world = worldWith(1)
    world.store.end('shop/s0', 'deleted')
    world.rounds()
    await world.clock.advance(20 * 60_000)
    expect(world.events).toHaveLength(1)
    world.store.put('shop/s0', { value: 'x' })
    await world.clock.advance(300_000)
    expect(world.data('s0')).toEqual({ value: 'x' })
    world.store.end('shop/s0', 'deleted')
    await world.clock.advance(60_000)
    expect(world.events).toHaveLength(2)
    world.store.put('shop/s0', { value: 'y' })
    await world.clock.advance(60_000)
    expect(world.data('s0')).toEqual({ value: 'y' })
  })
})

describe('Events and log (36.5)', () => {
  test('say each transition once, however many rounds', async () => {
    const world = worldWith(0)
    world.secret('Pull', { name: 'missing' })
    world.secret('Pull', { name: 'path', annotations: { [SECRET_STORE_PATH_ANNOTATION]: '..' } })
    world.secret('Pull', { name: 'name' })
    world.store.put('shop/name', { 'a b': 'x' })
    world.secret('Push', { name: 'foreign', data: { a: 'b' } })
    world.store.put('shop/foreign', { theirs: 'x' })
    world.rounds()
    await world.clock.advance(60 * 60_000)
    expect(
      world.events.map(({ reason, regarding }) => `${regarding.name} ${reason}`).toSorted(),
    ).toEqual([
      'foreign StoreConflict',
      'missing StoreNotFound',
      'name StoreContentRefused',
      'path StorePathRefused',
    ])
    expect(
      world.events.every(
        ({ type, regarding }) => type === 'Warning' && regarding.namespace === NAMESPACE,
      ),
    ).toBe(true)
    expect(world.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(4)
  })

  test('do not say it again after the store was away in between', async () => {
    const world = worldWith(0)
    world.secret('Pull', { name: 'missing' })
    world.rounds()
    await world.clock.advance(0)
    for (let outage = 0; outage < 3; outage += 1) {
      world.store.faultOf = () => 'unreachable'
      await world.clock.advance(300_000)
      world.store.faultOf = () => null
      await world.clock.advance(300_000)
    }
    expect(world.events.map(({ reason }) => reason)).toEqual(['StoreNotFound'])
  })

  test('say another fault, and the first one again', async () => {
    const world = worldWith(0)
    world.secret('Pull', { name: 'app' })
    world.rounds()
    await world.clock.advance(0)
    world.store.put('shop/app', { 'a b': 'x' })
    await world.clock.advance(300_000)
    world.store.remove('shop/app')
    await world.clock.advance(300_000)
    expect(world.events.map(({ reason }) => reason)).toEqual([
      'StoreNotFound',
      'StoreContentRefused',
      'StoreNotFound',
    ])
    expect(new Set(world.events.map(({ discriminator }) => discriminator)).size).toBe(3)
  })
})
