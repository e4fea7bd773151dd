// A node for tests: it binds pods to itself, runs them in Docker as their specs say, and tells the API server
// how they are. The controllers that make and replace pods are Kubernetes' own. What it can't do, it refuses:
// see pod.ts.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Raw, createRaw } from '../support/raw-client.ts'
import type { Cluster } from './container-cluster.ts'
import { type EndedPod, type RunningPod, runPod } from './pod-run.ts'
import { type Pod, unknownFields } from './pod.ts'

/** A node that runs pods. */
export interface TestNode {
  /** Containers that have ended, in that order. */
  readonly ended: readonly EndedPod[]
  /** What kept it from running a pod, or from telling about one. */
  readonly problems: readonly string[]
  /** The pods that run, by name. */
  readonly pods: () => ReadonlyMap<string, RunningPod>
  /** Ends every container, without a word to the API server. */
  stop(): Promise<void>
}

const NODE = 'test-node'
const LOOK_MS = 250
const BEAT_EVERY_MS = 10_000

/** Registers the node and keeps it going until `stop`. */
export async function startNode({ kubeconfig, address }: Cluster): Promise<TestNode> {
  const raw = createRaw(kubeconfig, systemClock())
  const { call } = raw
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-node-'))
  const ended: EndedPod[] = []
  const problems: string[] = []
  const running = new Map<string, RunningPod>()
  const burials = new Set<Promise<void>>()
  const stopping = new AbortController()
  const complain = (about: string, error: unknown): void => {
    problems.push(`${about}: ${error instanceof Error ? error.message : String(error)}`)
  }

  const take = (pod: Pod): void => {
    const unknown = unknownFields(pod)
    if (unknown.length > 0) complain(pod.metadata.name, `not acted on: ${unknown.join(', ')}`)
    else {
      const deps = { call, folder, address, complain, ended: (one: EndedPod) => ended.push(one) }
      running.set(pod.metadata.uid, runPod(pod, deps))
    }
  }
  const buried = (pod: Pod, known: RunningPod | undefined): Promise<void> =>
    bury(call, pod, known, running).catch((error: unknown) => complain(pod.metadata.name, error))
  const look = async (): Promise<void> => {
    const { items } = (await call<{ readonly items: readonly Pod[] }>('GET', '/api/v1/pods')).body
    for (const pod of items) {
      const known = running.get(pod.metadata.uid)
      if (pod.spec.nodeName === undefined) await bind(call, pod)
      else if (pod.spec.nodeName !== NODE) continue
      else if (pod.metadata.deletionTimestamp !== undefined) burials.add(buried(pod, known))
      else if (!known) take(pod)
    }
    const there = new Set(items.map(({ metadata }) => metadata.uid))
    for (const [uid, pod] of running) if (!there.has(uid)) await pod.end(0)
  }
  await register(call)
  await beat(call)
  const looking = repeat(LOOK_MS, stopping.signal, look, (error) => complain('pods', error))
  const beating = repeat(
    BEAT_EVERY_MS,
    stopping.signal,
    () => beat(call),
    (error) => complain('lease', error),
  )
  return {
    ended,
    problems,
    pods: () => new Map([...running.values()].map((pod) => [pod.name, pod])),
    stop: async () => {
      stopping.abort()
      await Promise.all([looking, beating])
      await Promise.all([...running.values()].map((pod) => pod.end(0)))
      await Promise.all(burials)
      await raw.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Ends the pod's container within its grace, and then the object. */
async function bury(
  call: Raw,
  { metadata }: Pod,
  known: RunningPod | undefined,
  running: Map<string, RunningPod>,
): Promise<void> {
  if (known?.isEnding) return
  const { name, namespace, uid, deletionGracePeriodSeconds = 0 } = metadata
  await known?.end(deletionGracePeriodSeconds)
  await call('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, {
    gracePeriodSeconds: 0,
    preconditions: { uid },
  })
  running.delete(uid)
}

async function bind(call: Raw, { metadata }: Pod): Promise<void> {
  const { name, namespace } = metadata
  // A scheduler may be faster: then this is a conflict, and the next look shows where the pod went.
  await call('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name },
    target: { apiVersion: 'v1', kind: 'Node', name: NODE },
  })
}

const CAPACITY = { cpu: '8', memory: '16Gi', pods: '100' }

async function register(call: Raw): Promise<void> {
  const metadata = { name: NODE, labels: { 'kubernetes.io/hostname': NODE } }
  await call('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata })
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Test', message: 'runs containers' }]
  const status = { capacity: CAPACITY, allocatable: CAPACITY, conditions }
  const { code } = await call('PATCH', `/api/v1/nodes/${NODE}/status`, { status })
  if (code !== 200) throw new Error(`the node was not registered: ${code}`)
}

/** Without it a node lifecycle controller, where there is one, takes the node for dead. */
async function beat(call: Raw): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE}`
  const renewTime = `${new Date().toISOString().slice(0, -1)}000Z`
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: NODE },
    spec: { holderIdentity: NODE, leaseDurationSeconds: 40, renewTime },
  }
  const contentType = 'application/apply-patch+yaml'
  const { code } = await call('PATCH', `${path}?fieldManager=${NODE}&force=true`, lease, {
    contentType,
  })
  if (code >= 300) throw new Error(`the lease was not renewed: ${code}`)
}

async function repeat(
  everyMs: number,
  signal: AbortSignal,
  work: () => Promise<void>,
  failed: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch(failed)
    await delay(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
