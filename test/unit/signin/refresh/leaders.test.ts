import { describe, expect, it } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import { NotLeaderError } from '../../../../src/kube/client/api-error.ts'
import { fullObject, Store } from '../../../../src/kube/informer/store.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { goneIn, reportIn } from '../../../support/signin/identity-reports.ts'
import { storedIn } from '../../../support/signin/leader.ts'
import {
  AWAY,
  changeStored,
  INTERVAL_MS,
  LATEST_MS,
  refreshing,
  untilAsked,
} from '../../../support/signin/refreshes.ts'
import { NAME, START_MS } from '../../../support/signin/stored-session.ts'

describe('leaders (25.7, SL)', () => {
  it('two at once call the provider once', async () => {
    const world = refreshing()
    world.loop()
    const stale = new Store(fullObject<Secret>)
    stale.begin()
    stale.put(world.cluster.object('Secret', NAME) as never)
    stale.end()
    world.loop({ secrets: stale })
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toEqual(['secret-0'])
    expect(reportIn(world.cluster)?.refreshed).not.toBeNull()
  })

  it('that lead no more call no provider', async () => {
    const world = refreshing()
    world.loop({
      mayLead: () => {
        throw new NotLeaderError()
      },
    })
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toEqual([])
  })

  it('that have not heard of its end ask about no session', async () => {
    const world = refreshing()
    world.cluster.isStale = true
    world.cluster.remove('Secret', NAME)
    world.loop()
    await world.clock.advance(LATEST_MS)
    expect([world.rotating.asks, world.lines]).toEqual([[], []])
    expect(new Set(world.results)).toEqual(new Set(['oidc superseded']))
  })

  it('ask about a session again when the refresh before is over', async () => {
    const world = refreshing()
    world.cluster.before = ({ kind }) =>
      kind === 'User' ? new Promise(() => undefined) : undefined
    world.loop()
    await world.clock.advance(2 * LATEST_MS)
    expect(world.rotating.asks).toEqual(['secret-0'])
  })

  it('that were paused before the call make none', async () => {
    const world = refreshing()
    world.cluster.before = ({ verb, kind }) => {
      if (verb === 'replace' && kind === 'Secret')
        world.clock.setMonotonic(world.clock.monotonicMs() + 5000)
    }
    world.loop()
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toEqual([])
  })

  it('that are slow leave the word of who has asked since as it is', async () => {
    const world = refreshing()
    const answer = Promise.withResolvers<void>()
    world.rotating.delay = answer.promise
    world.loop()
    await untilAsked(world)
    const since = { confirmedMs: START_MS, askedMs: START_MS + 7, failures: 1, isUnanswered: true }
    await changeStored(world, { refresh: since })
    answer.resolve()
    await world.clock.advance(0)
    expect(storedIn(world.cluster)).toMatchObject({
      refresh: since,
      tokens: { refreshToken: 'secret-0' },
    })
  })

  it.each([
    { isDone: false, lost: [1, 2] },
    { isDone: true, lost: [0, 1] },
  ])('killed at any call accuse no person (its write done: $isDone)', async ({ isDone, lost }) => {
    const places = [...Array(10).keys()]
    const ends = await Promise.all(places.map((place) => killedAt(place, isDone)))
    expect(ends).toEqual(places.map((place) => (lost.includes(place) ? 'SignInAgain' : null)))
  })

  it('killed between the answer and its write: the person signs in again, and is not accused', async () => {
    const world = refreshing()
    const stop = new AbortController()
    world.loop({ stop })
    world.cluster.before = ({ verb, kind }) => {
      const isLost = world.rotating.asks.length > 0 && verb === 'replace' && kind === 'Secret'
      return isLost ? new Promise(() => undefined) : undefined
    }
    await world.clock.advance(LATEST_MS)
    stop.abort()
    world.cluster.before = () => undefined
    world.loop()
    await world.clock.advance(120_000)
    expect(world.rotating.asks).toEqual(['secret-0', 'secret-0'])
    expect(goneIn(world.cluster)).toBe('SignInAgain')
    expect(world.results.at(-1)).toBe('oidc sign_in_again')
  })

  it('try to store a new token for a while', async () => {
    let failures = 3
    const world = refreshing()
    world.cluster.before = ({ verb, kind }) => {
      if (
        world.rotating.asks.length === 1 &&
        verb === 'replace' &&
        kind === 'Secret' &&
        failures > 0
      ) {
        failures -= 1
        throw refused(503, 'ServiceUnavailable')
      }
    }
    world.loop()
    await world.clock.advance(LATEST_MS + 10_000)
    expect(storedIn(world.cluster)?.tokens.refreshToken).toBe('secret-1')
    expect(world.results).toEqual(['oidc refreshed'])
  })

  it('try also while others write the session', async () => {
    let conflicts = 5
    const world = refreshing()
    world.cluster.before = ({ verb, kind }) => {
      const isWrite = world.rotating.asks.length === 1 && verb === 'replace' && kind === 'Secret'
      if (!isWrite || conflicts === 0) return
      conflicts -= 1
      throw refused(409, 'Conflict')
    }
    world.loop()
    await world.clock.advance(LATEST_MS + 10_000)
    expect(storedIn(world.cluster)?.tokens.refreshToken).toBe('secret-1')
  })

  it('ask no provider while the API server takes no word of it', async () => {
    const world = refreshing()
    world.cluster.before = ({ verb }) => {
      if (verb === 'replace') throw refused(503, 'ServiceUnavailable')
    }
    world.loop()
    await world.clock.advance(LATEST_MS + 600_000)
    expect(world.rotating.asks).toEqual([])
    expect(world.cluster.calls.length).toBeLessThan(30)
    world.cluster.before = () => undefined
    await world.clock.advance(60_000)
    expect(world.rotating.asks).toEqual(['secret-0'])
  })

  it('that stop wait for the answer under way, and store its token', async () => {
    const world = refreshing()
    const answer = Promise.withResolvers<void>()
    const stop = new AbortController()
    world.rotating.delay = answer.promise
    const refreshes = world.loop({ stop })
    await untilAsked(world)
    stop.abort()
    const drained = refreshes.drain()
    answer.resolve()
    await world.clock.advance(0)
    await drained
    expect(storedIn(world.cluster)?.tokens.refreshToken).toBe('secret-1')
  })

  it('that stop store a token that has come in the last moment', async () => {
    const world = refreshing()
    const answer = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    world.rotating.delay = answer.promise
    world.rotating.isImpatient = true
    const refreshes = world.loop()
    await untilAsked(world)
    world.cluster.before = ({ verb }) => (verb === 'replace' ? written.promise : undefined)
    let isOver = false
    void refreshes.drain().then(() => {
      isOver = true
    })
    await world.clock.advance(9_999)
    answer.resolve()
    await world.clock.advance(1000)
    expect(isOver).toBe(false)
    written.resolve()
    await world.clock.advance(0)
    expect([isOver, storedIn(world.cluster)?.tokens.refreshToken]).toEqual([true, 'secret-1'])
  })

  it('that stop wait ten seconds at most', async () => {
    const world = refreshing()
    world.rotating.delay = new Promise(() => undefined)
    world.rotating.isImpatient = true
    const refreshes = world.loop()
    await untilAsked(world)
    let isOver = false
    void refreshes.drain().then(() => {
      isOver = true
    })
    await world.clock.advance(9_999)
    expect(isOver).toBe(false)
    await world.clock.advance(1)
    expect(isOver).toBe(true)
  })
})

