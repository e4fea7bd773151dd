import { describe, expect, test } from 'vitest'
import { HEARTBEAT_NAME, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import {
  type KeyPlanInput,
  type KeyStep,
  type KeyTransition,
  plan,
} from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import {
  accessKey,
  after,
  capped,
  circumstances,
  olderThan,
  stepped,
  textAfter,
} from '../../../support/key-builder.ts'

const DAY = 86_400
const FOREIGN = 'example.com/backup'

const at = (seconds: number, around: Partial<KeyPlanInput> = {}): KeyPlanInput =>
  circumstances({ ...around, nowMs: after(seconds) })

const nothing: KeyStep = { kind: 'nothing' }
const waitFor = (seconds: number): KeyStep => ({ kind: 'wait', wakeMs: after(seconds) })

/** The key after its status in these circumstances was published. */
function settled(differing: Partial<AccessKey>, when: KeyPlanInput): AccessKey {
  const key = accessKey(differing)
  return stepped(key, plan(key, when)) ?? key
}

describe('adoption (contract 2.8, 3.1)', () => {
  const ready = { finalizers: [REVOKE_FINALIZER], firstSeenMs: after(0) }
  // biome-ignore format: a table
  test.each([
    { name: 'a new key without anything', differing: { finalizers: [], firstSeenMs: null, digest: null }, createdAt: 0 },
    { name: 'a new key with spec.key', differing: { finalizers: [], firstSeenMs: null }, createdAt: 0 },
    { name: 'only spec.key missing', differing: { ...ready, digest: null }, createdAt: 0 },
    { name: 'only the finalizer missing', differing: { ...ready, finalizers: [] }, createdAt: 0 },
    { name: 'only a foreign finalizer', differing: { ...ready, finalizers: [FOREIGN] }, createdAt: 0 },
    { name: 'the annotation missing or malformed', differing: { ...ready, firstSeenMs: null }, createdAt: 0 },
    { name: 'restored from backup', differing: { finalizers: [], firstSeenMs: after(-500), digest: null }, createdAt: -500 },
    { name: 'annotation later than the creation', differing: { finalizers: [], firstSeenMs: after(500) }, createdAt: 0 },
    { name: 'named like the heartbeat, with a key', differing: { name: HEARTBEAT_NAME, finalizers: [], firstSeenMs: null }, createdAt: 0 },
    { name: 'created in the future', differing: { finalizers: [], firstSeenMs: null, creationMs: after(90) }, createdAt: 90 },
    { name: 'past its end already: adopted before it is deleted', differing: { ...ready, finalizers: [], ttl: 1, type: 'Login' }, createdAt: 0 },
  ])('$name', ({ differing, createdAt }) => {
    expect(plan(accessKey(differing), at(9))).toEqual({
      kind: 'adopt',
      createdAt: textAfter(createdAt),
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'finalizer, annotation and key present', differing: ready },
    { name: 'a foreign finalizer beside ours', differing: { finalizers: [FOREIGN, REVOKE_FINALIZER] } },
    { name: 'an earlier annotation', differing: { firstSeenMs: after(-500) } },
    { name: 'a later annotation', differing: { firstSeenMs: after(500) } },
    { name: 'the heartbeat key of the gateways, which has no secret', differing: { name: HEARTBEAT_NAME, finalizers: [], firstSeenMs: null, digest: null } },
  ])('is not needed: $name', ({ differing }) => {
    expect(plan(accessKey(differing), at(9)).kind).toBe('publish')
  })
})

describe('a key that a gateway has just created waits for the claim of its fields', () => {
  const created = { finalizers: [REVOKE_FINALIZER], firstSeenMs: after(0), isUnclaimed: true }

  // biome-ignore format: a table
  test.each([
    { name: 'at once', differing: {}, second: 0 },
    { name: 'some seconds later', differing: {}, second: 2.999 },
  ])('$name', ({ differing, second }) => {
    expect(plan(accessKey({ ...created, ...differing }), at(second))).toEqual(waitFor(3))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'claimed', differing: { isUnclaimed: false }, second: 1, kind: 'publish' },
    { name: 'no claim within three seconds', differing: {}, second: 3, kind: 'publish' },
    { name: 'an annotation of a clock ahead', differing: { firstSeenMs: after(60) }, second: 1, kind: 'publish' },
    { name: 'restored from a backup', differing: { firstSeenMs: after(-500) }, second: 1, kind: 'publish' },
    { name: 'deleted meanwhile', differing: { isDeleting: true }, second: 1, kind: 'release' },
    { name: 'created by kubectl', differing: { finalizers: [], firstSeenMs: null }, second: 1, kind: 'adopt' },
  ])('the wait does not apply: $name', ({ differing, second, kind }) => {
    expect(plan(accessKey({ ...created, ...differing }), at(second)).kind).toBe(kind)
  })
})

describe('a key of a claim (28.8, 37)', () => {
  const DELETE: KeyStep = { kind: 'delete', because: 'expired' }
  const made = { isOfClaim: true, firstSeenMs: after(0), ttl: 600 }

  test('is Ready by one write, at once after its creation', () => {
    const step = plan(accessKey(made), at(0))
    expect(step).toMatchObject({ kind: 'publish', status: { conditions: [{ reason: 'Active' }] } })
    expect(plan(settled(made, at(0)), at(0))).toEqual(waitFor(600))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'at its end, without a write before', differing: {}, now: 600, step: DELETE },
    { name: 'disabled, at its end: its claim waits for it (28.5)', differing: { isDisabled: true }, now: 600, step: { kind: 'publish' } },
    { name: 'that is being deleted, at its end', differing: { isDeleting: true }, now: 600, step: { kind: 'release' } },
    { name: 'a millisecond before its end', differing: {}, now: 599.999, step: waitFor(600) },
    { name: 'kept, at its end', differing: { onExpiry: 'Keep' as const }, now: 600, step: { kind: 'publish' } },
    { name: 'that the cap ended, which may be a mistake', differing: {}, now: 90, around: capped(90), step: { kind: 'publish' } },
  ])('$name', ({ differing, now, around, step }) => {
    expect(plan(settled({ ...made, ...differing }, at(0)), at(now, around))).toMatchObject(step)
  })
})

