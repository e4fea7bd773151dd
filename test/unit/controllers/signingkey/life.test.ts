// The whole life of signing keys on a clock that the test moves (contract 7.3).
import { expect, test } from 'vitest'
import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  type Manager,
  T0,
  type World,
  world,
} from './signing-key-cluster.ts'

/** Age of the world, written as `15d`, `25d 2h` or `10m`. */
function age(w: World): string {
  const ms = w.clock.nowMs() - T0
  const parts = [
    [Math.floor(ms / DAY_MS), 'd'],
    [Math.floor((ms % DAY_MS) / HOUR_MS), 'h'],
    [(ms % HOUR_MS) / MINUTE_MS, 'm'],
  ] as const
  return (
    parts
      .filter(([count]) => count > 0)
      .map(([count, unit]) => `${count}${unit}`)
      .join(' ') || '0'
  )
}

/** Where the keys are: which signs, which are published, which have Secrets. */
const state = (w: World, m: Manager): string =>
  `${age(w)}: signs ${m.signs()}, published ${w.published().join(' ')}, held ${w.held().join(' ')}`

/** Lets a manager work up to that age, one state for each moment at which something changed. */
async function live(w: World, m: Manager, untilMs: number): Promise<readonly string[]> {
  const states: string[] = []
  for (;;) {
    const nextMs = await m.settle()
    const now = state(w, m)
    const before = states.at(-1)?.replace(/^.*?: /, '')
    if (before !== now.replace(/^.*?: /, '')) states.push(now)
    if (nextMs > T0 + untilMs) return states
    w.clock.setNow(nextMs)
  }
}

test('published at half life, used from five sixths, gone 24 h after the last exp (7.3, 2.4)', async () => {
  const w = world()
  const m = w.manager()
  const told: string[] = []
  m.keyring.subscribe(() => told.push(`${age(w)}: ${m.signs()}`))
  const states = await live(w, m, 61 * DAY_MS)
  expect(states).toEqual([
    '0: signs 1, published 1, held 1',
    '15d: signs 1, published 1 2, held 1 2',
    '25d: signs 2, published 1 2, held 1 2',
    '27d: signs 2, published 2, held 2',
    '30d: signs 2, published 2 3, held 2 3',
    '40d: signs 3, published 2 3, held 2 3',
    '42d: signs 3, published 3, held 3',
    '45d: signs 3, published 3 4, held 3 4',
    '55d: signs 4, published 3 4, held 3 4',
    '57d: signs 4, published 4, held 4',
    '60d: signs 4, published 4 5, held 4 5',
  ])
  expect(told).toEqual(['0: 1', '25d: 2', '40d: 3', '55d: 4'])
})

test('a lowered --token-max-ttl cuts off no token that is out (7.3)', async () => {
  const w = world()
  const m = w.manager({ tokenMaxTtlMs: 5 * DAY_MS })
  await live(w, m, 26 * DAY_MS)
  m.circumstances.tokenMaxTtlMs = HOUR_MS
  const old = w.kid(1)
  m.circumstances.lastExpMs = (kid) => (kid === old ? T0 + 29 * DAY_MS : null)
  expect(await live(w, m, 31 * DAY_MS)).toEqual([
    '25d: signs 2, published 1 2, held 1 2',
    '30d: signs 2, published 2 3, held 2 3',
  ])
})

test('the annotation rotate: the next key signs ten minutes after it was published (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, DAY_MS)
  w.annotate({ [ROTATE_ANNOTATION]: 'now', 'example.com/other': 'stays' })
  expect(await live(w, m, 4 * DAY_MS)).toEqual([
    '10m: signs 1, published 1 2, held 1 2',
    '20m: signs 2, published 1 2, held 1 2',
    '2d 20m: signs 2, published 2, held 2',
  ])
  expect(w.record()?.metadata.annotations).toEqual({ 'example.com/other': 'stays' })
})

test('the annotation rotate: a key that waits already is used at once (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, 16 * DAY_MS)
  w.clock.setNow(T0 + 16 * DAY_MS)
  w.annotate({ [ROTATE_ANNOTATION]: '' })
  expect(await live(w, m, 17 * DAY_MS)).toEqual(['16d: signs 2, published 1 2, held 1 2'])
})

test('the annotation rotate, twice: the second asks for what is under way (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, HOUR_MS)
  w.annotate({ [ROTATE_ANNOTATION]: '' })
  await m.settle()
  w.annotate({ [ROTATE_ANNOTATION]: '' })
  await m.settle()
  expect(w.held()).toEqual([1, 2])
  expect(w.record()?.metadata.annotations).toEqual({})
})

