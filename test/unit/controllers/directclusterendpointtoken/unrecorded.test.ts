// A token that ends before its exp, and whose record can't be stored: a quota, a policy, a role is in the way.
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import {
  type TokenPlanCircumstances,
  type TokenStep,
  plan,
} from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import { recordedRevocations } from '../../../support/recording-client.ts'
import {
  UNDER_CI,
  issuedObject,
  owner,
  tokenAfter,
  tokenCircumstances,
  withMetadata,
} from '../../../support/token-builder.ts'
import { run } from './reconciled.ts'

type Around = Partial<TokenPlanCircumstances>

const at = (seconds: number, around: Around = {}): TokenPlanCircumstances =>
  tokenCircumstances({ ...around, nowMs: after(seconds) })

const next = (object: DirectClusterEndpointToken, when: TokenPlanCircumstances): TokenStep =>
  plan(tokenOf(object), when)

/** After what is planned for it in these circumstances, one write. */
const written = (object: DirectClusterEndpointToken, when: TokenPlanCircumstances) =>
  tokenAfter(object, next(object, when)) ?? object

const DISABLED: Around = { owner: owner({}, { state: 'Disabled' }) }
const underCi = () => issuedObject({ metadata: UNDER_CI, spec: { ttl: 600 } }, { owner: owner() })

describe('a record that can’t be stored (4.2, 7.4)', () => {
  const recordFault = 'the API server answered 403 Forbidden'
  const CAUSE =
    'The token was revoked for good, because access key ci is disabled; make a new object for another token.'
  const failed = { ...DISABLED, recordFault, recordAskedForMs: 1000 }
  /** Status says that it is revoked, and why it is not recorded. */
  const stuck = () => written(underCi(), at(61, failed))
  const readyIn = (step: TokenStep) =>
    'status' in step && findCondition(step.status.conditions, 'Ready')

  // biome-ignore format: a table
  test.each([
    { name: 'it is asked for before anything is said', object: underCi(), around: { recordAskedForMs: null }, kind: 'record' },
    { name: 'asked for, nothing has failed', object: underCi(), around: { recordFault: null }, kind: 'record' },
    { name: 'it fails: Ready says so', object: underCi(), around: {}, kind: 'publish' },
    { name: 'Ready says so: it is looked after', object: stuck(), around: {}, kind: 'record' },
    { name: 'its owner is good again: it stays revoked', object: stuck(), around: { owner: owner() }, kind: 'record' },
    { name: 'after a restart it is asked for again', object: stuck(), around: { recordAskedForMs: null, recordFault: null }, kind: 'record' },
    { name: 'another fault: Ready says that', object: stuck(), around: { recordFault: 'no answer from the API server' }, kind: 'publish' },
    { name: 'others are stored: its turn will come', object: stuck(), around: { recordFault: null }, kind: 'record' },
    { name: 'it is stored: Ready says no more of it', object: stuck(), around: { isRecorded: true, recordAskedForMs: null }, kind: 'publish' },
    { name: 'it expires meanwhile: no more is said of it', object: stuck(), around: {}, now: 600, kind: 'publish' },
  ])('$name: $kind', ({ object, around, now = 62, kind }) => {
    expect(next(object, at(now, { ...failed, ...around })).kind).toBe(kind)
  })

  test('what Ready says, and that the token is given to nobody any more', () => {
    const step = next(underCi(), at(61, failed))
    expect(step).toMatchObject({ keepsToken: false, announce: [{ reason: 'Revoked' }] })
    expect(readyIn(step)).toMatchObject({
      status: 'False',
      reason: 'Revoked',
      message: `${CAUSE} Clusters take it until its revocation is recorded, which failed: ${recordFault}.`,
    })
    expect(stuck().status).not.toHaveProperty('token')
  })

  test('what it says once it is stored, without another event', () => {
    const step = next(stuck(), at(90, { isRecorded: true }))
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
    'asked for $askedForMs ms ago it is looked after in $seconds s',
    ({ askedForMs: recordAskedForMs, seconds }) => {
      const revokedOne = { object: underCi(), around: { ...DISABLED, recordAskedForMs } }
      const deletedOne = {
        object: withMetadata(underCi(), { deletionTimestamp: textAfter(60) }),
        around: { recordAskedForMs },
      }
      for (const { object, around } of [revokedOne, deletedOne])
        expect(next(object, at(60, around))).toMatchObject({
          kind: 'record',
          wakeMs: after(60 + seconds),
        })
    },
  )
})

describe('while a record is asked for (7.4)', () => {
  const asking = () => {
    const records = recordedRevocations()
    records.asked.set('uid-deploy', after(600))
    records.fault = 'the API server answered 403 Forbidden'
    records.askedForMs = 8000
    return records
  }
  const unread = { readKeys: () => Promise.reject(new Error('read')) }
  const given = { object: underCi(), key: { disabled: true } }

  test('keys are not read again, and status says why it is not stored (4.2)', async () => {
    const { revocations } = asking()
    const { asked } = await run({ ...given, deps: { ...unread, revocations } })
    expect(asked).toMatchObject([
      {
        verb: 'apply',
        body: { status: { conditions: [{ reason: 'Revoked' }, { type: 'Stalled' }] } },
      },
    ])
  })

  test('it is looked after less and less', async () => {
    const records = asking()
    records.fault = null
    const { revocations } = records
    const { outcome, asked } = await run({ ...given, deps: { ...unread, revocations } })
    expect([outcome, asked]).toEqual([{ result: 'later', atMs: after(68) }, []])
  })
})
