// The check of the mappings of multi-namespace mode at start, before anything is written (contract 17.5).
import { NAMESPACES } from '../../api/names.ts'
import type { KubeObject } from '../../api/objects.ts'
import { NoResponseError } from '../../kube/client/api-error.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { hostNamespace, virtualNamespace } from '../../sync/namespaces/sources.ts'
import type { HostPlace } from '../../sync/objects/host-name.ts'
import { mappingFaults } from '../../sync/namespaces/plan.ts'

/** Dependencies of the check. */
interface StartCheckOptions {
  readonly place: HostPlace
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  readonly clock: Clock
  readonly log: Log
  readonly stopping: AbortSignal
}

const RETRY_MS = 2000
const PAGE = 500

/**
 * Reads the namespaces of both clusters, and waits while one does not answer. Ends at once in single-namespace mode, and
 * when the process stops.
 *
 * @throws Error with all faults, a line each
 */
export async function checkNamespaces(options: StartCheckOptions): Promise<void> {
  const { place, clients, clock, log, stopping } = options
  while (place.namespaces !== null && !stopping.aborted) {
    try {
      const virtual = (await namespacesOf(clients.virtual)).map(virtualNamespace)
      const host = (await namespacesOf(clients.host)).map(hostNamespace(place))
      const faults = mappingFaults(virtual, new Map(host.map((one) => [one.name, one])), place)
      if (faults.length === 0) return
      throw new Error(`sync.toHost.namespaces has faults:\n${faults.join('\n')}`)
    } catch (err) {
      if (!(err instanceof NoResponseError)) throw err
      log.warn({ err }, 'a cluster does not answer, waiting for its namespaces')
    }
    await sleep(clock, RETRY_MS, stopping)
  }
}

async function namespacesOf(client: KubeClient): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = []
  for (let next: string | undefined = ''; next !== undefined; ) {
    const page = await client.list(NAMESPACES, {}, PAGE, next === '' ? undefined : next)
    found.push(...page.items)
    next = page.next
  }
  return found
}
