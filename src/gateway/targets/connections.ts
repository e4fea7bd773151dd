// The targets that the Secrets define at the moment, with their connections. A change of one never touches another.
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type TargetCondition, conditionOf } from './probe-result.ts'
import type { KubeconfigConnection } from './connection.ts'
import {
  type NamedTarget,
  type TargetSecret,
  type TargetWords,
  decideTargets,
  targetKey,
  wordsOf,
} from './definition.ts'
import type { ProbeResult } from './impersonation-probe.ts'
import type { Upstream } from '../../kube/proxy/types.ts'
import type { ConnectedTarget, TargetConnection, TargetState } from './resolver.ts'

/** Dependencies of the connections. */
interface TargetConnectionsOptions {
  readonly clock: Clock
  /** The upstream of all spaces, as at a direct endpoint; null = each is in the cluster that its Secret names. */
  readonly ownCluster: Upstream | null
  /** Creates the connections of a kubeconfig, and opens none. */
  readonly connectionOf: (kubeconfig: string) => KubeconfigConnection
  /** Runs a probe as soon as others leave room for it. */
  readonly turn: (key: string, probe: () => Promise<ProbeResult>) => Promise<ProbeResult>
  /** Called when targets or their conditions may have changed. */
  readonly changed: () => void
}

/** A target with its Secrets and its condition. */
export interface TargetStatus {
  readonly named: NamedTarget
  readonly condition: TargetCondition
}

/** A target with a kubeconfig of its own. */
interface Connected {
  readonly kubeconfig: string
  readonly connection: KubeconfigConnection
  condition: TargetCondition
  /** Ends its probes. */
  readonly ending: AbortController
}

/** A space, which has a connection of its own so that its requests end with it, and the upstream of its cluster. */
interface ConnectedSpace {
  readonly connection: TargetConnection
  readonly upstream: Upstream
  readonly namespace: string
}

/** A space, and its namespace in its cluster. */
export interface SpaceNamespace {
  readonly project: string
  readonly space: string
  readonly namespace: string
}

/** The pause before the next probe: after failures in a row it doubles, up to that after a success. */
const PROBE_PAUSE_MS = { ready: 60_000, firstFailure: 5000 }
/** From the call of the listeners: until then they may end requests in their own way. */
const CLOSE_ENDED_AFTER_MS = 500

/** The targets of a gateway besides the management cluster. */
export class TargetConnections {
  readonly #options: TargetConnectionsOptions
  readonly #listeners: ((ended: TargetConnection) => void)[] = []
  readonly #connected = new Map<string, Connected>()
  readonly #spaces = new Map<string, ConnectedSpace>()
  #named: ReadonlyMap<string, NamedTarget> = new Map()

  constructor(options: TargetConnectionsOptions) {
    this.#options = options
  }

  /** Adapts to the Secrets: ends what is gone or has another kubeconfig, then adds what is new. */
  apply(secrets: Iterable<TargetSecret>): void {
    this.#named = decideTargets(secrets)
    for (const [key, { kubeconfig }] of this.#connected)
      if (this.#kubeconfigOf(key) !== kubeconfig) this.#end(key)
    for (const key of this.#named.keys()) {
      const kubeconfig = this.#kubeconfigOf(key)
      if (kubeconfig !== null && !this.#connected.has(key)) this.#begin(key, kubeconfig)
    }
    this.#applySpaces()
    this.#options.changed()
  }

  /** null = no Secret names the target. */
  find(target: ConnectedTarget): TargetState | null {
    const key = targetKey(target)
    const named = this.#named.get(key)
    if (!named) return null
    const condition = this.#conditionOf(key, named)
    if (condition.kind === 'failing' && !condition.isTried)
      return { kind: 'unusable', because: condition.because }
    const space = this.#spaces.get(key)
    const connection = space?.connection ?? this.#connected.get(key)?.connection
    if (!connection) throw new Error('a usable target has no connection')
    return { kind: 'usable', connection, namespace: space?.namespace ?? null }
  }

  /** Calls back with each connection that ends. */
  subscribe(listener: (ended: TargetConnection) => void): void {
    this.#listeners.push(listener)
  }

  /** All targets that Secrets name. */
  statuses(): readonly TargetStatus[] {
    return [...this.#named].map(([key, named]) => ({
      named,
      condition: this.#conditionOf(key, named),
    }))
  }

  /** The usable spaces. */
  spaces(): readonly SpaceNamespace[] {
    return [...this.#named].flatMap(([key, { target }]) => {
      const space = this.#spaces.get(key)
      if (!space || target.kind !== 'ProjectSpace') return []
      return [{ project: target.project, space: target.space, namespace: space.namespace }]
    })
  }

