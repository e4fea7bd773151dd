import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { EXPIRED_ANNOTATION, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import {
  type TokenStep,
  type TokenTransition,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after, capped, textAfter } from '../../../support/key-builder.ts'
import {
  type TokenParts,
  UNDER_CI,
  issuedObject,
  owner,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  tokenText,
  withMetadata,
} from '../../../support/token-builder.ts'

type PartialCircumstances = Partial<TokenPlanInput>

const DAY = 86_400
const FOREIGN = 'example.com/backup'

const at = (seconds: number, circumstances: PartialCircumstances = {}): TokenPlanInput =>
  tokenCircumstances({ ...circumstances, nowMs: after(seconds) })

const next = (object: DirectClusterEndpointToken, when: TokenPlanInput): TokenStep =>
  plan(tokenOf(object), when)

/** The object after the next step in these circumstances. */
function afterNextStep(object: DirectClusterEndpointToken, when: TokenPlanInput) {
  const left = tokenAfter(object, next(object, when))
  if (!left) throw new Error('the object is deleted')
  return left
}

const nothing: TokenStep = { kind: 'nothing' }
const waitFor = (seconds: number): TokenStep => ({ kind: 'wait', wakeMs: after(seconds) })

const DISABLED: PartialCircumstances = { owner: owner({}, { state: 'Disabled' }) }
const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
/** Revoked after a minute because its owner was disabled; the record is stored. */
const revoked = () => afterNextStep(underCi(), at(60, { ...DISABLED, isRecorded: true }))
/** Expired at its exp. */
const expired = () => afterNextStep(issuedObject({ spec: { ttl: 600 } }), at(600))

describe('adopt (the finalizer) comes before every other step (5.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a new token', object: tokenObject({ metadata: { finalizers: [] } }), circumstances: {} },
    { name: 'a token with a foreign finalizer', object: tokenObject({ metadata: { finalizers: [FOREIGN] } }), circumstances: {} },
    { name: 'a token that waits for its owner', object: tokenObject({ metadata: { ...UNDER_CI, finalizers: [] } }), circumstances: {} },
    { name: 'a token that can’t be issued', object: tokenObject({ metadata: { finalizers: [] } }), circumstances: { issuer: null } },
    { name: 'an issued token that must end', object: withMetadata(underCi(), { finalizers: [] }), circumstances: DISABLED },
    { name: 'a token past its end', object: tokenObject({ metadata: { finalizers: [] }, spec: { ttl: 1 } }), circumstances: {} },
    { name: 'an expired token', object: withMetadata(expired(), { finalizers: [] }), circumstances: {} },
  ])('$name', ({ object, circumstances }) => {
    expect(next(object, at(9, circumstances))).toEqual({ kind: 'adopt' })
  })

  test.each([[[REVOKE_FINALIZER]], [[FOREIGN, REVOKE_FINALIZER]]])(
    'the step is skipped with finalizers %j',
    (finalizers) => {
      expect(next(tokenObject({ metadata: { finalizers } }), at(9)).kind).toBe('issue')
    },
  )
})

describe('issue (2.4, 4.2, 7.1)', () => {
  test('has the claims, the status without the token, and the event', () => {
    const step = next(tokenObject({ metadata: UNDER_CI }), at(0, { owner: owner() }))
    expect(step).toMatchObject({
      kind: 'issue',
      claims: { jti: 'uid-deploy', sub: 'user:ada', exp: after(DAY) / 1000 },
      status: { expirationTimestamp: textAfter(DAY), owner: { name: 'ci', uid: 'uid-ci' } },
      announce: [{ reason: 'TokenIssued', discriminator: textAfter(DAY) }],
    })
  })

  test('has no token in its status', () => {
    const step = next(tokenObject(), at(0))
    expect(step.kind === 'issue' && step.status).not.toHaveProperty('token')
  })

  test('is followed by a wait until the end of the token', () => {
    expect(next(issuedObject({ spec: { ttl: 600 } }), at(1))).toEqual(waitFor(600))
  })
})

