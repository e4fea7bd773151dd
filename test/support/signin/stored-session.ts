// A session of ada, whom an OpenID Connect provider has signed in.
import { NO_TOKENS, type SignInSession } from '../../../src/signin/sessions/session.ts'

/** When the session was made. */
export const START_MS = Date.UTC(2026, 10, 21)
/** Its name, and that of its key. */
export const NAME = `login-${'a'.repeat(26)}`
/** The account that it is of. */
export const SUBJECT = 'https://provider.example#1'

/** The session. Its key exists, and it is not refreshed, unless it differs. */
export const storedSession = (differs: Partial<SignInSession> = {}): SignInSession => ({
  name: NAME,
  provider: 'oidc',
  subject: SUBJECT,
  user: 'ada',
  userUid: 'uid-ada',
  identity: {},
  madeMs: START_MS,
  takenMs: START_MS,
  keyUid: 'uid-key',
  passwordDigest: null,
  tokens: NO_TOKENS,
  refresh: null,
  removedMs: null,
  endedMs: null,
  ...differs,
})
