// The requests of the reconciler to the API server for each step (contract 2.4, 3.5, 5.1, 5.3, 8.6).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import {
  API_VERSION,
  EXPIRED_ANNOTATION,
  REVOKE_FINALIZER,
  TOKENS,
} from '../../../../src/api/names.ts'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { type RecordedRequest, refused } from '../../../support/fake-kube-client.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
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
import { type Given, reconcileToken } from './token-reconcile.ts'
import { RECONCILE_ID } from '../../../support/reconcile-context.ts'

const WHO = { name: 'deploy', uid: 'uid-deploy', resourceVersion: '1' }
const done = { result: 'done' }
const laterAt = (seconds: number) => ({ result: 'later', atMs: after(seconds) })

const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
const textOf = ({ status }: DirectClusterEndpointToken) => status?.token ?? ''
const deleting = (object: DirectClusterEndpointToken) =>
  withMetadata(object, { deletionTimestamp: textAfter(60) })
/** An issued token whose status needs a write. */
const changed = () => withMetadata(underCi(), { generation: 2 })

const statusWrite = (status: object) => ({
  verb: 'apply',
  kind: TOKENS.kind,
  name: 'deploy',
  reason: 'status',
  subresource: 'status',
  body: { apiVersion: API_VERSION, kind: TOKENS.kind, metadata: WHO, status },
})

/** Reasons of Ready in the statuses that were applied. */
const reasonsIn = (asked: readonly RecordedRequest[]) =>
  asked.map(({ body }) => {
    const { status } = body as Pick<DirectClusterEndpointToken, 'status'>
    return findCondition(status?.conditions ?? [], 'Ready')?.reason
  })

test('a deleted token needs no request', async () => {
  expect(await reconcileToken({ object: null })).toMatchObject({ outcome: done, asked: [] })
})

test('an ended token that is kept needs no request', async () => {
  const kept = { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } }
  const object = withMetadata(issuedObject({ spec: { ttl: 60 } }), kept)
  const ended = tokenAfter(object, plan(tokenOf(object), tokenCircumstances({ nowMs: after(60) })))
  expect(await reconcileToken({ object: ended })).toMatchObject({ outcome: done, asked: [] })
})

test('an issued token is requeued at its end', async () => {
  expect(await reconcileToken({ object: underCi(), key: {} })).toMatchObject({
    outcome: laterAt(600),
    asked: [],
  })
})

test('adopt applies only the finalizer, with uid and resourceVersion (5.1, 8.6)', async () => {
  const { outcome, asked } = await reconcileToken({
    object: tokenObject({ metadata: { finalizers: [] } }),
  })
  expect(outcome).toEqual(done)
  expect(asked).toEqual([
    {
      verb: 'apply',
      kind: TOKENS.kind,
      name: 'deploy',
      reason: 'adopt',
      body: {
        apiVersion: API_VERSION,
        kind: TOKENS.kind,
        metadata: { ...WHO, finalizers: [REVOKE_FINALIZER] },
      },
    },
  ])
})

describe('issue (2.4, 7.1)', () => {
  const object = tokenObject({ metadata: UNDER_CI, spec: { ttl: 600 } })

  test('writes the token and the kid of its signing key to status in one request', async () => {
    const { outcome, asked, observed } = await reconcileToken({ object, key: {} })
    expect(outcome).toEqual(done)
    const status = {
      token: textOf(underCi()),
      keyID: KID,
      expirationTimestamp: textAfter(600),
      issuedTimestamp: textAfter(0),
      owner: { name: 'ci', uid: 'uid-ci' },
    }
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject(statusWrite(status))
    expect(observed).toEqual(['signed in 0 s', 'issued'])
  })

  test('records one event and one log line, without the token (3.5, 4.5)', async () => {
    const { events, lines } = await reconcileToken({ object, key: {} })
    expect(events).toEqual([
      {
        regarding: {
          apiVersion: API_VERSION,
          kind: TOKENS.kind,
          name: 'deploy',
          uid: 'uid-deploy',
        },
        type: 'Normal',
        reason: 'TokenIssued',
        action: 'Reconcile',
        note: 'The token is valid until 2026-11-21T10:10:00Z, issued under access key ci.',
        discriminator: textAfter(600),
        reconcileID: RECONCILE_ID,
      },
    ])
    expect(lines).toEqual([
      {
        level: 'info',
        sentence: 'token issued',
        fields: { expirationTimestamp: textAfter(600), keyID: KID },
      },
    ])
  })

  test('writes nothing when the signing key was lost meanwhile; a change of keys requeues the token (7.3)', async () => {
    expect(await reconcileToken({ object, key: {}, signs: null })).toMatchObject({
      outcome: done,
      asked: [],
      events: [],
      lines: [],
      observed: [],
    })
  })

  test('records no event when the write fails, since the token is not issued (2.4)', async () => {
    const answers = { apply: () => Promise.reject(refused(409, 'Conflict')) }
    const { outcome, events, lines, observed } = await reconcileToken({ object, key: {}, answers })
    expect(outcome).toMatchObject({ code: 409 })
    expect([events, lines, observed]).toEqual([[], [], ['signed in 0 s']])
  })
})

