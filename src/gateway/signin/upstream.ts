// Passes requests on to the sign-in process (contract 25.1). The gateway reads nothing of them but the outcome that the
// process reports: passwords and codes stream through unread.
import type { SignInOutcome } from '../../domain/signin/outcome.ts'
import { HttpsServer } from '../../kube/proxy/https-server.ts'
import { ArrivedAnswer, type UpstreamAnswer, UpstreamError } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Warn } from '../../runtime/log-throttle.ts'
import { type Answer, type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { reportedOutcome, signInAnswerHeaders } from './answer-headers.ts'
import type { Authority } from '../../serving/tls/authority.ts'
import { SIGN_IN_ERRORS } from './errors.ts'
import { Exchange, type ExchangeEnd, MOST_BYTES } from './exchange.ts'
import { MOST_UNDER_WAY, Places } from './places.ts'
import { signInRequestHeaders } from './request-headers.ts'

/** Where the process is, and how it is spoken to. */
interface SignInUpstreamOptions {
  /** Scheme, host and port. */
  readonly origin: string
  readonly authority: Authority
  /** The token of this gateway; null = there is none now. */
  readonly token: () => string | null
  readonly clock: Clock
  readonly warn: Warn
  /** A request was refused for lack of a place. */
  readonly limited: () => void
}

/** The answer to a request, with the report of the process. */
interface PassedOn {
  readonly answer: Answer
  /** null = the process reports none. */
  readonly outcome: SignInOutcome | null
}

const TOO_LARGE = refuse(SIGN_IN_ERRORS.signInTooLarge)
const CROWDED = refuse(SIGN_IN_ERRORS.signInCrowded, { limit: MOST_UNDER_WAY })
const UNUSABLE = refuse(SIGN_IN_ERRORS.signInUnusable)
const LOST = refuse(SIGN_IN_ERRORS.signInLost)

/** The answers to requests that this gateway ends before there is another. */
const ENDED: Readonly<Record<ExchangeEnd, BufferedAnswer>> = {
  late: refuse(SIGN_IN_ERRORS.signInLate),
  tooLarge: TOO_LARGE,
  crowded: CROWDED,
  gone: LOST,
}

/** The process can't be asked, or does not take this gateway. Its message is for the log. */
class SignInUnusable extends Error {
  override readonly name = 'SignInUnusable'
}

/** The sign-in process, as one gateway sees it. */
export class SignInUpstream {
  readonly #options: SignInUpstreamOptions
  readonly #places = new Places()
  #trusted: { readonly ca: string; readonly server: HttpsServer } | null = null

  constructor(options: SignInUpstreamOptions) {
    this.#options = options
  }

  /** Passes on a request to one of its routes. A request that can't be passed on is refused. */
  async pass(http: HttpRequest): Promise<PassedOn> {
    if (Number(http.headers['content-length'] ?? 0) > MOST_BYTES) return refused(TOO_LARGE)
    const exchange = new Exchange(http)
    if (!exchange.begin(this.#places, this.#options.clock)) return this.#crowded()
    try {
      const answer = await exchange.untilEnded(this.#send(exchange, http))
      return this.#passedOn(exchange, answer)
    } catch (error) {
      exchange.over()
      if (exchange.endedBy === 'crowded') return this.#crowded()
      if (exchange.endedBy !== null) return refused(ENDED[exchange.endedBy])
      return refused(this.#failed(error))
    }
  }

  /** Ends all requests. */
  async close(): Promise<void> {
    await this.#trusted?.server.close()
  }

  async #send(exchange: Exchange, http: HttpRequest): Promise<UpstreamAnswer> {
    const { authority } = this.#options
    const ca = await authority.current()
    try {
      return await this.#sendTrusting(ca, exchange, http)
    } catch (error) {
      const isUnsent = error instanceof UpstreamError && error.failure === 'unprocessed'
      if (!isUnsent || exchange.signal.aborted) throw error
      const renewed = await authority.again()
      // A body has been read in part, so that it can't be sent again.
      if (renewed === ca || exchange.body !== null) throw error
      return this.#sendTrusting(renewed, exchange, http)
    }
  }

  async #sendTrusting(
    ca: string | null,
    exchange: Exchange,
    http: HttpRequest,
  ): Promise<UpstreamAnswer> {
    const token = this.#options.token()
    if (ca === null)
      throw new SignInUnusable('the gateway has no authority to check its certificate by')
    if (token === null) throw new SignInUnusable('this gateway has no token')
    exchange.signal.throwIfAborted()
    exchange.countBody()
    const call = {
      method: http.method,
      path: http.target,
      headers: signInRequestHeaders(http),
      impersonation: null,
      body: exchange.body,
      isLongRunning: false,
      signal: exchange.signal,
    }
    return this.#serverTrusting(ca).send(call, { authorization: `Bearer ${token}` })
  }

  #serverTrusting(ca: string): HttpsServer {
    if (this.#trusted?.ca === ca) return this.#trusted.server
    void this.#trusted?.server.retire().catch(() => undefined)
    const { origin, clock } = this.#options
    this.#trusted = { ca, server: new HttpsServer({ origin, ca, clock }) }
    return this.#trusted.server
  }

  #passedOn(exchange: Exchange, upstream: UpstreamAnswer): PassedOn {
    const { status, headers } = upstream
    const fault = faultOf(upstream)
    if (fault !== null) {
      upstream.body.destroy()
      exchange.over()
      return refused(this.#failed(fault))
    }
    const body = exchange.bounded(upstream)
    const answer = { status, headers: signInAnswerHeaders(headers), body }
    return { answer, outcome: reportedOutcome(headers) }
  }

  #crowded(): PassedOn {
    this.#options.limited()
    return refused(CROWDED)
  }

  /** The refusal after a failure, which is logged. @throws the error when it is none that is expected */
  #failed(error: unknown): BufferedAnswer {
    if (!(error instanceof UpstreamError || error instanceof SignInUnusable)) throw error
    const { warn } = this.#options
    const because = reasonOf(error)
    warn(`sign-in ${because}`, { because }, 'the sign-in process cannot be used')
    const isUnsent = error instanceof SignInUnusable || error.failure === 'unprocessed'
    return isUnsent ? UNUSABLE : LOST
  }
}

const refused = (answer: BufferedAnswer): PassedOn => ({ answer, outcome: null })

/** Why an answer is not passed on; null = it is. */
function faultOf(upstream: UpstreamAnswer): SignInUnusable | UpstreamError | null {
  const refusal = REFUSALS_OF_THE_GATEWAY[upstream.status]
  if (refusal !== undefined && isEmpty(upstream)) return new SignInUnusable(refusal)
  const isTooLarge = Number(upstream.headers['content-length'] ?? 0) > MOST_BYTES
  return isTooLarge ? new UpstreamError('lost', null) : null
}

/** What the process says to the gateway, by status: without a body, as what is for a person has one. */
const REFUSALS_OF_THE_GATEWAY: Readonly<Record<number, string>> = {
  401: 'it refuses the token of this gateway',
  503: 'it cannot ask the API server about the token of this gateway',
}

/** An answer to HEAD has a length and no body. */
function isEmpty(upstream: UpstreamAnswer): boolean {
  const { 'content-length': length } = upstream.headers
  return length === undefined
    ? upstream instanceof ArrivedAnswer && upstream.bytes.length === 0
    : length === '0'
}

/** A code of Node, or a sentence of our own. The messages of others may quote what was sent. */
function reasonOf(error: SignInUnusable | UpstreamError): string {
  if (error instanceof SignInUnusable) return error.message
  const { cause, failure } = error
  return cause instanceof Error && 'code' in cause ? String(cause.code) : failure
}
