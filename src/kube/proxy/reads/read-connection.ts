// One connection for reads by HTTP/1.1: one request at a time, without a body. The answers are read by code of our own, which takes
// less CPU than a general client.
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import type { UpstreamHeaders } from '../types.ts'
import { HEADER_VALUE } from './answer-head.ts'
import { AnswerParser } from './answer-parser.ts'

/** A read. Its headers are checked by headersToSend. */
export interface ReadCall {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: UpstreamHeaders
}

/** What a read calls back: the part of undici's handlers that concerns it. */
export type ReadHandler = Pick<
  Required<Dispatcher.DispatchHandler>,
  'onRequestStart' | 'onResponseStart' | 'onResponseData' | 'onResponseEnd' | 'onResponseError'
>

/** Callbacks for the pool. */
interface ConnectionEvents {
  /** It can serve another request. */
  readonly free: (connection: ReadConnection) => void
  readonly closed: (connection: ReadConnection) => void
  /** It had ended before its latest request came, as idle ones do together when a load balancer forgets them. */
  readonly wasStale: () => void
}

/** A path that can't be taken for more than that. */
const PATH = /^[!-~]+$/

/** What a handler controls its request by. Once that is over it does nothing: the connection then serves another one. */
class ReadController implements Dispatcher.DispatchController {
  readonly #connection: ReadConnection
  readonly #handler: ReadHandler
  #isPaused = false
  #reason: Error | null = null

  constructor(connection: ReadConnection, handler: ReadHandler) {
    this.#connection = connection
    this.#handler = handler
  }

  get aborted(): boolean {
    return this.#reason !== null
  }

  get paused(): boolean {
    return this.#isPaused
  }

  get reason(): Error | null {
    return this.#reason
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    if (this.#connection.serves(this.#handler)) this.#connection.abort(reason)
  }

  pause(): void {
    this.#isPaused = true
    if (this.#connection.serves(this.#handler)) this.#connection.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#connection.serves(this.#handler)) this.#connection.resume()
  }
}

/** A request that is under way. */
interface ReadUnderWay {
  readonly handler: ReadHandler
  readonly controller: ReadController
  isSent: boolean
}

/** An open connection. */
export class ReadConnection {
  readonly #socket: Socket
  readonly #host: string
  readonly #events: ConnectionEvents
  readonly #parser: AnswerParser
  #current: ReadUnderWay | null = null
  #isPaused = false
  #hasServed = false
  /** Whether a byte of the present answer has come. */
  #isAnswering = false
  /** Why the socket has ended while its last bytes are still to be read; null = it has not. */
  #lost: Error | null = null

  /** @param host of the server, with its port */
  constructor(socket: Socket, host: string, events: ConnectionEvents) {
    this.#socket = socket
    this.#host = host
    this.#events = events
    this.#parser = new AnswerParser({
      head: ({ status, headers }) =>
        this.#current?.handler.onResponseStart(
          this.#current.controller,
          status,
          headers as never,
          '',
        ),
      piece: (bytes) => this.#current?.handler.onResponseData(this.#current.controller, bytes),
      end: ({ keepsAlive }) => this.#end(keepsAlive),
    })
    socket.setNoDelay(true)
    socket
      .on('data', (bytes: Buffer) => {
        this.#isAnswering = true
        this.#read(() => this.#parser.feed(bytes))
      })
      .on('error', (error) => this.#failAfterRest(error))
      .once('end', () => this.#failAfterRest(new Error('the server has closed the connection')))
      .once('close', () => this.#failAfterRest(new Error('the connection is closed')))
  }

  /** Sends a request; nothing else is under way. */
  send(request: ReadCall, handler: ReadHandler): void {
    const current = { handler, controller: new ReadController(this, handler), isSent: false }
    this.#current = current
    handler.onRequestStart(current.controller, undefined)
    if (this.#current !== current) return
    const head = headOf(request, this.#host)
    if (head === null) return this.abort(UNSENDABLE)
    if (!this.#parser.isIdle) return this.#fail(new Error('bytes came without a request'))
    current.isSent = true
    this.#isAnswering = false
    this.#parser.expect(request.method === 'HEAD')
    this.#socket.write(head, 'latin1')
  }

  /** Whether the request of this handler is under way. */
  serves(handler: ReadHandler): boolean {
    return this.#current?.handler === handler
  }

  /** Ends the request that is under way. */
  abort(reason: Error): void {
    const current = this.#current
    if (current === null || current.isSent) return this.#fail(reason)
    // Nothing of it has left: the connection serves the next one.
    this.#current = null
    current.handler.onResponseError(current.controller, reason)
    if (!this.#socket.destroyed) this.#events.free(this)
  }

  /** Reads nothing further of the answer. */
  pause(): void {
    this.#isPaused = true
    this.#parser.rest()
    this.#socket.pause()
  }

  /** Reads on. */
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#read(() => this.#parser.goOn())
    if (this.#isPaused) return
    if (this.#lost === null) this.#socket.resume()
    else this.#fail(this.#lost)
  }

  /** Closes the connection, whatever is under way. */
  close(): void {
    this.#fail(new Error('the connection is closed'))
  }

  #read(read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #end(keepsAlive: boolean): void {
    const current = this.#current
    this.#current = null
    this.#hasServed = true
    current?.handler.onResponseEnd(current.controller, {})
    // More than was asked for came: it would be taken for the next answer.
    if (!keepsAlive || !this.#parser.isIdle || this.#socket.destroyed)
      return this.#fail(new Error('the connection serves no more requests'))
    // The last piece may have been enough for its reader, who has all of it.
    if (this.#isPaused) this.#socket.resume()
    this.#isPaused = false
    this.#events.free(this)
  }

  /** What arrived before the end of the socket is read before it: that may be the whole answer (contract 13.3). */
  #failAfterRest(error: Error): void {
    if (this.#hasServed && !this.#isAnswering && this.#current?.isSent === true)
      this.#events.wasStale()
    if (this.#isPaused && !this.#parser.isIdle) this.#lost ??= error
    else this.#fail(error)
  }

  #fail(error: Error): void {
    const current = this.#current
    this.#current = null
    this.#socket.destroy()
    this.#events.closed(this)
    current?.handler.onResponseError(current.controller, error)
  }
}

const UNSENDABLE = new Error('the request has a path or a header that cannot be sent')

/** The head of a request; null = it can't be sent. */
function headOf({ method, path, headers }: ReadCall, host: string): string | null {
  if (!PATH.test(path)) return null
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name of Object.keys(headers))
    for (const value of [headers[name] ?? []].flat()) {
      if (!HEADER_VALUE.test(value)) return null
      text += `${name}: ${value}\r\n`
    }
  return `${text}\r\n`
}