describe('each reconcile reads its inputs again (2.5, 5.4, 7.2 to 7.4)', () => {
  const waiting = tokenObject({ metadata: UNDER_CI, spec: { ttl: 600 } })
  const NO_CAP = { maxTtlSeconds: null, loginTtlSeconds: null }
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly reason: string })[] = [
    { name: 'the owner', object: waiting, key: { disabled: true }, reason: 'OwnerNotReady' },
    { name: 'a missing owner', object: waiting, reason: 'OwnerNotReady' },
    { name: 'the issuer', object: waiting, key: {}, deps: { issuer: () => null }, reason: 'IssuerUnknown' },
    { name: 'the cap', object: underCi(), key: {}, isStored: true, deps: { caps: () => ({ ...NO_CAP, maxTtlSeconds: 60 }) }, reason: 'Revoked' },
    { name: 'withdrawal of its signing key', object: underCi(), key: {}, isStored: true, withdrawn: [KID], reason: 'Revoked' },
    { name: 'withdrawal of another signing key', object: changed(), key: {}, withdrawn: ['kid-2'], reason: 'Issued' },
    { name: 'its record', object: underCi(), key: {}, isStored: true, reason: 'Revoked' },
    { name: '--token-max-ttl', object: tokenObject(), deps: { maxTtlMs: 60_000 }, reason: 'Expired' },
    { name: 'the clock', object: underCi(), key: {}, now: 600, reason: 'Expired' },
    { name: 'the fault of records', object: deleting(underCi()), fault: 'x', reason: 'Terminating' },
  ]
  test.each(rows)('$name: $reason', async ({ reason, ...given }) => {
    const get = () => Promise.resolve(given.object as never)
    const { asked } = await reconcileToken({ answers: { get }, ...given })
    expect(reasonsIn(asked)).toEqual([reason])
  })

  test('the algorithm of the signing key', async () => {
    const scope = { spaces: [{ project: 'p', space: 'x'.repeat(5450) }] }
    const object = tokenObject({ spec: { scope } })
    const signer = {
      current: () => ({ kid: KID, algorithm: 'RS256' as const }),
      isWithdrawn: () => false,
      sign: () => Promise.resolve(null),
      subscribe: () => undefined,
    }
    expect((await reconcileToken({ object })).observed).toContain('issued')
    expect(reasonsIn((await reconcileToken({ object, deps: { signer } })).asked)).toEqual([
      'ScopeTooLarge',
    ])
  })

  test('the lack of a signing key', async () => {
    const signer = {
      current: () => null,
      isWithdrawn: () => false,
      sign: () => Promise.resolve(null),
      subscribe: () => undefined,
    }
    const { asked } = await reconcileToken({ object: tokenObject(), deps: { signer } })
    expect(reasonsIn(asked)).toEqual(['SigningKeyUnavailable'])
  })
})

test('record requests a record until exp, requeues after a second, and writes nothing itself (7.4)', async () => {
  const { outcome, asked, records, events } = await reconcileToken({
    object: underCi(),
    key: { disabled: true },
  })
  expect(outcome).toEqual(laterAt(61))
  expect([asked, events]).toEqual([[], []])
  expect([...records.asked]).toEqual([['uid-deploy', after(600)]])
})

