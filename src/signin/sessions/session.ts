// Sessions of people (contract 25.4): what the platform keeps of a sign-in, each in a Secret of the sign-in namespace, and the
// sealed cookie by which a browser holds its key. No session has the key itself.
import { SECRETS, SESSION_TYPE, apiVersionOf } from '../../api/names.ts'
import { type Secret, secretData, secretText } from '../../api/objects.ts'
import { fieldsOf, parseJsonMap, stringOf } from '../../domain/json/json.ts'
import type { NamedObject } from '../../kube/client/client.ts'
import { SESSION_COOKIE } from '../http/cookies.ts'
import { namesAccount } from '../people/plan.ts'
import type { WatchedUser } from '../people/sign-in-user.ts'
import type { ProviderTokens } from '../providers/provider.ts'
import { type SealingKeys, seal, unseal } from '../sealing/seal.ts'
import { type RefreshState, refreshStateIn } from './refresh-state.ts'

/** A session. */
export interface SignInSession {
  /** Name of the Secret, and of the key. */
  readonly name: string
  /** Id of the provider. */
  readonly provider: string
  /** Who it is at the provider; empty for a password. */
  readonly subject: string
  /** Name of the user. */
  readonly user: string
  /** uid of the User: another one of that name may be another person. */
  readonly userUid: string
  /** Fields of `identity` of the key. */
  readonly identity: Readonly<Record<string, unknown>>
  /** When the person signed in, in epoch milliseconds. */
  readonly madeMs: number
  /** When its key was made, in epoch milliseconds: it is made once. null = it waits for its terminal. */
  readonly takenMs: number | null
  /** uid of the key; null = not known. */
  readonly keyUid: string | null
  /** SHA-256 in hex of the password's hash; null = another provider. */
  readonly passwordDigest: string | null
  readonly tokens: ProviderTokens
  /** null = it is not refreshed: a password, or a provider that can't be asked again. */
  readonly refresh: RefreshState | null
  /** Since when its provider is not in the settings, in epoch milliseconds; null = it is. */
  readonly removedMs: number | null
  /** Since when it is over whatever its key says, in epoch milliseconds: signed out, or the person is gone; null = it is not. */
  readonly endedMs: number | null
}

/** The tokens of a person without a provider. */
export const NO_TOKENS: ProviderTokens = { refreshToken: null, accessToken: null, idToken: null }

const DATA_KEY = 'session'
const NAME = /^login-[a-z2-7]{26}$/

/** The data of the Secret. */
export const sessionData = (session: SignInSession): Readonly<Record<string, string>> =>
  secretData({ [DATA_KEY]: JSON.stringify({ ...session, name: undefined }) })

/** The Secret to create. */
export const sessionSecret = (session: SignInSession, namespace: string): NamedObject => ({
  apiVersion: apiVersionOf(SECRETS),
  kind: SECRETS.kind,
  metadata: { name: session.name, namespace },
  type: SESSION_TYPE,
  data: sessionData(session),
})

/** The session in a Secret; null = it is none, or malformed. */
export function sessionIn(secret: Secret): SignInSession | null {
  const { name } = secret.metadata
  if (secret.type !== SESSION_TYPE || !NAME.test(name)) return null
  const fields = parseJsonMap(secretText(secret, DATA_KEY) ?? '') ?? {}
  const [provider, subject, user, userUid] = ['provider', 'subject', 'user', 'userUid'].map(
    (field) => stringOf(fields[field]),
  )
  const { madeMs, keyUid, passwordDigest, identity, tokens } = fields
  if (!provider || subject === undefined || !user || !userUid || typeof madeMs !== 'number')
    return null
  const { refreshToken, accessToken, idToken, refreshEndsMs } = fieldsOf(tokens)
  return {
    name,
    provider,
    subject,
    user,
    userUid,
    identity: fieldsOf(identity),
    madeMs,
    takenMs: numberIn(fields, 'takenMs'),
    keyUid: stringOf(keyUid) ?? null,
    passwordDigest: stringOf(passwordDigest) ?? null,
    tokens: {
      refreshToken: stringOf(refreshToken) ?? null,
      accessToken: stringOf(accessToken) ?? null,
      idToken: stringOf(idToken) ?? null,
      ...(typeof refreshEndsMs === 'number' ? { refreshEndsMs } : {}),
    },
    refresh: refreshStateIn(fields['refresh']),
    removedMs: numberIn(fields, 'removedMs'),
    endedMs: numberIn(fields, 'endedMs'),
  }
}

function numberIn(fields: Readonly<Record<string, unknown>>, name: string): number | null {
  const value = fields[name]
  return typeof value === 'number' ? value : null
}

/**
 * Whether a User is the person of a session: the same object, which names the account. A password has no account.
 *
 * @param user null = there is none of that name
 */
export function isSessionOf<User extends WatchedUser>(
  { provider, subject, userUid }: Pick<SignInSession, 'provider' | 'subject' | 'userUid'>,
  user: User | null,
): user is User {
  if (user === null || user.uid !== userUid) return false
  return subject === '' || namesAccount(user, { connector: provider, subject, username: null })
}

/** What the cookie of a browser holds. The key is secret. */
interface BrowserSession {
  /** Name of the session and of its key. */
  readonly name: string
  readonly accessKey: string
  /** When the key ends, in epoch milliseconds; null = not by time. */
  readonly endsMs: number | null
}

/** The value of the cookie. */
export const sealSession = (
  session: BrowserSession,
  keys: SealingKeys,
  random: (bytes: number) => Buffer,
): string => seal(session, SESSION_COOKIE, keys, random)

/** The session in the cookies; null = there is none, or it is unreadable or over. */
export function browserSessionIn(
  cookies: ReadonlyMap<string, string>,
  keys: SealingKeys,
  nowMs: number,
): BrowserSession | null {
  const value = cookies.get(SESSION_COOKIE)
  const { name, accessKey, endsMs } = fieldsOf(
    value === undefined ? null : unseal(value, SESSION_COOKIE, keys),
  )
  if (typeof name !== 'string' || !NAME.test(name) || typeof accessKey !== 'string') return null
  if (endsMs !== null && typeof endsMs !== 'number') return null
  return endsMs === null || nowMs < endsMs ? { name, accessKey, endsMs } : null
}
