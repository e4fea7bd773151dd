// Clients that call as fast as they are told to, and remember when what was accepted.
import { Agent, get } from 'node:https'
import { type TestGateway, MANAGEMENT } from './test-gateway.ts'

/** One request. */
export interface TimedAnswer {
  /** Epoch milliseconds, before it left. */
  readonly sentMs: number
  /** 0 = no answer: `body` says why. */
  readonly code: number
  readonly body: string
}

/** Asks one gateway, over connections that are kept. */
export interface Client {
  readonly ask: (token: string, path: string) => Promise<TimedAnswer>
  readonly close: () => void
}

/** A client of that gateway; of the first one when absent. */
export function loadClientOf({ gateways, ca }: TestGateway, gateway = gateways[0]): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 256, ca })
  const url = `${gateway?.url()}${MANAGEMENT}`
  return {
    ask: (token, path) =>
      new Promise((resolve) => {
        const sentMs = Date.now()
        const headers = { authorization: `Bearer ${token}` }
        const failed = (error: Error): void => resolve({ sentMs, code: 0, body: error.message })
        const request = get(`${url}${path}`, { agent, headers }, (answer) => {
          let body = ''
          answer.setEncoding('utf8').on('data', (part: string) => (body += part))
          answer.once('error', failed)
          answer.once('end', () => resolve({ sentMs, code: answer.statusCode ?? 0, body }))
        })
        request.once('error', failed)
      }),
    close: () => agent.destroy(),
  }
}

/** The value below which that share of all lies; of few values mostly the greatest. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.ceil(sorted.length * share), sorted.length) - 1] ?? Number.NaN
}
