import { describe, expect, test } from 'vitest'
import type { Condition } from '../../../../src/api/objects.ts'
import { type KeyPlanInput, plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import {
  type DesiredKeyStatus,
  isPublished,
} from '../../../../src/controllers/ownedaccesskey/status.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  accessKey,
  after,
  capped,
  circumstances,
  olderThan,
  textAfter,
} from '../../../support/key-builder.ts'

interface Given {
  readonly key?: Partial<AccessKey>
  readonly around?: Partial<KeyPlanInput>
  /** Seconds after t0. */
  readonly now?: number
}

/** The first status of a key. */
function statusFor({ key = {}, around = {}, now = 0 }: Given): DesiredKeyStatus {
  const step = plan(accessKey(key), circumstances({ ...around, nowMs: after(now) }))
  if (step.kind !== 'publish') throw new Error(`the step is to ${step.kind}`)
  return step.status
}

const condition = (given: Given, type: string): Condition | undefined =>
  statusFor(given).conditions.find((one) => one.type === type)

const sliding = { ttl: 60, slides: true }
const used = (seconds: number): Partial<AccessKey> => ({
  ...sliding,
  lastActivityMs: after(seconds),
})

const IGNORED = ' Its recorded last use lies more than 60 s in the future and is ignored.'

describe('the message of Ready, with its numbers (contract 4.4)', () => {
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly says: string })[] = [
    { name: 'never ends', says: 'The key works and never expires.' },
    { name: 'Reset, which is no bearer credential', key: { type: 'Reset', ttl: 60 }, says: 'A key of type Reset is no bearer credential: the gateway refuses it. It expires 2026-11-21T10:01:00Z.' },
    { name: 'OIDCRefreshToken without an end', key: { type: 'OIDCRefreshToken' }, says: 'A key of type OIDCRefreshToken is no bearer credential: the gateway refuses it. It never expires.' },
    { name: 'with a fixed end', key: { ttl: 60 }, says: 'The key works until 2026-11-21T10:01:00Z, 60 s after its creation.' },
    { name: 'sliding, never used', key: sliding, says: 'The key works until 2026-11-21T10:01:00Z, 60 s after its creation.' },
    { name: 'sliding, used', key: used(30), now: 30, says: 'The key works until 2026-11-21T10:01:30Z, 60 s after its last use.' },
    { name: 'used before its creation', key: used(-9), says: 'The key works until 2026-11-21T10:01:00Z, 60 s after its creation.' },
    { name: 'capped', key: { ttl: 600 }, around: capped(90),
      says: 'The key works until 2026-11-21T10:01:30Z, 90 s after its creation.' },
    { name: 'sliding, capped by its age', key: used(50), now: 50, around: capped(90),
      says: 'The key works until 2026-11-21T10:01:30Z, 90 s after its creation.' },
    { name: 'sliding, below the cap', key: used(20), now: 20, around: capped(90),
      says: 'The key works until 2026-11-21T10:01:20Z, 60 s after its last use.' },
    { name: 'Login by default', key: { type: 'Login' }, says: 'The key works until 2026-12-11T10:00:00Z, 1728000 s after its creation.' },
    { name: 'expired', key: { ttl: 60 }, now: 60,
      says: 'The key expired 2026-11-21T10:01:00Z, 60 s after its creation; it is deleted 2026-11-22T10:01:00Z.' },
    { name: 'expired after its last use', key: used(30), now: 99,
      says: 'The key expired 2026-11-21T10:01:30Z, 60 s after its last use; it is deleted 2026-11-22T10:01:30Z.' },
    { name: 'expired and Login', key: { ttl: 60, type: 'Login' }, now: 60,
      says: 'The key expired 2026-11-21T10:01:00Z, 60 s after its creation; it is deleted at once.' },
    { name: 'expired and Keep', key: { ttl: 60, onExpiry: 'Keep' }, now: 60,
      says: 'The key expired 2026-11-21T10:01:00Z, 60 s after its creation; it is kept, as its annotation asks.' },
    { name: 'expired and tracked', key: { ttl: 60, isTracked: true }, now: 60,
      says: 'The key expired 2026-11-21T10:01:00Z, 60 s after its creation; it is kept, because a GitOps tool applies it.' },
    { name: 'expired, disabled and of a claim', key: { ttl: 60, isOfClaim: true, isDisabled: true, onExpiry: 'Delete' }, now: 60,
      says: 'The key expired 2026-11-21T10:01:00Z, 60 s after its creation; it is kept, because it is disabled and its claim would make another.' },
    { name: 'disabled', key: { isDisabled: true }, says: 'The key is disabled and does not work: remove spec.disabled to enable it.' },
    { name: 'owned by a disabled key', around: { ownerFault: 'access key login, which it depends on, is disabled' },
      says: 'The key does not work, because access key login, which it depends on, is disabled.' },
    { name: 'with a fault of its person (24.5)', around: { identityFault: { reason: 'UserDisabled', message: 'User ada is disabled.' } }, says: 'User ada is disabled.' },
    { name: 'without an identity', key: { identity: null },
      says: 'The key names no user, team or subject and does not work: set one of spec.user, spec.team and spec.subject.' },
    { name: 'a conflict', around: olderThan('old-ci'),
      says: 'old-ci has the same key and is older: this object does not work; delete one of the two.' },
    { name: 'a conflict without a winner', around: { conflict: { kind: 'unproven', names: ['old', 'ci'] } },
      says: 'old, ci have the same key, and the oldest holds only its digest, which does not prove that its author knew the key. None of them works: delete all but the one that is to have it.' },
    { name: 'a conflict of many keys', around: { conflict: { kind: 'unproven', names: Array.from({ length: 12 }, (_, at) => `k${at}`) } },
      says: 'k0, k1, k2, k3, k4, k5, k6, k7, k8, k9 and 2 more have the same key, and the oldest holds only its digest, which does not prove that its author knew the key. None of them works: delete all but the one that is to have it.' },
    { name: 'being deleted, with a foreign finalizer', key: { isDeleting: true, finalizers: ['a/b'] },
      says: 'The key is being deleted and no longer works.' },
    { name: 'used too far in the future', key: { ...used(61), isDisabled: true },
      says: 'The key is disabled and does not work: remove spec.disabled to enable it.' + IGNORED },
    { name: 'used too far in the future, with an end', key: used(61),
      says: 'The key works until 2026-11-21T10:01:00Z, 60 s after its creation.' + IGNORED },
    { name: 'a fraction of a second is not shown', key: { ...sliding, lastActivityMs: after(0.25) }, now: 1,
      says: 'The key works until 2026-11-21T10:01:00Z, 60 s after its last use.' },
  ]
  test.each(rows)('$name', ({ says, ...given }) => {
    expect(condition(given, 'Ready')?.message).toBe(says)
  })
})

