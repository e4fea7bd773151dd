// Watches through a direct endpoint, and how they end.
import { get } from 'node:https'
import { Agent, WebSocket } from 'undici'
import type { DirectEndpoint } from './direct-cluster.ts'

/** A watch that is open until the endpoint ends it. */
export interface DirectStream {
  /** Resolves with the time of its end, in epoch milliseconds. */
  readonly ended: Promise<number>
  readonly hasEnded: () => boolean
  /** All events so far, as text. */
  readonly received: () => string
  /** What the endpoint said at its end: the last event, or code and reason of the close frame. */
  readonly lastWords: () => string
}

type Opening = (endpoint: DirectEndpoint, path: string, token: string) => Promise<DirectStream>

/** Opens a watch. @throws Error when it is refused */
const openWatch: Opening = ({ process, caPem }, path, token) => {
  const { stream, end, state } = newStream()
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const options = { ca: caPem, headers, agent: false } as const
    const sent = get(`${process.url()}${path}?watch=1`, options, (answer) => {
      answer.setEncoding('utf8').on('data', (text: string) => {
        state.received += text
        state.lastWords = state.received.trimEnd().split('\n').at(-1) ?? ''
      })
      answer.on('error', () => undefined).once('close', end)
      if (answer.statusCode === 200) resolve(stream)
      else reject(new Error(`a watch is answered ${answer.statusCode}`))
    })
    sent.once('error', reject)
  })
}

/** The same over a WebSocket: an upgrade, as exec is. */
const openSocket: Opening = ({ process, caPem }, path, token) => {
  const { stream, end, state } = newStream()
  const dispatcher = new Agent({ connect: { ca: caPem } })
  // As browsers send it: the API server demands it.
  const headers = { origin: 'https://console.example.com', authorization: `Bearer ${token}` }
  const url = `${process.url().replace(/^https/, 'wss')}${path}?watch=1`
  const socket = new WebSocket(url, { dispatcher, headers })
  socket.addEventListener('message', ({ data }) => (state.received += String(data)))
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve(stream))
    socket.addEventListener('error', () => reject(new Error('a WebSocket is refused')))
    socket.addEventListener('close', ({ code, reason }) => {
      state.lastWords = `${code} ${reason}`
      end()
      void dispatcher.destroy()
    })
  })
}

/** The kinds of streams. */
const OPENINGS: readonly Opening[] = [openWatch, openSocket]

/** Opens one stream of each kind. @throws Error when one is refused */
export const openStreams = (
  endpoint: DirectEndpoint,
  path: string,
  token: string,
): Promise<readonly DirectStream[]> =>
  Promise.all(OPENINGS.map((open) => open(endpoint, path, token)))

function newStream() {
  const state = { received: '', lastWords: '', hasEnded: false }
  const { promise: ended, resolve } = Promise.withResolvers<number>()
  const stream: DirectStream = {
    ended,
    hasEnded: () => state.hasEnded,
    received: () => state.received,
    lastWords: () => state.lastWords,
  }
  const end = (): void => {
    state.hasEnded = true
    resolve(Date.now())
  }
  return { stream, end, state }
}
