// A token that ends before its exp, and whose record can't be stored because of a quota, a policy or a role.
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import type { TokenPlanInput } from '../../../../src/controllers/directclusterendpointtoken/facts.ts'
import {
  type TokenStep,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { recordedRevocations } from '../../../support/fake-kube-client.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import {
  UNDER_CI,
  issuedObject,
  owner,
  tokenAfter,
  tokenCircumstances,
  withMetadata,
} from '../../../support/token-builder.ts'
import { reconcileToken } from './token-reconcile.ts'

type PartialCircumstances = Partial<TokenPlanInput>

const at = (seconds: number, circumstances: PartialCircumstances = {}): TokenPlanInput =>
  tokenCircumstances({ ...circumstances, nowMs: after(seconds) })

const next = (object: DirectClusterEndpointToken, when: TokenPlanInput): TokenStep =>
  plan(tokenOf(object), when)

/** The object after the next step in these circumstances. */
const afterNextStep = (object: DirectClusterEndpointToken, when: TokenPlanInput) =>
  tokenAfter(object, next(object, when)) ?? object

const DISABLED: PartialCircumstances = { owner: owner({}, { state: 'Disabled' }) }
const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })

describe('a record that can’t be stored (4.2, 7.4)', () => {
  const recordFault = 'the API server answered 403 Forbidden'
  const CAUSE =
    'The token was revoked for good, because access key ci is disabled; make a new object for another token.'
  const failed = { ...DISABLED, recordFault, recordAskedForMs: 1000 }
  /** A revoked token whose status shows why it is not recorded. */
  const withRecordFaultInStatus = () => afterNextStep(underCi(), at(61, failed))
  const readyIn = (step: TokenStep) =>
    'status' in step && findCondition(step.status.conditions, 'Ready')

  // biome-ignore format: a table
  test.each([
    { name: 'the record is requested before a status write', object: underCi(), circumstances: { recordAskedForMs: null }, kind: 'record' },
    { name: 'requested, without a fault yet', object: underCi(), circumstances: { recordFault: null }, kind: 'record' },
    { name: 'a fault is published in Ready', object: underCi(), circumstances: {}, kind: 'publish' },
    { name: 'the fault is published: retried', object: withRecordFaultInStatus(), circumstances: {}, kind: 'record' },
    { name: 'the owner is active again: stays revoked', object: withRecordFaultInStatus(), circumstances: { owner: owner() }, kind: 'record' },
    { name: 'requested again after a restart', object: withRecordFaultInStatus(), circumstances: { recordAskedForMs: null, recordFault: null }, kind: 'record' },
    { name: 'another fault is published in Ready', object: withRecordFaultInStatus(), circumstances: { recordFault: 'no answer from the API server' }, kind: 'publish' },
    { name: 'other records are stored: still requested', object: withRecordFaultInStatus(), circumstances: { recordFault: null }, kind: 'record' },
    { name: 'the record is stored: Ready drops the fault', object: withRecordFaultInStatus(), circumstances: { isRecorded: true, recordAskedForMs: null }, kind: 'publish' },
    { name: 'exp has passed: Ready drops the fault', object: withRecordFaultInStatus(), circumstances: {}, now: 600, kind: 'publish' },
  ])('$name: $kind', ({ object, circumstances, now = 62, kind }) => {
    expect(next(object, at(now, { ...failed, ...circumstances })).kind).toBe(kind)
  })

  test('Ready names the fault, and the token is removed from status', () => {
    const step = next(underCi(), at(61, failed))
    expect(step).toMatchObject({ keepsToken: false, announce: [{ reason: 'Revoked' }] })
    expect(readyIn(step)).toMatchObject({
      status: 'False',
      reason: 'Revoked',
      message: `${CAUSE} Clusters take it until its revocation is recorded, which failed: ${recordFault}.`,
    })
    expect(withRecordFaultInStatus().status).not.toHaveProperty('token')
  })

  test('Ready drops the fault once the record is stored, without another event', () => {
    const step = next(withRecordFaultInStatus(), at(90, { isRecorded: true }))
    expect(step).toMatchObject({ keepsToken: false, announce: [] })
    expect(readyIn(step)).toMatchObject({ reason: 'Revoked', message: CAUSE })
  })

  test.each([
    { askedForMs: null, seconds: 1 },
    { askedForMs: 0, seconds: 1 },
    { askedForMs: 1000, seconds: 1 },
    { askedForMs: 8000, seconds: 8 },
    { askedForMs: 60_000, seconds: 60 },
    { askedForMs: 9e9, seconds: 60 },
  ])(
    'a record requested $askedForMs ms ago is checked again in $seconds s',
    ({ askedForMs: recordAskedForMs, seconds }) => {
      const revokedOne = { object: underCi(), circumstances: { ...DISABLED, recordAskedForMs } }
      const deletedOne = {
        object: withMetadata(underCi(), { deletionTimestamp: textAfter(60) }),
        circumstances: { recordAskedForMs },
      }
      for (const { object, circumstances } of [revokedOne, deletedOne])
        expect(next(object, at(60, circumstances))).toMatchObject({
          kind: 'record',
          wakeMs: after(60 + seconds),
        })
    },
  )
})

describe('while a record is requested (7.4)', () => {
  const asking = () => {
    const records = recordedRevocations()
    records.asked.set('uid-deploy', after(600))
    records.fault = 'the API server answered 403 Forbidden'
    records.askedForMs = 8000
    return records
  }
  const unread = { readKeys: () => Promise.reject(new Error('read')) }
  const given = { object: underCi(), key: { disabled: true } }

  test('keys are not read again, and status shows the fault (4.2)', async () => {
    const { revocations } = asking()
    const { asked } = await reconcileToken({ ...given, deps: { ...unread, revocations } })
    expect(asked).toMatchObject([
      {
        verb: 'apply',
        body: { status: { conditions: [{ reason: 'Revoked' }, { type: 'Stalled' }] } },
      },
    ])
  })

  test('the checks become less frequent', async () => {
    const records = asking()
    records.fault = null
    const { revocations } = records
    const { outcome, asked } = await reconcileToken({ ...given, deps: { ...unread, revocations } })
    expect([outcome, asked]).toEqual([{ result: 'later', atMs: after(68) }, []])
  })
})
