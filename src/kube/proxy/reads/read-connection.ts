// One connection for reads by HTTP/1.1: one request at a time, without a body. The answers are read by code of our own, which takes
// a third of the CPU of a general client.
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import type { UpstreamHeaders } from '../types.ts'
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
}

/** A path and the value of a header that can't be taken for more than they are. */
const PATH = /^[!-~]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** An open connection. */
export class ReadConnection implements Dispatcher.DispatchController {
  readonly #socket: Socket
  readonly #host: string
  readonly #events: ConnectionEvents
  readonly #parser: AnswerParser
  #handler: ReadHandler | null = null
  #isPaused = false
  /** Whether the request that is under way has been sent. */
  #isSent = false
  #reason: Error | null = null

  /** @param host of the server, with its port */
  constructor(socket: Socket, host: string, events: ConnectionEvents) {
    this.#socket = socket
    this.#host = host
    this.#events = events
    this.#parser = new AnswerParser({
      head: ({ status, headers }) =>
        this.#handler?.onResponseStart(this, status, headers as never, ''),
      piece: (bytes) => this.#handler?.onResponseData(this, bytes),
      end: ({ keepsAlive }) => this.#end(keepsAlive),
    })
    socket.setNoDelay(true)
    socket
      .on('data', (bytes: Buffer) => this.#read(() => this.#parser.feed(bytes)))
      .on('error', (error) => this.#fail(error))
      .once('end', () => this.#fail(new Error('the server has closed the connection')))
      .once('close', () => this.#fail(new Error('the connection is closed')))
  }

  /** Sends a request; nothing else is under way. */
  send(request: ReadCall, handler: ReadHandler): void {
    this.#handler = handler
    this.#isPaused = false
    this.#isSent = false
    this.#reason = null
    handler.onRequestStart(this, undefined)
    if (this.#handler !== handler) return
    const head = headOf(request, this.#host)
    if (head === null) {
      this.abort(new Error('the request has a path or a header that cannot be sent'))
      return
    }
    this.#isSent = true
    this.#parser.expect(request.method === 'HEAD')
    this.#socket.write(head, 'latin1')
  }

  /** Closes the connection, whatever is under way. */
  close(): void {
    this.#fail(new Error('the connection is closed'))
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
    this.#reason = reason
    if (this.#isSent) return this.#fail(reason)
    // Nothing of it has left: the connection serves the next one.
    const handler = this.#handler
    this.#handler = null
    handler?.onResponseError(this, reason)
    if (!this.#socket.destroyed) this.#events.free(this)
  }

  pause(): void {
    this.#isPaused = true
    this.#parser.rest()
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#read(() => this.#parser.goOn())
    if (!this.#isPaused) this.#socket.resume()
  }

  #read(read: () => void): void {
    try {
      read()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #end(keepsAlive: boolean): void {
    const handler = this.#handler
    this.#handler = null
    handler?.onResponseEnd(this, {})
    // More than was asked for came: it would be taken for the next answer.
    if (keepsAlive && this.#parser.isIdle && !this.#socket.destroyed) this.#events.free(this)
    else this.#fail(new Error('the connection serves no more requests'))
  }

  #fail(error: Error): void {
    const handler = this.#handler
    this.#handler = null
    this.#socket.destroy()
    this.#events.closed(this)
    handler?.onResponseError(this, error)
  }
}

/** The head of a request; null = it can't be sent. */
function headOf({ method, path, headers }: ReadCall, host: string): string | null {
  if (!PATH.test(path)) return null
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name of Object.keys(headers))
    for (const value of [headers[name] ?? []].flat()) {
      if (!VALUE.test(value)) return null
      text += `${name}: ${value}\r\n`
    }
  return `${text}\r\n`
}
