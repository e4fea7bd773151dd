import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { EXPIRED_ANNOTATION, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import {
  type TokenPlanCircumstances,
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

type Around = Partial<TokenPlanCircumstances>

const DAY = 86_400
const FOREIGN = 'example.com/backup'

const at = (seconds: number, around: Around = {}): TokenPlanCircumstances =>
  tokenCircumstances({ ...around, nowMs: after(seconds) })

const next = (object: DirectClusterEndpointToken, when: TokenPlanCircumstances): TokenStep =>
  plan(tokenOf(object), when)

/** After what is planned for it in these circumstances, one write. */
function written(object: DirectClusterEndpointToken, when: TokenPlanCircumstances) {
  const left = tokenAfter(object, next(object, when))
  if (!left) throw new Error('it is gone')
  return left
}

const nothing: TokenStep = { kind: 'nothing' }
const waitFor = (seconds: number): TokenStep => ({ kind: 'wait', wakeMs: after(seconds) })

const DISABLED: Around = { owner: owner({}, { state: 'Disabled' }) }
const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
/** Its owner was disabled after a minute, the record is stored and status says so. */
const revoked = () => written(underCi(), at(60, { ...DISABLED, isRecorded: true }))
/** Status says that its exp came. */
const expired = () => written(issuedObject({ spec: { ttl: 600 } }), at(600))

describe('the finalizer is on before anything else (5.1)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a new token', object: tokenObject({ metadata: { finalizers: [] } }), around: {} },
    { name: 'with a foreign one', object: tokenObject({ metadata: { finalizers: [FOREIGN] } }), around: {} },
    { name: 'that waits for its owner', object: tokenObject({ metadata: { ...UNDER_CI, finalizers: [] } }), around: {} },
    { name: 'that can’t be issued', object: tokenObject({ metadata: { finalizers: [] } }), around: { issuer: null } },
    { name: 'that is out and must end', object: withMetadata(underCi(), { finalizers: [] }), around: DISABLED },
    { name: 'that is overdue', object: tokenObject({ metadata: { finalizers: [] }, spec: { ttl: 1 } }), around: {} },
    { name: 'that has ended', object: withMetadata(expired(), { finalizers: [] }), around: {} },
  ])('$name', ({ object, around }) => {
    expect(next(object, at(9, around))).toEqual({ kind: 'adopt' })
  })

  test.each([[[REVOKE_FINALIZER]], [[FOREIGN, REVOKE_FINALIZER]]])(
    'it is there: %j',
    (finalizers) => {
      expect(next(tokenObject({ metadata: { finalizers } }), at(9)).kind).toBe('issue')
    },
  )
})

describe('issue (2.4, 4.2, 7.1)', () => {
  test('claims, status but for the token, and the event', () => {
    const step = next(tokenObject({ metadata: UNDER_CI }), at(0, { owner: owner() }))
    expect(step).toMatchObject({
      kind: 'issue',
      claims: { jti: 'uid-deploy', sub: 'user:ada', exp: after(DAY) / 1000 },
      status: { expirationTimestamp: textAfter(DAY), owner: { name: 'ci', uid: 'uid-ci' } },
      announce: [{ reason: 'TokenIssued', of: textAfter(DAY) }],
    })
  })

  test('the token stands nowhere in the step', () => {
    const step = next(tokenObject(), at(0))
    expect(step.kind === 'issue' && step.status).not.toHaveProperty('token')
  })

  test('once it is out it waits for its end', () => {
    expect(next(issuedObject({ spec: { ttl: 600 } }), at(1))).toEqual(waitFor(600))
  })
})

describe('what it rests in once status says so', () => {
  const under = (spec: TokenParts['spec'] = {}) => tokenObject({ metadata: UNDER_CI, spec })
  const wide = { clusters: [{ cluster: 'b' }] }
  const narrow = { clusters: [{ cluster: 'a' }] }
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly around?: Around
    readonly now?: number
    readonly step: TokenStep
  }[] = [
    { name: 'there is no such owner', object: under(), now: 9, step: nothing },
    { name: 'its owner is disabled', object: under(), around: DISABLED, step: nothing },
    { name: 'its scope is wider', object: under({ scope: wide }), around: { owner: owner({ scope: narrow }) }, step: nothing },
    { name: 'its scope is wider, its owner ends', object: under({ scope: wide }), around: { owner: owner({ scope: narrow }, { expiresMs: after(90) }) }, step: waitFor(90) },
    { name: 'its scope is too large', object: tokenObject({ spec: { ttl: 60, scope: { clusters: [{ cluster: 'x'.repeat(8000) }] } } }), step: waitFor(60) },
    { name: 'the issuer is not known', object: tokenObject({ spec: { ttl: 60 } }), around: { issuer: null }, step: waitFor(60) },
    { name: 'no key signs', object: tokenObject(), around: { signing: null, ...capped(90) }, step: waitFor(90) },
    { name: 'issued', object: issuedObject({ spec: { ttl: 60 } }), step: waitFor(60) },
    { name: 'issued, its owner ends before', object: underCi(), around: { owner: owner({}, { expiresMs: after(90) }) }, step: waitFor(90) },
    { name: 'issued, a cap ends it before', object: issuedObject({ spec: { ttl: 600 } }), around: capped(90), step: waitFor(90) },
    { name: 'expired', object: expired(), now: 600, step: waitFor(600 + DAY) },
    { name: 'revoked', object: revoked(), around: { isRecorded: true }, now: 60, step: waitFor(60 + DAY) },
    { name: 'a millisecond before its removal', object: expired(), now: 599.999 + DAY, step: waitFor(600 + DAY) },
    { name: 'its removal has come', object: expired(), now: 600 + DAY, step: { kind: 'delete' } },
    { name: 'revoked, its removal has come', object: revoked(), around: { isRecorded: true }, now: 60 + DAY, step: { kind: 'delete' } },
    { name: 'expired and kept', object: withMetadata(expired(), { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } }), now: 9 * DAY, step: nothing },
  ]
  test.each(rows)('$name', ({ object, around = {}, now = 0, step }) => {
    const when = at(now, around)
    const first = next(object, when)
    const settled = first.kind === 'publish' ? written(object, when) : object
    expect(next(settled, when)).toEqual(step)
  })

  test('until its owner is seen nothing is published (4.2)', () => {
    expect(next(under(), at(0))).toEqual(waitFor(5))
    expect(next(under(), at(5)).kind).toBe('publish')
  })
})