describe('the heartbeat key of the gateways (contract 10.4)', () => {
  const heartbeat = {
    name: HEARTBEAT_NAME,
    type: 'Reset',
    identity: 'subject:heartbeat',
    finalizers: [],
    firstSeenMs: null,
    digest: null,
  }

  test('is Ready, and no cap ends it', () => {
    const step = plan(accessKey(heartbeat), at(900 * DAY, capped(90)))
    expect(step).toMatchObject({ kind: 'publish', announce: [], wakeMs: null })
    const { conditions, ...status } = (step as Extract<KeyStep, { kind: 'publish' }>).status
    expect(status).toEqual({ identity: 'subject:heartbeat', observedGeneration: 1 })
    expect(conditions).toMatchObject([
      {
        type: 'Ready',
        status: 'True',
        reason: 'Active',
        message:
          'The key opens nothing and never ends: gateways write to it to test that their watch of the keys is current.',
      },
    ])
  })

  test('needs no further write, whatever the cap', () => {
    const key = settled(heartbeat, at(0))
    const steps = [0, 90, 900 * DAY].map((second) => plan(key, at(second, capped(90))))
    expect(steps).toEqual([nothing, nothing, nothing])
  })

  test('with a secret is a key like any other, which the cap ends', () => {
    const key = {
      ...heartbeat,
      digest: 'd'.repeat(64),
      firstSeenMs: after(0),
      finalizers: [REVOKE_FINALIZER],
    }
    expect(plan(accessKey(key), at(99, capped(90)))).toMatchObject({
      status: {
        conditions: [{ reason: 'Expired' }, { type: 'Stalled' }, { type: 'LifetimeCapped' }],
      },
    })
  })
})

