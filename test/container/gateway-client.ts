import { request } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './container-cluster.ts'
import type { TestNode } from './test-node.ts'

/** What came of asking the gateway again and again. */
export interface Asked {
  readonly answers: number
  /** Why there was no answer, when there was none. */
  readonly faults: readonly string[]
}

const EVERY_MS = 100
/** How far what sends requests may be behind: kube-proxy and load balancers learn of endpoints late. */
const BEHIND_MS = 3000
/** Whether an answer comes is the question, not how soon. */
const TIMEOUT_MS = 20_000

/** How a Service sees its pods. */
interface EndpointSlices {
  readonly items: readonly {
    readonly endpoints: readonly {
      readonly conditions: { readonly ready: boolean }
      readonly targetRef: { readonly name: string }
    }[]
  }[]
}

/**
 * Asks the gateway for its public keys ten times a second until `stop`, each time another of the pods that
 * its Service had as ready endpoints up to three seconds before.
 */
export function askTheGateway(cluster: Cluster, node: TestNode): { stop(): Promise<Asked> } {
  const stopping = new AbortController()
  const faults: string[] = []
  let answers = 0
  let names: readonly string[] = []
  let learnedMs = Number.NEGATIVE_INFINITY
  const ask = async (turn: number): Promise<void> => {
    if (performance.now() - learnedMs > BEHIND_MS) {
      // Before the question: what comes back may be as old as that.
      const askedMs = performance.now()
      names = await readyPods(cluster)
      learnedMs = askedMs
    }
    const name = names[turn % names.length]
    if (name === undefined) throw new Error('no endpoint is ready')
    const address = node.pods().get(name)?.url(8443)
    if (!address) throw new Error(`endpoint ${name} does not run`)
    const status = await get(`https://${address}/oidc/keys`)
    if (status !== 200) throw new Error(`${name} answered ${status}`)
    answers += 1
  }
  const asking = (async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      await ask(turn).catch((error: unknown) => faults.push(String(error)))
      await delay(EVERY_MS)
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await asking
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

/** A connection each time. Who signed the certificate is another test's question. */
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