describe('a token that ends before its exp is recorded before status says so (5.4, 7.4)', () => {
  const record = (seconds: number): TokenStep => ({
    kind: 'record',
    expiresMs: after(seconds),
    wakeMs: after(61),
  })

  test('its owner is disabled', () => {
    expect(next(underCi(), at(60, DISABLED))).toEqual(record(600))
  })

  test('stored, status says so, and the token goes', () => {
    expect(next(underCi(), at(60, { ...DISABLED, isRecorded: true }))).toMatchObject({
      kind: 'publish',
      keepsToken: false,
      wakeMs: after(60 + DAY),
      announce: [{ reason: 'Revoked', of: textAfter(600) }],
      status: { conditions: [{ reason: 'Revoked' }, { type: 'Stalled', reason: 'Revoked' }] },
    })
    expect(revoked().status).not.toHaveProperty('token')
  })

  // biome-ignore format: a table
  test.each([
    { name: 'the cause has passed, it was asked for', object: underCi(), around: { owner: owner(), isRecorded: true }, now: 60, kind: 'publish' },
    { name: 'the record was lost after status said so', object: revoked(), around: {}, now: 60, kind: 'record' },
    { name: 'the record is not needed any more', object: revoked(), around: {}, now: 600, kind: 'wait' },
    { name: 'a moment before it is not needed any more', object: revoked(), around: {}, now: 599.999, kind: 'record' },
    { name: 'status.token has gone', object: tampered(underCi(), { token: undefined }), around: {}, now: 60, kind: 'record' },
    { name: 'its exp came first', object: underCi(), around: DISABLED, now: 600, kind: 'publish' },
  ])('$name: $kind', ({ object, around, now, kind }) => {
    expect(next(object, at(now, around)).kind).toBe(kind)
  })

  test('where its end is not known, for as long as a token can live (2.4)', () => {
    const object = tampered(underCi(), { token: 'x.y.z', expirationTimestamp: undefined })
    expect(next(object, at(60))).toEqual(record(5 * DAY))
  })

  test('expired it is not recorded: its token has no use any more (5.1)', () => {
    expect(next(issuedObject({ spec: { ttl: 600 } }), at(600))).toMatchObject({
      kind: 'publish',
      keepsToken: false,
      announce: [{ reason: 'Expired', of: textAfter(600) }],
    })
  })

  test('a token that comes back into status after the end is taken out (5.4)', () => {
    const back = tampered(revoked(), { token: tokenText({ jti: 'uid-deploy' }) })
    const when = at(61, { isRecorded: true })
    expect(next(back, when)).toMatchObject({ kind: 'publish', keepsToken: false, announce: [] })
    expect(written(back, when).status?.token).toBe('')
    expect(next(written(back, when), when)).toEqual(waitFor(60 + DAY))
  })
})

