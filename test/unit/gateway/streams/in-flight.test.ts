// Open streams are cut within a second after their key ends (contract 13.4; threats C3).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { Reauthentication } from '../../../../src/authn/authenticator.ts'
import { type KeyCaller, credentialUid } from '../../../../src/authn/caller.ts'
import {
  InFlightRequests,
  type InFlightEntry,
  type Pending,
} from '../../../../src/gateway/streams/in-flight.ts'
import { after, t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const callerOf = (
  uid: string,
  expiresMs: number | null = null,
  spec: OwnedAccessKeySpec = {},
): KeyCaller => ({
  key: viewOf({ metadata: { name: uid, uid }, spec }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs,
})

/** A registry whose reauthentication the test decides. */
function started() {
  const clock = manualClock(t0)
  const now = new Map<string, Reauthentication>()
  const observed: string[] = []
  const streams = new InFlightRequests({
    clock,
    reauthenticate: async (caller) => now.get(credentialUid(caller)) ?? { ok: true, caller },
    observer: {
      opened: (kind) => void observed.push(`opened ${kind}`),
      closed: (kind) => void observed.push(`closed ${kind}`),
      cut: (reason) => void observed.push(`cut ${reason}`),
    },
  })
  const cuts: string[] = []
  const open = (caller: KeyCaller): (() => void) => {
    const { flows, close } = streams.open(caller, PENDING)
    flows('watch', (reason) => {
      cuts.push(`${caller.key.uid} ${reason}`)
      close()
    })
    return close
  }
  /** A request without a response yet; whether it is a complete write. */
  const ask = (caller: KeyCaller, isAllButDone = false): InFlightEntry => {
    const opened = streams.open(caller, {
      mayComplete: () => isAllButDone,
      end: (reason) => {
        cuts.push(`${caller.key.uid} ended: ${reason}`)
        opened.close()
      },
    })
    return opened
  }
  const settle = () => clock.advance(0)
  return { clock, now, observed, streams, cuts, open, ask, settle }
}

const PENDING: Pending = { mayComplete: () => false, end: () => expect.fail('it is answered') }

describe('streams', () => {
  test.each(['at once', 'later'])(
    'of a key that was shortened before one of them was admitted end with it, checked %s (13.4)',
    async (how) => {
      const clock = manualClock(t0)
      const authenticated = callerOf('a', after(3600))
      const shortened = callerOf('a', after(60))
      const found: Reauthentication = { ok: true, caller: shortened }
      const reauthenticated = (): Reauthentication =>
        clock.nowMs() < after(60) ? found : { ok: false, because: 'expired' }
      const requests = new InFlightRequests({
        clock,
        reauthenticate: how === 'at once' ? reauthenticated : async () => reauthenticated(),
        observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
      })
      const cuts: string[] = []
      for (const caller of [shortened, authenticated])
        requests.open(caller, PENDING).flows('watch', (reason) => void cuts.push(reason))
      await clock.advance(61_000)
      expect(cuts).toEqual(['expired', 'expired'])
    },
  )

  test('end with their key while the check at their admission has no result yet (13.4)', async () => {
    const clock = manualClock(t0)
    let checks = 0
    const requests = new InFlightRequests({
      clock,
      reauthenticate: () => {
        checks += 1
        return checks === 1
          ? new Promise<never>(() => undefined)
          : { ok: false, because: 'expired' }
      },
      observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
    })
    const cuts: string[] = []
    const { flows } = requests.open(callerOf('a', after(60)), PENDING)
    flows('watch', (reason) => void cuts.push(reason))
    await clock.advance(59_000)
    expect(cuts).toEqual([])
    await clock.advance(2000)
    expect(cuts).toEqual(['expired'])
  })

  test.each(['expired', 'revoked', 'changed', 'stale'] as const)(
    'are cut when their key is %s, those of others stay (13.4)',
    async (because) => {
      const { open, now, streams, cuts, settle } = started()
      for (const uid of ['a', 'a', 'b']) open(callerOf(uid))
      now.set('a', { ok: false, because })
      streams.look('a')
      await settle()
      expect(cuts).toEqual([`a ${because}`, `a ${because}`])
    },
  )

  test('are all checked when any key may have changed', async () => {
    const { open, now, streams, cuts, settle } = started()
    for (const uid of ['a', 'b', 'c']) open(callerOf(uid))
    for (const uid of ['a', 'c']) now.set(uid, { ok: false, because: 'revoked' })
    streams.look(null)
    await settle()
    expect(cuts).toEqual(['a revoked', 'c revoked'])
  })

  test('are checked when their key becomes stale, and end unless it was refreshed (24.5)', async () => {
    const { clock, open, now, cuts, settle } = started()
    const caller = { ...callerOf('a', after(100)), staleMs: after(10) }
    open(caller)
    await settle()
    now.set('a', { ok: true, caller: { ...caller, staleMs: after(20) } })
    await clock.advance(10_000)
    expect(cuts).toEqual([])
    now.set('a', { ok: false, because: 'revoked' })
    await clock.advance(9_999)
    expect(cuts).toEqual([])
    await clock.advance(1)
    expect(cuts).toEqual(['a revoked'])
  })

  test('end when their key expires, and not before (13.4)', async () => {
    const { clock, open, now, cuts } = started()
    open(callerOf('a', after(30)))
    now.set('a', { ok: false, because: 'expired' })
    await clock.advance(29_999)
    expect(cuts).toEqual([])
    await clock.advance(1)
    expect(cuts).toEqual(['a expired'])
  })

  test('go on while their key slides', async () => {
    const { clock, open, now, cuts } = started()
    open(callerOf('a', after(30)))
    now.set('a', { ok: true, caller: callerOf('a', after(45)) })
    await clock.advance(44_999)
    expect(cuts).toEqual([])
    now.set('a', { ok: false, because: 'expired' })
    await clock.advance(1)
    expect(cuts).toEqual(['a expired'])
  })

  test('of a key that lives for 30 days stay open', async () => {
    const { clock, open, cuts } = started()
    open(callerOf('a', after(30 * 86_400)))
    await clock.advance(3_600_000)
    expect(cuts).toEqual([])
  })

  test('that are closed are forgotten: no timer is left, and none is cut', async () => {
    const { clock, open, now, streams, cuts, observed } = started()
    const close = open(callerOf('a', after(30)))
    close()
    close()
    now.set('a', { ok: false, because: 'revoked' })
    streams.look('a')
    await clock.advance(60_000)
    expect(cuts).toEqual([])
    expect(observed).toEqual(['opened watch', 'closed watch'])
    expect(clock.pending()).toBe(0)
  })

  test('that close during a check are not cut', async () => {
    const { open, now, streams, cuts, settle } = started()
    const close = open(callerOf('a'))
    now.set('a', { ok: false, because: 'revoked' })
    streams.look('a')
    close()
    await settle()
    expect(cuts).toEqual([])
  })

  test('that are responses have half a second to complete, and are cut then (13.4)', async () => {
    const { clock, streams, now, observed } = started()
    const closes = ['a', 'b'].map((uid) => {
      const { flows, close } = streams.open(callerOf(uid), PENDING)
      flows('body', close, true)
      return close
    })
    for (const uid of ['a', 'b']) now.set(uid, { ok: false, because: 'revoked' })
    streams.look(null)
    await clock.advance(499)
    closes[0]?.()
    streams.look(null)
    expect(observed.filter((one) => one.startsWith('cut'))).toEqual([])
    await clock.advance(1)
    expect(observed.slice(2)).toEqual(['closed body', 'cut revoked', 'closed body'])
  })

  test('are reported to the observer, each once', async () => {
    const { open, now, streams, observed, settle } = started()
    open(callerOf('a'))
    now.set('a', { ok: false, because: 'revoked' })
    streams.look('a')
    streams.look('a')
    await settle()
    expect(observed).toEqual(['opened watch', 'cut revoked', 'closed watch'])
  })

  test('are checked again when a use may have moved the expiry (14.1)', async () => {
    const { clock, open, now, cuts } = started()
    const slides = { ttl: 30, ttlAfterLastActivity: true }
    for (const uid of ['used', 'idle']) {
      open(callerOf(uid, after(30), slides))
      now.set(uid, { ok: false, because: 'expired' })
    }
    await clock.advance(30_000)
    now.set('used', { ok: true, caller: callerOf('used', after(60), slides) })
    await clock.advance(249)
    expect(cuts).toEqual([])
    await clock.advance(1)
    expect(cuts).toEqual(['idle expired'])
  })

  test('end when the gateway stops (8.3)', () => {
    const { open, streams, cuts } = started()
    for (const uid of ['a', 'b']) open(callerOf(uid))
    streams.close()
    expect(cuts).toEqual(['a shutdown', 'b shutdown'])
  })
})

describe('requests without a response yet', () => {
  test.each(['expired', 'revoked', 'changed', 'stale'] as const)(
    'are ended at once when their key is %s, and do not count as streams (13.4)',
    async (because) => {
      const { ask, now, streams, cuts, observed, settle } = started()
      for (const uid of ['a', 'b']) ask(callerOf(uid))
      now.set('a', { ok: false, because })
      streams.look('a')
      await settle()
      expect({ cuts, observed }).toEqual({ cuts: [`a ended: ${because}`], observed: [] })
    },
  )

  test('are ended, too, when their key was invalid by the time they were registered', async () => {
    const { ask, now, cuts, settle } = started()
    now.set('a', { ok: false, because: 'revoked' })
    ask(callerOf('a'))
    await settle()
    expect(cuts).toEqual(['a ended: revoked'])
  })

  test('have half a second to complete when they are complete writes', async () => {
    const { clock, ask, now, streams, cuts, observed } = started()
    const [first] = ['a', 'b'].map((uid) => ask(callerOf(uid), true))
    for (const uid of ['a', 'b']) now.set(uid, { ok: false, because: 'revoked' })
    streams.look(null)
    await clock.advance(499)
    first?.close()
    expect(cuts).toEqual([])
    await clock.advance(1)
    expect({ cuts, observed }).toEqual({ cuts: ['b ended: revoked'], observed: [] })
  })

  test('have no more time when a response begins within it', async () => {
    const { clock, ask, now, streams, observed } = started()
    const { flows, close } = ask(callerOf('a'), true)
    now.set('a', { ok: false, because: 'revoked' })
    streams.look('a')
    await clock.advance(400)
    flows('body', close)
    await clock.advance(99)
    expect(observed).toEqual(['opened body'])
    await clock.advance(1)
    expect(observed).toEqual(['opened body', 'cut revoked', 'closed body'])
  })

  test('are answered when the gateway stops, and end with their key all the same (8.3, 13.4)', async () => {
    const { ask, now, streams, cuts, settle } = started()
    ask(callerOf('a'))
    streams.close()
    await settle()
    expect(cuts).toEqual([])
    now.set('a', { ok: false, because: 'revoked' })
    streams.look('a')
    await settle()
    expect(cuts).toEqual(['a ended: revoked'])
  })

  test('can reauthenticate, and get the caller or the reason for their end', async () => {
    const { ask, now, cuts } = started()
    const { still } = ask(callerOf('a'), true)
    const caller = callerOf('a', after(60))
    now.set('a', { ok: true, caller })
    expect(await still()).toBe(caller)
    now.set('a', { ok: false, because: 'changed' })
    expect(await still()).toBeNull()
    expect(cuts).toEqual(['a ended: changed'])
    now.set('a', { ok: true, caller })
    expect(await still(), 'it has ended').toBeNull()
  })
})