describe('deletion (contract 5.1)', () => {
  const deleting = { isDeleting: true }
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly differing: Partial<AccessKey>
    readonly kind: KeyStep['kind']
  }[] = [
    { name: 'only our finalizer', differing: deleting, kind: 'release' },
    { name: 'our finalizer beside a foreign one: released before a status write', differing: { ...deleting, finalizers: [FOREIGN, REVOKE_FINALIZER] }, kind: 'release' },
    { name: 'deleted before it was adopted', differing: { ...deleting, finalizers: [FOREIGN], firstSeenMs: null, digest: null },
      kind: 'publish' },
    { name: 'only a foreign finalizer: publishes Terminating', differing: { ...deleting, finalizers: [FOREIGN] }, kind: 'publish' },
    { name: 'without finalizers', differing: { ...deleting, finalizers: [] }, kind: 'nothing' },
    { name: 'expired too: no delete', differing: { ...deleting, ttl: 1, type: 'Login' }, kind: 'release' },
  ]
  test.each(rows)('$name: $kind', ({ differing, kind }) => {
    expect(plan(accessKey(differing), at(9)).kind).toBe(kind)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a key without an end', differing: {} },
    { name: 'a key that ends meanwhile', differing: { ttl: 60 } },
    { name: 'a key past its end', differing: { ttl: 1, type: 'Login' } },
    { name: 'a key that the cap ends meanwhile', differing: { ttl: 9000 } },
  ])('Terminating is published once: $name', ({ differing }) => {
    const key = settled({ ...deleting, finalizers: [FOREIGN], ...differing }, at(9, capped(90)))
    const seconds = [9, 60, 90, 900 * DAY]
    expect(seconds.map((second) => plan(key, at(second, capped(90))).kind)).toEqual(
      seconds.map(() => 'nothing'),
    )
  })
})

describe('the step when the published status is up to date', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly differing?: Partial<AccessKey>
    readonly around?: Partial<KeyPlanInput>
    readonly now?: number
    readonly step: KeyStep
  }[] = [
    { name: 'no end: nothing', step: nothing },
    { name: 'wait for the end', differing: { ttl: 60 }, step: waitFor(60) },
    { name: '30 days', differing: { ttl: 30 * DAY }, step: waitFor(30 * DAY) },
    { name: '2147483 s', differing: { ttl: 2_147_483 }, step: waitFor(2_147_483) },
    { name: '2147484 s', differing: { ttl: 2_147_484 }, step: waitFor(2_147_484) },
    { name: 'the longest ttl', differing: { ttl: 2_147_483_647 }, step: waitFor(2_147_483_647) },
    { name: 'a millisecond before the end', differing: { ttl: 60 }, now: 59.999, step: waitFor(60) },
    { name: 'expired: wait for its removal', differing: { ttl: 60 }, now: 60, step: waitFor(60 + DAY) },
    { name: 'a millisecond before its removal', differing: { ttl: 60 }, now: 59.999 + DAY, step: waitFor(60 + DAY) },
    { name: 'its removal is due', differing: { ttl: 60 }, now: 60 + DAY, step: { kind: 'delete', because: 'expired' } },
    { name: 'long overdue', differing: { ttl: 60 }, now: 900 * DAY, step: { kind: 'delete', because: 'expired' } },
    { name: 'Login exactly at its end', differing: { ttl: 60, type: 'Login' }, now: 60, step: { kind: 'delete', because: 'expired' } },
    { name: 'a retention of 0', differing: { ttl: 60 }, around: { retentionMs: 0 }, now: 60, step: { kind: 'delete', because: 'expired' } },
    { name: 'expired and kept: nothing', differing: { ttl: 60, onExpiry: 'Keep' }, now: 900 * DAY, step: nothing },
    { name: 'tracked: nothing', differing: { ttl: 60, isTracked: true }, now: 900 * DAY, step: nothing },
    { name: 'disabled: wait for the end', differing: { ttl: 60, isDisabled: true }, step: waitFor(60) },
    { name: 'in conflict and past its end', differing: { ttl: 60, type: 'Login' }, around: olderThan('x'), now: 60, step: { kind: 'delete', because: 'expired' } },
    { name: 'without identity and past its end', differing: { ttl: 60, type: 'Login', identity: null }, now: 60, step: { kind: 'delete', because: 'expired' } },
    { name: 'a cap', differing: { ttl: 600 }, around: capped(90), step: waitFor(90) },
    { name: 'an ignored use: wait until it counts', differing: { ttl: 600, slides: true, lastActivityMs: after(61) }, step: waitFor(1) },
    { name: 'expired and kept, an ignored use may revive it', now: 100,
      differing: { ttl: 60, slides: true, onExpiry: 'Keep', lastActivityMs: after(200) }, step: waitFor(140) },
    { name: 'a sign-in that nothing refreshes any more becomes stale (24.5)', differing: { type: 'Login', refreshedMs: after(-9) }, step: { kind: 'wait', wakeMs: after(DAY - 9) + 1 } },
    { name: 'a sign-in at its last moment (24.5)', differing: { type: 'Login', refreshedMs: after(0) }, now: DAY, step: { kind: 'wait', wakeMs: after(DAY) + 1 } },
    { name: 'a stale sign-in (24.5): wait for the end', differing: { type: 'Login', ttl: 2 * DAY, refreshedMs: after(0) }, now: DAY + 1, step: waitFor(2 * DAY) },
    { name: 'an ignored use long after the end: wait for the end', differing: { ttl: 60, lastActivityMs: after(9000) }, step: waitFor(60) },
  ]
  test.each(rows)('$name', ({ differing = {}, around = {}, now = 0, step }) => {
    const when = at(now, around)
    expect(plan(settled(differing, when), when)).toEqual(step)
  })
})

