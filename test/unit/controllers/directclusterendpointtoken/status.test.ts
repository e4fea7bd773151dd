import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import type { Condition } from '../../../../src/api/objects.ts'
import {
  type TokenPlanCircumstances,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
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

type Around = Partial<TokenPlanCircumstances>

interface Given {
  readonly object?: DirectClusterEndpointToken
  readonly around?: Around
  /** Seconds after its creation. */
  readonly now?: number
}

/** The status of the one write that is planned. */
function statusFor({ object = tokenObject(), around = {}, now = 0 }: Given): DesiredTokenStatus {
  const step = plan(tokenOf(object), tokenCircumstances({ ...around, nowMs: after(now) }))
  if (!('status' in step)) throw new Error(`the step is to ${step.kind}`)
  return step.status
}

const condition = (given: Given, type: string): Condition | undefined =>
  findCondition(statusFor(given).conditions, type)

/** After that write. */
function written(given: Given): DirectClusterEndpointToken {
  const { object = tokenObject(), around = {}, now = 0 } = given
  const step = plan(tokenOf(object), tokenCircumstances({ ...around, nowMs: after(now) }))
  return tokenAfter(object, step) ?? object
}

const scope = (cluster: string) => ({ clusters: [{ cluster }] })
const under = (spec: DirectClusterEndpointToken['spec'] = {}) =>
  tokenObject({ metadata: UNDER_CI, spec: { ...spec } })
const underCi = (around: Around = {}, ttl = 600) =>
  issuedObject({ metadata: UNDER_CI, spec: { ttl } }, { owner: owner(), ...around })
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
    { ready: 'True Issued', around: capped(60), capped: 'True CappedByConfig' },
    { ready: 'True Issued', object: under(), around: { owner: owner({}, { expiresMs: after(60) }) }, capped: 'True CappedByOwner' },
    { ready: 'True Issued', around: { maxTtlMs: 60_000 }, capped: 'True CappedByLimit' },
    { ready: 'False Expired', object: issuedObject({ spec: { ttl: 60 } }), now: 60, stalled: 'True Expired' },
    { ready: 'False Expired', object: issuedObject({}, capped(60)), around: capped(60), now: 60, stalled: 'True Expired', capped: 'True CappedByConfig' },
    { ready: 'False Expired', object: tokenObject({ spec: { ttl: 60 } }), now: 60, stalled: 'True Expired' },
    { ready: 'False Revoked', object: underCi(), around: DISABLED, stalled: 'True Revoked' },
    { ready: 'False Revoked', object: underCi({ owner: owner({}, { expiresMs: after(90) }) }), around: DISABLED, stalled: 'True Revoked', capped: 'True CappedByOwner' },
    { ready: 'False Revoked', object: issuedObject(), around: { ...capped(60), isRecorded: true }, now: 60, stalled: 'True Revoked', capped: 'True CappedByConfig' },
    { ready: 'False OwnerNotReady', object: under(), now: 5 },
    { ready: 'False OwnerNotReady', object: under(), around: { owner: owner({}, { state: 'Expired' }) } },
    { ready: 'False ScopeExceedsOwner', object: under({ scope: scope('b') }), around: NARROW, stalled: 'True ScopeExceedsOwner' },
    { ready: 'False ScopeTooLarge', object: tokenObject({ spec: { scope: scope('x'.repeat(8000)) } }), stalled: 'True ScopeTooLarge' },
    { ready: 'False SigningKeyUnavailable', around: { signing: null } },
    { ready: 'False IssuerUnknown', around: { issuer: null } },
    { ready: 'False Terminating', object: deleting(tokenObject(), ['a/b']) },
    { ready: 'False Terminating', object: deleting(underCi(capped(60)), ['a/b']), around: { isRecorded: true } },
  ]
  test.each(rows)('Ready $ready, Stalled $stalled, LifetimeCapped $capped', (row) => {
    const { ready, stalled, capped: cut, ...given } = row
    const told = statusFor(given).conditions.map((one) => `${one.type} ${one.status} ${one.reason}`)
    expect(told).toEqual([
      `Ready ${ready}`,
      ...(stalled === undefined ? [] : [`Stalled ${stalled}`]),
      ...(cut === undefined ? [] : [`LifetimeCapped ${cut}`]),
    ])
  })
})

