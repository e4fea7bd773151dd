import { ACCESS_KEYS, USERS } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { identityOfUser, type PlatformUser } from '../../domain/people/user.ts'
import type { PlatformTeam } from '../../domain/people/team.ts'
import type { ControllerSpec } from '../../kube/controller/builder.ts'
import { everyObject } from '../../kube/controller/definition.ts'
import type { Store } from '../../kube/informer/store.ts'
import { createUserStore, parseUser, type PeopleIndex } from '../../people/people-index.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { administeredFieldsOf, type Principal, type PrincipalKind } from '../people/principal.ts'
import { onPeople } from '../indexes/access-keys.ts'
import { PRINCIPAL_WRITE_REASONS, type PrincipalDeps } from '../people/reconcile.ts'
import {
  PRINCIPAL_STATE_LABELS,
  PRINCIPAL_WORKERS,
  countPrincipals,
  principalController,
} from '../people/setup.ts'

const KIND: PrincipalKind = {
  resource: USERS,
  keyField: 'spec.user',
  statusField: 'username',
  called: (username) => `user ${username}`,
  activeMessage: (username) => `Keys of user ${username} may work.`,
  writeReason: 'user-deleted',
}

/** A User as the manager keeps it. */
type ManagedUser = PlatformUser & Principal

const managedUserOf = (object: KubeObject): ManagedUser => {
  const user = parseUser(object)
  return { ...user, ...administeredFieldsOf(object, KIND), nameInForce: user.username }
}

/** What the controller of Users needs from the process. */
export interface UserSetup extends Pick<PrincipalDeps, 'client' | 'events' | 'clock'> {
  readonly stores: Pick<PrincipalDeps, 'keys'> & {
    readonly users: Store<ManagedUser>
    readonly teams: Pick<Store<PlatformTeam>, 'whenSynced'>
  }
  readonly people: PeopleIndex
  readonly eventLoop: EventLoopShare
}

/** What counts the Users. */
interface UserCounting {
  readonly stores: { readonly users: Store<ManagedUser> }
  readonly eventLoop: EventLoopShare
}

/** The controller of Users (contract 24.2). */
export const userController = {
  name: 'user',
  workers: () => PRINCIPAL_WORKERS,
  writes: { [USERS.kind]: PRINCIPAL_WRITE_REASONS, [ACCESS_KEYS.kind]: [KIND.writeReason] },
  watches: {
    users: {
      resource: USERS,
      createStore: () => createUserStore(managedUserOf),
      query: everyObject,
    },
  },
  counts: {
    kind: USERS.kind,
    metric: 'platform_users' as const,
    states: Object.values(PRINCIPAL_STATE_LABELS),
    expires: false,
    count: ({ stores, eventLoop }: UserCounting) => countPrincipals(stores.users, eventLoop),
  },
  metrics: (): object => ({}),
  setUp: ({ client, stores, people, eventLoop, events, clock }: UserSetup): ControllerSpec => {
    const { users, teams, keys } = stores
    const teamCountOf = ({ nameInForce }: Principal): number =>
      people.allTeamsOf(identityOfUser({ username: nameInForce })).length
    return principalController({
      name: userController.name,
      deps: { client, kind: KIND, principals: users, keys, teamCountOf, events, clock },
      find: people.user,
      reads: [teams],
      watches: [
        // The number of their teams may have changed.
        onPeople(people, eventLoop, (identity) => {
          const user = people.user(identity)
          return user === undefined ? [] : [user.name]
        }),
      ],
    })
  },
}
