// The heartbeats of people and teams (contract 10.4, 24.5): a User who is locked out, and a Team without people.
import { API_VERSION, HEARTBEAT_NAME, type Resource, TEAMS, USERS } from '../api/names.ts'
import type { Team } from '../api/team.gen.ts'
import type { User } from '../api/user.gen.ts'
import type { NewObject } from '../kube/client/client.ts'
import type { HeartbeatObject } from './watch-heartbeat.ts'

const newObject =
  ({ kind }: Resource, spec: NonNullable<User['spec'] | Team['spec']>) =>
  (annotations: Readonly<Record<string, string>>): NewObject => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name: HEARTBEAT_NAME, annotations },
    spec,
  })

/** The heartbeat User. It is replaced where somebody has enabled it. */
export const USER_HEARTBEAT: HeartbeatObject<User> = {
  resource: USERS,
  name: HEARTBEAT_NAME,
  annotations: {},
  newObject: newObject(USERS, {
    disabled: true,
    displayName: 'Nobody: gateways write to it to test that their watch of the people is current.',
  }),
  mustBeReplaced: ({ metadata, spec }) =>
    metadata.deletionTimestamp === undefined && spec?.disabled !== true,
}

/** The heartbeat Team. It is replaced where somebody has put people into it. */
export const TEAM_HEARTBEAT: HeartbeatObject<Team> = {
  resource: TEAMS,
  name: HEARTBEAT_NAME,
  annotations: {},
  newObject: newObject(TEAMS, {
    displayName: 'Nobody: gateways write to it to test that their watch of the teams is current.',
  }),
  mustBeReplaced: ({ metadata, spec = {} }) =>
    metadata.deletionTimestamp === undefined &&
    [spec.users, spec.groups].some((list) => (list ?? []).length > 0),
}
