// The sessions of a person: keys of type Login, each of which is one sign-in (contract 27.2).
import { ACCESS_KEYS } from '../api/names.ts'
import { type OwnedAccessKeyObject, accessKeyOf } from '../domain/accesskey/access-key.ts'
import { findCondition } from '../domain/conditions.ts'
import { StatusError, isConflict, isNotFound, isTestFailed } from '../kube/client/api-error.ts'
import type { KubeClient } from '../kube/client/client.ts'
import { fieldSelectorValue, listPages } from '../kube/client/list.ts'

/** One session, without its secret. */
export interface Session {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Where the person signed in, in the words of whoever made the key; may be empty. */
  readonly displayName: string
  readonly creationMs: number
  /** null = never used, as far as it is recorded. */
  readonly lastActivityMs: number | null
  /** RFC 3339, as status says; undefined = never, or the operator has not written status yet. */
  readonly expires: string | undefined
  /** Whether the operator has written status. */
  readonly isObserved: boolean
  /** The reason of Ready, if that is False; else empty. */
  readonly notReadyReason: string
  readonly isDisabled: boolean
  readonly isDeleting: boolean
  /** Whether a GitOps tool would create the key again. */
  readonly isTracked: boolean
}

/** What ending one session came to. `opensNothing`: it was ended before; `gone`: it was deleted meanwhile. */
export type SessionEnd = 'deleted' | 'disabled' | 'opensNothing' | 'gone' | 'failed'

/** A session with its end. */
export interface EndedSession {
  readonly session: Session
  readonly end: SessionEnd
  /** The API server's message if the end is `failed`; else empty. */
  readonly because: string
}

/** Options of endSessions. */
interface EndSessionsDeps {
  readonly client: Pick<KubeClient, 'list' | 'patch' | 'delete'>
  /** Called for each session as soon as it has an end. */
  readonly onEnded: (ended: EndedSession) => void
}

/** A safety limit: somebody may sign in, or use a session, at each look. */
const MAX_ROUNDS = 10

/**
 * The sessions of the person with this user name, in the order of the API server.
 *
 * @throws StatusError or Error when they can't be listed
 */
export async function sessionsOf(
  { client }: { readonly client: Pick<KubeClient, 'list'> },
  username: string,
): Promise<readonly Session[]> {
  const sessions: Session[] = []
  const fieldSelector = `spec.type=Login,spec.user=${fieldSelectorValue(username)}`
  for await (const page of listPages(client, ACCESS_KEYS, { fieldSelector }))
    sessions.push(...page.map((item) => sessionOf(item as OwnedAccessKeyObject)))
  return sessions
}

function sessionOf(object: OwnedAccessKeyObject): Session {
  const key = accessKeyOf(object, () => '')
  const { observedGeneration, conditions } = key.published
  const ready = findCondition(conditions, 'Ready')
  return {
    name: key.name,
    uid: key.uid,
    resourceVersion: key.resourceVersion,
    displayName: object.spec?.displayName ?? '',
    creationMs: key.creationMs,
    lastActivityMs: key.lastActivityMs,
    expires: object.status?.expirationTimestamp,
    isObserved: observedGeneration !== undefined && ready !== undefined,
    notReadyReason: ready?.status === 'False' ? ready.reason : '',
    isDisabled: key.isDisabled,
    isDeleting: key.isDeleting,
    isTracked: key.isTracked,
  }
}

/**
 * Deletes the sessions of a person, and disables those that a GitOps tool would create again. Repeats until a look
 * finds no more, as the person may sign in meanwhile.
 *
 * @throws StatusError or Error when they can't be listed
 */
export async function endSessions(
  deps: EndSessionsDeps,
  username: string,
): Promise<readonly EndedSession[]> {
  const ended = new Map<string, EndedSession>()
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const found = (await sessionsOf(deps, username)).filter(({ uid }) => !ended.has(uid))
    if (found.length === 0) break
    for (const session of found) {
      const outcome = await end(deps, session)
      // A use of the session moves its resourceVersion: the next look has the new one.
      if (outcome === 'changed' && round < MAX_ROUNDS) continue
      const last = outcome === 'changed' ? CHANGED_EACH_TIME : outcome
      ended.set(session.uid, { session, ...last })
      deps.onEnded({ session, ...last })
    }
  }
  return [...ended.values()]
}

type EndWithReason = Pick<EndedSession, 'end' | 'because'>

const CHANGED_EACH_TIME: EndWithReason = { end: 'failed', because: 'it changed at each attempt' }

/** `changed`: the key is not as it was listed. */
async function end(deps: EndSessionsDeps, session: Session): Promise<EndWithReason | 'changed'> {
  const { isDeleting, isDisabled, isTracked } = session
  if (isDeleting || (isTracked && isDisabled)) return { end: 'opensNothing', because: '' }
  try {
    return { end: await (isTracked ? disable(deps, session) : remove(deps, session)), because: '' }
  } catch (error) {
    if (isConflict(error) || isTestFailed(error)) return 'changed'
    if (isNotFound(error)) return { end: 'gone', because: '' }
    // One failure must not keep the other sessions alive.
    if (error instanceof StatusError) return { end: 'failed', because: error.message }
    throw error
  }
}

async function remove({ client }: EndSessionsDeps, session: Session): Promise<SessionEnd> {
  await client.delete(ACCESS_KEYS, session, session, 'sessions')
  return 'deleted'
}

async function disable({ client }: EndSessionsDeps, session: Session): Promise<SessionEnd> {
  const operations = [
    { op: 'test', path: '/metadata/uid', value: session.uid },
    { op: 'add', path: '/spec/disabled', value: true },
  ] as const
  await client.patch(ACCESS_KEYS, session, operations, 'sessions')
  return 'disabled'
}
