import { mkdtemp } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Raw } from '../support/raw-client.ts'
import {
  type ApiServerAddress,
  type RunningContainer,
  containerOf,
  launch,
} from './pod-container.ts'
import { writeVolumes } from './pod-files.ts'
import { type Container, type Pod, type Probe, portOf } from './pod.ts'

/** How the container of a pod ended. */
export interface EndedPod {
  readonly pod: string
  readonly image: string
  readonly exitCode: number
  /** Whether the pod was deleted; false when the container ended by itself or failed its probe. */
  readonly wasTold: boolean
  readonly log: string
}

/** A pod while its containers run. */
export interface RunningPod {
  readonly name: string
  readonly isEnding: boolean
  /** Where this process reaches a port of it; null while there is no container. */
  url(port: number): string | null
  /** What its present container has written. */
  log(): string
  /** Ends it for good, as the deletion of its object does. */
  end(graceSeconds: number): Promise<void>
}

/** What a pod needs of its node. */
export interface PodDeps {
  readonly call: Raw
  readonly folder: string
  readonly address: ApiServerAddress
  readonly complain: (about: string, error: unknown) => void
  readonly ended: (one: EndedPod) => void
}

const RESTART_AFTER_MS = 1000

/** Runs the pod's container, again whenever it ends, until `end`. */
export function runPod(pod: Pod, deps: PodDeps): RunningPod {
  const { name } = pod.metadata
  const [spec] = pod.spec.containers
  const ending = new AbortController()
  let graceSeconds = 0
  let current: RunningContainer | null = null

  const once = async (restartCount: number): Promise<void> => {
    const folders = await writeVolumes(deps.call, pod, await mkdtemp(join(deps.folder, 'pod-')))
    const running = await launch(containerOf(pod, folders, deps.address))
    current = running
    const life = new AbortController()
    const tell = (isReady: boolean): Promise<void> =>
      report(deps, pod, { running, restartCount, isReady }).catch((error: unknown) =>
        deps.complain(name, error),
      )
    const died = running.exited.then(() => 'exited' as const)
    const told = aborted(ending.signal).then(() => 'told' as const)
    const unhealthy = watchProbes(spec, running, tell, life.signal).then(() => 'unhealthy' as const)
    const why = await Promise.race([died, told, unhealthy])
    const startMs = performance.now()
    if (why === 'told') await preStop(spec, graceSeconds, running)
    const leftMs = Math.max(graceSeconds * 1000 - (performance.now() - startMs), 0)
    const exitCode = await running.end(why === 'told' ? leftMs : 0)
    life.abort()
    current = null
    const wasTold = why === 'told'
    deps.ended({ pod: name, image: spec.image, exitCode, wasTold, log: running.log() })
  }
  const living = (async () => {
    for (let restarts = 0; !ending.signal.aborted; restarts += 1) {
      await once(restarts).catch((error: unknown) => deps.complain(name, error))
      await delay(RESTART_AFTER_MS, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  return {
    name,
    get isEnding() {
      return ending.signal.aborted
    },
    url: (port) =>
      current === null
        ? null
        : `${current.container.getHost()}:${current.container.getMappedPort(port)}`,
    log: () => current?.log() ?? '',
    end: async (withinSeconds) => {
      graceSeconds = withinSeconds
      ending.abort()
      await living
    },
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** No longer than the grace, and no longer than the container is there. */
async function preStop(
  { lifecycle }: Container,
  graceSeconds: number,
  { exited }: RunningContainer,
): Promise<void> {
  const seconds = Math.min(lifecycle?.preStop?.sleep?.seconds ?? 0, graceSeconds)
  await Promise.race([delay(seconds * 1000), exited])
}

/** Asks the startup probe until it passes, then the others; ends when the container has to be replaced. */
async function watchProbes(
  spec: Container,
  running: RunningContainer,
  tell: (isReady: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await tell(false)
  const { startupProbe, livenessProbe, readinessProbe } = spec
  const ask = (probe: Probe): Promise<boolean> => passes(spec, running, probe)
  if (startupProbe && !(await passesInTime(startupProbe, ask, signal))) return
  const ready = (async () => {
    if (!readinessProbe) return tell(true)
    for await (const isReady of verdicts(readinessProbe, ask, signal)) await tell(isReady)
  })()
  if (livenessProbe) {
    for await (const isHealthy of verdicts(livenessProbe, ask, signal)) if (!isHealthy) return
  }
  await ready
  await aborted(signal)
}

async function passesInTime(
  probe: Probe,
  ask: (probe: Probe) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const isThere of verdicts(probe, ask, signal)) return isThere
  return false
}

/** What a probe finds, whenever it changes: good at once, bad after as many failures as it says. */
async function* verdicts(
  probe: Probe,
  ask: (probe: Probe) => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  let failures = 0
  let last: boolean | null = null
  await delay((probe.initialDelaySeconds ?? 0) * 1000)
  while (!signal.aborted) {
    failures = (await ask(probe)) ? 0 : failures + 1
    const verdict: boolean | null =
      failures === 0 ? true : failures >= probe.failureThreshold ? false : last
    if (verdict !== last && verdict !== null) yield verdict
    last = verdict
    await delay(probe.periodSeconds * 1000, undefined, { signal }).catch(() => undefined)
  }
}

function passes(
  spec: Container,
  { container }: RunningContainer,
  { httpGet, timeoutSeconds }: Probe,
): Promise<boolean> {
  const port = container.getMappedPort(portOf(spec, httpGet.port))
  const timeout = timeoutSeconds * 1000
  const where = { host: container.getHost(), port, path: httpGet.path, timeout, agent: false }
  return new Promise((resolve) => {
    const asked = request(where, (answer) => {
      answer.resume()
      resolve((answer.statusCode ?? 500) < 400)
    })
    asked.once('error', () => resolve(false))
    asked.once('timeout', () => asked.destroy(new Error('too slow')))
    asked.end()
  })
}

interface State {
  readonly running: RunningContainer
  readonly restartCount: number
  readonly isReady: boolean
}

async function report(
  { call, complain }: PodDeps,
  { metadata, spec }: Pod,
  { running, restartCount, isReady }: State,
): Promise<void> {
  const [{ name, image }] = spec.containers
  const now = `${new Date().toISOString().slice(0, -5)}Z`
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    type,
    status: isReady || !type.endsWith('Ready') ? 'True' : 'False',
    lastTransitionTime: now,
  }))
  const podIP = running.container.getIpAddress('bridge')
  const containerID = `docker://${running.container.getId()}`
  const state = { running: { startedAt: now } }
  const status = {
    phase: 'Running',
    startTime: now,
    podIP,
    podIPs: [{ ip: podIP }],
    conditions,
    containerStatuses: [
      {
        name,
        image,
        imageID: image,
        containerID,
        restartCount,
        ready: isReady,
        started: true,
        state,
      },
    ],
  }
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/status`
  const { code } = await call('PATCH', path, { metadata: { uid: metadata.uid }, status })
  if (code !== 200 && code !== 404) complain(metadata.name, `status was refused: ${code}`)
}