describe('the step after the status is published', () => {
  const under = (spec: TokenParts['spec'] = {}) => tokenObject({ metadata: UNDER_CI, spec })
  const wide = { clusters: [{ cluster: 'b' }] }
  const narrow = { clusters: [{ cluster: 'a' }] }
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly circumstances?: PartialCircumstances
    readonly now?: number
    readonly step: TokenStep
  }[] = [
    { name: 'there is no such owner', object: under(), now: 9, step: nothing },
    { name: 'its owner is disabled', object: under(), circumstances: DISABLED, step: nothing },
    { name: 'its scope is wider', object: under({ scope: wide }), circumstances: { owner: owner({ scope: narrow }) }, step: nothing },
    { name: 'its scope is wider, its owner ends', object: under({ scope: wide }), circumstances: { owner: owner({ scope: narrow }, { expiresMs: after(90) }) }, step: waitFor(90) },
    { name: 'its scope is too large', object: tokenObject({ spec: { ttl: 60, scope: { clusters: [{ cluster: 'x'.repeat(8000) }] } } }), step: waitFor(60) },
    { name: 'the issuer is unknown', object: tokenObject({ spec: { ttl: 60 } }), circumstances: { issuer: null }, step: waitFor(60) },
    { name: 'no signing key', object: tokenObject(), circumstances: { signing: null, ...capped(90) }, step: waitFor(90) },
    { name: 'issued', object: issuedObject({ spec: { ttl: 60 } }), step: waitFor(60) },
    { name: 'issued, its owner ends before', object: underCi(), circumstances: { owner: owner({}, { expiresMs: after(90) }) }, step: waitFor(90) },
    { name: 'issued, a cap ends it before', object: issuedObject({ spec: { ttl: 600 } }), circumstances: capped(90), step: waitFor(90) },
    { name: 'expired', object: expired(), now: 600, step: waitFor(600 + DAY) },
    { name: 'revoked', object: revoked(), circumstances: { isRecorded: true }, now: 60, step: waitFor(60 + DAY) },
    { name: 'a millisecond before its removal', object: expired(), now: 599.999 + DAY, step: waitFor(600 + DAY) },
    { name: 'expired, its removal is due', object: expired(), now: 600 + DAY, step: { kind: 'delete' } },
    { name: 'revoked, its removal is due', object: revoked(), circumstances: { isRecorded: true }, now: 60 + DAY, step: { kind: 'delete' } },
    { name: 'expired and kept', object: withMetadata(expired(), { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } }), now: 9 * DAY, step: nothing },
  ]
  test.each(rows)('$name', ({ object, circumstances = {}, now = 0, step }) => {
    const when = at(now, circumstances)
    const first = next(object, when)
    const settled = first.kind === 'publish' ? afterNextStep(object, when) : object
    expect(next(settled, when)).toEqual(step)
  })

  test('nothing is published until a missing owner had five seconds to appear (4.2)', () => {
    expect(next(under(), at(0))).toEqual(waitFor(5))
    expect(next(under(), at(5)).kind).toBe('publish')
  })
})

describe('a token that ends before its exp is recorded before the end is published (5.4, 7.4)', () => {
  const record = (seconds: number): TokenStep => ({
    kind: 'record',
    expiresMs: after(seconds),
    wakeMs: after(61),
  })

  test('record comes first when its owner is disabled', () => {
    expect(next(underCi(), at(60, DISABLED))).toEqual(record(600))
  })

  test('publish follows once the record is stored, without the token', () => {
    expect(next(underCi(), at(60, { ...DISABLED, isRecorded: true }))).toMatchObject({
      kind: 'publish',
      keepsToken: false,
      wakeMs: after(60 + DAY),
      announce: [{ reason: 'Revoked', discriminator: textAfter(600) }],
      status: { conditions: [{ reason: 'Revoked' }, { type: 'Stalled', reason: 'Revoked' }] },
    })
    expect(revoked().status).not.toHaveProperty('token')
  })

  // biome-ignore format: a table
  test.each([
    { name: 'recorded, though the cause has passed', object: underCi(), circumstances: { owner: owner(), isRecorded: true }, now: 60, kind: 'publish' },
    { name: 'the record was lost after the end was published', object: revoked(), circumstances: {}, now: 60, kind: 'record' },
    { name: 'the record is lost after exp', object: revoked(), circumstances: {}, now: 600, kind: 'wait' },
    { name: 'the record is lost a millisecond before exp', object: revoked(), circumstances: {}, now: 599.999, kind: 'record' },
    { name: 'status.token was removed', object: tampered(underCi(), { token: undefined }), circumstances: {}, now: 60, kind: 'record' },
    { name: 'exp has passed', object: underCi(), circumstances: DISABLED, now: 600, kind: 'publish' },
  ])('$name: $kind', ({ object, circumstances, now, kind }) => {
    expect(next(object, at(now, circumstances)).kind).toBe(kind)
  })

  test('without a known end the record lasts as long as a token can be valid (2.4)', () => {
    const object = tampered(underCi(), { token: 'x.y.z', expirationTimestamp: undefined })
    expect(next(object, at(60))).toEqual(record(5 * DAY))
  })

  test('an expired token is not recorded, since verifiers refuse it (5.1)', () => {
    expect(next(issuedObject({ spec: { ttl: 600 } }), at(600))).toMatchObject({
      kind: 'publish',
      keepsToken: false,
      announce: [{ reason: 'Expired', discriminator: textAfter(600) }],
    })
  })

  test('a token that another client writes back into status is removed (5.4)', () => {
    const back = tampered(revoked(), { token: tokenText({ jti: 'uid-deploy' }) })
    const when = at(61, { isRecorded: true })
    expect(next(back, when)).toMatchObject({ kind: 'publish', keepsToken: false, announce: [] })
    expect(afterNextStep(back, when).status?.token).toBe('')
    expect(next(afterNextStep(back, when), when)).toEqual(waitFor(60 + DAY))
  })
})

