// A watch that its client does not read is ended, not buffered (contract 12.2, 13.3).
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import {
  UNREAD_WITHIN_MS,
  eventsThrough,
} from '../../../../src/gateway/selfservice/watch-events.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { callTo } from '../request-builder.ts'
import { asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'

const MEBIBYTE = 1024 ** 2
const buffered = () => createResponseBuffer(64 * MEBIBYTE, () => undefined)

interface Stage {
  readonly clock: ManualClock
  readonly upstream: PassThrough
  /** The bytes the client got so far. */
  readonly given: () => readonly string[]
  /** How it ended; empty while it is open. */
  readonly ended: () => string
  readonly settle: () => Promise<void>
}

interface Options {
  readonly buffer?: ReturnType<typeof buffered>
  readonly caller?: string
  /** Bytes that the client has not read. */
  readonly unsent?: () => number
}

function watching({ buffer = buffered(), caller = 'ada', unsent = () => 0 }: Options): Stage {
  const clock = manualClock(t0)
  const upstream = new PassThrough({ highWaterMark: 4 * MEBIBYTE })
  const call = callTo('/', { unsent })
  const key = viewOf({})
  const parts = {
    call,
    clock,
    reservation: buffer.holding(caller),
    caller: { key, identity: { user: caller, groups: [] }, scope: null, expiresMs: null },
    signal: asAbortSignal(call.gone),
  }
  const tell = (event: JsonMap): Buffer => Buffer.from(`${JSON.stringify(event)}\n`)
  const lines = eventsThrough(parts, upstream, tell, (error) => void events.destroy(error))
  const events: Readable = Readable.from(lines, { objectMode: false })
  let said = ''
  let ended = ''
  events.on('data', (piece: Buffer) => (said += piece.toString()))
  events.once('end', () => (ended = 'whole'))
  events.once('error', ({ message }) => (ended = message))
  const settle = async (): Promise<void> => {
    for (let at = 0; at < 30; at += 1) await turn()
  }
  return { clock, upstream, given: () => said.match(/.*\n/g) ?? [], ended: () => ended, settle }
}

const event = (at: number, weight = 0): string =>
  `${JSON.stringify({ type: 'ADDED', object: { at, weight: 'x'.repeat(weight) } })}\n`

describe('a watch (12.2, 13.3)', () => {
  test('delivers event by event, however they are chunked', async () => {
    const { upstream, given, settle } = watching({})
    const all = [event(0), event(1, 200_000), event(2)]
    const bytes = Buffer.from(all.join(''))
    for (let from = 0; from < bytes.length; from += 1000)
      upstream.write(bytes.subarray(from, from + 1000))
    await settle()
    expect(given()).toEqual(all)
  })

  test('is ended when its client does not read', async () => {
    let unsent = 0
    const { clock, upstream, given, ended, settle } = watching({ unsent: () => unsent })
    upstream.write(event(0))
    await settle()
    unsent = 1
    for (const at of [1, 2, 3]) upstream.write(event(at))
    await settle()
    expect(given()).toHaveLength(2)
    await clock.advance(UNREAD_WITHIN_MS - 250)
    expect(ended()).toBe('')
    await clock.advance(500)
    expect(ended()).toBe('the client does not read its watch')
    expect(given()).toHaveLength(2)
  })

  test('goes on when a slow client has read what it got', async () => {
    let unsent = 1
    const { clock, upstream, given, ended, settle } = watching({ unsent: () => unsent })
    upstream.write(event(0) + event(1))
    await settle()
    await clock.advance(UNREAD_WITHIN_MS - 1000)
    unsent = 0
    await clock.advance(250)
    await settle()
    expect(given()).toHaveLength(2)
    expect(ended()).toBe('')
  })

  test('ends with a 429 when the buffer is full; that of another caller goes on', async () => {
    const buffer = buffered()
    const unread = Array.from({ length: 12 }, () => watching({ buffer, unsent: () => 1 }))
    const other = watching({ buffer, caller: 'bob' })
    for (const { upstream } of [...unread, other]) upstream.write(event(0, 900_000))
    for (let at = 0; at < 10; at += 1) await other.settle()
    const refused = unread.filter(({ given }) => given().some((line) => line.includes('"ERROR"')))
    expect(refused).toHaveLength(3)
    const [{ given, ended } = other] = refused
    const { object } = JSON.parse(given()[0] ?? '') as { object: JsonMap }
    expect(object).toMatchObject({ kind: 'Status', code: 429, reason: 'TooManyRequests' })
    expect(ended()).toBe('whole')
    expect(other.given()).toHaveLength(1)
    expect(other.ended()).toBe('')
  })

  test('with hundreds of events passes one in each turn of the event loop', async () => {
    const all = Array.from({ length: 200 }, () => watching({}))
    for (const { upstream } of all) upstream.write(event(0))
    const received = (): number => all.filter(({ given }) => given().length > 0).length
    let most = 0
    for (let before = 0; received() < all.length; before = received()) {
      await turn()
      most = Math.max(most, received() - before)
    }
    expect(most).toBeLessThanOrEqual(2)
  })
})
