// What the reconciler asks the API server for, step by step (contract 2.4, 3.5, 5.1, 5.3, 8.6).
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
import { after, textAfter } from '../../../support/key-builder.ts'
import { type RecordedRequest, refused } from '../../../support/recording-client.ts'
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
import { type Given, run } from './reconciled.ts'

const WHO = { name: 'deploy', uid: 'uid-deploy', resourceVersion: '1' }
const done = { result: 'done' }
const laterAt = (seconds: number) => ({ result: 'later', atMs: after(seconds) })

const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })
const textOf = ({ status }: DirectClusterEndpointToken) => status?.token ?? ''
const deleting = (object: DirectClusterEndpointToken) =>
  withMetadata(object, { deletionTimestamp: textAfter(60) })
/** Status of it differs from what is wanted, though it stays issued. */
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

test('one that is gone', async () => {
  expect(await run({ object: null })).toMatchObject({ outcome: done, asked: [] })
})

test('nothing to do', async () => {
  const kept = { annotations: { [EXPIRED_ANNOTATION]: 'Keep' } }
  const object = withMetadata(issuedObject({ spec: { ttl: 60 } }), kept)
  const ended = tokenAfter(object, plan(tokenOf(object), tokenCircumstances({ nowMs: after(60) })))
  expect(await run({ object: ended })).toMatchObject({ outcome: done, asked: [] })
})

test('wait until its end', async () => {
  expect(await run({ object: underCi(), key: {} })).toMatchObject({
    outcome: laterAt(600),
    asked: [],
  })
})

test('adopt: the finalizer and nothing else, under uid and resourceVersion (5.1, 8.6)', async () => {
  const { outcome, asked } = await run({ object: tokenObject({ metadata: { finalizers: [] } }) })
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

  test('the token is in status with the key that signed it, in one write', async () => {
    const { outcome, asked, observed } = await run({ object, key: {} })
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

  test('told once, without the token (3.5, 4.5)', async () => {
    const { events, lines } = await run({ object, key: {} })
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
      },
    ])
    expect(lines).toEqual([
      {
        level: 'info',
        sentence: 'token issued',
        fields: { object: WHO, expirationTimestamp: textAfter(600), keyID: KID },
      },
    ])
  })

  test('the key has gone meanwhile: nothing is written, the signer brings it back (7.3)', async () => {
    expect(await run({ object, key: {}, signs: null })).toMatchObject({
      outcome: done,
      asked: [],
      events: [],
      lines: [],
      observed: [],
    })
  })

  test('signed but not stored it is not out: nothing is told (2.4)', async () => {
    const answers = { apply: () => Promise.reject(refused(409, 'Conflict')) }
    const { outcome, events, lines, observed } = await run({ object, key: {}, answers })
    expect(outcome).toMatchObject({ code: 409 })
    expect([events, lines, observed]).toEqual([[], [], ['signed in 0 s']])
  })
})