describe('deletion (5.1)', () => {
  const gone = { deletionTimestamp: textAfter(60) }
  const deleting = (object: DirectClusterEndpointToken, finalizers = [REVOKE_FINALIZER]) =>
    withMetadata(object, { ...gone, finalizers })
  const both = [FOREIGN, REVOKE_FINALIZER]
  /** Deleted and recorded, with Terminating in status because of a foreign finalizer. */
  const terminating = (finalizers = both) =>
    deleting(afterNextStep(deleting(underCi(), both), at(60, { isRecorded: true })), finalizers)
  const recordFault = 'the API server answered 403 Forbidden'
  /** Deleted without a foreign finalizer, with the record fault in status. */
  const withRecordFaultInStatus = () => afterNextStep(deleting(underCi()), at(60, { recordFault }))

  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly circumstances?: PartialCircumstances
    readonly now?: number
    readonly kind: TokenStep['kind']
  }[] = [
    { name: 'never issued', object: deleting(tokenObject()), kind: 'release' },
    { name: 'unexpired, not recorded', object: deleting(underCi()), kind: 'record' },
    { name: 'unexpired, recorded', object: deleting(underCi()), circumstances: { isRecorded: true }, kind: 'release' },
    { name: 'a millisecond before its exp', object: deleting(underCi()), now: 599.999, kind: 'record' },
    { name: 'at its exp', object: deleting(underCi()), now: 600, kind: 'release' },
    { name: 'expired', object: deleting(expired()), now: 601, kind: 'release' },
    { name: 'revoked, recorded', object: deleting(revoked()), circumstances: { isRecorded: true }, kind: 'release' },
    { name: 'revoked, its record lost', object: deleting(revoked()), kind: 'record' },
    { name: 'status.token was removed', object: deleting(tampered(underCi(), { token: undefined })), kind: 'record' },
    { name: 'with an active owner', object: deleting(underCi()), circumstances: { owner: owner() }, kind: 'record' },
    { name: 'without issuer and signing key', object: deleting(underCi()), circumstances: { issuer: null, signing: null }, kind: 'record' },
    { name: 'waiting to be issued', object: deleting(tokenObject({ metadata: UNDER_CI })), kind: 'release' },
    { name: 'with a foreign finalizer: first the record', object: deleting(underCi(), both), kind: 'record' },
    { name: 'with a foreign finalizer: then Terminating', object: deleting(underCi(), both), circumstances: { isRecorded: true }, kind: 'publish' },
    { name: 'with a foreign finalizer: then our finalizer is removed', object: terminating(), circumstances: { isRecorded: true }, kind: 'release' },
    { name: 'with only the foreign finalizer left', object: terminating([FOREIGN]), circumstances: { isRecorded: true }, kind: 'nothing' },
    { name: 'our finalizer was removed by force: still recorded', object: deleting(underCi(), [FOREIGN]), kind: 'record' },
    { name: 'our finalizer was removed by force: then Terminating', object: deleting(underCi(), [FOREIGN]), circumstances: { isRecorded: true }, kind: 'publish' },
    { name: 'with a foreign finalizer, never issued', object: deleting(tokenObject(), both), kind: 'publish' },
    { name: 'deleted before it was adopted', object: deleting(tokenObject(), [FOREIGN]), kind: 'publish' },
    { name: 'without finalizers', object: deleting(tokenObject(), []), kind: 'nothing' },
    { name: 'the record fails: published', object: deleting(underCi()), circumstances: { recordFault }, kind: 'publish' },
    { name: 'the fault is published: retried', object: withRecordFaultInStatus(), circumstances: { recordFault }, kind: 'record' },
    { name: 'another fault: published', object: withRecordFaultInStatus(), circumstances: { recordFault: 'no answer from the API server' }, kind: 'publish' },
    { name: 'the fault is gone', object: withRecordFaultInStatus(), kind: 'record' },
    { name: 'the record is stored after faults', object: withRecordFaultInStatus(), circumstances: { isRecorded: true }, kind: 'release' },
    { name: 'exp passes while records fail', object: withRecordFaultInStatus(), circumstances: { recordFault }, now: 600, kind: 'release' },
    { name: 'records fail, but this record is stored', object: deleting(underCi()), circumstances: { recordFault, isRecorded: true }, kind: 'release' },
    { name: 'records fail, but a token never issued needs none', object: deleting(tokenObject()), circumstances: { recordFault }, kind: 'release' },
    { name: 'without finalizers, while records fail', object: deleting(tokenObject(), []), circumstances: { recordFault }, kind: 'nothing' },
  ]
  test.each(rows)('$name: $kind', ({ object, circumstances = {}, now = 61, kind }) => {
    expect(next(object, at(now, circumstances)).kind).toBe(kind)
  })

  test('the record lasts until its exp (7.4)', () => {
    expect(next(deleting(underCi()), at(61))).toMatchObject({
      kind: 'record',
      expiresMs: after(600),
    })
  })

  test('Terminating is published once, without the token and without an event', () => {
    const step = next(deleting(underCi(), both), at(61, { isRecorded: true }))
    expect(step).toMatchObject({ keepsToken: false, announce: [], wakeMs: null })
    expect(terminating().status).not.toHaveProperty('token')
    const kinds = [61, 600, 9 * DAY].map((now) => next(terminating([FOREIGN]), at(now)).kind)
    expect(kinds).toEqual(['record', 'nothing', 'nothing'])
  })
})

