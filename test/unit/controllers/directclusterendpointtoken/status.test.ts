import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import type { Condition } from '../../../../src/api/objects.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import {
  type DesiredTokenStatus,
  isPublished,
} from '../../../../src/controllers/directclusterendpointtoken/status.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { type PublishedTokenStatus, tokenOf } from '../../../../src/domain/token/token.ts'
import { after, capped, textAfter } from '../../../support/key-builder.ts'
import {
  KID,
  UNDER_CI,
  issuedObject,
  owner,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  withMetadata,
} from '../../../support/token-builder.ts'

type PartialCircumstances = Partial<TokenPlanInput>

interface Given {
  readonly object?: DirectClusterEndpointToken
  readonly circumstances?: PartialCircumstances
  /** Seconds after its creation. */
  readonly now?: number
}

/** The status that the next step writes. */
function statusFor({
  object = tokenObject(),
  circumstances = {},
  now = 0,
}: Given): DesiredTokenStatus {
  const step = plan(tokenOf(object), tokenCircumstances({ ...circumstances, nowMs: after(now) }))
  if (!('status' in step)) throw new Error(`the step is to ${step.kind}`)
  return step.status
}

const condition = (given: Given, type: string): Condition | undefined =>
  findCondition(statusFor(given).conditions, type)

/** The object after the next step. */
function afterNextStep(given: Given): DirectClusterEndpointToken {
  const { object = tokenObject(), circumstances = {}, now = 0 } = given
  const step = plan(tokenOf(object), tokenCircumstances({ ...circumstances, nowMs: after(now) }))
  return tokenAfter(object, step) ?? object
}

const scope = (cluster: string) => ({ clusters: [{ cluster }] })
const under = (spec: DirectClusterEndpointToken['spec'] = {}) =>
  tokenObject({ metadata: UNDER_CI, spec: { ...spec } })
const underCi = (circumstances: PartialCircumstances = {}, ttl = 600) =>
  issuedObject({ metadata: UNDER_CI, spec: { ttl } }, { owner: owner(), ...circumstances })
const DISABLED = { owner: owner({}, { state: 'Disabled' }), isRecorded: true } as const
const NARROW = { owner: owner({ scope: scope('a') }) }
const deleting = (object: DirectClusterEndpointToken, finalizers: readonly string[]) =>
  withMetadata(object, { deletionTimestamp: textAfter(60), finalizers })

describe('conditions of each state (4.2)', () => {
  // biome-ignore format: a table
  const rows: readonly (Given & {
    readonly ready: string
    readonly stalled?: string
    readonly capped?: string
  })[] = [
    { ready: 'True Issued' },
    { ready: 'True Issued', circumstances: capped(60), capped: 'True CappedByConfig' },
    { ready: 'True Issued', object: under(), circumstances: { owner: owner({}, { expiresMs: after(60) }) }, capped: 'True CappedByOwner' },
    { ready: 'True Issued', circumstances: { maxTtlMs: 60_000 }, capped: 'True CappedByLimit' },
    { ready: 'False Expired', object: issuedObject({ spec: { ttl: 60 } }), now: 60, stalled: 'True Expired' },
    { ready: 'False Expired', object: issuedObject({}, capped(60)), circumstances: capped(60), now: 60, stalled: 'True Expired', capped: 'True CappedByConfig' },
    { ready: 'False Expired', object: tokenObject({ spec: { ttl: 60 } }), now: 60, stalled: 'True Expired' },
    { ready: 'False Revoked', object: underCi(), circumstances: DISABLED, stalled: 'True Revoked' },
    { ready: 'False Revoked', object: underCi({ owner: owner({}, { expiresMs: after(90) }) }), circumstances: DISABLED, stalled: 'True Revoked', capped: 'True CappedByOwner' },
    { ready: 'False Revoked', object: issuedObject(), circumstances: { ...capped(60), isRecorded: true }, now: 60, stalled: 'True Revoked', capped: 'True CappedByConfig' },
    { ready: 'False OwnerNotReady', object: under(), now: 5 },
    { ready: 'False OwnerNotReady', object: under(), circumstances: { owner: owner({}, { state: 'Expired' }) } },
    { ready: 'False ScopeExceedsOwner', object: under({ scope: scope('b') }), circumstances: NARROW, stalled: 'True ScopeExceedsOwner' },
    { ready: 'False ScopeTooLarge', object: tokenObject({ spec: { scope: scope('x'.repeat(8000)) } }), stalled: 'True ScopeTooLarge' },
    { ready: 'False SigningKeyUnavailable', circumstances: { signing: null } },
    { ready: 'False IssuerUnknown', circumstances: { issuer: null } },
    { ready: 'False Terminating', object: deleting(tokenObject(), ['a/b']) },
    { ready: 'False Terminating', object: deleting(underCi(capped(60)), ['a/b']), circumstances: { isRecorded: true } },
  ]
  test.each(rows)('Ready $ready, Stalled $stalled, LifetimeCapped $capped', (row) => {
    const { ready, stalled, capped: cut, ...given } = row
    const conditions = statusFor(given).conditions.map(
      (one) => `${one.type} ${one.status} ${one.reason}`,
    )
    expect(conditions).toEqual([
      `Ready ${ready}`,
      ...(stalled === undefined ? [] : [`Stalled ${stalled}`]),
      ...(cut === undefined ? [] : [`LifetimeCapped ${cut}`]),
    ])
  })
})