describe('a Login key beyond those that its user keeps (5.1)', () => {
  // biome-ignore format: a table
  test.each<{ name: string; differing: Partial<AccessKey>; step: Partial<KeyStep> }>([
    { name: 'is deleted', differing: {}, step: { kind: 'delete', because: 'surplus' } },
    { name: 'is adopted first, as tokens may be issued under it', differing: { finalizers: [] }, step: { kind: 'adopt' } },
    { name: 'that is being deleted goes on', differing: { isDeleting: true }, step: { kind: 'release' } },
  ])('$name', ({ differing, step }) => {
    const around = { isSurplusLogin: true }
    expect(plan(accessKey({ type: 'Login', ...differing }), at(1, around))).toMatchObject(step)
  })
})

describe('publish comes before other steps', () => {
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly key: AccessKey
    readonly when: KeyPlanInput
    readonly wake: number | null
  }[] = [
    { name: 'the key expired', key: settled({ ttl: 60 }, at(0)), when: at(60), wake: 60 + DAY },
    { name: 'a Login key expired: published before it is deleted', key: settled({ ttl: 60, type: 'Login' }, at(0)), when: at(60), wake: 60 },
    { name: 'the key expired days ago, while no manager ran', key: settled({ ttl: 60 }, at(0)), when: at(9 * DAY), wake: 60 + DAY },
    { name: 'the key was used', key: { ...settled({ ttl: 60, slides: true }, at(0)), lastActivityMs: after(30) }, when: at(31), wake: 90 },
    { name: 'a cap was set', key: settled({ ttl: 600 }, at(0)), when: at(0, capped(90)), wake: 90 },
    { name: 'the cap was removed', key: settled({}, at(0, capped(90))), when: at(0), wake: null },
    { name: 'a raised cap revives the key', key: settled({ ttl: 600 }, at(99, capped(90))), when: at(99, capped(DAY)), wake: 600 },
    { name: 'an older key with the same secret appeared', key: settled({}, at(0)), when: at(1, olderThan('x')), wake: null },
    { name: 'the older key with the same secret was deleted', key: settled({}, at(0, olderThan('x'))), when: at(1), wake: null },
    { name: 'the spec changed', key: { ...settled({}, at(0)), generation: 2 }, when: at(0), wake: null },
    { name: 'an ignored use counts now', key: settled({ ttl: 60, slides: true, lastActivityMs: after(61) }, at(0)), when: at(1), wake: 121 },
    { name: 'the Keep annotation was added', key: { ...settled({ ttl: 60 }, at(99)), onExpiry: 'Keep' }, when: at(99), wake: null },
  ]
  test.each(rows)('$name', ({ key, when, wake }) => {
    const wakeMs = wake === null ? null : after(wake)
    expect(plan(key, when)).toMatchObject({ kind: 'publish', wakeMs })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a cap longer than its lifetime', key: settled({ ttl: 60 }, at(0)), when: at(0, capped(90)) },
    { name: 'another cap longer than its lifetime', key: settled({ ttl: 60 }, at(0, capped(90))), when: at(0, capped(600)) },
    { name: 'another name of Config, without a cap', key: settled({ ttl: 60 }, at(0)), when: at(0, { configName: 'x' }) },
    { name: 'a use of a key with a fixed end', key: { ...settled({ ttl: 60 }, at(0)), lastActivityMs: after(9) }, when: at(9) },
    { name: 'a new resourceVersion', key: { ...settled({ ttl: 60 }, at(0)), resourceVersion: '8' }, when: at(0) },
  ])('needs no publish: $name', ({ key, when }) => {
    expect(plan(key, when)).toEqual(waitFor(60))
  })
})

