import { expect, onTestFinished, test } from 'vitest'
import { SecretStoreError } from '../../../../src/delivery/store/store-error.ts'
import { keepToken } from '../../../../src/delivery/store/token.ts'
import { nextRenewal, retryDelayMs } from '../../../../src/delivery/store/token-plan.ts'
import type { TokenLife } from '../../../../src/domain/store/store-answers.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const T0 = Date.parse('2026-01-01T00:00:00Z')

const life = (
  ttlSeconds: number,
  creationTtlSeconds = ttlSeconds,
  isRenewable = true,
): TokenLife => ({
  ttlSeconds,
  isRenewable,
  creationTtlSeconds,
})

test.each([
  { name: 'that never ends', of: life(0), expires: null, renew: null },
  { name: 'that is new', of: life(90), expires: 90, renew: 60 },
  { name: 'at a third of its life', of: life(60, 90), expires: 60, renew: 30 },
  { name: 'at two thirds of its life', of: life(30, 90), expires: 30, renew: 0 },
  { name: 'near its end', of: life(1, 90), expires: 1, renew: 0 },
  {
    name: 'that was renewed for longer than it was created for',
    of: life(90, 30),
    expires: 90,
    renew: 60,
  },
  { name: 'that cannot be renewed', of: life(90, 90, false), expires: 90, renew: null },
])('a token $name is renewed at two thirds of its life (36.5)', ({ of, expires, renew }) => {
  const at = (seconds: number | null) => (seconds === null ? null : T0 + seconds * 1000)
  expect(nextRenewal(of, T0)).toEqual({ expiresMs: at(expires), renewMs: at(renew) })
})

test.each([
  { name: 'first failure', failures: 0, isDenied: false, leftMs: 0, delayMs: 1000 },
  { name: 'fourth failure', failures: 3, isDenied: false, leftMs: 0, delayMs: 8000 },
  { name: 'many failures', failures: 50, isDenied: false, leftMs: 0, delayMs: 300_000 },
  { name: 'a denial', failures: 0, isDenied: true, leftMs: 0, delayMs: 300_000 },
  { name: 'a denial before the end', failures: 0, isDenied: true, leftMs: 60_000, delayMs: 30_000 },
  {
    name: 'many failures before the end',
    failures: 50,
    isDenied: false,
    leftMs: 20_000,
    delayMs: 10_000,
  },
  { name: 'a failure at the end', failures: 50, isDenied: false, leftMs: 10, delayMs: 1000 },
  { name: 'a failure after the end', failures: 50, isDenied: false, leftMs: -1, delayMs: 300_000 },
])('the pause after $name leaves time before the token ends (36.5)', ({ delayMs, ...failure }) => {
  expect(retryDelayMs(failure)).toBe(delayMs)
})

/** A token is kept of which the store says these lives, or fails. @returns what was asked and told, with seconds */
function kept(answers: readonly (TokenLife | SecretStoreError)[]) {
  const clock = manualClock(T0)
  const seconds = (): number => (clock.nowMs() - T0) / 1000
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const asked: string[] = []
  const told: (number | null)[] = []
  const { log, lines } = memoryLog()
  const answer = async (what: string): Promise<TokenLife> => {
    const next = answers[asked.push(`${what} ${seconds()}`) - 1]
    if (next instanceof SecretStoreError) throw next
    return (
      next ?? Promise.reject(new SecretStoreError('unreachable', 'no answer of the store', null))
    )
  }
  const store = { lookupToken: () => answer('look-up'), renewToken: () => answer('renewal') }
  const observe = (ms: number | null): unknown => told.push(ms === null ? null : (ms - T0) / 1000)
  const ended = keepToken({ store, observe, clock, log, signal: stop.signal })
  return { clock, asked, told, lines, ended, stop: () => stop.abort() }
}

const AWAY = new SecretStoreError('unreachable', 'the store answered 503', 503)
const DENIED = new SecretStoreError('denied', 'the store answered 403', 403)

test('a token is looked up at once, and renewed at two thirds of each life (36.5)', async () => {
  const { clock, asked, told } = kept([life(3000, 3600), life(900), life(900)])
  await clock.advance(3_000_000)
  expect(asked).toEqual(['look-up 0', 'renewal 1800', 'renewal 2400', 'renewal 3000'])
  expect(told).toEqual([null, 3000, 2700, 3300])
})

test('a token that never ends, or cannot be renewed, is looked up once (36.5)', async () => {
  for (const one of [life(0), life(60, 60, false)]) {
    const { clock, asked, told, ended } = kept([one])
    await clock.advance(600_000)
    await ended
    expect(asked).toEqual(['look-up 0'])
    expect(told).toEqual([null, one.ttlSeconds === 0 ? null : 60])
  }
})

test('a renewal that fails is tried again, also shortly before the end (36.5)', async () => {
  const { clock, asked, told, lines } = kept([life(90), AWAY, AWAY, AWAY, AWAY, AWAY, life(90)])
  await clock.advance(89_000)
  expect(asked).toEqual(['look-up 0', ...[60, 61, 63, 67, 75, 82.5].map((at) => `renewal ${at}`)])
  expect(told).toEqual([null, 90, 172.5])
  expect(lines.map(({ level }) => level)).toEqual(Array.from({ length: 5 }, () => 'warn'))
})

test('a token that has ended is still tried now and then: the clock may be wrong (36.5)', async () => {
  const { clock, asked } = kept([life(3), ...Array.from({ length: 40 }, () => DENIED)])
  await clock.advance(1_000_000)
  expect(asked).toEqual([
    'look-up 0',
    'renewal 2',
    'renewal 3',
    'renewal 303',
    'renewal 603',
    'renewal 903',
  ])
})

test('a token that may not look itself up has no known end, and is looked up again (36.5)', async () => {
  const { clock, asked, told } = kept([DENIED, DENIED, life(90)])
  await clock.advance(600_000)
  expect(asked).toEqual(['look-up 0', 'look-up 300', 'look-up 600'])
  expect(told).toEqual([null, 690])
})

test('a token at the end of its longest life is not renewed without a pause (36.5)', async () => {
  const { clock, asked } = kept([life(1, 3600), life(1), life(1), life(1)])
  await clock.advance(2000)
  expect(asked).toEqual(['look-up 0', 'renewal 0', 'renewal 1', 'renewal 2'])
})

test('a machine that slept finds its token due within a minute (36.5)', async () => {
  const { clock, asked } = kept([life(90_000), life(90_000)])
  await clock.advance(1000)
  clock.setNow(T0 + 80_000_000)
  await clock.advance(60_000)
  expect(asked).toHaveLength(2)
})

test('a token is left alone once the signal aborts, asleep or asked (36.5)', async () => {
  const asleep = kept([life(90)])
  await asleep.clock.advance(1000)
  asleep.stop()
  await asleep.ended
  expect(asleep.clock.pending()).toBe(0)
  const failing = kept([AWAY])
  await failing.clock.advance(0)
  failing.stop()
  await failing.ended
  expect(failing.asked).toHaveLength(1)
  expect(failing.clock.pending()).toBe(0)
  const asking = kept([AWAY])
  asking.stop()
  await asking.ended
  expect(asking.lines).toEqual([])
})
