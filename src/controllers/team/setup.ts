import { ACCESS_KEYS, TEAMS } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import type { PlatformTeam } from '../../domain/people/team.ts'
import type { ControllerSpec } from '../../kube/controller/builder.ts'
import { everyObject } from '../../kube/controller/definition.ts'
import type { Store } from '../../kube/informer/store.ts'
import { createTeamStore, parseTeam, type PeopleIndex } from '../../people/people-index.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { administeredFieldsOf, type Principal, type PrincipalKind } from '../people/principal.ts'
import { PRINCIPAL_WRITE_REASONS, type PrincipalDeps } from '../people/reconcile.ts'
import {
  PRINCIPAL_STATE_LABELS,
  PRINCIPAL_WORKERS,
  countPrincipals,
  principalController,
} from '../people/setup.ts'

const KIND: PrincipalKind = {
  resource: TEAMS,
  keyField: 'spec.team',
  statusField: 'name',
  called: (name) => `team ${name}`,
  activeMessage: (name) => `The people of the team have group platform:team:${name}.`,
  writeReason: 'team-deleted',
}

/** A Team as the manager keeps it. */
type ManagedTeam = PlatformTeam & Principal

const managedTeamOf = (object: KubeObject): ManagedTeam => {
  const team = parseTeam(object)
  const administered = administeredFieldsOf(object, KIND)
  return { ...team, ...administered, nameInForce: team.teamName, isDisabled: false }
}

/** What the controller of Teams needs from the process. */
export interface TeamSetup extends Pick<PrincipalDeps, 'client' | 'events' | 'clock'> {
  readonly stores: Pick<PrincipalDeps, 'keys'> & { readonly teams: Store<ManagedTeam> }
  readonly people: PeopleIndex
}

/** What counts the Teams. */
interface TeamCounting {
  readonly stores: { readonly teams: Store<ManagedTeam> }
  readonly eventLoop: EventLoopShare
}

/** The controller of Teams (contract 24.2). */
export const teamController = {
  name: 'team',
  workers: () => PRINCIPAL_WORKERS,
  writes: { [TEAMS.kind]: PRINCIPAL_WRITE_REASONS, [ACCESS_KEYS.kind]: [KIND.writeReason] },
  watches: {
    teams: {
      resource: TEAMS,
      createStore: () => createTeamStore(managedTeamOf),
      query: everyObject,
    },
  },
  counts: {
    kind: TEAMS.kind,
    metric: 'platform_teams' as const,
    // Nobody disables a Team.
    states: [
      PRINCIPAL_STATE_LABELS.Active,
      PRINCIPAL_STATE_LABELS.Terminating,
      PRINCIPAL_STATE_LABELS.NameMismatch,
    ],
    expires: false,
    count: ({ stores, eventLoop }: TeamCounting) => countPrincipals(stores.teams, eventLoop),
  },
  metrics: (): object => ({}),
  setUp: ({ client, stores, people, events, clock }: TeamSetup): ControllerSpec => {
    const { teams, keys } = stores
    return principalController({
      name: teamController.name,
      deps: { client, kind: KIND, principals: teams, keys, teamCountOf: () => 0, events, clock },
      find: people.team,
      reads: [],
      watches: [],
    })
  },
}