describe('conditions (contract 4.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'Active', given: {}, ready: 'True Active', stalled: undefined },
    { name: 'Terminating', given: { key: { isDeleting: true, finalizers: ['a/b'] } }, ready: 'False Terminating', stalled: undefined },
    { name: 'NoIdentity', given: { key: { identity: null } }, ready: 'False NoIdentity', stalled: 'True NoIdentity' },
    { name: 'KeyConflict', given: { around: olderThan('x') }, ready: 'False KeyConflict', stalled: 'True KeyConflict' },
    { name: 'Expired', given: { key: { ttl: 1 }, now: 1 }, ready: 'False Expired', stalled: 'True Expired' },
    { name: 'Disabled', given: { key: { isDisabled: true } }, ready: 'False Disabled', stalled: 'True Disabled' },
    { name: 'disabled, and so is its owner', given: { key: { isDisabled: true }, around: { ownerFault: 'x' } }, ready: 'False Disabled', stalled: 'True Disabled' },
    { name: 'OwnerNotReady', given: { around: { ownerFault: 'x' } }, ready: 'False OwnerNotReady', stalled: undefined },
  ])('$name: Ready $ready, Stalled $stalled', ({ given, ready, stalled }) => {
    const conditionOf = (type: string): string | undefined => {
      const found = condition(given, type)
      return found && `${found.status} ${found.reason}`
    }
    expect([conditionOf('Ready'), conditionOf('Stalled'), conditionOf('LifetimeCapped')]).toEqual([
      ready,
      stalled,
      undefined,
    ])
  })

  // biome-ignore format: a table
  test.each([
    { name: 'with a lifetime of its own', given: { key: { ttl: 600 }, around: capped(90) },
      says: 'The key has a lifetime of 600 s; accessKeyMaxTTLSeconds of Config platform-manager-config ends it 90 s after its creation.' },
    { name: 'without a lifetime of its own', given: { around: { ...capped(90), configName: 'mine' } },
      says: 'The key has no lifetime of its own; accessKeyMaxTTLSeconds of Config mine ends it 90 s after its creation.' },
    { name: 'the Login default', given: { key: { type: 'Login' }, around: { ...capped(90), configName: 'mine' } },
      says: 'The key has a lifetime of 1728000 s; accessKeyMaxTTLSeconds of Config mine ends it 90 s after its creation.' },
    { name: 'expired', given: { key: { ttl: 600 }, around: capped(90), now: 90 },
      says: 'The key has a lifetime of 600 s; accessKeyMaxTTLSeconds of Config platform-manager-config ends it 90 s after its creation.' },
  ])('LifetimeCapped has both numbers: $name', ({ given, says }) => {
    expect(condition(given, 'LifetimeCapped')).toMatchObject({
      status: 'True',
      reason: 'CappedByConfig',
      message: says,
    })
  })
})

