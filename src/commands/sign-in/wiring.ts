// Puts together the part of the sign-in process that answers requests.
import { randomBytes } from 'node:crypto'
import { GATEWAY_CA_CONFIG_MAP, SECRETS, TEAMS, USERS } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { appIssuer } from '../../domain/signin/app-routes.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type InformerFactory, createInformerFactory } from '../../kube/informer/informers.ts'
import type { FullObject, Store } from '../../kube/informer/store.ts'
import { createTeamStore, parseTeam, teamIn } from '../../people/people-index.ts'
import type { ServerHandler } from '../../serving/http/server.ts'
import { type FollowedAppClients, followAppClients } from '../../signin/apps/followed-clients.ts'
import { createSecretStore } from '../../signin/apps/grants.ts'
import { type AppParts, createAppParts } from '../../signin/apps/parts.ts'
import { appSigningKind } from '../../signin/apps/signing-keys.ts'
import { AccountLimits } from '../../signin/attempts/account-limits.ts'
import { ProviderLimits } from '../../signin/attempts/provider-limits.ts'
import { type GatewayClient, createGatewayClient } from '../../signin/gateway-client.ts'
import { createGatewayTokens } from '../../signin/gateway-token.ts'
import { createSignInHandler } from '../../signin/handler.ts'
import { createPasswordCheck } from '../../signin/password/check.ts'
import { PasswordHashes } from '../../signin/people/password-hashes.ts'
import { SignInUsers } from '../../signin/people/sign-in-user.ts'
import type { RouteParts } from '../../signin/routes/route.ts'
import { type KeptKeys, keepKeys } from '../../signin/kept-keys.ts'
import { sealingKind } from '../../signin/sealing/plan.ts'
import type { SealingKeys } from '../../signin/sealing/seal.ts'
import { type FollowedSignInSettings, followSignInSettings } from '../../signin/settings.ts'
import { startAuthority } from '../shared/authority.ts'
import type { Readiness } from '../shared/probes.ts'
import { createGatewayHttp } from './gateway-http.ts'
import type { SignInProcess } from './metrics.ts'
import { createProviders } from './providers.ts'

/** The stores of the process. */
interface SignInStores {
  readonly users: SignInUsers['store']
  readonly teams: ReturnType<typeof createTeamStore>
  /** The Secrets of the sign-in namespace. */
  readonly secrets: Store<FullObject<Secret>>
}

/** Everything that answers requests, with what else the process does. */
export interface SignInApi extends Pick<InformerFactory, 'unserved' | 'stuck'> {
  readonly handler: ServerHandler
  readonly stores: SignInStores
  readonly users: SignInUsers
  readonly people: RouteParts['people']
  readonly settings: FollowedSignInSettings
  readonly clients: FollowedAppClients
  readonly passwords: PasswordHashes
  readonly readiness: Readiness
}

/** Starts the watches, and everything that requests need. */
export function startSignInApi(self: SignInProcess, client: KubeClient): SignInApi {
  const { settings, clock, log, lifecycle, metrics } = self
  const { namespace } = settings
  const signal = lifecycle.stopping
  const random = (bytes: number): Buffer => randomBytes(bytes)
  const users = new SignInUsers()
  const teams = createTeamStore(parseTeam)
  const secrets = createSecretStore()
  const stores = { users: users.store, teams, secrets }
  const informers = startInformers(self, client, stores)
  const keeping = { client, secrets, namespace, clock, log, signal }
  const kept = keepKeys(sealingKind(random), keeping)
  const followed = followSignInSettings({
    secrets,
    namespace,
    publicUrl: settings.publicUrl,
    createProviders: createProviders(self),
    log,
  })
  const gateway = startGatewayClient(self, client)
  const passwords = new PasswordHashes(users, secrets, namespace)
  const check = createPasswordCheck({
    hashOf: (username) => passwords.usable(username),
    clock,
    observer: { waiting: metrics.passwordsWaiting },
  })
  const people = peopleDeps(self, client, { users, teams })
  const clients = followAppClients(secrets, followed)
  const signingKeys = keepAppKeys(followed, keeping)
  const deps: RouteParts = {
    apps: createAppParts({ secrets, teams, clients, signingKeys, reported: metrics.appAsked }),
    state: followed.current,
    sealingKeys: kept.current,
    people,
    sessions: { client, namespace, gateway: gateway.client, clock, log },
    gateway: gateway.client,
    beginnings: new ProviderLimits(),
    callbacks: new ProviderLimits(),
    accounts: new AccountLimits(),
    passwordCheck: check,
    passwords,
    random,
    clock,
  }
  const callerOf = createGatewayTokens({ client, account: settings.gatewayAccount, clock })
  return {
    handler: createSignInHandler({ deps, callerOf, reported: metrics.attempted, log, signal }),
    stores,
    users,
    people,
    settings: followed,
    clients,
    passwords,
    readiness: readinessOf(followed, kept, gateway.fault),
    ...informers,
  }
}