describe('what it decides on is read anew (2.5, 5.4, 7.2 to 7.4)', () => {
  const waiting = tokenObject({ metadata: UNDER_CI, spec: { ttl: 600 } })
  const NO_CAP = { maxTtlSeconds: null, loginTtlSeconds: null }
  // biome-ignore format: a table
  const rows: readonly (Given & { readonly name: string; readonly reason: string })[] = [
    { name: 'the key that its reference names', object: waiting, key: { disabled: true }, reason: 'OwnerNotReady' },
    { name: 'that there is none', object: waiting, reason: 'OwnerNotReady' },
    { name: 'the issuer', object: waiting, key: {}, deps: { issuer: () => null }, reason: 'IssuerUnknown' },
    { name: 'the cap', object: underCi(), key: {}, isStored: true, deps: { caps: () => ({ ...NO_CAP, maxTtlSeconds: 60 }) }, reason: 'Revoked' },
    { name: 'which keys are withdrawn', object: underCi(), key: {}, isStored: true, withdrawn: [KID], reason: 'Revoked' },
    { name: 'which are withdrawn, not this one', object: changed(), key: {}, withdrawn: ['kid-2'], reason: 'Issued' },
    { name: 'what is recorded', object: underCi(), key: {}, isStored: true, reason: 'Revoked' },
    { name: 'the limit', object: tokenObject(), deps: { maxTtlMs: 60_000 }, reason: 'Expired' },
    { name: 'the time', object: underCi(), key: {}, now: 600, reason: 'Expired' },
    { name: 'whether records fail', object: deleting(underCi()), fault: 'x', reason: 'Terminating' },
  ]
  test.each(rows)('$name: $reason', async ({ reason, ...given }) => {
    const get = () => Promise.resolve(given.object as never)
    const { asked } = await run({ answers: { get }, ...given })
    expect(reasonsIn(asked)).toEqual([reason])
  })

  test('which algorithm signs', async () => {
    const scope = { spaces: [{ project: 'p', space: 'x'.repeat(5450) }] }
    const object = tokenObject({ spec: { scope } })
    const signer = {
      current: () => ({ kid: KID, algorithm: 'RS256' as const }),
      isWithdrawn: () => false,
      sign: () => Promise.resolve(null),
      subscribe: () => undefined,
    }
    expect((await run({ object })).observed).toContain('issued')
    expect(reasonsIn((await run({ object, deps: { signer } })).asked)).toEqual(['ScopeTooLarge'])
  })

  test('that no key signs', async () => {
    const signer = {
      current: () => null,
      isWithdrawn: () => false,
      sign: () => Promise.resolve(null),
      subscribe: () => undefined,
    }
    const { asked } = await run({ object: tokenObject(), deps: { signer } })
    expect(reasonsIn(asked)).toEqual(['SigningKeyUnavailable'])
  })
})

test('record: asked for until its exp, looked after in a second, no write of ours (7.4)', async () => {
  const { outcome, asked, records, events } = await run({
    object: underCi(),
    key: { disabled: true },
  })
  expect(outcome).toEqual(laterAt(61))
  expect([asked, events]).toEqual([[], []])
  expect([...records.asked]).toEqual([['uid-deploy', after(600)]])
})

describe('publish', () => {
  const kept = (answer: DirectClusterEndpointToken | null) =>
    run({ object: changed(), key: {}, answers: { get: () => Promise.resolve(answer as never) } })

  test('a token that stays is repeated: an apply without it would take it out', async () => {
    const { outcome, asked } = await kept(changed())
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject(
      statusWrite({ token: textOf(underCi()), keyID: KID, observedGeneration: 2 }),
    )
    expect(outcome).toEqual(laterAt(600))
  })

  // biome-ignore format: a table
  test.each([
    { name: 'it has changed under us', answer: withMetadata(changed(), { resourceVersion: '2' }) },
    { name: 'another has its name', answer: withMetadata(changed(), { uid: 'uid-new' }) },
    { name: 'it is gone', answer: null },
  ])('$name: nothing is written on the old view', async ({ answer }) => {
    expect(await kept(answer)).toMatchObject({ asked: [], events: [], lines: [] })
  })

  test('a token that ended goes by not being repeated, and is not read (5.4)', async () => {
    const get = () => Promise.reject(new Error('read'))
    const { asked, outcome } = await run({ object: underCi(), key: {}, now: 600, answers: { get } })
    expect(asked).toHaveLength(1)
    expect(asked[0]?.body).not.toHaveProperty('status.token')
    expect(outcome).toEqual(laterAt(600 + 86_400))
  })

  test('one that somebody else put there must be taken over to go (5.4)', async () => {
    const object = tampered(underCi(), { token: 'x.y.z' })
    const { asked } = await run({ object, key: {}, isStored: true })
    expect(asked[0]).toMatchObject(statusWrite({ token: '' }))
  })

  test('an end that is over does not bring it back in a circle', async () => {
    const object = withMetadata(underCi(), { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } })
    expect((await run({ object, key: {}, now: 600 })).outcome).toEqual(laterAt(601))
  })

  test('one that waits for somebody else', async () => {
    const object = tokenObject({ metadata: UNDER_CI })
    expect(await run({ object })).toMatchObject({
      outcome: done,
      asked: [{ subresource: 'status' }],
      events: [],
    })
  })

  // biome-ignore format: a table
  const told: readonly (Given & { readonly reason: string; readonly type: string; readonly isLogged: boolean })[] = [
    { reason: 'Expired', type: 'Warning', object: underCi(), key: {}, now: 600, isLogged: true },
    { reason: 'Revoked', type: 'Normal', object: underCi(), key: { disabled: true }, isStored: true, isLogged: true },
    { reason: 'ScopeExceedsOwner', type: 'Warning', object: tokenObject({ metadata: UNDER_CI, spec: { scope: { clusters: [{ cluster: 'b' }] } } }),
      key: { scope: { clusters: [{ cluster: 'a' }] } }, isLogged: false },
  ]
  test.each(told)(
    '$reason is told as $type (4.5)',
    async ({ reason, type, isLogged, ...given }) => {
      const { events, lines } = await run(given)
      expect(events).toMatchObject([{ reason, type, regarding: { uid: 'uid-deploy' } }])
      expect(lines).toEqual(
        isLogged
          ? [{ level: 'info', sentence: 'token ended', fields: { object: WHO, reason } }]
          : [],
      )
    },
  )

  test('a write that fails tells nothing', async () => {
    const answers = { apply: () => Promise.reject(refused(409, 'Conflict')) }
    const { outcome, events, lines } = await run({ object: underCi(), key: {}, now: 600, answers })
    expect(outcome).toMatchObject({ code: 409 })
    expect([events, lines]).toEqual([[], []])
  })
})

