import { describe, expect, test } from 'vitest'
import { HEARTBEAT_NAME, REVOKE_FINALIZER, TEAMS, USERS } from '../../../../src/api/names.ts'
import {
  type PrincipalStep,
  isLeft,
  keyEndOf,
  plan,
} from '../../../../src/controllers/people/plan.ts'
import type { Principal, PrincipalKind } from '../../../../src/controllers/people/principal.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { accessKey, t0 } from '../../../support/key-builder.ts'

const USER: PrincipalKind = {
  resource: USERS,
  keyField: 'spec.user',
  statusField: 'username',
  called: (name) => `user ${name}`,
  activeMessage: (name) => `Keys of user ${name} may work.`,
  writeReason: 'user-deleted',
}
const TEAM: PrincipalKind = { ...USER, resource: TEAMS, statusField: 'name' }

type PrincipalPlanInput = Parameters<typeof plan>[2]

const FOREIGN = 'foregroundDeletion'

/** User ada, adopted, nothing published; else as given. */
const ada = (differing: Partial<Principal> = {}): Principal => ({
  name: 'ada',
  uid: 'uid-ada',
  resourceVersion: '7',
  generation: 3,
  expectedName: 'ada',
  nameInForce: 'ada',
  isDisabled: false,
  isDeleting: false,
  finalizers: [REVOKE_FINALIZER],
  published: { nameInForce: undefined, observedGeneration: undefined, conditions: [] },
  ...differing,
})

const planFor = (principal: Principal, input: Partial<PrincipalPlanInput> = {}): PrincipalStep =>
  plan(principal, USER, { teamCount: 0, keysLeft: null, nowMs: t0, ...input })

const statusFor = (principal: Principal, input: Partial<PrincipalPlanInput> = {}) => {
  const step = planFor(principal, input)
  if (step.kind !== 'publish') throw new Error(`the step is to ${step.kind}`)
  return step.status
}

const deleted = { isDeleting: true }
const left = (count: number, fault: string | null = null) => ({ keysLeft: { count, fault } })

describe('the next step for a User or Team (24.2)', () => {
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly is?: Partial<Principal>; readonly input?: Partial<PrincipalPlanInput>; readonly step: PrincipalStep['kind'] }[] = [
    { name: 'a new one gets the finalizer', is: { finalizers: [] }, step: 'adopt' },
    { name: 'one with a foreign finalizer alone gets ours', is: { finalizers: [FOREIGN] }, step: 'adopt' },
    { name: 'one under a wrong name gets the finalizer too', is: { finalizers: [], expectedName: 'x' }, step: 'adopt' },
    { name: 'an adopted one gets its status', step: 'publish' },
    { name: 'the heartbeat is left alone', is: { name: HEARTBEAT_NAME, expectedName: HEARTBEAT_NAME, finalizers: [], isDisabled: true }, step: 'nothing' },
    { name: 'a deleted heartbeat with our finalizer goes at once', is: { ...deleted, name: HEARTBEAT_NAME, expectedName: HEARTBEAT_NAME }, step: 'release' },
    { name: 'a deleted one ends keys', is: deleted, step: 'endKeys' },
    { name: 'a deleted one ends keys although it is disabled', is: { ...deleted, isDisabled: true }, step: 'endKeys' },
    { name: 'a deleted one in foreground ends keys', is: { ...deleted, finalizers: [FOREIGN, REVOKE_FINALIZER] }, step: 'endKeys' },
    { name: 'a deleted one with keys left says so', is: deleted, input: left(2), step: 'publish' },
    { name: 'a deleted one without keys left goes', is: deleted, input: left(0), step: 'release' },
    { name: 'a deleted one under a wrong name goes at once', is: { ...deleted, expectedName: 'x' }, step: 'release' },
    { name: 'a released one with a foreign finalizer has a status', is: { ...deleted, finalizers: [FOREIGN] }, step: 'publish' },
    { name: 'a gone one is left alone', is: { ...deleted, finalizers: [] }, step: 'nothing' },
  ]
  test.each(rows)('$name: $step', ({ is, input, step }) => {
    expect(planFor(ada(is), input).kind).toBe(step)
  })

  test('a status that is published is not published again', () => {
    const { conditions, observedGeneration } = statusFor(ada())
    const published = { nameInForce: 'ada', observedGeneration, conditions }
    expect(planFor(ada({ published }), { nowMs: t0 + 9000 })).toEqual({ kind: 'nothing' })
    expect(planFor(ada({ published: { ...published, nameInForce: 'eve' } })).kind).toBe('publish')
    expect(planFor(ada({ published, generation: 4 })).kind).toBe('publish')
  })
})

