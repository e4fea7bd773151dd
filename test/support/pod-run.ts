// A pod on a test node, from its start to its end: probes, restarts, preStop and grace period as its spec says.
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { type Container, type Pod, type Probe, portOf } from './pod.ts'
import type { Raw } from './raw-client.ts'

/** The container of a pod, which may have exited. */
export interface PodContainer {
  /** As in the status, such as `docker://...`. */
  readonly id: string
  readonly podIP: string
  /** `host:port` by which this process reaches a port of the container. */
  address(port: number): string
  /** Its output so far. */
  log(): string
  /** Its exit code, once it has exited and `log` is complete. */
  readonly exited: Promise<number>
  /** Sends SIGTERM, and SIGKILL after `withinMs`; returns its exit code. */
  end(withinMs: number): Promise<number>
}

/** Starts the only container of a pod; `folder` is the node's. @throws Error when it does not start */
export type LaunchPod = (
  pod: Pod,
  node: { readonly call: Raw; readonly folder: string },
) => Promise<PodContainer>

/** The exit of a pod's container. */
export interface EndedPod {
  readonly pod: string
  readonly image: string
  readonly exitCode: number
  /** false = the container exited by itself or failed its probe. */
  readonly wasDeleted: boolean
  readonly log: string
}

/** A pod that runs on the node. */
export interface RunningPod {
  readonly name: string
  readonly isEnding: boolean
  /** `host:port` by which this process reaches a port of the pod; null = no container runs. */
  url(port: number): string | null
  /** The output of its current container. */
  log(): string
  /** Terminates the pod like the deletion of its object. */
  end(graceSeconds: number): Promise<void>
}

/** What the node provides to a pod. */
export interface PodDeps {
  readonly call: Raw
  readonly folder: string
  readonly launch: LaunchPod
  readonly reportProblem: (about: string, error: unknown) => void
  readonly ended: (one: EndedPod) => void
}

const RESTART_AFTER_MS = 1000