  /** Whether each target works, for metrics. */
  readiness(): readonly (readonly [TargetWords, boolean])[] {
    return this.statuses().map(({ named, condition }) => [
      wordsOf(named.target),
      condition.kind === 'ready',
    ])
  }

  /** Closes all connections, and calls no listener. */
  async close(): Promise<void> {
    const all = [...this.#connected.values()]
    for (const { ending } of all) ending.abort()
    await Promise.all(all.map(({ connection }) => connection.close()))
  }

  /** The kubeconfig by which the target is reached; null = it is not used, or has none of its own. */
  #kubeconfigOf(key: string): string | null {
    const named = this.#named.get(key)
    return named?.kind === 'valid' && named.access.kind === 'kubeconfig' ? named.access.text : null
  }

  #conditionOf(key: string, named: NamedTarget): TargetCondition {
    if (named.kind !== 'valid') return { kind: 'failing', because: named.because, isTried: false }
    if (named.access.kind === 'kubeconfig')
      return this.#connected.get(key)?.condition ?? { kind: 'unproven' }
    if (this.#options.ownCluster !== null) return { kind: 'ready' }
    const clusterKey = keyOfCluster(named.access.cluster)
    const cluster = this.#named.get(clusterKey)
    if (!cluster)
      return { kind: 'failing', because: 'no Secret defines its cluster', isTried: false }
    const condition = this.#conditionOf(clusterKey, cluster)
    if (condition.kind !== 'failing') return condition
    return { ...condition, because: `its cluster does not work: ${condition.because}` }
  }

  #applySpaces(): void {
    const wanted = new Map<string, Omit<ConnectedSpace, 'connection'>>()
    for (const [key, named] of this.#named) {
      if (named.kind !== 'valid' || named.access.kind !== 'space') continue
      const { cluster, namespace } = named.access
      const upstream =
        this.#options.ownCluster ?? this.#connected.get(keyOfCluster(cluster))?.connection.upstream
      if (upstream) wanted.set(key, { upstream, namespace })
    }
    for (const [key, { connection, upstream, namespace }] of this.#spaces) {
      const now = wanted.get(key)
      if (now?.upstream === upstream && now.namespace === namespace) continue
      this.#spaces.delete(key)
      this.#notify(connection)
    }
    for (const [key, space] of wanted) {
      const connection = { upstream: space.upstream }
      if (!this.#spaces.has(key)) this.#spaces.set(key, { ...space, connection })
    }
  }

  #begin(key: string, kubeconfig: string): void {
    const connected: Connected = {
      kubeconfig,
      connection: this.#options.connectionOf(kubeconfig),
      condition: { kind: 'unproven' },
      ending: new AbortController(),
    }
    this.#connected.set(key, connected)
    void this.#keepProbing(key, connected)
  }

  #end(key: string): void {
    const connected = this.#connected.get(key)
    if (!connected) return
    this.#connected.delete(key)
    connected.ending.abort()
    connected.connection.retire()
    this.#notify(connected.connection)
    this.#options.clock.schedule(CLOSE_ENDED_AFTER_MS, () => void connected.connection.close())
  }

  #notify(connection: TargetConnection): void {
    for (const listener of this.#listeners) listener(connection)
  }

  async #keepProbing(key: string, connected: Connected): Promise<void> {
    const { clock, turn, changed } = this.#options
    const { signal } = connected.ending
    let pauseMs = PROBE_PAUSE_MS.firstFailure
    while (!signal.aborted) {
      const finding = await turn(key, () => connected.connection.probe(signal))
      if (signal.aborted) return
      connected.condition = conditionOf(finding)
      changed()
      const isReady = connected.condition.kind === 'ready'
      await sleep(clock, isReady ? PROBE_PAUSE_MS.ready : pauseMs, signal)
      pauseMs = isReady ? PROBE_PAUSE_MS.firstFailure : Math.min(2 * pauseMs, PROBE_PAUSE_MS.ready)
    }
  }
}

const keyOfCluster = (cluster: string): string => targetKey({ kind: 'Cluster', cluster })