describe('the status of a User or Team (24.1)', () => {
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly is?: Partial<Principal>; readonly input?: Partial<PrincipalPlanInput>; readonly reason: string; readonly message: string }[] = [
    { name: 'active', reason: 'Active', message: 'Keys of user ada may work.' },
    { name: 'active in 200 Teams', input: { teamCount: 200 }, reason: 'Active', message: 'Keys of user ada may work.' },
    { name: 'active in 201 Teams', input: { teamCount: 201 }, reason: 'Active', message: 'Keys of user ada may work. The person is in 201 Teams: keys have the groups of the first 200 by name.' },
    { name: 'disabled', is: { isDisabled: true }, reason: 'Disabled', message: 'No key of user ada works: remove spec.disabled to let them work again.' },
    { name: 'under a wrong name, and disabled', is: { isDisabled: true, nameInForce: 'Ada', expectedName: 'ada-36fa85fd9b' }, reason: 'NameMismatch',
      message: 'The object has no effect: metadata.name of user Ada is ada-36fa85fd9b. Create it under that name, and delete this one.' },
    { name: 'deleted with keys left, and disabled', is: { ...deleted, isDisabled: true }, input: left(12), reason: 'Terminating', message: 'The object is being deleted. No key of user ada works, and 12 of them are left.' },
    { name: 'deleted with one key left', is: deleted, input: left(1), reason: 'Terminating', message: 'The object is being deleted. No key of user ada works, and 1 of them is left.' },
    { name: 'deleted while the end of a key fails', is: deleted, input: left(2, 'access key ci, Forbidden'), reason: 'Terminating',
      message: 'The object is being deleted. No key of user ada works, and 2 of them are left, and the end of one failed: access key ci, Forbidden.' },
    { name: 'deleted, waiting for others', is: { ...deleted, finalizers: [FOREIGN] }, reason: 'Terminating', message: 'The object is being deleted. No key of user ada works, and none of them are left.' },
  ]
  test.each(rows)('$name: $reason', ({ is, input, reason, message }) => {
    const status = statusFor(ada(is), input)
    const isActive = reason === 'Active'
    expect(findCondition(status.conditions, 'Ready')).toMatchObject({
      status: isActive ? 'True' : 'False',
      reason,
      message,
      observedGeneration: 3,
    })
    expect(findCondition(status.conditions, 'Stalled')?.reason).toBe(isActive ? undefined : reason)
    expect(status).toMatchObject({ username: is?.nameInForce ?? 'ada', observedGeneration: 3 })
  })

  test('of a Team has the name as `name`, and only fields of ours', () => {
    const step = plan(ada({ name: 'sre', nameInForce: 'sre', expectedName: 'sre' }), TEAM, {
      teamCount: 0,
      keysLeft: null,
      nowMs: t0,
    })
    expect(step.kind === 'publish' && Object.keys(step.status)).toEqual([
      'name',
      'observedGeneration',
      'conditions',
    ])
  })

  test('more than 200 Teams are an Event once for each number (24.2)', () => {
    const announced = (teamCount: number, is?: Partial<Principal>) => {
      const step = planFor(ada(is), { teamCount })
      return step.kind === 'publish'
        ? step.announce.map(({ reason, discriminator }) => [reason, discriminator])
        : []
    }
    expect(announced(200)).toEqual([])
    expect(announced(201)).toEqual([['TooManyTeams', '201']])
    expect(announced(201, { isDisabled: true })).toEqual([])
  })
})

describe('the end of a key with its person or team (24.2)', () => {
  const held = [REVOKE_FINALIZER]
  // biome-ignore format: a table
  test.each<{ name: string; key: Partial<AccessKey>; end: string; waits: boolean }>([
    { name: 'a key', key: { finalizers: held }, end: 'delete', waits: true },
    { name: 'a key that was never adopted', key: { finalizers: [] }, end: 'delete', waits: true },
    { name: 'a disabled key', key: { isDisabled: true }, end: 'delete', waits: true },
    { name: 'a key that is being deleted', key: { isDeleting: true, finalizers: held }, end: 'wait', waits: true },
    { name: 'a deleted key that others hold', key: { isDeleting: true, finalizers: [FOREIGN] }, end: 'gone', waits: false },
    { name: 'a tracked key', key: { isTracked: true }, end: 'disable', waits: true },
    { name: 'a tracked, disabled key', key: { isTracked: true, isDisabled: true }, end: 'kept', waits: false },
    { name: 'a tracked key that is being deleted', key: { isTracked: true, isDeleting: true, finalizers: held }, end: 'wait', waits: true },
  ])('$name: $end', ({ key, end, waits }) => {
    expect(keyEndOf(accessKey(key))).toBe(end)
    expect(isLeft(accessKey(key))).toBe(waits)
  })
})
