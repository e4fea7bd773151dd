// A server of JSON on loopback, for stand-ins of the directories of providers.
import { type IncomingMessage, type RequestListener } from 'node:http'
import { onTestFinished } from 'vitest'
import { serveOnLoopback } from '../loopback-server.ts'

/** What has been asked. */
export interface ApiRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** An answer; its body is JSON, but a text is sent as it is. */
export interface ApiAnswer {
  /** 200 if absent. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
  /** Ends the connection after so many bytes of the body. */
  readonly cutAfterBytes?: number
}

/** A running server. */
export interface JsonApi {
  readonly origin: string
  readonly requests: ApiRequest[]
}

/** Starts one, and stops it when the test ends. @param answer null = the connection stays open without an answer */
export async function startJsonApi(
  answer: (request: ApiRequest) => ApiAnswer | null | Promise<ApiAnswer>,
): Promise<JsonApi> {
  const requests: ApiRequest[] = []
  const answering: RequestListener = (message, response) => {
    void (async () => {
      const request = await requestOf(message)
      requests.push(request)
      const found = await answer(request)
      if (found === null) return
      const { status = 200, headers = {}, body, cutAfterBytes } = found
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      const lengths = { 'content-length': String(bytes.length) }
      response.writeHead(status, { 'content-type': 'application/json', ...lengths, ...headers })
      if (cutAfterBytes === undefined) response.end(bytes)
      else response.write(bytes.subarray(0, cutAfterBytes), () => response.destroy())
    })()
  }
  return { ...(await serveOnLoopback(answering, onTestFinished)), requests }
}

async function requestOf(message: IncomingMessage): Promise<ApiRequest> {
  const { method = '', url = '', headers } = message
  let body = ''
  for await (const chunk of message) body += String(chunk)
  const { pathname, searchParams } = new URL(url, 'http://api')
  return { method, path: pathname, query: searchParams, headers, body }
}
