// The sign-in process without its network: its handler on an API server in memory, with a provider, a gateway and a clock that a
// test moves, and browsers that speak to it.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ConfigSettings } from '../../../src/api/config.gen.ts'
import { SIGN_IN_SETTINGS_SECRET, USERS } from '../../../src/api/names.ts'
import type { UserSpec } from '../../../src/api/user.gen.ts'
import { signInSecretSettings } from '../../../src/domain/settings/secret-settings.ts'
import { SignInRefused } from '../../../src/domain/signin/refusals.ts'
import { createTeamStore, objectNameFor, parseTeam } from '../../../src/people/people-index.ts'
import type { HttpRequest } from '../../../src/serving/http/request.ts'
import { followAppClients } from '../../../src/signin/apps/followed-clients.ts'
import { createSecretStore } from '../../../src/signin/apps/grants.ts'
import { type AppTokenReport, createAppParts } from '../../../src/signin/apps/parts.ts'
import { appSigningKind } from '../../../src/signin/apps/signing-keys.ts'
import { AccountLimits } from '../../../src/signin/attempts/account-limits.ts'
import { ProviderLimits } from '../../../src/signin/attempts/provider-limits.ts'
import type { TokenVerdict } from '../../../src/signin/gateway-token.ts'
import { type AttemptReport, createSignInHandler } from '../../../src/signin/handler.ts'
import { keepKeys } from '../../../src/signin/kept-keys.ts'
import { PasswordHashes } from '../../../src/signin/people/password-hashes.ts'
import { SignInUsers } from '../../../src/signin/people/sign-in-user.ts'
import {
  type CallbackBinding,
  OAUTH_BINDING,
  type ProviderIdentity,
  type SignInProvider,
} from '../../../src/signin/providers/provider.ts'
import type { RouteParts } from '../../../src/signin/routes/route.ts'
import type { SealingKeys } from '../../../src/signin/sealing/seal.ts'
import { type FollowedSignInSettings, followSignInSettings } from '../../../src/signin/settings.ts'
import {
  type Browser,
  type BrowserAnswer,
  type BrowserRequest,
  openBrowser,
} from '../browser/browser.ts'
import { manualClock } from '../manual-clock.ts'
import { memoryLog } from '../memory-log.ts'
import { userObject } from '../object-builder.ts'
import { MemoryCluster } from './memory-cluster.ts'

export const PLATFORM = 'https://platform.example'
/** The provider of every world. */
export const PROVIDER = 'https://provider.example'
/** The password of every User who has one. */
export const PASSWORD = 'correct horse battery'
const NAMESPACE = 'platform-sign-in'
const START_MS = Date.UTC(2026, 10, 21, 12)

/** A person at the provider: ada, of no group. */
export const identityOf = (differs: Partial<ProviderIdentity> = {}): ProviderIdentity => ({
  subject: `${PROVIDER}#1`,
  username: 'ada',
  displayName: 'Ada',
  email: null,
  emailVerified: false,
  userId: '1',
  preferredUsername: null,
  extraClaims: {},
  groups: [],
  groupsPrefix: '',
  tokens: { refreshToken: null, accessToken: null, idToken: 'an-id-token' },
  ...differs,
})

/** Keys that seal, the same in every world unless it has others. */
export const sealingKeys = (id = '00000001', fill = 1): SealingKeys => [
  { id, key: Buffer.alloc(32, fill) },
]

/** A provider that sends every browser straight back, with the code that the test gives. */
export function fakeProvider(
  id: string,
  identity: () => ProviderIdentity,
  binding: CallbackBinding = OAUTH_BINDING,
): SignInProvider {
  return {
    id,
    kind: `kind-of-${id}`,
    label: `Provider ${id}`,
    binding,
    begin: ({ state, nonce }) =>
      Promise.resolve({
        url: new URL(`${PROVIDER}/authorize?state=${state}&nonce=${nonce}&for=${id}`),
        form: binding.method === 'POST' ? { [binding.stateParameter]: state } : null,
      }),
    finish: async ({ parameters }) => {
      const error = parameters.get('error')
      if (error !== null)
        throw new SignInRefused('provider_refused', 'the provider', { detail: error })
      if (parameters.get('code') !== 'right')
        throw new SignInRefused('provider_answer', 'the code of the provider')
      return Promise.resolve(identity())
    },
    refresh: null,
    endSession: (idToken) =>
      Promise.resolve(
        new URL(
          `${PROVIDER}/end?hint=${idToken ?? ''}&post_logout_redirect_uri=https://after.example/bye`,
        ),
      ),
    check: () => Promise.resolve({ fault: null, warnings: [] }),
  }
}

