// Measures how long a token is accepted, and its streams are open, after what ends it.
import { Agent } from 'node:https'
import { quantile } from '../cluster/gateway/timed-requests.ts'
import { eventually } from '../support/eventually.ts'
import type { DirectEndpoint } from './direct-cluster.ts'
import { openStreams } from './direct-streams.ts'

/** Far more than any bound. */
const GIVEN_UP_AFTER_MS = 30_000

/** What happened after the end of a token was published. */
export interface TokenEnd {
  /** Milliseconds to the last request that was accepted; 0 = none was after it. */
  readonly requestMs: number
  /** Milliseconds to the end of the last stream. */
  readonly streamMs: number
  /** What each stream ended with. */
  readonly lastWords: readonly string[]
}

/** Paths of a GET that the token's user may make, and of a list that the user may watch. */
interface AskedPaths {
  readonly asked: string
  readonly watched: string
}

/**
 * Asks and watches with a token while it ends.
 *
 * @param publish ends the token; resolves when that is published
 * @throws Error when the token was not accepted before
 */
export async function measureEnd(
  endpoint: DirectEndpoint,
  { asked, watched }: AskedPaths,
  token: string,
  publish: () => Promise<void>,
): Promise<TokenEnd> {
  const streams = await openStreams(endpoint, watched, token)
  const asking = await startAsking(endpoint.caPem, async (agent) => {
    return (await endpoint.call(asked, token, { agent })).code === 200
  })
  await publish()
  const publishedMs = Date.now()
  const lastMs = await asking.lastAcceptedMs
  const haveEnded = () => streams.every(({ hasEnded }) => hasEnded()) || undefined
  await eventually('the streams end', haveEnded, { withinMs: GIVEN_UP_AFTER_MS })
  const endsMs = await Promise.all(streams.map(({ ended }) => ended))
  return {
    requestMs: Math.max(0, lastMs - publishedMs),
    streamMs: Math.max(0, ...endsMs.map((endMs) => endMs - publishedMs)),
    lastWords: streams.map(({ lastWords }) => lastWords()),
  }
}

/** Prints the figures, and returns the longest time of all in milliseconds. */
export function printEnds(what: string, ends: readonly TokenEnd[]): number {
  const requests = ends.map(({ requestMs }) => requestMs)
  const streams = ends.map(({ streamMs }) => streamMs)
  printFigures(`${what}, ms from publication to the last accepted request`, requests)
  printFigures(`${what}, ms from publication to the end of streams`, streams)
  return Math.max(...requests, ...streams)
}

/** Prints median and maximum. */
export function printFigures(what: string, values: readonly number[]): void {
  const [p50, max] = [quantile(values, 0.5), quantile(values, 1)].map(Math.round)
  console.log(`measured: ${what}: p50 ${p50}, max ${max}`)
}

/** Requests in a row that must be refused before the last accepted one is known. */
const REFUSALS = 10

/** Requests that are sent one after the other until they are refused. */
interface Asking {
  /**
   * When the last accepted request was sent, in epoch milliseconds.
   *
   * @throws Error when requests are accepted for half a minute
   */
  readonly lastAcceptedMs: Promise<number>
}

/**
 * Asks without a pause until ten answers in a row are refusals. Resolves with the first accepted request: on a busy machine
 * what ends the credential could otherwise be faster than that.
 *
 * @param caPem of the server that is asked
 * @throws Error when no request is accepted
 */
export async function startAsking(
  caPem: string,
  isAccepted: (agent: Agent) => Promise<boolean>,
): Promise<Asking> {
  const agent = new Agent({ keepAlive: true, ca: caPem })
  const startMs = Date.now()
  let lastMs = Date.now()
  if (!(await isAccepted(agent))) throw new Error('no request is accepted')
  const ask = async (): Promise<number> => {
    try {
      for (let refused = 0; refused < REFUSALS; refused += 1) {
        const sentMs = Date.now()
        if (!(await isAccepted(agent))) continue
        lastMs = sentMs
        if (sentMs - startMs > GIVEN_UP_AFTER_MS) throw new Error('the token does not end')
        refused = -1
      }
      return lastMs
    } finally {
      agent.destroy()
    }
  }
  return { lastAcceptedMs: ask() }
}