describe('the message of Ready, with the numbers in it (4.4)', () => {
  const fault = 'the API server answered 403 Forbidden'
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly says: string })[] = [
    { name: 'issued', object: tokenObject({ spec: { ttl: 60 } }), says: 'The token is valid until 2026-11-21T10:01:00Z, issued without an owner.' },
    { name: 'issued under a key', object: under({ ttl: 60 }), around: { owner: owner() },
      says: 'The token is valid until 2026-11-21T10:01:00Z, issued under access key ci.' },
    { name: 'still issued', object: withMetadata(underCi(), { generation: 2 }), around: { owner: owner({}, { expiresMs: after(90) }) },
      says: 'The token is valid until 2026-11-21T10:10:00Z, issued under access key ci.' },
    { name: 'still issued without a key', object: withMetadata(issuedObject(), { generation: 2 }),
      says: 'The token is valid until 2026-11-22T10:00:00Z, issued without an owner.' },
    { name: 'expired', object: issuedObject({ spec: { ttl: 60 } }), now: 99, says: 'The token expired 2026-11-21T10:01:00Z.' },
    { name: 'revoked', object: underCi(), around: DISABLED,
      says: 'The token was revoked for good, because access key ci is disabled; make a new object for another token.' },
    { name: 'too large', object: tokenObject({ spec: { scope: scope('x'.repeat(8000)) } }),
      says: 'The token would have 22014 bytes, more than 8192: shorten spec.scope or the groups of its owner.' },
    { name: 'being deleted', object: deleting(tokenObject(), ['a/b']), says: 'The token is being deleted and is revoked.' },
    { name: 'being deleted, records fail', object: withMetadata(underCi(), { deletionTimestamp: textAfter(60) }), around: { recordFault: fault },
      says: 'The token is being deleted and is revoked. It stays until its revocation is recorded, which failed: the API server answered 403 Forbidden.' },
  ]
  test.each(rows)('$name', ({ says, ...given }) => {
    expect(condition(given, 'Ready')?.message).toBe(says)
  })

  test('Stalled says the same', () => {
    const given = { object: underCi(), around: DISABLED }
    expect(condition(given, 'Stalled')?.message).toBe(condition(given, 'Ready')?.message)
  })
})