describe('the end of the object', () => {
  const ended = () => {
    const object = underCi()
    return (
      tokenAfter(object, plan(tokenOf(object), tokenCircumstances({ nowMs: after(600) }))) ?? object
    )
  }
  const now = 600 + 86_400

  test('delete, under uid and resourceVersion (5.2, 5.3)', async () => {
    const answer = withMetadata(deleting(ended()), { resourceVersion: '2' })
    const { asked, tokens, lines, outcome } = await run({
      object: ended(),
      now,
      answers: { delete: () => Promise.resolve(answer) },
    })
    const body = { uid: 'uid-deploy', resourceVersion: '1' }
    expect(asked).toEqual([
      { verb: 'delete', kind: TOKENS.kind, name: 'deploy', reason: 'expired', body },
    ])
    expect([outcome, lines.map(({ sentence }) => sentence)]).toEqual([
      done,
      ['ended token deleted'],
    ])
    expect(tokens.get('deploy')?.isDeleting).toBe(true)
  })

  test('release, and nothing but our finalizer (5.1)', async () => {
    const finalizers = ['a/b', REVOKE_FINALIZER]
    const object = withMetadata(deleting(tokenObject()), { finalizers })
    const told = tokenAfter(object, plan(tokenOf(object), tokenCircumstances({ nowMs: after(60) })))
    const left = withMetadata(object, { finalizers: ['a/b'], resourceVersion: '2' })
    const { asked, tokens, lines } = await run({
      object: told,
      answers: { patch: () => Promise.resolve(left as never) },
    })
    expect(asked).toEqual([
      {
        verb: 'patch',
        kind: TOKENS.kind,
        name: 'deploy',
        reason: 'finalizer',
        body: [
          { op: 'test', path: '/metadata/uid', value: 'uid-deploy' },
          { op: 'test', path: '/metadata/finalizers/1', value: REVOKE_FINALIZER },
          { op: 'remove', path: '/metadata/finalizers/1' },
        ],
      },
    ])
    expect(tokens.get('deploy')?.finalizers).toEqual(['a/b'])
    expect(lines).toMatchObject([{ sentence: 'token released' }])
  })

  test('gone already: nothing is told', async () => {
    expect((await run({ object: ended(), now })).lines).toEqual([])
    expect((await run({ object: deleting(tokenObject()) })).lines).toEqual([])
  })
})
