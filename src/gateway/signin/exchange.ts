// The bounds of a request that is passed on to the sign-in process, from its head to the end of its answer (contract 25.1).
import type { Readable } from 'node:stream'
import { ArrivedAnswer, type UpstreamAnswer } from '../../kube/proxy/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, BodyCut } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { hasBody } from '../proxy/forward.ts'
import { PassedBody } from '../streams/passed-body.ts'
import type { SignInPlace, Places } from './places.ts'

/** Maximum bytes of the body of a request, and of an answer. */
export const MOST_BYTES = 1024 ** 2

/** Time from the head of the request to the end of the answer, in milliseconds. */
const WITHIN_MS = 30_000

/**
 * Why this gateway ends a request. `late`: its time is over. `tooLarge`: its body has more than MOST_BYTES. `crowded`: it
 * gives way to another. `gone`: its client has disconnected.
 */
export type ExchangeEnd = 'late' | 'tooLarge' | 'crowded' | 'gone'

/** One request that is passed on. */
export class Exchange {
  /** The body to send; null = none. It may be destroyed, but only the server of the client may destroy it. */
  readonly body: Readable | null
  readonly #http: Pick<HttpRequest, 'body' | 'gone'>
  readonly #ended = new AbortController()
  #endedBy: ExchangeEnd | null = null
  #place: SignInPlace | null = null
  #stopTimer = (): void => undefined
  #sentBytes = 0
  readonly #gone = (): void => this.#end('gone')
  readonly #count = (piece: Buffer): void => {
    this.#sentBytes += piece.length
    if (this.#sentBytes > MOST_BYTES) this.#end('tooLarge')
  }
  readonly #bodyArrived = (): void => this.#place?.bodyArrived()

  constructor(http: Pick<HttpRequest, 'body' | 'gone' | 'headers'>) {
    this.#http = http
    this.body = hasBody(http) ? http.body : null
  }

  /** Aborts when this gateway ends the request. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** null = this gateway has not ended it. */
  get endedBy(): ExchangeEnd | null {
    return this.#endedBy
  }

  /** Takes a place, and starts the time. @returns false = there is no place */
  begin(places: Places, clock: Clock): boolean {
    this.#place = places.take(this.body === null ? null : () => this.#end('crowded'))
    if (this.#place === null) return false
    this.#stopTimer = clock.schedule(WITHIN_MS, () => this.#end('late'))
    const { gone } = this.#http
    if (gone.aborted) this.#gone()
    else gone.addEventListener('abort', this.#gone, { once: true })
    return true
  }

  /** Counts the body from now on. To be called in the turn in which the body begins to be read: listening starts it. */
  countBody(): void {
    this.body?.on('data', this.#count).once('end', this.#bodyArrived)
  }

  /** The result, or a rejection once this gateway has ended the request: a connection that is being opened ends later. */
  untilEnded<Result>(result: Promise<Result>): Promise<Result> {
    const { promise, reject } = Promise.withResolvers<never>()
    const end = (): void => reject(new Error('the request was ended'))
    if (this.signal.aborted) end()
    else this.signal.addEventListener('abort', end, { once: true })
    return Promise.race([result, promise])
  }

  /** The body of the answer, within the bounds; once it has arrived, the request is over. */
  bounded(upstream: UpstreamAnswer): Answer['body'] {
    // Without any byte, the length in the head may be another one, as for HEAD.
    if (!(upstream instanceof ArrivedAnswer) || upstream.bytes.length === 0)
      return new BoundedBody(upstream.body, () => this.over())
    this.over()
    return upstream.bytes
  }

  /** Gives back the place: nothing more happens to the request. */
  over(): void {
    this.#place?.release()
    this.#stopTimer()
    this.#http.gone.removeEventListener('abort', this.#gone)
    this.body?.off('data', this.#count).off('end', this.#bodyArrived)
  }

  #end(reason: ExchangeEnd): void {
    this.#endedBy ??= reason
    this.over()
    this.#ended.abort(new Error('the request was ended'))
  }
}

/** The same body, cut at MOST_BYTES. */
class BoundedBody extends PassedBody {
  readonly #over: () => void
  #leftBytes = MOST_BYTES

  constructor(source: Readable, over: () => void) {
    super(source)
    this.#over = over
    this.endWithSource()
  }

  protected override pass(piece: Buffer): boolean {
    this.#leftBytes -= piece.length
    if (this.#leftBytes >= 0) return this.push(piece)
    this.destroy(new BodyCut('the answer has too many bytes'))
    return false
  }

  protected override arrived(): void {
    this.#over()
    this.push(null)
  }

  protected override brokeOff(): void {
    this.#over()
  }
}
