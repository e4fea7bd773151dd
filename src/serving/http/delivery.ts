// How the sending of an answer ends, as its connection shows it.
import type { ServerResponse } from 'node:http'

/**
 * How the sending of an answer has ended. `complete`: all bytes were handed to the kernel. `clientGone`: the client
 * disconnected before. `clientStalled`: the client read nothing for too long. `bodyFailed`: the body broke off, or was
 * cut. `unsendable`: the answer was invalid. `shutdown`: this server closed the connection, to end.
 */
export type DeliveryEnd =
  | 'complete'
  | 'clientGone'
  | 'clientStalled'
  | 'bodyFailed'
  | 'unsendable'
  | 'shutdown'

/** Why a connection is closed, if neither its client nor the answer has closed it. */
export type ClosedBy = () => Extract<DeliveryEnd, 'clientGone' | 'clientStalled' | 'shutdown'>

/** Called once when an answer has ended, also where its client never got it. Must not throw. */
export type DeliveryListener = (end: DeliveryEnd) => void

/** The sending of one answer, which reports its end once. */
export class Delivery {
  readonly #closedBy: ClosedBy
  #ended: DeliveryListener | undefined
  #hasBodyFailed = false

  /**
   * @param ended absent = no listener
   * @param closedBy read when the connection closes before the answer is complete
   */
  constructor(ended: DeliveryListener | undefined, closedBy: ClosedBy) {
    this.#ended = ended
    this.#closedBy = closedBy
  }

  /** Reports the end once the response has closed. */
  follow(response: ServerResponse): void {
    if (this.#ended === undefined) return
    const closed = (): void => this.closed(response.writableFinished)
    if (response.closed) closed()
    else response.once('close', closed)
  }

  /** The body broke off while the connection was open: the end of the connection follows from that. */
  bodyFailed(): void {
    this.#hasBodyFailed = true
  }

  /** Call it when the connection has closed. @param isComplete whether all bytes were sent */
  closed(isComplete: boolean): void {
    if (isComplete) this.end('complete')
    else this.end(this.#hasBodyFailed ? 'bodyFailed' : this.#closedBy())
  }

  /** Reports the end; later calls do nothing. */
  end(end: DeliveryEnd): void {
    const report = this.#ended
    this.#ended = undefined
    report?.(end)
  }
}
