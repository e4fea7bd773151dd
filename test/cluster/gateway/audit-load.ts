// Requests for tests of the audit log under load: what was answered, and what the files and the API server have of it.
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { type GatewayAnswer, type OwnGateway, ask } from '../../support/gateway-process.ts'
import { MANAGEMENT } from './test-gateway.ts'

/** An answer that a client has. */
export interface AnsweredRequest {
  readonly auditID: string
  readonly method: string
  readonly code: number
}

/** An event as a line has it, as far as tests under load look. */
export interface LoadEvent {
  readonly auditID: string
  readonly stage: string
  readonly level: string
  readonly requestObject?: unknown
  readonly responseObject?: unknown
  readonly annotations?: Readonly<Record<string, string>>
}

/** Keeps clients asking until it is stopped. */
export interface AuditLoad {
  /** Those whose answers have arrived. */
  readonly answered: AnsweredRequest[]
  /** The answers without the ID of a record. */
  readonly unrecorded: GatewayAnswer[]
  /** Waits for the requests under way. */
  readonly stop: () => Promise<void>
}

const CLIENTS = 8
const NAMESPACE = '/api/v1/namespaces/shop'

/** Starts clients that get and create by turns. A connection that breaks counts as no answer. @param prefix of created names */
export function startAuditLoad(
  gateway: OwnGateway,
  { ca, token, prefix }: { readonly ca: string; readonly token: string; readonly prefix: string },
): AuditLoad {
  const answered: AnsweredRequest[] = []
  const unrecorded: GatewayAnswer[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS, ca })
  const stopped = new AbortController()
  let made = 0
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = (method: string, path: string, body?: string): Promise<GatewayAnswer> =>
    ask(`${gateway.url()}${MANAGEMENT}${path}`, {
      ca,
      agent,
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
  const client = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const method = (made += 1) % 2 === 0 ? 'GET' : 'POST'
      const object = { metadata: { name: `${prefix}-${made}` }, data: { n: String(made) } }
      const sent =
        method === 'GET'
          ? send(method, NAMESPACE)
          : send(method, `${NAMESPACE}/configmaps`, JSON.stringify(object))
      const answer = await sent.catch(() => null)
      if (answer === null) continue
      const id = answer.headers['audit-id']
      if (typeof id === 'string') answered.push({ auditID: id, method, code: answer.code })
      else unrecorded.push(answer)
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  return {
    answered,
    unrecorded,
    stop: async () => {
      stopped.abort()
      await Promise.all(clients)
      agent.destroy()
    },
  }
}

/** All events of the files in these folders. @throws SyntaxError for a torn line */
export const eventsIn = (...folders: readonly string[]): readonly LoadEvent[] =>
  folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^audit.*\.log$/.test(name))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LoadEvent),
  )

/** How many ResponseComplete events each request has. */
export function completed(events: readonly LoadEvent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { auditID, stage } of events)
    if (stage === 'ResponseComplete') counts.set(auditID, (counts.get(auditID) ?? 0) + 1)
  return counts
}
