import { request } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestNode } from '../support/test-node.ts'
import type { Cluster } from './container-cluster.ts'

/** The result of polling the gateway. */
export interface PollResult {
  readonly answers: number
  /** The reason of each failed request. */
  readonly faults: readonly string[]
}

const EVERY_MS = 100
/** How old the endpoints of kube-proxy and load balancers may be. */
const ENDPOINT_DELAY_MS = 3000
/** Long, as the test does not measure latency. */
const TIMEOUT_MS = 20_000

/** The EndpointSlices of a Service. */
interface EndpointSlices {
  readonly items: readonly {
    readonly endpoints: readonly {
      readonly conditions: { readonly ready: boolean }
      readonly targetRef: { readonly name: string }
    }[]
  }[]
}

/**
 * Requests the public keys from the gateway ten times a second until `stop`, from its pods in turn: those that were
 * ready endpoints of the Service up to three seconds before.
 */
export function pollGateway(cluster: Cluster, node: TestNode): { stop(): Promise<PollResult> } {
  const stopping = new AbortController()
  const faults: string[] = []
  let answers = 0
  let names: readonly string[] = []
  let updatedMs = Number.NEGATIVE_INFINITY
  const ask = async (turn: number): Promise<void> => {
    if (performance.now() - updatedMs > ENDPOINT_DELAY_MS) {
      // Before the request: the response may be as old as this.
      const askedMs = performance.now()
      names = await readyPods(cluster)
      updatedMs = askedMs
    }
    const name = names[turn % names.length]
    if (name === undefined) throw new Error('no endpoint is ready')
    const address = node.pods().get(name)?.url(8443)
    if (!address) throw new Error(`endpoint ${name} does not run`)
    const status = await get(`https://${address}/oidc/keys`)
    if (status !== 200) throw new Error(`${name} answered ${status}`)
    answers += 1
  }
  const polling = (async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      await ask(turn).catch((error: unknown) => faults.push(String(error)))
      await delay(EVERY_MS)
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await polling
      return { answers, faults }
    },
  }
}

async function readyPods(cluster: Cluster): Promise<readonly string[]> {
  const selector = ['-l', 'kubernetes.io/service-name=gateway', '-n', 'platform-system']
  const slices = await cluster.must(['get', 'endpointslices', ...selector, '-o', 'json'])
  return (JSON.parse(slices) as EndpointSlices).items
    .flatMap(({ endpoints }) => endpoints)
    .flatMap(({ conditions, targetRef }) => (conditions.ready ? [targetRef.name] : []))
}

/** A new connection each time; another test checks the certificate. */
function get(url: string): Promise<number> {
  const options = { rejectUnauthorized: false, agent: false, timeout: TIMEOUT_MS }
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    asked.once('error', reject)
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.end()
  })
}