/** A process of signing in that a test drives. */
export class SignInWorld {
  readonly cluster = new MemoryCluster()
  readonly clock = manualClock(START_MS)
  readonly memory = memoryLog()
  readonly users = new SignInUsers()
  readonly secrets = createSecretStore()
  readonly teamStore = createTeamStore(parseTeam)
  readonly passwords = new PasswordHashes(this.users, this.secrets, NAMESPACE)
  readonly reports: AttemptReport[] = []
  readonly appReports: AppTokenReport[] = []
  /** Passwords that were to be checked: of whom, and whether by a browser that this person has used before. */
  readonly passwordAttempts: { readonly username: string; readonly isKnown: boolean }[] = []
  readonly teams = new Set<string>()
  /** Who signs in at the provider. */
  identity = identityOf()
  /** What the providers of the settings are, from the next settings on. */
  providers: readonly SignInProvider[] = [fakeProvider('oidc', () => this.identity)]
  keys: SealingKeys | null = sealingKeys()
  verdict: TokenVerdict = 'gateway'
  /** Whether the gateway takes keys. */
  gatewayWorks = true
  #random = 0
  readonly #stop = new AbortController()
  readonly #handler

  /** @param settings status.auth and what else the process reads */
  constructor(settings: ConfigSettings = {}) {
    this.cluster.feed('User', this.users.store)
    this.cluster.feed('Secret', this.secrets)
    this.cluster.feed('Team', this.teamStore)
    const followed = followSignInSettings({
      secrets: this.secrets,
      namespace: NAMESPACE,
      publicUrl: null,
      createProviders: () => this.providers,
      log: this.memory.log,
    })
    this.configure(settings)
    const deps = this.#parts(followed)
    this.#handler = createSignInHandler({
      deps,
      callerOf: () => Promise.resolve(this.verdict),
      reported: (report) => void this.reports.push(report),
      log: this.memory.log,
      signal: this.#stop.signal,
    })
  }

  /** Sets the settings in force. */
  configure(settings: ConfigSettings): void {
    const text = signInSecretSettings({ platformHost: 'platform.example', ...settings })
    this.secret(SIGN_IN_SETTINGS_SECRET, { config: text })
  }

  /** Writes a Secret of the sign-in namespace. */
  secret(name: string, data: Readonly<Record<string, string>>): void {
    const encoded = Object.entries(data).map(([key, text]) => [
      key,
      Buffer.from(text).toString('base64'),
    ])
    this.cluster.put({
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE } as never,
      type: 'Opaque',
      data: Object.fromEntries(encoded),
    } as never)
  }

  /** Writes a User. */
  user(username: string, spec: Partial<UserSpec> = {}): void {
    const name = objectNameFor(username)
    const { metadata, ...rest } = userObject({ metadata: { name }, spec: { username, ...spec } })
    this.cluster.put({
      ...rest,
      kind: USERS.kind,
      metadata: { ...metadata, uid: undefined as never },
    })
  }

  /** Disables a User, which stays the same object. */
  disable(username: string): void {
    const user = this.cluster.object(USERS.kind, objectNameFor(username))
    if (user === undefined) throw new Error(`there is no User ${username}`)
    const { spec } = user as { readonly spec?: object }
    this.cluster.put({ ...user, spec: { ...spec, disabled: true } } as never)
  }

  /** Writes a User whose password is PASSWORD. */
  userWithPassword(username: string, spec: Partial<UserSpec> = {}): void {
    this.secret(`password-of-${username}`, { password: `hash-1-of-${username}` })
    this.user(username, { passwordRef: { name: `password-of-${username}` }, ...spec })
  }

  /** Answers a request as the gateway passes it on. */
  async send(request: BrowserRequest): Promise<BrowserAnswer> {
    return this.sendRaw(request)
  }

  /** As send, with what a browser would not send. */
  async sendRaw({
    method,
    url,
    headers,
    body,
    gone,
  }: Pick<BrowserRequest, 'method' | 'url' | 'headers'> & {
    readonly body: string | Buffer
    readonly gone?: AbortSignal
  }): Promise<BrowserAnswer> {
    const http = {
      id: 'request-1',
      method,
      target: url.pathname + url.search,
      headers: { 'x-forwarded-for': '192.0.2.1', 'x-request-id': 'reference-1', ...headers },
      body: Readable.from(body.length === 0 ? [] : [Buffer.from(body)]),
      remoteAddress: '10.0.0.1',
      authenticated: () => undefined,
      gone: gone ?? new AbortController().signal,
    } as unknown as HttpRequest
    const answer = await this.#handler.respond(http)
    return {
      status: answer.status,
      headers: answer.headers as BrowserAnswer['headers'],
      body: Buffer.isBuffer(answer.body) ? answer.body.toString() : '',
    }
  }

  /** Opens a browser at this process; the provider's address is shown and not followed. */
  browser(): Browser {
    return openBrowser({
      send: (request) => this.send(request),
      nowMs: () => this.clock.nowMs(),
      stopsAt: ({ origin }) => origin !== PLATFORM,
    })
  }

  #parts(followed: FollowedSignInSettings): RouteParts {
    const { client } = this.cluster
    const { clock, users, passwords } = this
    const { log } = this.memory
    const gateway = {
      askAbout: (name: string, accessKey: string) =>
        Promise.resolve(this.#accepted(name, accessKey)),
      awaitKey: (name: string, accessKey: string) =>
        Promise.resolve(this.#accepted(name, accessKey)),
    }
    const teams = {
      has: (team: string) => this.teams.has(team),
      count: () => this.teams.size + this.cluster.all('Team').length,
    }
    const { secrets, appReports } = this
    const kind = appSigningKind(() => followed.current()?.settings.oidc?.enabled === true)
    const signal = this.#stop.signal
    const keeping = { client, secrets, namespace: NAMESPACE, clock, log, signal }
    return {
      apps: createAppParts({
        secrets,
        teams: this.teamStore,
        clients: followAppClients(secrets, followed),
        signingKeys: keepKeys(kind, keeping).current,
        reported: (report) => void appReports.push(report),
      }),
      state: followed.current,
      sealingKeys: () => this.keys,
      people: {
        client,
        users,
        teams,
        maxTeams: 2000,
        teamsFull: () => undefined,
        clock,
        log,
      },
      sessions: { client, namespace: NAMESPACE, gateway, clock, log },
      gateway,
      beginnings: new ProviderLimits(),
      callbacks: new ProviderLimits(),
      accounts: new AccountLimits(),
      passwordCheck: {
        verify: ({ username, password, isKnown }) => {
          this.passwordAttempts.push({ username, isKnown })
          return passwords.usable(username) !== null && password === PASSWORD
            ? Promise.resolve()
            : Promise.reject(new SignInRefused('wrong_password', 'user name or password'))
        },
      },
      passwords,
      random: (bytes) => this.random(bytes),
      clock,
    }
  }

  /** Bytes that never come twice. */
  random(bytes: number): Buffer {
    this.#random += 1
    return createHash('shake256', { outputLength: bytes }).update(String(this.#random)).digest()
  }

  #accepted(name: string, accessKey: string): { readonly endsMs: number | null } | null {
    const { key } = (this.cluster.object('OwnedAccessKey', name)?.spec ?? {}) as { key?: string }
    const digest = createHash('sha256').update(accessKey).digest('hex')
    return this.gatewayWorks && key === `sha256:${digest}`
      ? { endsMs: this.clock.nowMs() + 3_600_000 }
      : null
  }
}
