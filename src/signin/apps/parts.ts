// What the routes of apps get (contract 26).
import type { Secret } from '../../api/objects.ts'
import { teamNamesOf } from '../../domain/people/people.ts'
import type { PlatformTeam } from '../../domain/people/team.ts'
import type { PlatformUser } from '../../domain/people/user.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { teamsOfPerson } from '../../people/people-index.ts'
import type { AppClients } from './clients.ts'
import type { FollowedAppClients } from './followed-clients.ts'
import { AppLimits } from './limits.ts'
import type { TokenError } from './refusal.ts'
import type { AppSigningKeys } from './signing-keys.ts'

/** What an app sends for tokens. */
export const APP_GRANT_TYPES = ['authorization_code', 'refresh_token'] as const

/** How a request of an app for tokens ended, for metrics. */
export interface AppTokenReport {
  /** null = it was neither, or unknown yet when the request was refused. */
  readonly grant: (typeof APP_GRANT_TYPES)[number] | null
  readonly outcome: 'issued' | TokenError
}

/** What has been learned of such a request, for the log. */
export interface TokenTrace {
  grant: AppTokenReport['grant']
  /** Id of the app; empty = it did not prove who it is. */
  client: string
  /** Empty = not known yet. */
  user: string
}

/** The parts that the routes of apps share. */
export interface AppParts {
  readonly clients: () => AppClients
  /** null = there are none yet. */
  readonly signingKeys: () => AppSigningKeys | null
  /** The Secrets of the sign-in namespace, with the index GRANTS_INDEX. */
  readonly secrets: Store<FullObject<Secret>>
  /** Names of the Teams of a person. */
  readonly teamsOf: (user: Pick<PlatformUser, 'username' | 'groups'>) => readonly string[]
  readonly limits: AppLimits
  readonly reported: (report: AppTokenReport) => void
}

/** Options of createAppParts. */
interface AppPartsOptions extends Pick<AppParts, 'secrets' | 'signingKeys' | 'reported'> {
  readonly teams: Pick<Store<PlatformTeam>, 'by'>
  readonly clients: Pick<FollowedAppClients, 'current'>
}

/** Puts the parts together. */
export const createAppParts = ({
  secrets,
  signingKeys,
  reported,
  teams,
  clients,
}: AppPartsOptions): AppParts => ({
  clients: clients.current,
  signingKeys,
  secrets,
  teamsOf: (user) => teamNamesOf(teamsOfPerson(teams, user)),
  limits: new AppLimits(),
  reported,
})