/** Why the person is gone after a leader that was killed at a call of a refresh, and another one; null = the person is not. */
async function killedAt(place: number, isDone: boolean): Promise<string | null> {
  const world = refreshing()
  world.rotating.identity = { groups: [{ name: 'dev', displayName: null }] }
  const stop = new AbortController()
  world.loop({ stop })
  let calls = 0
  world.cluster.before = () => {
    calls += 1
    const isDead = isDone ? calls > place + 1 : calls > place
    return isDead ? new Promise(() => undefined) : undefined
  }
  await world.clock.advance(LATEST_MS)
  expect(calls).toBeGreaterThan(place)
  stop.abort()
  world.cluster.before = () => undefined
  world.loop()
  await world.clock.advance(LATEST_MS)
  return goneIn(world.cluster)
}

describe('a clock that was wrong (25.7)', () => {
  const confirmedMs = START_MS + 30 * INTERVAL_MS
  const ahead = { confirmedMs, askedMs: null, failures: 0, isUnanswered: false }

  it('puts no session off: it is asked about at once, and then by the clock of now', async () => {
    const world = refreshing({ refresh: ahead })
    world.loop()
    await world.clock.advance(1000)
    expect(world.rotating.asks).toEqual(['secret-0'])
    expect(reportIn(world.cluster)?.refreshed?.atMs).toBe(START_MS)
    await world.clock.advance(LATEST_MS)
    expect(world.rotating.asks).toHaveLength(2)
  })

  it('asks a provider that fails no more often than another', async () => {
    const world = refreshing({ refresh: ahead })
    world.rotating.fault = AWAY
    world.loop()
    await world.clock.advance(INTERVAL_MS)
    expect(world.rotating.asks.length).toBeLessThan(8)
  })
})
