// What every route of the sign-in process gets, and what it reports.
import type { SignInOutcome } from '../../domain/signin/outcome.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { CallbackLimits } from '../attempts/callback-limits.ts'
import type { GatewayClient } from '../gateway-client.ts'
import type { RouteAnswer } from '../http/answers.ts'
import type { SignInRequest } from '../http/request.ts'
import type { PeopleDeps } from '../people/writes.ts'
import type { SealingKeys } from '../sealing/seal.ts'
import type { SessionDeps } from '../sessions/writes.ts'
import type { SignInState } from '../settings.ts'

/** A password that a person gives. */
export interface GivenPassword {
  readonly username: string
  readonly password: string
  /** Address of the client. */
  readonly address: string
  /** Whether a person of this name has signed in with this browser before. */
  readonly isKnown: boolean
}

/** The parts that the routes share. */
export interface RouteParts {
  /** null = no settings have been seen. */
  readonly state: () => SignInState | null
  /** null = the keys have not been loaded. */
  readonly sealingKeys: () => SealingKeys | null
  readonly people: PeopleDeps
  readonly sessions: SessionDeps
  readonly gateway: GatewayClient
  readonly callbacks: CallbackLimits
  /** @throws SignInRefused `wrong_password`, `limited` */
  readonly verifyPassword: (given: GivenPassword, signal: AbortSignal) => Promise<void>
  /** SHA-256 in hex of the hash of a user's password; null = the user has none. */
  readonly passwordDigest: (username: string) => string | null
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
  /** Aborts when the process stops, or the request has taken too long. */
  readonly signal: AbortSignal
}

/** What is known of an attempt. */
export class Trace {
  provider = ''
  subject = ''
  user = ''
  /** null = the request is no attempt. */
  outcome: SignInOutcome['outcome'] | null = null
  /** Cookies that go whatever the answer is, such as the one of an attempt that is taken. */
  readonly cookies: string[] = []
}

/** Answers a request. @throws SignInRefused, HttpFault */
export type SignInRoute = (context: RouteContext) => Promise<RouteAnswer> | RouteAnswer
