// Sessions and their keys, written (contract 25.4). A session is made before its key, and its name lets it be made once.
import { ACCESS_KEYS, SECRETS, USERS } from '../../api/names.ts'
import type { KubeObject, Secret } from '../../api/objects.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { formatTimestamp } from '../../domain/time.ts'
import { generateKey } from '../../issuance/new-object.ts'
import { isConflict, NoResponseError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { GatewayClient } from '../gateway-client.ts'
import type { SignInUser } from '../people/sign-in-user.ts'
import { personKey } from './person-key.ts'
import { NO_TOKENS, type SignInSession, sessionData, sessionIn, sessionSecret } from './session.ts'

/** Why sessions are written, for metrics. */
export const SESSION_WRITE_REASONS = [
  'create',
  'take',
  'own',
  'end',
  'ask',
  'refresh',
  'removed',
] as const

/** Why keys are written, for metrics. */
export const LOGIN_KEY_WRITE_REASONS = ['create', 'end'] as const

/** The writer's view of the cluster. */
export interface SessionDeps {
  readonly client: KubeClient
  /** The sign-in namespace. */
  readonly namespace: string
  readonly gateway: GatewayClient
  readonly clock: Clock
  readonly log: Log
}

/** A session that is stored. */
export interface StoredSession {
  readonly session: SignInSession
  readonly secret: Secret
}

/** Stores a new session. @throws SignInRefused `replayed` when its attempt has made one already */
export async function createSession(
  session: SignInSession,
  { client, namespace }: SessionDeps,
): Promise<StoredSession> {
  try {
    const secret = await client.create<Secret>(SECRETS, sessionSecret(session, namespace), 'create')
    return { session, secret }
  } catch (error) {
    if (isConflict(error)) throw new SignInRefused('replayed', 'the attempt has made a session')
    throw error
  }
}

/** Reads a session; null = it does not exist. */
export async function readSession(
  name: string,
  { client, namespace }: Pick<SessionDeps, 'client' | 'namespace'>,
): Promise<StoredSession | null> {
  const secret = await client.get<Secret>(SECRETS, { namespace, name })
  const session = secret && sessionIn(secret)
  return secret && session ? { session, secret } : null
}

/** What changes in the life of a session. */
type SessionChanges = Partial<
  Pick<SignInSession, 'takenMs' | 'keyUid' | 'tokens' | 'refresh' | 'removedMs' | 'endedMs'>
>

type SessionWriteReason = (typeof SESSION_WRITE_REASONS)[number]

/** Changes a session. @throws StatusError 409 when another replica has changed it */
export async function updateSession(
  { session, secret }: StoredSession,
  changes: SessionChanges,
  reason: SessionWriteReason,
  { client }: Pick<SessionDeps, 'client'>,
): Promise<StoredSession> {
  const changed = { ...session, ...changes }
  const replaced = await client.replace<Secret>(
    SECRETS,
    { ...secret, data: sessionData(changed) } as Secret,
    reason,
  )
  return { session: changed, secret: replaced }
}

/** Another replica, or the garbage collector, may write the same session meanwhile. */
const MOST_TRIES = 4

/**
 * Changes a session as it is stored now.
 *
 * @param change of the session as it is; null = it stays
 * @returns null = it does not exist, or stays
 * @throws StatusError 409 when it was changed by others several times in a row
 */
export async function changeSession(
  name: string,
  change: (session: SignInSession) => SessionChanges | null,
  reason: SessionWriteReason,
  deps: Pick<SessionDeps, 'client' | 'namespace'>,
): Promise<StoredSession | null> {
  for (let tries = 1; ; tries += 1) {
    const stored = await readSession(name, deps)
    const changes = stored && change(stored.session)
    if (stored === null || changes === null) return null
    try {
      return await updateSession(stored, changes, reason, deps)
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}

/** The changes that end a session: its tokens go. */
export const endedSession = (endedMs: number): SessionChanges => ({ endedMs, tokens: NO_TOKENS })

/** A key that has been made, in clear. */
export interface MadeKey {
  readonly accessKey: string
  /** When it ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
}

/** How people see where a key is: in `kubectl get` and in lists of sessions. */
type KeyPlace = 'browser' | 'terminal'

/**
 * Makes the key of a session, and waits until the gateway takes it. The session says so before, so that it makes one key in its
 * life even if this process dies.
 *
 * @throws SignInRefused `code_refused` or `replayed` when it has made one, `key_not_made`
 */
export async function makeKey(
  stored: StoredSession,
  { user, place }: { readonly user: SignInUser; readonly place: KeyPlace },
  deps: SessionDeps,
): Promise<MadeKey> {
  const taken = await takeSession(stored, place, deps)
  const accessKey = generateKey()
  const created = await createKey(taken.session, { user, place, accessKey }, deps)
  const { uid } = created.metadata
  const recorded = updateSession(taken, { keyUid: uid }, 'take', deps).catch((err: unknown) => {
    deps.log.warn({ err, session: taken.session.name }, 'a session does not know its key')
  })
  const [accepted, isSame] = await Promise.all([
    deps.gateway.awaitKey(taken.session.name, accessKey),
    isSameUser(user, deps),
    recorded,
  ])
  if (accepted === null || !isSame) {
    await endKey(taken.session.name, deps)
    const cause = isSame
      ? 'the gateway does not take the new key'
      : 'the User cannot be found again'
    throw new SignInRefused('key_not_made', cause)
  }
  return { accessKey, endsMs: accepted.endsMs }
}

/**
 * Whether the User is still the one that signs in. Another one of that name may have been made meanwhile, for another person,
 * and the garbage collector, which ends keys of the former, takes its time.
 */
const isSameUser = (user: SignInUser, { client }: SessionDeps): Promise<boolean> =>
  client.get(USERS, { name: user.name }).then(
    (found) => found?.metadata.uid === user.uid,
    () => false,
  )

/** Why a second key is refused, by what the person began with. */
const TAKEN = { terminal: 'code_refused', browser: 'replayed' } as const

async function takeSession(
  stored: StoredSession,
  place: KeyPlace,
  deps: SessionDeps,
): Promise<StoredSession> {
  if (stored.session.takenMs !== null || stored.session.endedMs !== null)
    throw new SignInRefused(TAKEN[place], 'the session has its key')
  try {
    return await updateSession(stored, { takenMs: deps.clock.nowMs() }, 'take', deps)
  } catch (error) {
    if (isConflict(error)) throw new SignInRefused(TAKEN[place], 'another call takes the session')
    throw error
  }
}

interface NewKey {
  readonly user: SignInUser
  readonly place: KeyPlace
  readonly accessKey: string
}

async function createKey(
  session: SignInSession,
  { user, place, accessKey }: NewKey,
  deps: SessionDeps,
): Promise<KubeObject> {
  const { client, clock } = deps
  const spec = {
    type: 'Login',
    displayName: `Sign-in by ${session.provider}, ${place}`,
    identity: session.identity as JsonMap,
    // Only a key that is refreshed: it is refused when that is long ago.
    ...(session.refresh === null
      ? {}
      : { identityRefresh: formatTimestamp(session.refresh.confirmedMs) }),
  }
  const made = { name: session.name, user, spec, secret: accessKey }
  const object = personKey(made, clock.nowMs())
  try {
    return await client.create<KubeObject>(ACCESS_KEYS, object, 'create')
  } catch (error) {
    if (isConflict(error)) throw new SignInRefused(TAKEN[place], 'a key of that name exists')
    // It may have been made all the same, and then no process knows it in clear.
    if (error instanceof NoResponseError) await endKey(session.name, deps).catch(() => undefined)
    throw error
  }
}

/** Deletes the key of a session, whose name no other key has; without one nothing happens. */
export async function endKey(name: string, { client }: Pick<SessionDeps, 'client'>): Promise<void> {
  await client.delete(ACCESS_KEYS, { name }, {}, 'end')
}