/** Keeps the keys of the issuer of apps, from the first settings on that have it served. */
function keepAppKeys(
  followed: FollowedSignInSettings,
  keeping: Parameters<typeof keepKeys>[1],
): AppParts['signingKeys'] {
  const isServed = (): boolean => {
    const state = followed.current()
    return state !== null && appIssuer(state.settings.oidc, state.publicUrl) !== null
  }
  const kept = keepKeys(appSigningKind(isServed), keeping)
  followed.subscribe(kept.wake)
  return kept.current
}

function peopleDeps(
  { settings: { maxTeams }, metrics: { teamsFull }, clock, log }: SignInProcess,
  client: KubeClient,
  { users, teams }: { readonly users: SignInUsers; readonly teams: SignInStores['teams'] },
): RouteParts['people'] {
  const known = {
    has: (teamName: string) => teamIn(teams, teamName) !== undefined,
    count: () => teams.size,
  }
  return { client, users, teams: known, maxTeams, teamsFull, clock, log }
}

function startInformers(
  { settings, clock, log, lifecycle, metrics }: SignInProcess,
  client: KubeClient,
  { users, teams, secrets }: SignInStores,
): Pick<InformerFactory, 'unserved' | 'stuck'> {
  const { startInformer, unserved, stuck } = createInformerFactory({
    client,
    clock,
    log,
    restarted: metrics.watchRestarted,
    signal: lifecycle.stopping,
  })
  startInformer(USERS, users, {})
  startInformer(TEAMS, teams, {})
  startInformer(SECRETS, secrets, { namespace: settings.namespace })
  return { unserved, stuck }
}

/** The client of the gateway, and why it has not been reached yet. */
interface StartedGatewayClient {
  readonly client: GatewayClient
  /** null = the gateway has been reached once. */
  readonly fault: () => string | null
}

function startGatewayClient(self: SignInProcess, client: KubeClient): StartedGatewayClient {
  const { settings, clock, lifecycle } = self
  const authority = startAuthority(self, client, {
    caFile: settings.gatewayCaFile,
    configMap: { namespace: settings.platformNamespace, name: GATEWAY_CA_CONFIG_MAP },
  })
  const http = createGatewayHttp({
    url: settings.gatewayUrl,
    authority,
    clock,
    signal: lifecycle.stopping,
  })
  const gateway = createGatewayClient({
    url: settings.gatewayUrl,
    http,
    clock,
    signal: lifecycle.stopping,
  })
  return { client: gateway, fault: http.fault }
}

function readinessOf(
  followed: FollowedSignInSettings,
  kept: KeptKeys<SealingKeys>,
  gatewayFault: () => string | null,
): Readiness {
  return {
    'sign-in-settings-seen': () =>
      followed.current() === null ? 'no settings of signing in have been seen' : null,
    'sealing-keys': kept.fault,
    'gateway-reached': gatewayFault,
  }
}