describe('the message of Ready, with its numbers (4.4)', () => {
  const fault = 'the API server answered 403 Forbidden'
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly says: string })[] = [
    { name: 'issued', object: tokenObject({ spec: { ttl: 60 } }), says: 'The token is valid until 2026-11-21T10:01:00Z, issued without an owner.' },
    { name: 'issued under a key', object: under({ ttl: 60 }), circumstances: { owner: owner() },
      says: 'The token is valid until 2026-11-21T10:01:00Z, issued under access key ci.' },
    { name: 'still issued', object: withMetadata(underCi(), { generation: 2 }), circumstances: { owner: owner({}, { expiresMs: after(90) }) },
      says: 'The token is valid until 2026-11-21T10:10:00Z, issued under access key ci.' },
    { name: 'still issued without a key', object: withMetadata(issuedObject(), { generation: 2 }),
      says: 'The token is valid until 2026-11-22T10:00:00Z, issued without an owner.' },
    { name: 'expired', object: issuedObject({ spec: { ttl: 60 } }), now: 99, says: 'The token expired 2026-11-21T10:01:00Z.' },
    { name: 'revoked', object: underCi(), circumstances: DISABLED,
      says: 'The token was revoked for good, because access key ci is disabled; make a new object for another token.' },
    { name: 'too large', object: tokenObject({ spec: { scope: scope('x'.repeat(8000)) } }),
      says: 'The token would have 22014 bytes (groups: 1), more than 8192: shorten spec.scope or the groups of its owner, or take its user out of Teams.' },
    { name: 'being deleted', object: deleting(tokenObject(), ['a/b']), says: 'The token is being deleted and is revoked.' },
    { name: 'being deleted, while records fail', object: withMetadata(underCi(), { deletionTimestamp: textAfter(60) }), circumstances: { recordFault: fault },
      says: 'The token is being deleted and is revoked. It stays until its revocation is recorded, which failed: the API server answered 403 Forbidden.' },
  ]
  test.each(rows)('$name', ({ says, ...given }) => {
    expect(condition(given, 'Ready')?.message).toBe(says)
  })

  test('Stalled has the same message', () => {
    const given = { object: underCi(), circumstances: DISABLED }
    expect(condition(given, 'Stalled')?.message).toBe(condition(given, 'Ready')?.message)
  })
})

