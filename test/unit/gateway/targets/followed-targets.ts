// The targets of a gateway, by Secrets that a test writes, on a clock that it moves.
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import type { ConnectedTarget, TargetConnection } from '../../../../src/gateway/targets/resolver.ts'
import { startConnectedTargets } from '../../../../src/gateway/targets/follow.ts'
import type { ObjectEvent } from '../../../../src/kube/event-recorder.ts'
import { type Upstream, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { KEY_EXTRAS } from '../../../../src/gateway/targets/impersonation-probe.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { type SecretParts, targetSecret } from './target-secrets.ts'

/** How a target answers probes, by its kubeconfig. */
export type Answers = (kubeconfig: string) => 'ready' | 'refuses' | 'away'

const POWERLESS = JSON.stringify({ message: 'users is forbidden: User "x" cannot impersonate' })

/** Starts to follow a namespace without Secrets. @param ownCluster the cluster of a direct endpoint; null = at a gateway */
export function followTargets(ownCluster: Upstream | null = null) {
  const clock = manualClock(Date.parse('2026-11-21T10:00:00Z'))
  const { log, lines } = memoryLog()
  const secrets = new Map<string, Secret>()
  const ending = new AbortController()
  const open = new Map<Upstream, string>()
  const reads: string[] = []
  const events: ObjectEvent[] = []
  const ended: TargetConnection[] = []
  let version = 0
  const api = {
    /** Thrown by each list, and by each read of a Secret, while it is there. */
    listError: null as Error | null,
    readError: null as Error | null,
    answers: (() => 'ready') as Answers,
  }
  const openUpstream = async (kubeconfig: string): Promise<Upstream> => {
    const upstream: Upstream = {
      send: async () => {
        const answer = api.answers(kubeconfig)
        if (answer === 'away') throw new UpstreamUnavailable('unprocessed', 'no answer')
        const [status, text] = answer === 'ready' ? [200, '{}'] : [403, POWERLESS]
        return { status, headers: {}, body: Readable.from([Buffer.from(text)]) }
      },
      upgrade: () => Promise.reject(new Error('no upgrades here')),
      close: async () => void open.delete(upstream),
    }
    open.set(upstream, kubeconfig)
    return upstream
  }
  const targets = startConnectedTargets({
    namespace: 'targets',
    ownCluster,
    extras: KEY_EXTRAS,
    reader: {
      list: async () => {
        if (api.listError) throw api.listError
        return [...secrets.values()].map(({ metadata }) => metadata)
      },
      get: async (name) => {
        reads.push(name)
        if (api.readError) throw api.readError
        return secrets.get(name) ?? null
      },
    },
    events: {
      record: (event) => void events.push(event),
      flush: async () => undefined,
      stop: () => undefined,
    },
    open: openUpstream,
    userAgent: 'test',
    clock,
    log,
    signal: ending.signal,
  })
  targets.subscribe((connection) => void ended.push(connection))
  onTestFinished(async () => {
    ending.abort()
    await targets.close()
  })
  return {
    api,
    clock,
    lines,
    targets,
    /** Names of the Secrets read so far. */
    reads,
    /** Connections that ended so far. */
    ended,
    /** Kubeconfigs of the open upstreams. */
    open: () => [...open.values()],
    /** `Secret: reason: note` of each Event so far. */
    events: () =>
      events.map(({ regarding: { name }, reason, note }) => `${name}: ${reason}: ${note}`),
    recorded: events,
    /** Writes a Secret under a new resourceVersion. */
    put: (parts: SecretParts = {}) => {
      version += 1
      const secret = targetSecret({ resourceVersion: `${version}`, ...parts })
      secrets.set(secret.metadata.name, secret)
    },
    remove: (name: string) => secrets.delete(name),
    /** The connection of a target. @throws Error if it is not usable */
    connection: (target: ConnectedTarget): TargetConnection => {
      const state = targets.find(target)
      if (state?.kind !== 'usable') throw new Error(`it is ${JSON.stringify(state)}`)
      return state.connection
    },
    /** Passes the time until the next comparison, with the probes that follow. */
    compared: () => clock.advance(5100),
  }
}

/** A target by its name, such as `c1` for a cluster and `p/s` for a space. */
export const cluster = (name: string): ConnectedTarget => ({ kind: 'Cluster', cluster: name })
