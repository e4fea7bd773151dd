// What every route of the sign-in process gets, and what it reports.
import type { SignInOutcome } from '../../domain/signin/outcome.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { AppParts } from '../apps/parts.ts'
import type { AccountLimits } from '../attempts/account-limits.ts'
import { type Destination, NOWHERE } from '../attempts/destination.ts'
import type { ProviderLimits } from '../attempts/provider-limits.ts'
import type { GatewayClient } from '../gateway-client.ts'
import type { RouteAnswer } from '../answers.ts'
import type { SignInRequest } from '../http/request.ts'
import type { PasswordCheck } from '../password/check.ts'
import type { PasswordHashes } from '../people/password-hashes.ts'
import type { PeopleDeps } from '../people/writes.ts'
import type { SealingKeys } from '../sealing/seal.ts'
import type { SignInSession } from '../sessions/session.ts'
import type { SessionDeps } from '../sessions/writes.ts'
import type { SignInState } from '../settings.ts'

/** The parts that the routes share. */
export interface RouteParts {
  /** null = no settings have been seen. */
  readonly state: () => SignInState | null
  /** null = the keys have not been loaded. */
  readonly sealingKeys: () => SealingKeys | null
  readonly people: PeopleDeps
  readonly sessions: SessionDeps
  readonly gateway: GatewayClient
  /** Attempts that wait for their provider's discovery. */
  readonly beginnings: ProviderLimits
  readonly callbacks: ProviderLimits
  readonly accounts: AccountLimits
  readonly passwordCheck: PasswordCheck
  readonly passwords: PasswordHashes
  readonly apps: AppParts
  readonly random: (bytes: number) => Buffer
  readonly clock: Clock
}

/** A request with the settings of its time. */
export interface RouteContext {
  readonly request: SignInRequest
  readonly state: SignInState
  readonly keys: SealingKeys
  readonly deps: RouteParts
  /** Filled on the way, for log and metrics; also of a refusal. */
  readonly trace: Trace
  /** Aborts when the process stops, the client leaves, or the request has taken too long. */
  readonly signal: AbortSignal
}

/** What has been learned of an attempt. */
export class Trace {
  provider = ''
  subject = ''
  user = ''
  /** null = the request was not an attempt. */
  outcome: SignInOutcome['outcome'] | null = null
  /** Where the attempt leads: who is refused starts again for the same. */
  destination: Destination = NOWHERE
  /** Cookies that go whatever the answer is, such as one that clears an attempt. */
  readonly cookies: string[] = []

  /** Whose session it is about; undefined = it does not exist. */
  of(session: Pick<SignInSession, 'provider' | 'subject' | 'user'> | undefined): void {
    this.provider = session?.provider ?? ''
    this.subject = session?.subject ?? ''
    this.user = session?.user ?? ''
  }
}

/** Answers a request. @throws SignInRefused, HttpFault */
export type SignInRoute = (context: RouteContext) => Promise<RouteAnswer> | RouteAnswer
