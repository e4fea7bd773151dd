/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { isFresh, momentProvenBy } from '../../../src/authn/staleness.ts'
import { type Moment, currentMoment, laterMoment, msBetween } from '../../../src/runtime/clock.ts'
import { after, t0, textAfter } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'

/** That many seconds after t0 on both clocks; the monotonic one started a minute earlier. */
const moment = (seconds: number, counter = seconds): Moment => ({
  wallMs: after(seconds),
  monotonicMs: (counter + 60) * 1000,
})

describe('the moment up to which a heartbeat proves the watch complete, observed 100 s after t0 (10.4)', () => {
  const ours = [{ written: textAfter(98), sent: moment(98) }]
  test.each<{ readonly name: string; readonly annotation?: string; readonly is: Moment | null }>([
    {
      name: 'of this gateway: the moment of its sending',
      annotation: textAfter(98),
      is: moment(98),
    },
    {
      name: 'of another gateway: its time by our clock',
      annotation: textAfter(97),
      is: moment(97),
    },
    { name: 'delivered late: an old moment', annotation: textAfter(40), is: moment(40) },
    {
      name: 'of a clock an hour behind: an old moment',
      annotation: textAfter(-3500),
      is: moment(-3500),
    },
    { name: 'written just now', annotation: textAfter(100), is: moment(100) },
    {
      name: 'of a clock slightly ahead: the moment of its arrival',
      annotation: textAfter(102),
      is: moment(100),
    },
    { name: 'of a clock too far ahead: nothing', annotation: textAfter(102.001), is: null },
    { name: 'of a clock an hour ahead: nothing', annotation: textAfter(3700), is: null },
    { name: 'without a time: nothing', is: null },
    { name: 'with a malformed time: nothing', annotation: 'now', is: null },
  ])('$name', ({ annotation, is }) => {
    expect(momentProvenBy(annotation, moment(100), ours)).toEqual(is)
  })

  test('a heartbeat of this gateway proves its sending, also after its wall clock was stepped', () => {
    for (const nowS of [-3500, 98, 3700])
      expect(momentProvenBy(textAfter(98), moment(nowS, 100), ours)).toEqual(moment(98))
  })
})

describe('the age of a proof (10.4)', () => {
  test.each([
    { name: 'both clocks agree', before: moment(0), now: moment(7), is: 7 },
    {
      name: 'the wall clock was stepped back an hour',
      before: moment(0),
      now: moment(-3593, 7),
      is: 7,
    },
    {
      name: 'the wall clock was stepped forward an hour',
      before: moment(0),
      now: moment(3607, 7),
      is: 3607,
    },
    {
      name: 'the machine was suspended for an hour',
      before: moment(0),
      now: moment(3600, 1),
      is: 3600,
    },
    { name: 'no proof', before: null, now: moment(7), is: Number.POSITIVE_INFINITY },
  ])('$name', ({ before, now, is }) => {
    expect(msBetween(before, now)).toBe(is * 1000)
  })

  test.each([
    { name: 'keys are current at 15 s', at: 15, is: true },
    { name: 'keys are stale after 15 s', at: 15.001, is: false },
  ])('$name', ({ at, is }) => {
    expect(isFresh(moment(0), moment(at))).toBe(is)
  })

  test('without a proof nothing is current', () => {
    expect(isFresh(null, moment(0))).toBe(false)
  })
})

test('the later of two proofs counts, so a replayed or late one takes nothing back (C4)', () => {
  expect(laterMoment(null, moment(1))).toEqual(moment(1))
  expect(laterMoment(moment(1), null)).toEqual(moment(1))
  expect(laterMoment(moment(1), moment(2))).toEqual(moment(2))
  expect(laterMoment(moment(2), moment(1))).toEqual(moment(2))
})

test('currentMoment reads both clocks', () => {
  const clock = manualClock(t0)
  clock.setMonotonic(5)
  expect(currentMoment(clock)).toEqual({ wallMs: t0, monotonicMs: 5 })
})
