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
  /** When it is given, for the documentation. */
  readonly because: string
  /** What an administrator does, for the documentation; empty = nothing. */
  readonly remedy: string
}

/** The reasons, each with its answer. */
export const SIGN_IN_REFUSALS = {
  attempt_unknown: {
    code: 400,
    text: START_AGAIN,
    because:
      'the attempt began more than ten minutes ago, in another browser, or at another provider',
    remedy:
      'nothing. If everybody gets it: does a proxy take cookies away, or did you delete Secret `platform-sign-in-keys`?',
  },
  replayed: {
    code: 400,
    text: START_AGAIN,
    because: 'the attempt has made a session already, as after a reload of the page',
    remedy: '',
  },
  code_refused: {
    code: 400,
    text: 'This code has ended or was used already. Start again',
    because: 'a terminal sent a code that is older than five minutes, used, or of another terminal',
    remedy: '',
  },
  wrong_password: {
    code: 401,
    text: 'The user name or the password is wrong',
    because: 'the name is unknown, its User is disabled or has no password, or it is another one',
    remedy: 'look at the User: `spec.disabled`, `spec.passwordRef`, and the Secret that it names',
  },
  provider_refused: {
    code: 403,
    text: 'The sign-in provider refused',
    because: 'the provider said no, by the code of OAuth that follows, such as `access_denied`',
    remedy: 'look into the log of the provider',
  },
  groups_required: {
    code: 403,
    text: 'This account is in none of the groups that may sign in here. Ask an administrator',
    because: 'the person is in none of the groups of the setting that follows',
    remedy: 'add the person to one of them there, or a group to the setting',
  },
  domain_refused: {
    code: 403,
    text: 'This account is of no organization that may sign in here. Ask an administrator',
    because: 'the account belongs to an organization that the settings do not name',
    remedy: 'change the setting that follows',
  },
  too_many_groups: {
    code: 403,
    text: 'too many groups: set groupsFilters. Ask an administrator',
    because: 'more than 200 groups are left after `auth.groupsFilters`',
    remedy: 'set `auth.groupsFilters` so that they match the groups that you need',
  },
  name_missing: {
    code: 403,
    text: ACCOUNT_UNUSABLE,
    because: 'the provider gave no user name',
    remedy: 'set the claim that has it, or have the provider send it',
  },
  name_refused: {
    code: 403,
    text: ACCOUNT_UNUSABLE,
    because:
      'the user name has characters that no User may have, or is an e-mail that is not verified',
    remedy: 'change the name there, or choose another claim',
  },
  name_taken: {
    code: 403,
    text: ACCOUNT_UNUSABLE,
    because: 'a User has the name and does not name this account, or two Users name it',
    remedy:
      'is it the same person? Then add the provider to `spec.identities` of the User, without a subject: the next sign-in claims it',
  },
  user_unknown: {
    code: 403,
    text: ACCOUNT_UNUSABLE,
    because: 'the person has no User, and `auth.disableUserCreation` is set',
    remedy: 'make a User with the name and the provider in `spec.identities`',
  },
  user_disabled: {
    code: 403,
    text: ACCOUNT_UNUSABLE,
    because: 'the User is disabled or being deleted',
    remedy: 'remove `spec.disabled` of the User, if the person may enter',
  },
  cross_origin: {
    code: 403,
    text: 'This request came from another site',
    because: 'header `Origin` is not the address of the platform',
    remedy: 'people use another address than `https://<platformHost>`: lead them there',
  },
  limited: {
    code: 429,
    text: 'Too many attempts. Wait a while and try again',
    because:
      'passwords, sign-ins of one account, or those under way at one provider, are beyond their limits; `Retry-After` says how long',
    remedy: 'see who tries: the log has the addresses',
  },
  provider_unreachable: {
    code: 502,
    text: PROVIDER_FAULT,
    because: 'no connection to the provider, no answer in ten seconds, or a 5xx',
    remedy: '`SignInReady` of the Config says why',
  },
  provider_answer: {
    code: 502,
    text: PROVIDER_FAULT,
    because: 'an answer of the provider does not verify',
    remedy: 'the log says what; look at `issuerUrl`, `clientId` and the clocks',
  },
  groups_unreadable: {
    code: 502,
    text: PROVIDER_FAULT,
    because: 'the groups of the person could not be read, or are more than 5,000',
    remedy: 'have the provider send fewer groups',
  },
  provider_unusable: {
    code: 503,
    text: 'This way to sign in is not set up correctly. Ask an administrator',
    because: 'the settings of the provider cannot work',
    remedy: '`SignInReady` of the Config says which',
  },
  key_not_made: {
    code: 503,
    text: 'The platform does not work right now. Try again in a minute',
    because: 'the API server or the gateway did not answer, or did not take the new key',
    remedy:
      'the log line has the error; look at [the gateway](../troubleshooting.md#what-the-gateway-says)',
  },
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

/** A provider takes a code or token no more: it was withdrawn or used, or the person is gone there (contract 25.7). */
export class GrantEnded extends SignInRefused {
  /** @param because as of SignInRefused */
  constructor(because: string) {
    super('provider_refused', because, { detail: 'invalid_grant' })
  }
}
