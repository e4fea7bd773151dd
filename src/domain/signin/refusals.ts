// Why a sign-in is refused: the closed list of reasons (contract 25.5). Each has the code of its answer, and a text that says
// what a person can do, never what an attacker learns.

/** The one text of every refusal that would tell something about an account. */
const ACCOUNT_UNUSABLE = "This account can't be used here. Ask an administrator"
const START_AGAIN = 'This sign-in has ended or was used already. Start again'
const PROVIDER_FAULT = 'The sign-in provider does not work right now. Try again in a minute'

/** A row of the list. */
interface RefusalRow {
  /** HTTP status code. */
  readonly code: number
  /** For the person; the answer adds the ID of the request as the reference. */
  readonly text: string
}

/** The reasons, each with its answer. */
export const SIGN_IN_REFUSALS = {
  attempt_unknown: { code: 400, text: START_AGAIN },
  replayed: { code: 400, text: START_AGAIN },
  code_refused: { code: 400, text: 'This code has ended or was used already. Start again' },
  wrong_password: { code: 401, text: 'The user name or the password is wrong' },
  provider_refused: { code: 403, text: 'The sign-in provider refused' },
  groups_required: {
    code: 403,
    text: 'This account is in none of the groups that may sign in here. Ask an administrator',
  },
  domain_refused: {
    code: 403,
    text: 'This account is of no organization that may sign in here. Ask an administrator',
  },
  too_many_groups: { code: 403, text: 'too many groups: set groupsFilters. Ask an administrator' },
  name_missing: { code: 403, text: ACCOUNT_UNUSABLE },
  name_refused: { code: 403, text: ACCOUNT_UNUSABLE },
  name_taken: { code: 403, text: ACCOUNT_UNUSABLE },
  user_unknown: { code: 403, text: ACCOUNT_UNUSABLE },
  user_disabled: { code: 403, text: ACCOUNT_UNUSABLE },
  cross_origin: { code: 403, text: 'This request came from another site' },
  limited: { code: 429, text: 'Too many attempts. Wait a while and try again' },
  provider_unreachable: { code: 502, text: PROVIDER_FAULT },
  provider_answer: { code: 502, text: PROVIDER_FAULT },
  groups_unreadable: { code: 502, text: PROVIDER_FAULT },
  provider_unusable: {
    code: 503,
    text: 'This way to sign in is not set up correctly. Ask an administrator',
  },
  key_not_made: { code: 503, text: 'The platform does not work right now. Try again in a minute' },
} as const satisfies Readonly<Record<string, RefusalRow>>

/** A reason of the list. */
export type SignInReason = keyof typeof SIGN_IN_REFUSALS

/** A sign-in is refused. Its message is for the log and has no secret and no text of a peer. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused'

  readonly reason: SignInReason
  /** For administrators: what was wrong, such as `nonce of the ID token`; it quotes no value of a peer. */
  readonly because: string
  /** A setting or an error code of a provider that the person may see, such as `access_denied`; null = none. */
  readonly detail: string | null
  /** When an attempt makes sense again, in seconds; only of `limited`. */
  readonly retryAfterSeconds: number | null

  constructor(
    reason: SignInReason,
    because: string,
    {
      detail = null,
      retryAfterSeconds = null,
    }: { readonly detail?: string | null; readonly retryAfterSeconds?: number | null } = {},
  ) {
    super(`${reason}: ${because}`)
    this.reason = reason
    this.because = because
    this.detail = detail
    this.retryAfterSeconds = retryAfterSeconds
  }
}
