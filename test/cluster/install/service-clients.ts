// Clients of Service gateway, as kube-proxy spreads them: a new connection goes to a pod that was ready a moment ago, one
// that is kept goes on to its pod, and a request that no byte was answered to on a kept one is sent again, as Go does.
import { Agent, request } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { eventuallyPasses } from '../../support/eventually.ts'
import type { Raw } from '../../support/raw-client.ts'
import type { TestNode } from '../../support/test-node.ts'

/** Where the Service is, and what its clients ask for. */
export interface ServiceClients {
  readonly raw: Raw
  readonly node: Pick<TestNode, 'pods'>
  readonly namespace: string
  /** The authority of the gateways' certificate, PEM. */
  readonly ca: string
  /** The keys, used in turn. */
  readonly keys: readonly string[]
  readonly perSecond: number
}

/** What was asked and what failed. */
export interface ServiceResult {
  readonly answers: number
  /** Requests by the pod that answered. */
  readonly byPod: Readonly<Record<string, number>>
  /** Requests that were sent again, as their kept connection had been closed. */
  readonly repeated: number
  /** The reason of each failed request. */
  readonly faults: readonly string[]
}

/** Load that runs until `stop`. */
export interface RunningLoad {
  /** Waits until so many more requests are answered. */
  answered(count: number): Promise<void>
  stop(): Promise<ServiceResult>
}

interface EndpointSlices {
  readonly items: readonly {
    readonly endpoints:
      | readonly {
          readonly conditions: { readonly ready: boolean }
          readonly targetRef: { readonly name: string }
        }[]
      | null
  }[]
}

/** How old the endpoints of kube-proxy and load balancers may be; a gateway waits 5 s before it ends. */
const ENDPOINTS_EVERY_MS = 2000
/** Long, as the test does not measure latency. */
const TIMEOUT_MS = 20_000
const PATH = '/kubernetes/management/version'
/** Clients that keep their connection; as many requests come on new ones. */
const KEEPING = 5

/** Sends requests at this rate until `stop`: half of them on new connections, half on kept ones. */
export function startLoad(options: ServiceClients): RunningLoad {
  const stopping = new AbortController()
  const tally = { answers: 0, repeated: 0, byPod: {} as Record<string, number> }
  const faults: string[] = []
  const endpoints = readyEndpoints(options, stopping.signal)
  const keeping = Array.from({ length: KEEPING }, () => keepingClient())
  const open = new Set<Promise<void>>()
  const ask = async (turn: number): Promise<void> => {
    const names = await endpoints
    const authorization = `Bearer ${options.keys[turn % options.keys.length]}`
    const client = turn % 2 === 0 ? newConnections : keeping[turn % KEEPING]
    const asked = { ca: options.ca, headers: { authorization } }
    const { pod, repeated } = await (client ?? newConnections).ask(asked, () =>
      podOf(options.node, names.current(), Math.floor(turn / 2)),
    )
    tally.answers += 1
    tally.byPod[pod] = (tally.byPod[pod] ?? 0) + 1
    if (repeated) tally.repeated += 1
  }
  const sending = (async () => {
    const startMs = performance.now()
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const asking = ask(turn).catch((error: unknown) => void faults.push(String(error)))
      open.add(asking)
      void asking.finally(() => open.delete(asking))
      await delay(Math.max(startMs + (turn * 1000) / options.perSecond - performance.now(), 0))
    }
  })()
  return {
    answered: (count) => {
      const goal = tally.answers + count
      return eventuallyPasses(
        `${count} more requests are answered`,
        () => {
          if (tally.answers < goal)
            throw new Error(`${tally.answers} of ${goal}; ${faults.slice(-3).join('; ')}`)
        },
        { withinMs: 60_000 },
      )
    },
    stop: async () => {
      stopping.abort()
      await sending
      await Promise.all(open)
      for (const client of keeping) client.close()
      return { ...tally, faults }
    },
  }
}

interface Endpoints {
  current(): readonly string[]
}

/** The ready pods of the Service, read every two seconds. */
async function readyEndpoints(
  { raw, namespace }: ServiceClients,
  signal: AbortSignal,
): Promise<Endpoints> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dgateway`
  const read = async (): Promise<readonly string[]> =>
    (await raw<EndpointSlices>('GET', path)).body.items
      .flatMap(({ endpoints }) => endpoints ?? [])
      .flatMap(({ conditions, targetRef }) => (conditions.ready ? [targetRef.name] : []))
  let names = await read()
  void (async () => {
    while (!signal.aborted) {
      await delay(ENDPOINTS_EVERY_MS, undefined, { signal }).catch(() => undefined)
      names = await read().catch(() => names)
    }
  })()
  return { current: () => names }
}

interface Target {
  readonly pod: string
  readonly url: string
}

function podOf(node: Pick<TestNode, 'pods'>, names: readonly string[], turn: number): Target {
  const pod = names[turn % names.length]
  if (pod === undefined) throw new Error('no endpoint is ready')
  const address = node.pods().get(pod)?.url(8443)
  if (!address) throw new Error(`endpoint ${pod} does not run`)
  return { pod, url: `https://${address}` }
}

interface Asked {
  readonly ca: string
  readonly headers: Readonly<Record<string, string>>
}

interface Answered {
  readonly pod: string
  /** Whether the request was sent twice. */
  readonly repeated: boolean
}

interface Client {
  ask(asked: Asked, choose: () => Target): Promise<Answered>
}

const newConnections: Client = {
  ask: async (asked, choose) => {
    const target = choose()
    await get(target, asked, false)
    return { pod: target.pod, repeated: false }
  },
}

/** A client with one connection: it stays with its pod until that closes the connection. */
function keepingClient(): Client & { close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let target: Target | null = null
  let turn: Promise<unknown> = Promise.resolve()
  const once = async (asked: Asked, choose: () => Target): Promise<Answered> => {
    let repeated = false
    for (;;) {
      const isKept = target !== null && Object.keys(agent.freeSockets).length > 0
      target = isKept && target !== null ? target : choose()
      const { pod } = target
      try {
        const isClosing = await get(target, asked, agent)
        if (isClosing) target = null
        return { pod, repeated }
      } catch (error) {
        target = null
        if (!isKept || repeated || !isReset(error)) throw error
        repeated = true
      }
    }
  }
  return {
    ask: (asked, choose) => {
      const answered = turn.then(() => once(asked, choose))
      turn = answered.catch(() => undefined)
      return answered
    },
    close: () => agent.destroy(),
  }
}

/** A kept connection that the server closed before it read the request. */
const isReset = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET'

/** One request; whether the server closes the connection. @throws Error for any answer but 200 */
function get({ pod, url }: Target, asked: Asked, agent: Agent | false): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${PATH}`,
      { ...asked, agent, timeout: TIMEOUT_MS },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.once('error', reject)
        answer.once('end', () => {
          if (answer.statusCode === 200 && text.includes('"gitVersion"'))
            resolve(answer.headers.connection === 'close')
          else reject(new Error(`${pod} answered ${answer.statusCode}: ${text}`))
        })
      },
    )
    outgoing.once('error', reject)
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${pod}: no answer in time`)))
    outgoing.end()
  })
}