describe('publish', () => {
  const kept = (answer: DirectClusterEndpointToken | null) =>
    reconcileToken({
      object: changed(),
      key: {},
      answers: { get: () => Promise.resolve(answer as never) },
    })

  test('repeats the token in status: an apply without it would remove it', async () => {
    const { outcome, asked } = await kept(changed())
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject(
      statusWrite({ token: textOf(underCi()), keyID: KID, observedGeneration: 2 }),
    )
    expect(outcome).toEqual(laterAt(600))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'when the object changed meanwhile', answer: withMetadata(changed(), { resourceVersion: '2' }) },
    { name: 'when another object has the name', answer: withMetadata(changed(), { uid: 'uid-new' }) },
    { name: 'when the object was deleted', answer: null },
  ])('writes nothing $name', async ({ answer }) => {
    expect(await kept(answer)).toMatchObject({ asked: [], events: [], lines: [] })
  })

  test('omits an ended token from status without reading it (5.4)', async () => {
    const get = () => Promise.reject(new Error('read'))
    const { asked, outcome } = await reconcileToken({
      object: underCi(),
      key: {},
      now: 600,
      answers: { get },
    })
    expect(asked).toHaveLength(1)
    expect(asked[0]?.body).not.toHaveProperty('status.token')
    expect(outcome).toEqual(laterAt(600 + 86_400))
  })

  test('clears a token that another client wrote by applying an empty one (5.4)', async () => {
    const object = tampered(underCi(), { token: 'x.y.z' })
    const { asked } = await reconcileToken({ object, key: {}, isStored: true })
    expect(asked[0]).toMatchObject(statusWrite({ token: '' }))
  })

  test('requeues after a second when its end has passed, instead of looping', async () => {
    const object = withMetadata(underCi(), { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } })
    expect((await reconcileToken({ object, key: {}, now: 600 })).outcome).toEqual(laterAt(601))
  })

  test('writes status of a token that waits for its owner, and does not requeue it', async () => {
    const object = tokenObject({ metadata: UNDER_CI })
    expect(await reconcileToken({ object })).toMatchObject({
      outcome: done,
      asked: [{ subresource: 'status' }],
      events: [],
    })
  })

  const waits = { type: 'Ready', status: 'False', reason: 'Pending', message: 'It waits.' }
  const waiting = tampered(underCi(), {
    conditions: [{ ...waits, lastTransitionTime: textAfter(0) }],
  })
  // biome-ignore format: a table
  const transitions: readonly (Given & { readonly reason: string; readonly type: string; readonly isLogged: boolean })[] = [
    { reason: 'Expired', type: 'Warning', object: underCi(), key: {}, now: 600, isLogged: true },
    { reason: 'Revoked', type: 'Normal', object: underCi(), key: { disabled: true }, isStored: true, isLogged: true },
    { reason: 'ScopeExceedsOwner', type: 'Warning', object: tokenObject({ metadata: UNDER_CI, spec: { scope: { clusters: [{ cluster: 'b' }] } } }),
      key: { scope: { clusters: [{ cluster: 'a' }] } }, isLogged: false },
    { reason: 'TokenIssued', type: 'Normal', object: waiting, key: {}, answers: { get: () => Promise.resolve(waiting as never) }, isLogged: false },
  ]
  test.each(transitions)(
    '$reason is an event of type $type (4.5)',
    async ({ reason, type, isLogged, ...given }) => {
      const { events, lines } = await reconcileToken(given)
      expect(events).toMatchObject([{ reason, type, regarding: { uid: 'uid-deploy' } }])
      expect(lines).toEqual(
        isLogged ? [{ level: 'info', sentence: 'token ended', fields: { reason } }] : [],
      )
    },
  )

  test('a failed write records no event', async () => {
    const answers = { apply: () => Promise.reject(refused(409, 'Conflict')) }
    const { outcome, events, lines } = await reconcileToken({
      object: underCi(),
      key: {},
      now: 600,
      answers,
    })
    expect(outcome).toMatchObject({ code: 409 })
    expect([events, lines]).toEqual([[], []])
  })
})