describe('events only for transitions (4.5)', () => {
  const eventsOf = (object: DirectClusterEndpointToken, when: TokenPlanInput) => {
    const step = next(object, when)
    const announce: readonly TokenTransition[] = 'announce' in step ? step.announce : []
    return announce.map(({ reason, discriminator }) => `${reason} ${discriminator}`)
  }
  const under = tokenObject({
    metadata: UNDER_CI,
    spec: { scope: { clusters: [{ cluster: 'b' }] } },
  })
  const narrower = { owner: owner({ scope: { clusters: [{ cluster: 'a' }] } }) }
  const uncovered =
    'The scope grants more than that of access key ci: scope.clusters[0]: cluster "b".'
  const grown = (object: DirectClusterEndpointToken) => withMetadata(object, { generation: 2 })
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly when: TokenPlanInput
    readonly events: readonly string[]
  }[] = [
    { name: 'issued', object: tokenObject(), when: at(0), events: [`TokenIssued ${textAfter(DAY)}`] },
    { name: 'issued, status changes', object: grown(issuedObject()), when: at(1), events: [] },
    { name: 'expired', object: issuedObject({ spec: { ttl: 60 } }), when: at(60), events: [`Expired ${textAfter(60)}`] },
    { name: 'expired, status changes', object: grown(expired()), when: at(601), events: [] },
    { name: 'expired before it was issued', object: tokenObject({ spec: { ttl: 60 } }), when: at(60), events: ['Expired '] },
    { name: 'revoked', object: underCi(), when: at(60, { ...DISABLED, isRecorded: true }), events: [`Revoked ${textAfter(600)}`] },
    { name: 'revoked, status changes', object: grown(revoked()), when: at(61, { isRecorded: true }), events: [] },
    { name: 'its scope is wider', object: under, when: at(0, narrower), events: [`ScopeExceedsOwner ${uncovered}`] },
    { name: 'its scope is still wider, status changes', object: grown(afterNextStep(under, at(0, narrower))), when: at(1, narrower), events: [] },
    { name: 'no issuer: none', object: tokenObject(), when: at(0, { issuer: null }), events: [] },
    { name: 'no signing key: none', object: tokenObject(), when: at(0, { signing: null }), events: [] },
    { name: 'no owner: none', object: under, when: at(9), events: [] },
  ]
  test.each(rows)('$name', ({ object, when, events }) => {
    expect(eventsOf(object, when)).toEqual(events)
  })

  test('the note is the message of Ready', () => {
    const step = next(tokenObject(), at(0))
    expect(step.kind === 'issue' && step.announce[0]?.note).toBe(
      'The token is valid until 2026-11-22T10:00:00Z, issued without an owner.',
    )
  })
})