describe('deletion (5.1)', () => {
  const gone = { deletionTimestamp: textAfter(60) }
  const deleting = (object: DirectClusterEndpointToken, finalizers = [REVOKE_FINALIZER]) =>
    withMetadata(object, { ...gone, finalizers })
  const both = [FOREIGN, REVOKE_FINALIZER]
  /** Held by another as well, and status says Terminating. */
  const told = (finalizers = both) =>
    deleting(written(deleting(underCi(), both), at(60, { isRecorded: true })), finalizers)
  const recordFault = 'the API server answered 403 Forbidden'
  /** It is alone, and status says why it stays. */
  const stuck = () => written(deleting(underCi()), at(60, { recordFault }))

  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly around?: Around
    readonly now?: number
    readonly kind: TokenStep['kind']
  }[] = [
    { name: 'it never was out', object: deleting(tokenObject()), kind: 'release' },
    { name: 'unexpired, not recorded', object: deleting(underCi()), kind: 'record' },
    { name: 'unexpired, recorded', object: deleting(underCi()), around: { isRecorded: true }, kind: 'release' },
    { name: 'a moment before its exp', object: deleting(underCi()), now: 599.999, kind: 'record' },
    { name: 'its exp has come', object: deleting(underCi()), now: 600, kind: 'release' },
    { name: 'expired', object: deleting(expired()), now: 601, kind: 'release' },
    { name: 'revoked, recorded', object: deleting(revoked()), around: { isRecorded: true }, kind: 'release' },
    { name: 'revoked, its record lost', object: deleting(revoked()), kind: 'record' },
    { name: 'status.token has gone', object: deleting(tampered(underCi(), { token: undefined })), kind: 'record' },
    { name: 'its owner is fine, that changes nothing', object: deleting(underCi()), around: { owner: owner() }, kind: 'record' },
    { name: 'no issuer, no key: that changes nothing', object: deleting(underCi()), around: { issuer: null, signing: null }, kind: 'record' },
    { name: 'waiting to be issued', object: deleting(tokenObject({ metadata: UNDER_CI })), kind: 'release' },
    { name: 'held by another too: first the record', object: deleting(underCi(), both), kind: 'record' },
    { name: 'then Terminating', object: deleting(underCi(), both), around: { isRecorded: true }, kind: 'publish' },
    { name: 'then ours goes', object: told(), around: { isRecorded: true }, kind: 'release' },
    { name: 'then there is nothing left to do', object: told([FOREIGN]), around: { isRecorded: true }, kind: 'nothing' },
    { name: 'ours was taken off by force: still the record', object: deleting(underCi(), [FOREIGN]), kind: 'record' },
    { name: 'and then Terminating', object: deleting(underCi(), [FOREIGN]), around: { isRecorded: true }, kind: 'publish' },
    { name: 'held by another, never out', object: deleting(tokenObject(), both), kind: 'publish' },
    { name: 'deleted before it was adopted', object: deleting(tokenObject(), [FOREIGN]), kind: 'publish' },
    { name: 'held by nobody: it is gone', object: deleting(tokenObject(), []), kind: 'nothing' },
    { name: 'records fail: status says so', object: deleting(underCi()), around: { recordFault }, kind: 'publish' },
    { name: 'it says so: tried again', object: stuck(), around: { recordFault }, kind: 'record' },
    { name: 'another fault: status says that', object: stuck(), around: { recordFault: 'no answer from the API server' }, kind: 'publish' },
    { name: 'records fail no more', object: stuck(), kind: 'record' },
    { name: 'at last it is stored', object: stuck(), around: { isRecorded: true }, kind: 'release' },
    { name: 'it expires meanwhile', object: stuck(), around: { recordFault }, now: 600, kind: 'release' },
    { name: 'records fail, this one is stored', object: deleting(underCi()), around: { recordFault, isRecorded: true }, kind: 'release' },
    { name: 'records fail, this one needs none', object: deleting(tokenObject()), around: { recordFault }, kind: 'release' },
    { name: 'held by nobody, records fail', object: deleting(tokenObject(), []), around: { recordFault }, kind: 'nothing' },
  ]
  test.each(rows)('$name: $kind', ({ object, around = {}, now = 61, kind }) => {
    expect(next(object, at(now, around)).kind).toBe(kind)
  })

  test('recorded until its exp (7.4)', () => {
    expect(next(deleting(underCi()), at(61))).toMatchObject({
      kind: 'record',
      expiresMs: after(600),
    })
  })

  test('Terminating is said without the token, once, and with no event', () => {
    const step = next(deleting(underCi(), both), at(61, { isRecorded: true }))
    expect(step).toMatchObject({ keepsToken: false, announce: [], wakeMs: null })
    expect(told().status).not.toHaveProperty('token')
    const kinds = [61, 600, 9 * DAY].map((now) => next(told([FOREIGN]), at(now)).kind)
    expect(kinds).toEqual(['record', 'nothing', 'nothing'])
  })
})

describe('announced on transitions only (4.5)', () => {
  const told = (object: DirectClusterEndpointToken, when: TokenPlanCircumstances) => {
    const step = next(object, when)
    const announce: readonly TokenTransition[] = 'announce' in step ? step.announce : []
    return announce.map(({ reason, of }) => `${reason} ${of}`)
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
    readonly when: TokenPlanCircumstances
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
    { name: 'its scope is still wider, status changes', object: grown(written(under, at(0, narrower))), when: at(1, narrower), events: [] },
    { name: 'it waits: nothing', object: tokenObject(), when: at(0, { issuer: null }), events: [] },
    { name: 'no signing key: nothing', object: tokenObject(), when: at(0, { signing: null }), events: [] },
    { name: 'no owner: nothing', object: under, when: at(9), events: [] },
  ]
  test.each(rows)('$name', ({ object, when, events }) => {
    expect(told(object, when)).toEqual(events)
  })

  test('with the sentence of Ready', () => {
    const step = next(tokenObject(), at(0))
    expect(step.kind === 'issue' && step.announce[0]?.note).toBe(
      'The token is valid until 2026-11-22T10:00:00Z, issued without an owner.',
    )
  })
})
