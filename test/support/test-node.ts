// A node for tests: it binds pods to itself, runs each in Docker or as a process, probes it as its spec says, and writes
// its status. Kubernetes' own controllers create and replace the pods. It rejects fields that it does not implement: see
// pod.ts.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/runtime/clock.ts'
import { type EndedPod, type LaunchPod, type RunningPod, runPod } from './pod-run.ts'
import { type Pod, unknownFields } from './pod.ts'
import { type Raw, createRaw } from './raw-client.ts'

/** A node that runs pods. */
export interface TestNode {
  /** Containers that have exited, in this order. */
  readonly ended: readonly EndedPod[]
  /** Errors in running pods or in writing their status. */
  readonly problems: readonly string[]
  /** The running pods by name. */
  readonly pods: () => ReadonlyMap<string, RunningPod>
  /** Ends all containers without a status update. The node stays in the cluster. */
  stop(): Promise<void>
}

const NODE = 'test-node'
const SYNC_EVERY_MS = 250
const RENEW_EVERY_MS = 10_000

/** Which cluster, and how its pods run. */
export interface TestNodeOptions {
  /** The path of an administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly launch: LaunchPod
}

/** Registers the node and syncs its pods until `stop`. */
export async function startTestNode({ kubeconfig, launch }: TestNodeOptions): Promise<TestNode> {
  const raw = createRaw(kubeconfig, systemClock())
  const { call } = raw
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-node-'))
  const ended: EndedPod[] = []
  const problems: string[] = []
  const running = new Map<string, RunningPod>()
  const terminations = new Set<Promise<void>>()
  const stopping = new AbortController()
  const reportProblem = (about: string, error: unknown): void => {
    problems.push(`${about}: ${error instanceof Error ? error.message : String(error)}`)
  }

  const startPod = (pod: Pod): void => {
    const unknown = unknownFields(pod)
    if (unknown.length > 0)
      reportProblem(pod.metadata.name, `not supported:  ${unknown.join(', ')}`)
    else {
      const deps = {
        call,
        folder,
        launch,
        reportProblem,
        ended: (one: EndedPod) => ended.push(one),
      }
      running.set(pod.metadata.uid, runPod(pod, deps))
    }
  }
  const terminateAndReport = (pod: Pod, known: RunningPod | undefined): Promise<void> =>
    terminate(call, pod, known, running).catch((error: unknown) =>
      reportProblem(pod.metadata.name, error),
    )
  const syncPods = async (): Promise<void> => {
    const { items } = (await call<{ readonly items: readonly Pod[] }>('GET', '/api/v1/pods')).body
    for (const pod of items) {
      const known = running.get(pod.metadata.uid)
      if (pod.spec.nodeName === undefined) await bind(call, pod)
      else if (pod.spec.nodeName !== NODE) continue
      else if (pod.metadata.deletionTimestamp !== undefined)
        terminations.add(terminateAndReport(pod, known))
      else if (!known) startPod(pod)
    }
    const there = new Set(items.map(({ metadata }) => metadata.uid))
    for (const [uid, pod] of running) if (!there.has(uid)) await pod.end(0)
  }
  await register(call)
  await renewLease(call)
  const syncing = repeat(SYNC_EVERY_MS, stopping.signal, syncPods, (error) =>
    reportProblem('pods', error),
  )
  const renewing = repeat(
    RENEW_EVERY_MS,
    stopping.signal,
    () => renewLease(call),
    (error) => reportProblem('lease', error),
  )
  return {
    ended,
    problems,
    pods: () => new Map([...running.values()].map((pod) => [pod.name, pod])),
    stop: async () => {
      stopping.abort()
      await Promise.all([syncing, renewing])
      await Promise.all([...running.values()].map((pod) => pod.end(0)))
      await Promise.all(terminations)
      await raw.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Ends the pod's container within its grace period, then deletes the object. */
async function terminate(
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
  // A scheduler may be faster: then this conflicts, and the next sync has the node of the pod.
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

/** Renews the Lease of the node, without which a node lifecycle controller would mark it as unreachable. */
async function renewLease(call: Raw): Promise<void> {
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
