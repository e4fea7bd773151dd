import { describe, expect, test } from 'vitest'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  dueMsOf,
  mustRecordFirst,
  recordedUseOf,
} from '../../../../src/gateway/activity/flush-policy.ts'
import { accessKey, after } from '../../../support/key-builder.ts'
import { UNCAPPED } from './recorder-builder.ts'

const HOUR = 3600
const slides: Partial<AccessKey> = { slides: true, ttl: HOUR }
const usedAt = (seconds: number): Partial<AccessKey> => ({ lastActivityMs: after(seconds) })

interface Row {
  readonly name: string
  readonly key: Partial<AccessKey>
  readonly cap?: number
  /** Seconds after its creation. */
  readonly first: number
  readonly now?: number
  readonly due: number
}

describe('the time at which a use is written (14.1)', () => {
  test.each<Row>([
    { name: 'never used, does not slide: at once', key: {}, first: 5, due: 5 },
    {
      name: 'does not slide: a minute after the last write',
      key: { ttl: HOUR, ...usedAt(0) },
      first: 5,
      due: 60,
    },
    {
      name: 'does not slide, not used for long: at once',
      key: usedAt(0),
      first: 500,
      due: 500,
    },
    { name: 'slides: half a minute after the first use', key: slides, first: 5, due: 35 },
    {
      name: 'slides, recorded since by another replica: half a minute after that',
      key: { ...slides, ...usedAt(20) },
      first: 5,
      due: 50,
    },
    {
      name: 'slides for a minute: after an eighth of it',
      key: { slides: true, ttl: 60 },
      first: 5,
      due: 12.5,
    },
    {
      name: 'slides for an hour, the cap allows a minute: after an eighth of that',
      key: slides,
      cap: 60,
      first: 5,
      due: 12.5,
    },
    {
      name: 'slides, recorded nearly half the lifetime ago: at half of it',
      key: { ...slides, ...usedAt(100) },
      first: 1890,
      now: 1890,
      due: 1900,
    },
    {
      name: 'slides, recorded longer ago: at once',
      key: { ...slides, ...usedAt(100) },
      first: 3000,
      now: 3000,
      due: 1900,
    },
    {
      name: 'slides without a lifetime: like a key that does not slide',
      key: { slides: true, ttl: 0, ...usedAt(0) },
      first: 5,
      due: 60,
    },
  ])('$name', ({ key, cap = null, first, now = first, due }) => {
    const uses = { firstMs: after(first), lastMs: after(now) }
    const caps = { ...UNCAPPED, maxTtlSeconds: cap }
    expect(dueMsOf(uses, recordedUseOf(accessKey(key), caps, after(now)), 0)).toBe(after(due))
  })
})

test('jitter writes a sliding key earlier, another key later', () => {
  const uses = { firstMs: after(5), lastMs: after(5) }
  const dueMs = (key: Partial<AccessKey>, place: number): number =>
    dueMsOf(uses, recordedUseOf(accessKey(key), UNCAPPED, after(5)), place)
  expect(dueMs(slides, 0.5)).toBe(after(32))
  expect(dueMs({ ...usedAt(0) }, 0.5)).toBe(after(63))
})

describe('a request waits until its use is recorded (14.1)', () => {
  test.each<{ name: string; key: Partial<AccessKey>; at: number; cap?: number; waits: boolean }>([
    { name: 'no: recorded half the lifetime ago', key: slides, at: HOUR / 2, waits: false },
    { name: 'yes: recorded longer ago', key: slides, at: HOUR / 2 + 0.001, waits: true },
    {
      name: 'no: half the lifetime since the recorded use',
      key: { ...slides, ...usedAt(900) },
      at: 2700,
      waits: false,
    },
    {
      name: 'yes: more than half the lifetime since the recorded use',
      key: { ...slides, ...usedAt(900) },
      at: 2700.001,
      waits: true,
    },
    { name: 'the capped lifetime counts', key: slides, cap: 600, at: 301, waits: true },
    { name: 'no: the key does not slide', key: { ttl: HOUR }, at: 3599, waits: false },
    {
      name: 'no: the key slides without a lifetime',
      key: { slides: true, ttl: 0 },
      at: 1e6,
      waits: false,
    },
    {
      name: 'no: a replica whose clock is ahead recorded a later use',
      key: { ...slides, ttl: 60, ...usedAt(59) },
      at: 50,
      waits: false,
    },
    {
      name: 'yes: recorded so far in the future that it does not count (2.9)',
      key: { ...slides, ...usedAt(1e6) },
      at: 3000,
      waits: true,
    },
  ])('$name', ({ key, at, cap = null, waits }) => {
    const caps = { ...UNCAPPED, maxTtlSeconds: cap }
    const standing = recordedUseOf(accessKey(key), caps, after(at))
    expect(mustRecordFirst(standing, after(at))).toBe(waits)
  })
})

describe('no use is written for an invalid key', () => {
  test.each<{ name: string; key: Partial<AccessKey>; ended: boolean }>([
    { name: 'a valid key is written', key: {}, ended: false },
    { name: 'disabled', key: { isDisabled: true }, ended: true },
    { name: 'being deleted', key: { isDeleting: true }, ended: true },
    { name: 'expired', key: { ttl: 60 }, ended: true },
    {
      name: 'expired without this use',
      key: { slides: true, ttl: 60, ...usedAt(10) },
      ended: false,
    },
  ])('$name', ({ key, ended }) => {
    expect(recordedUseOf(accessKey(key), UNCAPPED, after(61)).hasEnded).toBe(ended)
  })
})
