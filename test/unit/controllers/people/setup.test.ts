import { expect, test } from 'vitest'
import { HEARTBEAT_NAME } from '../../../../src/api/names.ts'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { countPrincipals } from '../../../../src/controllers/people/setup.ts'
import { teamController } from '../../../../src/controllers/team/setup.ts'
import { userController } from '../../../../src/controllers/user/setup.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { teamObject, userObject } from '../../../support/object-builder.ts'

const { users, teams } = { ...userController.watches, ...teamController.watches }
const deletionTimestamp = textAfter(0)

const countsOf = async (kind: typeof users | typeof teams, objects: readonly KubeObject[]) => {
  const store = kind.createStore()
  for (const object of objects) store.put(object)
  return (await countPrincipals(store, new EventLoopShare(manualClock(after(0))))).byState
}

test('Users and Teams are counted by state, without the heartbeats of the gateways (8.4, 24.5)', async () => {
  expect(
    await countsOf(users, [
      userObject(),
      userObject({ metadata: { name: 'bob' } }),
      userObject({ metadata: { name: 'eve' }, spec: { disabled: true } }),
      userObject({ metadata: { name: 'x' }, spec: { username: 'y', disabled: true } }),
      userObject({ metadata: { name: 'pat', deletionTimestamp }, spec: { disabled: true } }),
      userObject({ metadata: { name: HEARTBEAT_NAME }, spec: { disabled: true } }),
    ]),
  ).toEqual({ active: 2, disabled: 1, name_mismatch: 1, terminating: 1 })
  expect(
    await countsOf(teams, [
      teamObject(),
      teamObject({ metadata: { name: 'x', deletionTimestamp } }),
      teamObject({ metadata: { name: HEARTBEAT_NAME } }),
    ]),
  ).toEqual({ active: 1, terminating: 1 })
})

test('each state that is counted has a series from the start (8.4)', () => {
  expect(userController.counts.states).toEqual([
    'active',
    'terminating',
    'name_mismatch',
    'disabled',
  ])
  expect(teamController.counts.states).toEqual(['active', 'terminating', 'name_mismatch'])
})