describe('the fields of status (contract 1.5)', () => {
  test('of a key that never ends', () => {
    const { conditions: _, ...fields } = statusFor({
      key: { generation: 3, digest: `0123456789abcdef${'0'.repeat(48)}` },
    })
    expect(fields).toStrictEqual({
      keyID: '0123456789abcdef',
      identity: 'user:ada',
      observedGeneration: 3,
    })
  })

  test('include the removal of an expired key', () => {
    expect(statusFor({ key: { ttl: 60 }, now: 60 })).toMatchObject({
      expirationTimestamp: textAfter(60),
      removalTimestamp: textAfter(86_460),
      effectiveTTLSeconds: 60,
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'an active key has no removal', given: { key: { ttl: 60 } }, absent: 'removalTimestamp' },
    { name: 'a kept key has no removal', given: { key: { ttl: 60, isTracked: true }, now: 60 }, absent: 'removalTimestamp' },
    { name: 'a key without identity', given: { key: { identity: null } }, absent: 'identity' },
    { name: 'a key without a secret has no keyID', given: { key: { digest: null, isDeleting: true, finalizers: ['a/b'] } }, absent: 'keyID' },
    { name: 'a key without an end has no lifetime', given: {}, absent: 'effectiveTTLSeconds' },
  ])('$name', ({ given, absent }) => {
    expect(statusFor(given)).not.toHaveProperty(absent)
  })

  test('never include lastActivity, which gateways own (contract 3.4)', () => {
    expect(statusFor({ key: used(30), now: 30 })).not.toHaveProperty('lastActivity')
  })

  test('the generation is in status and in each condition (contract 4.4)', () => {
    const given = { key: { generation: 5, identity: null, ttl: 600 }, around: capped(9) }
    const { observedGeneration, conditions } = statusFor(given)
    expect([observedGeneration, ...conditions.map((one) => one.observedGeneration)]).toEqual([
      5, 5, 5, 5,
    ])
  })
})

describe('isPublished compares the desired and the published status', () => {
  const wanted = statusFor({ key: { ttl: 600 }, around: capped(90) })
  const published = { ...accessKey().published, ...wanted }
  const foreign: Condition = {
    type: 'Audited',
    status: 'True',
    reason: 'Seen',
    message: '',
    lastTransitionTime: textAfter(9),
  }

  // biome-ignore format: a table
  test.each([
    { name: 'the same', differing: {}, same: true },
    { name: 'another end', differing: { expirationTimestamp: textAfter(91) }, same: false },
    { name: 'a removal', differing: { removalTimestamp: textAfter(91) }, same: false },
    { name: 'another lifetime', differing: { effectiveTTLSeconds: 91 }, same: false },
    { name: 'another keyID', differing: { keyID: 'f'.repeat(16) }, same: false },
    { name: 'another identity', differing: { identity: 'user:bob' }, same: false },
    { name: 'another generation', differing: { observedGeneration: 2 }, same: false },
    { name: 'a condition missing', differing: { conditions: published.conditions.slice(1) }, same: false },
    { name: 'a condition too many', differing: { conditions: [...published.conditions, { ...foreign, type: 'Stalled' }] }, same: false },
  ])('$name: $same', ({ differing, same }) => {
    expect(isPublished(wanted, { ...published, ...differing })).toBe(same)
  })
})