describe('the message of LifetimeCapped, with both numbers (2.4, 4.4)', () => {
  const BY_CONFIG = 'accessKeyMaxTTLSeconds of Config platform-manager-config ends it'
  const changed = (object: DirectClusterEndpointToken) => withMetadata(object, { generation: 2 })
  /** The cap has been lowered to a minute since it was issued for ten. */
  const lowered = () =>
    written({ object: issuedObject({ spec: { ttl: 600 } }), around: capped(60), now: 9 })
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly says: string | undefined })[] = [
    { name: 'nothing cuts', object: tokenObject({ spec: { ttl: 60 } }), says: undefined },
    { name: 'the cap', object: tokenObject({ spec: { ttl: 600 } }), around: capped(60),
      says: `The token has a lifetime of 600 s; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'the cap of another Config', around: { ...capped(60), configName: 'mine' },
      says: 'The token has a lifetime of 86400 s; accessKeyMaxTTLSeconds of Config mine ends it 60 s after its creation.' },
    { name: 'its owner', object: under({ ttl: 600 }), around: { owner: owner({}, { expiresMs: after(90.25) }) },
      says: 'The token has a lifetime of 600 s; access key ci ends 2026-11-21T10:01:30.250Z, and the token with it.' },
    { name: 'the limit', object: tokenObject({ spec: { ttl: 30 * 86_400 } }),
      says: "The token has a lifetime of 2592000 s; the operator's --token-max-ttl ends it 86400 s after its creation." },
    { name: 'what was said at issue is kept', object: changed(issuedObject({}, { maxTtlMs: 60_000 })),
      says: "The token has a lifetime of 86400 s; the operator's --token-max-ttl ends it 60 s after its creation." },
    { name: 'a cap of its exp is no news', object: changed(issuedObject({}, capped(60))), around: { ...capped(60), configName: 'mine' },
      says: `The token has a lifetime of 86400 s; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'a cap lowered since', object: issuedObject({ spec: { ttl: 600 } }), around: capped(60), now: 9,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'lowered since, and once more', object: lowered(), around: capped(30), now: 9,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 30 s after its creation.` },
    { name: 'lowered since, and raised', object: lowered(), around: capped(60 * 60), now: 9, says: undefined },
    { name: 'lowered since, it ended it', object: lowered(), around: { ...capped(60), isRecorded: true }, now: 60,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
    { name: 'lowered below its age', object: issuedObject({ spec: { ttl: 600 } }), around: { ...capped(60), isRecorded: true }, now: 300,
      says: `The token was issued until 2026-11-21T10:10:00Z; ${BY_CONFIG} 60 s after its creation.` },
  ]
  test.each(rows)('$name', ({ says, ...given }) => {
    expect(condition(given, 'LifetimeCapped')?.message).toBe(says)
  })

  test('what ended it is said for good, though the cap is raised (2.5, 5.2)', () => {
    const ended = written({
      object: lowered(),
      around: { ...capped(60), isRecorded: true },
      now: 60,
    })
    const told = condition(
      { object: changed(ended), around: { isRecorded: true }, now: 99 },
      'LifetimeCapped',
    )
    expect(told).toMatchObject({ reason: 'CappedByConfig', lastTransitionTime: textAfter(9) })
  })
})

describe('the fields of status (1.5)', () => {
  function fieldsFor(given: Given) {
    const { conditions: _, ...fields } = statusFor(given)
    return fields
  }

  test('of one to be issued under a key: who signs is known when it is done', () => {
    expect(
      fieldsFor({ object: under({ ttl: 60 }), around: { owner: owner() }, now: 9 }),
    ).toStrictEqual({
      expirationTimestamp: textAfter(60),
      issuedTimestamp: textAfter(0),
      owner: { name: 'ci', uid: 'uid-ci' },
      observedGeneration: 1,
    })
  })

  test('of one to be issued without a key', () => {
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
    { name: 'issued', given: { object: tampered(underCi(), { conditions: [] }), around: { owner: owner() } } },
    { name: 'expired', given: { object: underCi(), now: 600 } },
    { name: 'revoked', given: { object: underCi(), around: DISABLED } },
    { name: 'being deleted', given: { object: deleting(underCi(), ['a/b']), around: { isRecorded: true } } },
  ])('once it was out they stay: $name', ({ given }) => {
    expect(fieldsFor(given)).toStrictEqual(OUT)
  })

  // biome-ignore format: a table
  test.each([
    { name: 'it waits', given: { around: { issuer: null } } },
    { name: 'it waits for its owner', given: { object: under(), now: 9 } },
    { name: 'too late', given: { object: tokenObject({ spec: { ttl: 60 } }), now: 60 } },
    { name: 'being deleted', given: { object: deleting(tokenObject(), ['a/b']) } },
  ])('where nothing was issued there is nothing to say: $name', ({ given }) => {
    expect(fieldsFor(given)).toStrictEqual({ observedGeneration: 1 })
  })

  test('the generation stands in status and in each condition (4.4)', () => {
    const object = withMetadata(underCi(capped(90)), { generation: 5 })
    const { observedGeneration, conditions } = statusFor({
      object,
      around: { ...DISABLED, ...capped(90) },
    })
    expect([observedGeneration, ...conditions.map((one) => one.observedGeneration)]).toEqual([
      5, 5, 5, 5,
    ])
  })
})

describe('lastTransitionTime changes only with the status (4.4)', () => {
  const waiting = written({ object: under(), now: 5.9 })
  // biome-ignore format: a table
  test.each([
    { name: 'first', given: { object: under(), now: 5.9 }, at: 5 },
    { name: 'another reason, still False', given: { object: waiting, around: { owner: owner({}, { state: 'Disabled' }) }, now: 9 }, at: 5 },
    { name: 'issued', given: { object: waiting, around: { owner: owner() }, now: 9 }, at: 9 },
    { name: 'expired', given: { object: issuedObject({ spec: { ttl: 60 } }), now: 60.5 }, at: 60 },
  ] as const)('$name', ({ given, at }) => {
    expect(condition(given, 'Ready')?.lastTransitionTime).toBe(textAfter(at))
  })
})

describe('whether it is published already', () => {
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
    { name: 'the same, but the token is to go', mayHold: false, same: false },
    { name: 'a damaged token is to go', differing: { issued: 'damaged' }, mayHold: false, same: false },
    { name: 'no token, none is to be there', differing: { issued: null }, mayHold: false, same: true },
    { name: 'another end', differing: { expirationTimestamp: textAfter(91) }, same: false },
    { name: 'another issue', differing: { issuedTimestamp: textAfter(1) }, same: false },
    { name: 'another keyID', differing: { keyID: 'kid-2' }, same: false },
    { name: 'another owner of the name', differing: { owner: { name: 'ci', uid: 'uid-2' } }, same: false },
    { name: 'the owner by another name', differing: { owner: { name: 'cd', uid: 'uid-ci' } }, same: false },
    { name: 'no owner', differing: { owner: null }, same: false },
    { name: 'another generation', differing: { observedGeneration: 2 }, same: false },
    { name: 'a condition missing', differing: { conditions: published.conditions.slice(1) }, same: false },
    { name: 'one of ours too many', differing: { conditions: [...published.conditions, foreign] }, same: false },
  ]
  test.each(rows)('$name: $same', ({ differing = {}, mayHold = true, same }) => {
    expect(isPublished(wanted, mayHold, { ...published, ...differing })).toBe(same)
  })

  test('only our share counts: what others wrote beside it is left alone', () => {
    const beside = { ...object.status, conditions: [...(object.status?.conditions ?? []), foreign] }
    const withForeign = { ...object, status: beside }
    const when = tokenCircumstances({ owner: owner(), ...capped(90), nowMs: after(1) })
    expect(plan(tokenOf(withForeign), when)).toEqual({ kind: 'wait', wakeMs: after(90) })
  })
})

describe('a key in use: its end moves, status does not (4.4)', () => {
  const sliding = (lastUse: number): Around => ({
    owner: owner(
      { ttl: 300, slides: true, lastActivityMs: after(lastUse) },
      { expiresMs: after(lastUse + 300) },
    ),
  })

  test('of an issued token, cut by its owner', () => {
    const object = issuedObject({ metadata: UNDER_CI }, sliding(0))
    const steps = [1, 60, 120.5, 299].map((seconds) =>
      plan(tokenOf(object), tokenCircumstances({ ...sliding(seconds), nowMs: after(seconds) })),
    )
    expect(steps).toEqual(steps.map(() => ({ kind: 'wait', wakeMs: after(300) })))
  })

  test('of one that waits', () => {
    const at = (seconds: number): Around => ({ ...sliding(seconds), issuer: null })
    const object = written({ object: under(), around: at(0) })
    const kinds = [1, 60, 120.5].map(
      (seconds) =>
        plan(tokenOf(object), tokenCircumstances({ ...at(seconds), nowMs: after(seconds) })).kind,
    )
    expect(kinds).toEqual(['wait', 'wait', 'wait'])
  })
})
