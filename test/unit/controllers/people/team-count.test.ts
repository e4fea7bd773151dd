// Which Teams of a person count for Event TooManyTeams (24.2).
import { expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import type { Team } from '../../../../src/api/team.gen.ts'
import { userController } from '../../../../src/controllers/user/setup.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { EventLoopShare } from '../../../../src/runtime/concurrency/event-loop.ts'
import { recordingClient } from '../../../support/fake-kube-client.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { teamObject, userObject } from '../../../support/object-builder.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { keyStore } from '../../../support/token-builder.ts'
import { peopleStores } from '../../people/people-builder.ts'

const BY_GROUP = [{ connector: 'oidc', name: 'dev' }]

/** Teams, the person in every other one by name, in the rest by group. */
const teams = (count: number, metadata: Partial<Team['metadata']> = {}): readonly Team[] =>
  Array.from({ length: count }, (_, at) => {
    const name = metadata.deletionTimestamp === undefined ? `t${at}` : `gone${at}`
    const spec = at % 2 === 0 ? { users: ['ada'] } : { groups: BY_GROUP }
    return teamObject({ metadata: { ...metadata, name }, spec })
  })

/** The Events and the message of User ada once it is reconciled. */
async function reconciled(inTeams: readonly Team[]) {
  const user = userObject({
    metadata: { finalizers: [REVOKE_FINALIZER] },
    status: { groups: BY_GROUP },
  })
  const { people, ...listed } = peopleStores([user], inTeams)
  const users = userController.watches.users.createStore()
  users.put(user)
  const { client, asked } = recordingClient()
  const events: ObjectEvent[] = []
  const clock = manualClock(after(0))
  const { reconcile } = userController.setUp({
    client,
    stores: { ...listed, users, keys: keyStore() },
    people,
    events: {
      record: (event) => void events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    clock,
    eventLoop: new EventLoopShare(clock),
  })
  await reconcile('ada', reconcileContext())
  return { reasons: events.map(({ reason }) => reason), status: JSON.stringify(asked.at(-1)?.body) }
}

test('a Team that is being deleted is none of the Teams of a person', async () => {
  const gone = teams(3, { deletionTimestamp: textAfter(0) })
  const { reasons, status } = await reconciled([...teams(200), ...gone])
  expect(reasons).toEqual([])
  expect(status).toContain('Keys of user ada may work."')
})

test('one Team more than 200 gets Event TooManyTeams, whichever way the person is in', async () => {
  const { reasons, status } = await reconciled(teams(201))
  expect(reasons).toEqual(['TooManyTeams'])
  expect(status).toContain('The person is in 201 Teams')
})
