import { describe, expect, test } from 'vitest'
import {
  type LeaseSpec,
  electionStep,
  leaseHeldBy,
  releasedLease,
  observe,
} from '../../../../src/kube/leader-election/rules.ts'

const us = { identity: 'us', leaseDurationMs: 15_000 }
const nowMs = 100_000
const wallMs = Date.parse('2026-11-21T10:00:00.123Z')
const NOW = '2026-11-21T10:00:00.123000Z'
const LONG_AGO = '2001-01-01T00:00:00.000000Z'
const theirs: LeaseSpec = { holderIdentity: 'them', leaseDurationSeconds: 15 }

describe('the next step of a candidate', () => {
  test.each([
    { name: 'no Lease', spec: null, step: { kind: 'create' } },
    { name: 'no Lease, and we lead', spec: null, leading: true, step: { kind: 'create' } },
    {
      name: 'ours',
      spec: { ...theirs, holderIdentity: 'us' },
      leading: true,
      step: { kind: 'renew' },
    },
    {
      name: 'ours by a write whose answer was lost',
      spec: { ...theirs, holderIdentity: 'us' },
      step: { kind: 'renew' },
    },
    { name: 'taken from us', spec: theirs, leading: true, step: { kind: 'lost' } },
    {
      name: 'freed by hand while we lead',
      spec: { ...theirs, holderIdentity: '' },
      leading: true,
      step: { kind: 'lost' },
    },
    {
      name: 'released',
      spec: { holderIdentity: '', leaseDurationSeconds: 1 },
      step: { kind: 'takeOver' },
    },
    { name: 'never held', spec: {}, step: { kind: 'takeOver' } },
    { name: 'held, seen just now', spec: theirs, ageMs: 0, step: { kind: 'wait', ms: 15_000 } },
    {
      name: 'held, in the last millisecond',
      spec: theirs,
      ageMs: 14_999,
      step: { kind: 'wait', ms: 1 },
    },
    { name: 'held, its time is over', spec: theirs, ageMs: 15_000, step: { kind: 'takeOver' } },
    {
      name: "held for the holder's duration, not ours",
      spec: { ...theirs, leaseDurationSeconds: 60 },
      ageMs: 15_000,
      step: { kind: 'wait', ms: 45_000 },
    },
    {
      name: 'held without a duration: ours counts',
      spec: { holderIdentity: 'them' },
      ageMs: 14_000,
      step: { kind: 'wait', ms: 1000 },
    },
    {
      name: 'renewed long ago by a clock that may be wrong, seen just now',
      spec: { ...theirs, renewTime: LONG_AGO },
      ageMs: 0,
      step: { kind: 'wait', ms: 15_000 },
    },
    {
      name: 'renewed in the future by a clock that is wrong',
      spec: { ...theirs, renewTime: '2999-01-01T00:00:00.000000Z' },
      ageMs: 15_000,
      step: { kind: 'takeOver' },
    },
  ])('$name', ({ spec, ageMs = 0, leading = false, step }) => {
    expect(electionStep({ spec, sinceMs: nowMs - ageMs }, us, leading, nowMs)).toEqual(step)
  })
})

describe('the age of the content of a Lease', () => {
  const before = { spec: { ...theirs, renewTime: LONG_AGO }, sinceMs: 1000 }

  test.each([
    { name: 'unchanged', spec: { ...before.spec }, sinceMs: 1000 },
    { name: 'renewed', spec: { ...before.spec, renewTime: NOW }, sinceMs: nowMs },
    { name: 'deleted', spec: null, sinceMs: nowMs },
  ])('$name', ({ spec, sinceMs }) => {
    expect(observe(before, spec, nowMs)).toEqual({ spec, sinceMs })
  })
})

describe('the spec that a candidate writes', () => {
  const ours: LeaseSpec = { holderIdentity: 'us', acquireTime: LONG_AGO, leaseTransitions: 4 }

  test.each([
    { name: 'a new Lease', before: null, acquireTime: NOW, leaseTransitions: 0 },
    { name: 'a renewal', before: ours, acquireTime: LONG_AGO, leaseTransitions: 4 },
    {
      name: 'a takeover',
      before: { ...ours, holderIdentity: 'them' },
      acquireTime: NOW,
      leaseTransitions: 5,
    },
    {
      name: 'a free one',
      before: { ...ours, holderIdentity: '' },
      acquireTime: NOW,
      leaseTransitions: 5,
    },
    { name: 'an empty one', before: {}, acquireTime: NOW, leaseTransitions: 1 },
  ])('$name', ({ before, acquireTime, leaseTransitions }) => {
    expect(leaseHeldBy(before, us, wallMs)).toEqual({
      holderIdentity: 'us',
      leaseDurationSeconds: 15,
      acquireTime,
      renewTime: NOW,
      leaseTransitions,
    })
  })

  test('rounds its duration up to whole seconds', () => {
    expect(leaseHeldBy(null, { ...us, leaseDurationMs: 1001 }, wallMs).leaseDurationSeconds).toBe(2)
  })

  test('has no holder and the shortest duration on release', () => {
    expect(releasedLease(ours, wallMs)).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: NOW,
      renewTime: NOW,
      leaseTransitions: 4,
    })
  })
})