/** The events of the next step, without their notes. */
const eventsOf = (key: AccessKey, when: KeyPlanInput): readonly Omit<KeyTransition, 'note'>[] => {
  const step = plan(key, when)
  return step.kind === 'publish'
    ? step.announce.map(({ reason, discriminator }) => ({ reason, discriminator }))
    : []
}

describe('events only for transitions (contract 4.5)', () => {
  const ended = accessKey({ ttl: 60 })
  const ahead = accessKey({ ttl: 60, slides: true, lastActivityMs: after(61) })
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly key: AccessKey
    readonly when: KeyPlanInput
    readonly events: readonly Omit<KeyTransition, 'note'>[]
  }[] = [
    { name: 'a new key: none', key: accessKey(), when: at(0), events: [] },
    { name: 'expired', key: settled({ ttl: 60 }, at(0)), when: at(60), events: [{ reason: 'Expired', discriminator: textAfter(60) }] },
    { name: 'expired before its first status', key: ended, when: at(99), events: [{ reason: 'Expired', discriminator: textAfter(60) }] },
    { name: 'expired, then modified', key: { ...settled({ ttl: 60 }, at(60)), generation: 2 }, when: at(61), events: [] },
    { name: 'a conflict', key: settled({}, at(0)), when: at(0, olderThan('x')), events: [{ reason: 'KeyConflict', discriminator: 'x' }] },
    { name: 'still a conflict', key: { ...settled({}, at(0, olderThan('x'))), generation: 2 }, when: at(1, olderThan('x')), events: [] },
    { name: 'a conflict takes precedence over the end', key: ended, when: at(60, olderThan('x')), events: [{ reason: 'KeyConflict', discriminator: 'x' }] },
    { name: 'a use ignored', key: ahead, when: at(0), events: [{ reason: 'ActivityIgnored', discriminator: String(after(61)) }] },
    { name: 'disabled: none', key: accessKey({ isDisabled: true }), when: at(0), events: [] },
    { name: 'revived by a raised cap: none', key: settled({ ttl: 600 }, at(99, capped(90))), when: at(99), events: [] },
  ]
  test.each(rows)('$name', ({ key, when, events }) => {
    expect(eventsOf(key, when)).toEqual(events)
  })

  test('the note is the message of Ready', () => {
    const step = plan(accessKey({ ttl: 60 }), at(60))
    expect(step.kind === 'publish' && step.announce[0]?.note).toContain(
      'expired 2026-11-21T10:01:00Z, 60 s after its creation',
    )
  })
})