describe('the message of LifetimeCapped, with both numbers (2.4, 4.4)', () => {
  const BY_CONFIG = 'accessKeyMaxTTLSeconds of Config platform-manager-config ends it'
  const changed = (object: DirectClusterEndpointToken) => withMetadata(object, { generation: 2 })
  /** Issued for ten minutes, then capped to one minute. */
  const lowered = () =>
    afterNextStep({
      object: issuedObject({ spec: { ttl: 600 } }),
      circumstances: capped(60),
      now: 9,
    })
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly says: string | undefined })[] = [
    { name: 'no cap', object: tokenObject({ spec: { ttl: 60 } }), says: undefined },
    { name: 'the cap', object: tokenObject({ spec: { ttl: 600 } }), circumstances: capped(60),
      says: `The token has a lifetime of 600 s; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'the cap of a Config with another name', circumstances: { ...capped(60), configName: 'mine' },
      says: 'The token has a lifetime of 86400 s; accessKeyMaxTTLSeconds of Config mine ends it 60 s after its creation.' },
    { name: 'its owner', object: under({ ttl: 600 }), circumstances: { owner: owner({}, { expiresMs: after(90.25) }) },
      says: 'The token has a lifetime of 600 s; access key ci ends 2026-11-21T10:01:30.250Z, and the token with it.' },
    { name: '--token-max-ttl', object: tokenObject({ spec: { ttl: 30 * 86_400 } }),
      says: "The token has a lifetime of 2592000 s; the operator's --token-max-ttl ends it 86400 s after its creation." },
    { name: 'the message at issue is kept', object: changed(issuedObject({}, { maxTtlMs: 60_000 })),
      says: "The token has a lifetime of 86400 s; the operator's --token-max-ttl ends it 60 s after its creation." },
    { name: 'a cap equal to its exp changes nothing', object: changed(issuedObject({}, capped(60))), circumstances: { ...capped(60), configName: 'mine' },
      says: `The token has a lifetime of 86400 s; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'a cap lowered after the issue', object: issuedObject({ spec: { ttl: 600 } }), circumstances: capped(60), now: 9,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'a cap lowered twice', object: lowered(), circumstances: capped(30), now: 9,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 30 s after its creation.` },
    { name: 'a cap lowered, then raised', object: lowered(), circumstances: capped(60 * 60), now: 9, says: undefined },
    { name: 'a lowered cap that ended the token', object: lowered(), circumstances: { ...capped(60), isRecorded: true }, now: 60,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'a cap lowered below the age of the token', object: issuedObject({ spec: { ttl: 600 } }), circumstances: { ...capped(60), isRecorded: true }, now: 300,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
  ]
  test.each(rows)('$name', ({ says, ...given }) => {
    expect(condition(given, 'LifetimeCapped')?.message).toBe(says)
  })

  test('the cap that ended the token stays in status after it is raised (2.5, 5.2)', () => {
    const ended = afterNextStep({
      object: lowered(),
      circumstances: { ...capped(60), isRecorded: true },
      now: 60,
    })
    const conditions = condition(
      { object: changed(ended), circumstances: { isRecorded: true }, now: 99 },
      'LifetimeCapped',
    )
    expect(conditions).toMatchObject({ reason: 'CappedByConfig', lastTransitionTime: textAfter(9) })
  })
})

describe('the fields of status (1.5)', () => {
  function fieldsFor(given: Given) {
    const { conditions: _, ...fields } = statusFor(given)
    return fields
  }

  test('of a token to be issued under a key; keyID is set when it is signed', () => {
    expect(
      fieldsFor({ object: under({ ttl: 60 }), circumstances: { owner: owner() }, now: 9 }),
    ).toStrictEqual({
      expirationTimestamp: textAfter(60),
      issuedTimestamp: textAfter(0),
      owner: { name: 'ci', uid: 'uid-ci' },
      observedGeneration: 1,
    })
  })

  test('have no owner for a token to be issued without one', () => {
    expect(fieldsFor({ object: tokenObject({ spec: { ttl: 60 } }) })).toStrictEqual({
      expirationTimestamp: textAfter(60),
      issuedTimestamp: textAfter(0),
      observedGeneration: 1,
    })
  })

  const OUT = {
    expirationTimestamp: textAfter(600),
    issuedTimestamp: textAfter(0),
    keyID: KID,
    owner: { name: 'ci', uid: 'uid-ci' },
    observedGeneration: 1,
  }
  // biome-ignore format: a table
  test.each([
    { name: 'issued', given: { object: tampered(underCi(), { conditions: [] }), circumstances: { owner: owner() } } },
    { name: 'expired', given: { object: underCi(), now: 600 } },
    { name: 'revoked', given: { object: underCi(), circumstances: DISABLED } },
    { name: 'being deleted', given: { object: deleting(underCi(), ['a/b']), circumstances: { isRecorded: true } } },
  ])('of an issued token stay: $name', ({ given }) => {
    expect(fieldsFor(given)).toStrictEqual(OUT)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'no issuer', given: { circumstances: { issuer: null } } },
    { name: 'no owner', given: { object: under(), now: 9 } },
    { name: 'expired before it was issued', given: { object: tokenObject({ spec: { ttl: 60 } }), now: 60 } },
    { name: 'being deleted', given: { object: deleting(tokenObject(), ['a/b']) } },
  ])('of a token never issued are absent: $name', ({ given }) => {
    expect(fieldsFor(given)).toStrictEqual({ observedGeneration: 1 })
  })

  test('the generation is in status and in each condition (4.4)', () => {
    const object = withMetadata(underCi(capped(90)), { generation: 5 })
    const { observedGeneration, conditions } = statusFor({
      object,
      circumstances: { ...DISABLED, ...capped(90) },
    })
    expect([observedGeneration, ...conditions.map((one) => one.observedGeneration)]).toEqual([
      5, 5, 5, 5,
    ])
  })
})

describe('lastTransitionTime changes only with the status (4.4)', () => {
  const waiting = afterNextStep({ object: under(), now: 5.9 })
  // biome-ignore format: a table
  test.each([
    { name: 'the first status', given: { object: under(), now: 5.9 }, at: 5 },
    { name: 'another reason, still False', given: { object: waiting, circumstances: { owner: owner({}, { state: 'Disabled' }) }, now: 9 }, at: 5 },
    { name: 'issued', given: { object: waiting, circumstances: { owner: owner() }, now: 9 }, at: 9 },
    { name: 'expired', given: { object: issuedObject({ spec: { ttl: 60 } }), now: 60.5 }, at: 60 },
  ] as const)('$name', ({ given, at }) => {
    expect(condition(given, 'Ready')?.lastTransitionTime).toBe(textAfter(at))
  })
})

describe('isPublished compares the desired and the published status', () => {
  const object = underCi(capped(90))
  const { published } = tokenOf(object)
  const { issued: _, isTokenForeign: __, ...rest } = published
  const wanted = { ...rest, owner: { name: 'ci', uid: 'uid-ci' } } as DesiredTokenStatus
  const foreign: Condition = {
    type: 'Audited',
    status: 'True',
    reason: 'Seen',
    message: '',
    lastTransitionTime: textAfter(9),
  }

  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly differing?: Partial<PublishedTokenStatus>
    readonly mayHold?: boolean
    readonly same: boolean
  }[] = [
    { name: 'the same', same: true },
    { name: 'the same, but the token must be removed', mayHold: false, same: false },
    { name: 'a damaged token must be removed', differing: { issued: 'damaged' }, mayHold: false, same: false },
    { name: 'no token, and none wanted', differing: { issued: null }, mayHold: false, same: true },
    { name: 'another end', differing: { expirationTimestamp: textAfter(91) }, same: false },
    { name: 'another issue time', differing: { issuedTimestamp: textAfter(1) }, same: false },
    { name: 'another keyID', differing: { keyID: 'kid-2' }, same: false },
    { name: 'another owner of the same name', differing: { owner: { name: 'ci', uid: 'uid-2' } }, same: false },
    { name: 'the owner with another name', differing: { owner: { name: 'cd', uid: 'uid-ci' } }, same: false },
    { name: 'no owner', differing: { owner: null }, same: false },
    { name: 'another generation', differing: { observedGeneration: 2 }, same: false },
    { name: 'a condition missing', differing: { conditions: published.conditions.slice(1) }, same: false },
    { name: 'a condition too many', differing: { conditions: [...published.conditions, foreign] }, same: false },
  ]
  test.each(rows)('$name: $same', ({ differing = {}, mayHold = true, same }) => {
    expect(isPublished(wanted, mayHold, { ...published, ...differing })).toBe(same)
  })

  test('conditions of other clients are ignored', () => {
    const beside = { ...object.status, conditions: [...(object.status?.conditions ?? []), foreign] }
    const withForeign = { ...object, status: beside }
    const when = tokenCircumstances({ owner: owner(), ...capped(90), nowMs: after(1) })
    expect(plan(tokenOf(withForeign), when)).toEqual({ kind: 'wait', wakeMs: after(90) })
  })
})

describe('a use of the owner moves its end without a status write (4.4)', () => {
  const sliding = (lastUse: number): PartialCircumstances => ({
    owner: owner(
      { ttl: 300, slides: true, lastActivityMs: after(lastUse) },
      { expiresMs: after(lastUse + 300) },
    ),
  })

  test('an issued token that its owner caps gets no status write', () => {
    const object = issuedObject({ metadata: UNDER_CI }, sliding(0))
    const steps = [1, 60, 120.5, 299].map((seconds) =>
      plan(tokenOf(object), tokenCircumstances({ ...sliding(seconds), nowMs: after(seconds) })),
    )
    expect(steps).toEqual(steps.map(() => ({ kind: 'wait', wakeMs: after(300) })))
  })

  test('for a token that waits', () => {
    const at = (seconds: number): PartialCircumstances => ({ ...sliding(seconds), issuer: null })
    const object = afterNextStep({ object: under(), circumstances: at(0) })
    const kinds = [1, 60, 120.5].map(
      (seconds) =>
        plan(tokenOf(object), tokenCircumstances({ ...at(seconds), nowMs: after(seconds) })).kind,
    )
    expect(kinds).toEqual(['wait', 'wait', 'wait'])
  })
})
