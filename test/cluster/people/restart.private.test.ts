// Users and Teams that were deleted while no operator ran (contract 5.1, 24.2).
import { expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { teamClientOf, userClientOf } from './people-client.ts'

const plane = await privateControlPlane()
const [users, teams, keys] = [userClientOf(plane), teamClientOf(plane), keyClientOf(plane)]
const HELD = { finalizers: [REVOKE_FINALIZER] }

test('a User and a Team that were deleted while no operator ran go once one does, with every key (24.2)', async () => {
  const user = await users.create({}, HELD)
  const team = await teams.create({}, HELD)
  const made = [
    await keys.create({ user: user.metadata.name }),
    await keys.create({ user: '', team: team.metadata.name }),
  ]
  const other = await keys.create()
  await users.remove(user)
  await teams.remove(team)
  await using _ = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  await Promise.all([users.gone(user), teams.gone(team)])
  expect(await Promise.all(made.map((key) => keys.read(key)))).toEqual([null, null])
  expect((await keys.shown(other, 'Active')).metadata.deletionTimestamp).toBeUndefined()
})
