import { describe, expect, it } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import { NotLeaderError } from '../../../../src/kube/client/api-error.ts'
import { fullObject, Store } from '../../../../src/kube/informer/store.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { goneIn, reportIn } from '../../../support/signin/identity-reports.ts'
import { storedIn } from '../../../support/signin/leader.ts'
import { LATEST_MS, refreshing } from '../../../support/signin/refreshes.ts'
import { NAME } from '../../../support/signin/stored-session.ts'

/** Moves the clock until the provider is asked. */
async function untilAsked({ clock, rotating }: ReturnType<typeof refreshing>): Promise<void> {
  for (let ms = 0; ms < LATEST_MS && rotating.asks.length === 0; ms += 1000)
    await clock.advance(1000)
  expect(rotating.asks).toHaveLength(1)
}

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

  it('ask no provider while the API server takes no word of it', async () => {
    const world = refreshing()
    world.cluster.before = ({ verb }) => {
      if (verb === 'replace') throw refused(503, 'ServiceUnavailable')
    }
    world.loop()
    await world.clock.advance(LATEST_MS + 600_000)
    expect(world.rotating.asks).toEqual([])
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

  it('that stop wait ten seconds at most', async () => {
    const world = refreshing()
    world.rotating.delay = new Promise(() => undefined)
    const refreshes = world.loop()
    await untilAsked(world)
    let isOver = false
    void refreshes.drain().then(() => {
      isOver = true
    })
    await world.clock.advance(9_999)
    expect(isOver).toBe(false)
    await world.clock.advance(60_000)
    expect(isOver).toBe(true)
  })
})
