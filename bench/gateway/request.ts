// One load of requests on one way: the request, its rate, and the check of each answer.
import { eventually } from '../../test/support/eventually.ts'
import { type HttpLoad, type WatchLoad, runLoad } from '../measure/load.ts'
import type { Figures } from '../measure/rounds.ts'
import { cpuMs, residentMb } from '../measure/usage.ts'
import { CONNECTIONS } from './objects.ts'
import type { Way } from './way.ts'

/** A request that a way gets. */
export interface Asked {
  readonly path: string
  /** The expected status code. */
  readonly status: number
  /** Replaces the credential of the way. */
  readonly credential?: readonly string[]
  /** More flags of `load http`, such as its method. */
  readonly flags?: readonly string[]
}

/** Duration of the window of a load, and its rate; without a rate, as fast as possible. */
export interface Pace {
  readonly seconds: number
  readonly perSecond?: number
}

/** Requests of this time before each window count in no rate and no latency: connections are open, and caches filled. */
const LEAD_IN_SECONDS = 1

/**
 * Sends requests over kept connections, and checks each answer.
 *
 * @param flags more flags of `load http`: for how long, how many, how fast
 * @throws Error when an answer has another status, or there is none
 */
export async function sendRequests(
  load: string,
  way: Way,
  asked: Asked,
  flags: readonly string[],
): Promise<HttpLoad> {
  const connections = `--connections=${CONNECTIONS}`
  const result = await runLoad<HttpLoad>(load, [...flagsOf(way, asked), connections, ...flags])
  checkAnswers(way, asked, result)
  return result
}

/**
 * Sends requests and counts them. CPU time is that of the way's process from before the first request until after the last
 * answer, over all requests: those before the window, and the opening of the connections, included.
 *
 * @returns perSecond, p50Ms, p99Ms, and cpuUsPerRequest where the way has a process
 * @throws Error when an answer has another status, or there is none
 */
export async function measureRequests(
  load: string,
  way: Way,
  asked: Asked,
  { seconds, perSecond }: Pace,
): Promise<Figures> {
  const beforeMs = way.pid === null ? 0 : cpuMs(way.pid)
  const result = await sendRequests(load, way, asked, [
    `--lead-in=${LEAD_IN_SECONDS}`,
    `--seconds=${seconds}`,
    ...(perSecond === undefined ? [] : [`--rate=${perSecond}`]),
  ])
  const { perSecond: reached, p50Ms, p99Ms, requests } = result
  const figures = { perSecond: reached, p50Ms, p99Ms }
  if (way.pid === null) return figures
  return { ...figures, cpuUsPerRequest: ((cpuMs(way.pid) - beforeMs) * 1000) / requests }
}

/** Whether the way answers one connection as expected. @throws Error where nothing answers */
export async function answersWith(load: string, way: Way, asked: Asked): Promise<boolean> {
  const flags = ['--connections=1', '--seconds=0.01']
  const { statuses } = await runLoad<HttpLoad>(load, [...flagsOf(way, asked), ...flags])
  return Object.keys(statuses).join() === String(asked.status)
}

const SOON = { withinMs: 60_000 }

/** Waits until the way answers as expected. @throws Error when it does not within a minute */
export const untilAnswers = (load: string, way: Way, asked: Asked): Promise<true> =>
  eventually(
    `${way.name} answers ${asked.status}`,
    async () => (await answersWith(load, way, asked)) || undefined,
    SOON,
  )

/** Checks all answers of a load. @throws Error with what came instead */
export function checkAnswers(way: Way, { path, status }: Asked, result: HttpLoad): void {
  const { requests, statuses } = result
  if (requests > 0 && statuses[status] === requests) return
  const seen = JSON.stringify({ requests, errors: result.errors, statuses })
  throw new Error(`${way.name}, ${path}: each answer should be ${status}, but there were ${seen}`)
}

/** A load of many watches of one ConfigMap. */
export interface Watched {
  readonly watches: number
  /** Patches of the ConfigMap, one after the other. */
  readonly events: number
  /** `namespace/name` of the ConfigMap, and the kubeconfig of who patches it. */
  readonly configMap: string
  readonly kubeconfig: string
  /** Memory of the way's process before its first watches, in MB; null = it has none, or had watches before. */
  readonly idleMb: number | null
}

const LONGEST_WATCH_SECONDS = 60

/**
 * Opens watches, patches the object, and waits until each watch has an event for each patch.
 *
 * @returns perSecond: events over all watches; cpuUsPerRequest, of one event, where the way has a process: the end of the
 *   watches is among it, their beginning is not; and kbPerWatch, what all open watches added to idleMb before any event
 * @throws Error when a watch misses an event
 */
export async function measureWatches(
  load: string,
  way: Way,
  asked: Asked,
  { watches, events, configMap, kubeconfig, idleMb }: Watched,
): Promise<Figures> {
  const { pid } = way
  const opened: { readonly ms: number; readonly mb: number }[] = []
  const flags = [
    ...flagsOf(way, asked),
    '--mode=watch',
    `--connections=${watches}`,
    `--events=${events}`,
    `--kubeconfig=${kubeconfig}`,
    `--patch-configmap=${configMap}`,
    `--seconds=${LONGEST_WATCH_SECONDS}`,
  ]
  const result = await runLoad<WatchLoad>(load, flags, (line) => {
    if (line === 'open' && pid !== null) opened.push({ ms: cpuMs(pid), mb: residentMb(pid) })
  })
  if (result.watches !== watches || result.events < watches * events)
    throw new Error(
      `${way.name}: ${watches} watches of ${events} events: ${JSON.stringify(result)}`,
    )
  const { perSecond } = result
  const [open] = opened
  if (pid === null || open === undefined) return { perSecond }
  const cpuUsPerRequest = ((cpuMs(pid) - open.ms) * 1000) / result.events
  const figures = { perSecond, cpuUsPerRequest }
  if (idleMb === null) return figures
  return { ...figures, kbPerWatch: ((open.mb - idleMb) * 1000) / watches }
}

/** The flags of `load http` that say what is asked of the way, and as whom. */
export const flagsOf = (way: Way, { path, credential, flags = [] }: Asked): readonly string[] => [
  'http',
  `--url=${way.url}${path}`,
  `--ca=${way.caFile}`,
  ...(credential ?? way.credential),
  ...flags,
]
