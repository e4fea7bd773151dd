// The end of a key and the answer of a stage, in one turn of the event loop: the request gets one of them, and it is
// the refusal (contract 10.2, 13.4; threats C3). By then the request is no longer among those that the key ends.
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { Reauthentication } from '../../../../src/authn/authenticator.ts'
import type { KeyCaller } from '../../../../src/authn/caller.ts'
import {
  type EndReason,
  InFlightRequests,
  type InFlightEntry,
  type Pending,
} from '../../../../src/gateway/streams/in-flight.ts'
import { leaseRequest } from '../../../../src/gateway/streams/request-lease.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { callTo } from '../request-builder.ts'

const caller: KeyCaller = {
  key: viewOf({}),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** A registry that ends its request when the test says so. */
class HeldRequests extends InFlightRequests {
  #pending: Pending | null = null

  override open(of: KeyCaller, pending: Pending): InFlightEntry {
    this.#pending = pending
    return super.open(of, pending)
  }

  end(reason: EndReason = 'revoked'): void {
    this.#pending?.end(reason)
  }
}

function leased(given: Parameters<typeof callTo>[1] = {}) {
  const clock = manualClock(t0)
  let now: Reauthentication = { ok: true, caller }
  const streams = new HeldRequests({
    clock,
    reauthenticate: () => now,
    observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
  })
  const lease = leaseRequest(streams, {
    call: callTo('/api', given),
    caller,
    connection: null,
    isLong: false,
  })
  const answering = Promise.withResolvers<Answer | null>()
  const outcome = lease.outcome(answering.promise)
  const revoke = (): void => {
    now = { ok: false, because: 'revoked' }
    streams.look(null)
  }
  const end = (reason?: EndReason): void => streams.end(reason)
  return { lease, clock, answering, outcome, end, revoke }
}

const REFUSED = { isOver: true, answer: { status: 401, refusal: 'keyNotFound' } }

describe('where the key ends in the same turn, the refusal is the result of a stage', () => {
  test('that has an answer, which is thrown away', async () => {
    const { answering, outcome, end } = leased()
    const body = new Readable({ read: () => undefined })
    answering.resolve({ status: 200, headers: {}, body })
    end()
    expect(await outcome).toMatchObject(REFUSED)
    expect(body.destroyed).toBe(true)
  })

  test('that leaves the answer to the next one', async () => {
    const { answering, outcome, end } = leased()
    answering.resolve(null)
    end()
    expect(await outcome).toMatchObject(REFUSED)
  })

  test('that fails', async () => {
    const { answering, outcome, end } = leased()
    answering.reject(new Error('broken'))
    end()
    expect(await outcome).toMatchObject(REFUSED)
  })
})

test('the refusal is the result of a stage that answers at once where the key has ended before', async () => {
  const { lease, end } = leased()
  end()
  const answer: Answer = { status: 200, headers: {}, body: Buffer.from('{}') }
  expect(await lease.outcome(Promise.resolve(answer))).toMatchObject(REFUSED)
})

test('an answer that begins once its key has ended is cut at once (13.4)', () => {
  const { lease, end } = leased({ by: 'upgrade' })
  const cuts: string[] = []
  end('expired')
  lease.flows('upgrade', (reason) => void cuts.push(reason))
  expect(cuts).toEqual(['expired'])
})

test('a stage that fails passes its failure on while the key lives', async () => {
  const { answering, outcome } = leased()
  answering.reject(new Error('broken'))
  await expect(outcome).rejects.toThrow('broken')
})

describe('a request that is ended under way (13.1)', () => {
  test.each(['target', 'stale'] as const)(
    'gets a 504 without Retry-After where it may have been carried out: %s',
    async (reason) => {
      for (const given of [{ method: 'POST' }, { method: 'DELETE' }, { by: 'upgrade' as const }]) {
        const { lease, outcome, end } = leased(given)
        lease.maySend()
        end(reason)
        const { answer } = await outcome
        expect(answer).toMatchObject({ status: 504, refusal: 'endedUnderWay' })
        expect(answer?.headers).not.toHaveProperty('retry-after')
        const text = Buffer.isBuffer(answer?.body) ? answer.body.toString() : ''
        expect(text).toContain('The API server may have carried it out')
      }
    },
  )

  test('gets a 401 that does not ask to repeat a write where the key has changed', async () => {
    for (const [given, refusal] of [
      [{ method: 'POST' }, 'keyChangedUnderWay'],
      [{}, 'keyChanged'],
    ] as const) {
      const { lease, outcome, end } = leased(given)
      lease.maySend()
      end('changed')
      const { answer } = await outcome
      expect(answer).toMatchObject({ status: 401, refusal })
      expect(answer?.headers).not.toHaveProperty('retry-after')
    }
  })

  test.each(['target', 'stale'] as const)(
    'gets a 503 with Retry-After where nothing was carried out: %s',
    async (reason) => {
      const unfinished = {
        method: 'POST',
        headers: { 'content-length': '9' },
        body: new Readable({ read: () => undefined }),
      }
      for (const [given, isHandedOn] of [
        [{}, true],
        [unfinished, true],
        [{ method: 'POST' }, false],
      ] as const) {
        const { lease, outcome, end } = leased(given)
        if (isHandedOn) lease.maySend()
        end(reason)
        expect((await outcome).answer).toMatchObject({
          status: 503,
          headers: { 'retry-after': '1' },
        })
      }
    },
  )
})

describe('a complete write whose key ends (13.4)', () => {
  test('is not sent, and refused at once, where it has not been sent yet', async () => {
    const { lease, revoke, outcome } = leased({ method: 'DELETE' })
    revoke()
    expect(await outcome).toMatchObject(REFUSED)
    expect(lease.maySend()).toBe(false)
  })

  test('has half a second where it has been sent, in which it is not sent again', async () => {
    const { lease, revoke, outcome, clock } = leased({ method: 'DELETE' })
    expect(lease.maySend()).toBe(true)
    revoke()
    await clock.advance(499)
    expect(lease.signal.aborted).toBe(false)
    expect(lease.maySend()).toBe(false)
    expect(await outcome).toMatchObject(REFUSED)
    expect(lease.signal.aborted).toBe(true)
  })
})