test('another algorithm: like rotate, and back (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, DAY_MS)
  m.circumstances.algorithm = 'RS256'
  expect(await live(w, m, 3 * DAY_MS)).toEqual([
    '10m: signs 1, published 1 2, held 1 2',
    '20m: signs 2, published 1 2, held 1 2',
    '2d 20m: signs 2, published 2, held 2',
  ])
  expect(m.keyring.current()?.algorithm).toBe('RS256')
  m.circumstances.algorithm = 'ES256'
  w.clock.setNow(T0 + 3 * DAY_MS)
  expect(await live(w, m, 4 * DAY_MS)).toEqual([
    '3d: signs 2, published 2 3, held 2 3',
    '3d 10m: signs 3, published 2 3, held 2 3',
  ])
})

test('another algorithm while a key of the old one waits: that never signs (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, 16 * DAY_MS)
  w.clock.setNow(T0 + 16 * DAY_MS)
  m.circumstances.algorithm = 'RS256'
  expect(await live(w, m, 19 * DAY_MS)).toEqual([
    '16d: signs 1, published 1 2 3, held 1 2 3',
    '16d 10m: signs 3, published 1 2 3, held 1 2 3',
    '18d 10m: signs 3, published 3, held 3',
  ])
})

test('the annotation withdraw: gone at once with its Secret, the waiting key signs (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await live(w, m, 16 * DAY_MS)
  w.clock.setNow(T0 + 16 * DAY_MS)
  const leaked = w.kid(1)
  w.annotate({ [WITHDRAW_ANNOTATION]: leaked })
  expect(await live(w, m, 17 * DAY_MS)).toEqual(['16d: signs 2, published 2, held 2'])
  expect(m.keyring.isWithdrawn(leaked)).toBe(true)
  expect(w.record()?.metadata.annotations).toEqual({})
})

test('the annotation withdraw: without another key a new one is made and signs at once (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await m.settle()
  w.annotate({ [WITHDRAW_ANNOTATION]: ` ${w.kid(1)}\n` })
  m.writes.length = 0
  expect(await live(w, m, 0)).toEqual(['0: signs 2, published 2, held 2'])
  expect(m.writes).toEqual([
    'replace ConfigMap platform-jwks',
    'create Secret platform-signing-key-2',
    'replace ConfigMap platform-jwks',
    'delete Secret platform-signing-key-1',
  ])
})

test('both annotations: withdrawn first, then rotated (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await m.settle()
  w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1), [ROTATE_ANNOTATION]: '' })
  expect(await live(w, m, HOUR_MS)).toEqual([
    '0: signs 2, published 2 3, held 2 3',
    '10m: signs 3, published 2 3, held 2 3',
  ])
})

test('a withdrawn key stays marked until no token of its can be alive, whatever is restored (7.3)', async () => {
  const w = world()
  const m = w.manager()
  await m.settle()
  const backup = w.secrets.get('platform-signing-key-1')
  w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
  const lastMs = 36 * DAY_MS
  await live(w, m, lastMs - MINUTE_MS)
  expect(w.withdrawn()).toEqual([1])
  w.putKey(1, backup ?? null)
  await m.settle()
  expect([w.published().includes(1), w.held().includes(1)]).toEqual([false, false])
  await live(w, m, lastMs)
  expect(w.withdrawn()).toEqual([])
})

test('a manager that was away takes up at once what is due (7.3)', async () => {
  const w = world()
  await w.manager().settle()
  w.clock.setNow(T0 + 33 * DAY_MS)
  expect(await live(w, w.manager(), 36 * DAY_MS)).toEqual([
    '33d: signs 1, published 1 2, held 1 2',
    '33d 10m: signs 2, published 1 2, held 1 2',
    '35d 10m: signs 2, published 2, held 2',
  ])
})

test('a clock set back keeps signing; one that was ahead delays nothing by more than ten minutes (2.9, 7.3)', async () => {
  const w = world()
  await w.manager().settle()
  w.clock.setNow(T0 - DAY_MS)
  const back = w.manager()
  await back.settle()
  expect(back.signs()).toBe(1)
  const ahead = world()
  await ahead.manager().settle()
  ahead.clock.setNow(T0 + 400 * DAY_MS)
  const m = ahead.manager()
  await m.settle()
  expect([m.signs(), ahead.published()]).toEqual([1, [1, 2]])
  ahead.clock.setNow(T0 + 16 * DAY_MS)
  const mended = ahead.manager()
  await mended.settle()
  ahead.clock.setNow(T0 + 25 * DAY_MS)
  await mended.settle()
  expect(mended.signs()).toBe(2)
})
