// The paths of APIs (contract 9.1, 9.2). They are compared byte by byte, and nothing is decoded.
import type { RequestTarget } from '../../domain/scope/request-info.ts'

/** The page of this program's version, which may need a credential. */
export const VERSION_ROUTE = '/version'

/** The target of a request; null = no API is served at the path. */
type Route = {
  readonly target: RequestTarget
  /** The raw rest after the prefix: empty, or it begins with a slash or a question mark. */
  readonly rest: string
} | null

/** Finds the route of a raw request-target. A name that no target can have is the name of an unknown target. */
export type RouteFinder = (requestTarget: string) => Route

/** A prefix of paths. A name in it is any text without a slash and a question mark, as it was sent. */
interface Prefix {
  readonly path: RegExp
  readonly target: (first: string, second: string) => RequestTarget
}

const MANAGEMENT: Prefix = {
  path: /^\/kubernetes\/management(?=[/?]|$)/,
  target: () => ({ kind: 'Management' }),
}

const CLUSTER: Prefix = {
  path: /^\/kubernetes\/cluster\/([^/?]*)(?=[/?]|$)/,
  target: (cluster) => ({ kind: 'Cluster', cluster }),
}

const PROJECT: readonly Prefix[] = [
  {
    path: /^\/kubernetes\/project\/([^/?]*)\/virtualcluster\/([^/?]*)(?=[/?]|$)/,
    target: (project, virtualCluster) => ({
      kind: 'ProjectVirtualCluster',
      project,
      virtualCluster,
    }),
  },
  {
    path: /^\/kubernetes\/project\/([^/?]*)\/space\/([^/?]*)(?=[/?]|$)/,
    target: (project, space) => ({ kind: 'ProjectSpace', project, space }),
  },
]

/** The routes of the gateway (contract 9.1). */
export const gatewayRouteOf: RouteFinder = finderOf([MANAGEMENT, CLUSTER, ...PROJECT])

/** The routes of the direct endpoint of a cluster (contract 9.2): the path of the cluster has no name. */
export const directRoutesOf = (cluster: string): RouteFinder =>
  finderOf([
    { path: /^\/kubernetes\/cluster(?=[/?]|$)/, target: () => ({ kind: 'Cluster', cluster }) },
    ...PROJECT,
  ])

function finderOf(prefixes: readonly Prefix[]): RouteFinder {
  return (requestTarget) => {
    for (const { path, target } of prefixes) {
      const found = path.exec(requestTarget)
      if (found === null) continue
      const [prefix, first = '', second = ''] = found
      return { target: target(first, second), rest: requestTarget.slice(prefix.length) }
    }
    return null
  }
}