/** Runs the pod's container and restarts it whenever it exits, unless its policy is Never, until `end`. */
export function runPod(pod: Pod, deps: PodDeps): RunningPod {
  const { name } = pod.metadata
  const [spec] = pod.spec.containers
  const ending = new AbortController()
  let graceSeconds = 0
  let current: PodContainer | null = null

  /** One run; whether it was the last one. */
  const once = async (restartCount: number): Promise<boolean> => {
    const running = await deps.launch(pod, deps)
    current = running
    const life = new AbortController()
    const reportReady = (isReady: boolean): Promise<void> =>
      report(deps, pod, { running, restartCount, isReady }).catch((error: unknown) =>
        deps.reportProblem(name, error),
      )
    const exited = running.exited.then(() => 'exited' as const)
    const deleted = aborted(ending.signal).then(() => 'deleted' as const)
    const unhealthy = watchProbes(spec, running, reportReady, life.signal).then(
      () => 'unhealthy' as const,
    )
    const why = await Promise.race([exited, deleted, unhealthy])
    const startMs = performance.now()
    if (why === 'deleted') await preStop(spec, graceSeconds, running)
    const leftMs = Math.max(graceSeconds * 1000 - (performance.now() - startMs), 0)
    const exitCode = await running.end(why === 'deleted' ? leftMs : 0)
    life.abort()
    current = null
    const wasDeleted = why === 'deleted'
    deps.ended({ pod: name, image: spec.image, exitCode, wasDeleted, log: running.log() })
    const isLast = why === 'exited' && pod.spec.restartPolicy === 'Never'
    if (isLast) await reportEnd(deps, pod, running, exitCode)
    return isLast
  }
  const living = (async () => {
    for (let restarts = 0; !ending.signal.aborted; restarts += 1) {
      const isOver = await once(restarts).catch((error: unknown) => {
        deps.reportProblem(name, error)
        return false
      })
      if (isOver) return
      await delay(RESTART_AFTER_MS, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  return {
    name,
    get isEnding() {
      return ending.signal.aborted
    },
    url: (port) => current?.address(port) ?? null,
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

/** Sleeps at most for the grace period, and until the container exits. */
async function preStop(
  { lifecycle }: Container,
  graceSeconds: number,
  { exited }: PodContainer,
): Promise<void> {
  const seconds = Math.min(lifecycle?.preStop?.sleep?.seconds ?? 0, graceSeconds)
  await Promise.race([delay(seconds * 1000), exited])
}

/** Runs the startup probe until it passes, then the others; resolves when the container must be restarted. */
async function watchProbes(
  spec: Container,
  running: PodContainer,
  reportReady: (isReady: boolean) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await reportReady(false)
  const { startupProbe, livenessProbe, readinessProbe } = spec
  const run = (probe: Probe): Promise<boolean> => passes(spec, running, probe)
  if (startupProbe && !(await passesInTime(startupProbe, run, signal))) return
  const ready = (async () => {
    if (!readinessProbe) return reportReady(true)
    for await (const isReady of verdicts(readinessProbe, run, signal)) await reportReady(isReady)
  })()
  if (livenessProbe) {
    for await (const isHealthy of verdicts(livenessProbe, run, signal)) if (!isHealthy) return
  }
  await ready
  await aborted(signal)
}

async function passesInTime(
  probe: Probe,
  run: (probe: Probe) => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const isThere of verdicts(probe, run, signal)) return isThere
  return false
}

/** The result of a probe at each change: success at once, failure after its failureThreshold. */
async function* verdicts(
  probe: Probe,
  run: (probe: Probe) => Promise<boolean>,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  let failures = 0
  let last: boolean | null = null
  await delay((probe.initialDelaySeconds ?? 0) * 1000)
  while (!signal.aborted) {
    failures = (await run(probe)) ? 0 : failures + 1
    const verdict: boolean | null =
      failures === 0 ? true : failures >= probe.failureThreshold ? false : last
    if (verdict !== last && verdict !== null) yield verdict
    last = verdict
    await delay(probe.periodSeconds * 1000, undefined, { signal }).catch(() => undefined)
  }
}

function passes(
  spec: Container,
  running: PodContainer,
  { httpGet, timeoutSeconds }: Probe,
): Promise<boolean> {
  const { hostname: host, port } = new URL(`http://${running.address(portOf(spec, httpGet.port))}`)
  const timeout = timeoutSeconds * 1000
  const where = { host, port, path: httpGet.path, timeout, agent: false }
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
  readonly running: PodContainer
  readonly restartCount: number
  readonly isReady: boolean
}

async function report(
  { call, reportProblem }: PodDeps,
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
  const { podIP, id: containerID } = running
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
  await writeStatus({ call, reportProblem }, metadata, status)
}

/** Writes that the pod has run to its end. */
async function reportEnd(
  deps: PodDeps,
  { metadata, spec }: Pod,
  { id: containerID }: PodContainer,
  exitCode: number,
): Promise<void> {
  const [{ name, image }] = spec.containers
  const hasSucceeded = exitCode === 0
  const terminated = { exitCode, containerID, reason: hasSucceeded ? 'Completed' : 'Error' }
  const container = { name, image, imageID: image, containerID, restartCount: 0, ready: false }
  await writeStatus(deps, metadata, {
    phase: hasSucceeded ? 'Succeeded' : 'Failed',
    containerStatuses: [{ ...container, started: false, state: { terminated } }],
  })
}

async function writeStatus(
  { call, reportProblem }: Pick<PodDeps, 'call' | 'reportProblem'>,
  { name, namespace, uid }: Pod['metadata'],
  status: object,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`
  const { code } = await call('PATCH', path, { metadata: { uid }, status })
  if (code !== 200 && code !== 404) reportProblem(name, `the status update failed: ${code}`)
}
