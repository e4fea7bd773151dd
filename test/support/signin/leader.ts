// The replica of the sign-in process that leads, on a cluster in memory with one session of ada.
import { onTestFinished } from 'vitest'
import type { Secret } from '../../../src/api/objects.ts'
import { fullObject, Store } from '../../../src/kube/informer/store.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { throttledWarnings } from '../../../src/runtime/log-throttle.ts'
import { PasswordHashes } from '../../../src/signin/people/password-hashes.ts'
import { SignInUsers } from '../../../src/signin/people/sign-in-user.ts'
import {
  sessionIn,
  sessionSecret,
  type SignInSession,
} from '../../../src/signin/sessions/session.ts'
import { sweepSessions } from '../../../src/signin/sessions/sweep.ts'
import type { SignInState } from '../../../src/signin/settings.ts'
import { manualClock } from '../manual-clock.ts'
import { memoryLog } from '../memory-log.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { NAME, START_MS, storedSession, SUBJECT } from './stored-session.ts'
import { fakeProvider, identityOf } from './world.ts'

/** The sign-in namespace. */
export const NAMESPACE = 'platform-sign-in'
/** `--removed-provider-grace`. */
export const GRACE_MS = 900_000
/** What makes the session one of a password. */
export const OF_PASSWORD = { provider: 'password', subject: '' }

/** A state whose settings have the provider of the session, unless it differs. */
export const stateWith = (differs: Partial<SignInState> = {}): SignInState => ({
  settings: {},
  publicUrl: 'https://platform.example',
  providers: new Map([['oidc', fakeProvider('oidc', () => identityOf())]]),
  hasPasswords: true,
  legal: null,
  groupFilter: () => true,
  ...differs,
})

/** The replica that leads. Its stores hear of the cluster once they are fed. */
export function leader(differs: Partial<SignInSession> = {}) {
  const cluster = new MemoryCluster()
  const clock = manualClock(START_MS)
  const { log, lines } = memoryLog()
  const users = new SignInUsers()
  const secrets = new Store(fullObject<Secret>)
  const passwords = new PasswordHashes(users, secrets, NAMESPACE)
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  cluster.put(sessionSecret(storedSession(differs), NAMESPACE) as never)
  cluster.put({ kind: 'OwnedAccessKey', metadata: { name: NAME, uid: 'uid-key' } } as never)
  /** What the settings have. */
  const around: { state: SignInState | null } = { state: stateWith() }
  const settings = { current: () => around.state, subscribe: () => undefined }
  const shared = { client: cluster.client, namespace: NAMESPACE, secrets, settings, log }
  return {
    cluster,
    clock,
    log,
    lines,
    users,
    secrets,
    passwords,
    around,
    stop,
    shared,
    /** Writes the hash of a password. */
    password: (hash: string, name = 'ada'): void =>
      void cluster.put({
        kind: 'Secret',
        metadata: { name, namespace: NAMESPACE },
        type: 'Opaque',
        data: { password: Buffer.from(hash).toString('base64') },
      } as never),
    /** Writes the User, who names the account of the session. */
    user: (spec: object = {}, groups: readonly object[] = []): void =>
      void cluster.put({
        kind: 'User',
        metadata: { name: 'ada', uid: 'uid-ada' },
        spec: { identities: [{ connector: 'oidc', subject: SUBJECT }], ...spec },
        status: { groups },
      } as never),
    /** Feeds the stores. */
    follow: (): void => {
      cluster.feed('User', users.store)
      cluster.feed('Secret', secrets)
    },
    sweeps: (swept: Clock = clock): void =>
      void sweepSessions({
        ...shared,
        users,
        passwords,
        graceMs: GRACE_MS,
        clock: swept,
        warn: throttledWarnings(swept, log),
        signal: stop.signal,
      }),
  }
}

/** The session as it is stored; null = it is gone. */
export function storedIn(cluster: MemoryCluster): SignInSession | null {
  const secret = cluster.object('Secret', NAME)
  return secret === undefined ? null : sessionIn(secret as Secret)
}
