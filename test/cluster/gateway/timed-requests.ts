// Clients that note when each request was sent and answered, repeated requests and watches, and how late the machine
// itself is meanwhile.
import { Agent, get } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { ISSUER, type ProcessOptions } from '../../support/command-process.ts'
import type { FaultProxy } from '../../support/fault-proxy.ts'
import {
  type GatewayAnswer,
  type OwnGateway,
  ask,
  startGateway,
} from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { untilMay } from '../../support/raw-client.ts'
import { type TestGateway, MANAGEMENT } from './test-gateway.ts'

/** Leads to no API, so the API server gets no request: a valid key is answered 404 there. */
export const UNROUTED_PATH = '/nowhere'

/** A forwarded request that every valid key may make. */
export const UPSTREAM_PATH = `${MANAGEMENT}/version`

/** Readable by user ada after `allowWatch`, and by no other user. */
export const WATCHED_PATH = `${MANAGEMENT}/api/v1/namespaces/default/configmaps`

/** Starts a gateway beside those of the setup; with a proxy between it and the API server where one is given. */
export async function startAnotherGateway(
  { plane }: TestGateway,
  { proxy, ...options }: { readonly proxy?: FaultProxy } & Pick<ProcessOptions, 'env'>,
): Promise<OwnGateway> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const direct = await plane.serviceAccountKubeconfig(namespace, name)
  const kubeconfig = proxy ? await proxy.kubeconfig(direct) : direct
  return startGateway({ ...options, kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
}

/** An answer with the times of its request and its end, in epoch milliseconds. */
export interface TimedAnswer extends GatewayAnswer {
  readonly sentMs: number
  readonly doneMs: number
}

/** One request with this key. Code 0 = no answer: `body` says why. */
export async function askTimed(
  { ca }: Pick<TestGateway, 'ca'>,
  gateway: OwnGateway,
  token: string,
  path = UNROUTED_PATH,
  agent?: Agent,
): Promise<TimedAnswer> {
  const sentMs = Date.now()
  const headers = { authorization: `Bearer ${token}` }
  const options = { ca, headers, ...(agent ? { agent } : {}) }
  const answer = await ask(`${gateway.url()}${path}`, options).catch((error: unknown) => ({
    code: 0,
    headers: {},
    body: String(error),
  }))
  return { ...answer, sentMs, doneMs: Date.now() }
}

/** Repeats a request until the end of the block that it is used in. */
export interface GatewayPoller extends AsyncDisposable {
  /** Every answer so far, in order. */
  readonly answers: readonly TimedAnswer[]
  /** The answers to requests sent between these times; epoch milliseconds. */
  readonly sentBetween: (fromMs: number, toMs: number) => readonly TimedAnswer[]
  /** When the last accepted request was sent, in epoch milliseconds; 0 = none was accepted. */
  readonly lastAcceptedMs: () => number
  /** The longest gap between two requests beyond the interval, in milliseconds: how late the machine is. */
  readonly maxDelayMs: () => number
}

/** Short beside the bounds of a second, long enough to put no load on the gateway. */
const INTERVAL_MS = 100

/** Polls the gateway with this key. */
export function pollGateway(
  setup: TestGateway,
  gateway: OwnGateway,
  token: string,
  path = UNROUTED_PATH,
): GatewayPoller {
  const answers: TimedAnswer[] = []
  const agent = new Agent({ keepAlive: true, ca: setup.ca })
  const stopped = new AbortController()
  const polling = (async () => {
    while (!stopped.signal.aborted) {
      answers.push(await askTimed(setup, gateway, token, path, agent))
      await delay(INTERVAL_MS)
    }
  })()
  return {
    answers,
    sentBetween: (fromMs, toMs) => answers.filter(({ sentMs }) => sentMs > fromMs && sentMs < toMs),
    lastAcceptedMs: () => Math.max(0, ...answers.filter(isAccepted).map(({ sentMs }) => sentMs)),
    maxDelayMs: () => {
      const gaps = answers.map(({ sentMs }, at) => sentMs - (answers[at - 1]?.sentMs ?? sentMs))
      return Math.max(0, ...gaps) - INTERVAL_MS
    },
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await polling
      agent.destroy()
    },
  }
}

/** Whether the gateway accepted the key. */
export const isAccepted = ({ code }: Pick<TimedAnswer, 'code'>): boolean =>
  code === 404 || code === 200

/** The codes of answers, each once. */
export const codesOf = (answers: readonly Pick<TimedAnswer, 'code'>[]): ReadonlySet<number> =>
  new Set(answers.map(({ code }) => code))

/** A watch through a gateway. */
export interface OpenWatch {
  /** When it ended, in epoch milliseconds; null while it is open. */
  readonly endedMs: () => number | null
  /** Resolves with that time when it ends. */
  readonly ended: Promise<number>
  /** The last event, parsed; null before the first. */
  readonly lastEvent: () => unknown
}

/** Opens a watch of WATCHED_PATH with a key of user ada. @throws Error when it is refused */
export function openWatch(
  setup: TestGateway,
  gateway: OwnGateway,
  token: string,
): Promise<OpenWatch> {
  return new Promise((resolve, reject) => {
    const url = `${gateway.url()}${WATCHED_PATH}?watch=true`
    const headers = { authorization: `Bearer ${token}` }
    const request = get(url, { ca: setup.ca, headers, agent: false }, (answer) => {
      let text = ''
      let endedMs: number | null = null
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.once('error', () => undefined)
      const { promise: ended, resolve: end } = Promise.withResolvers<number>()
      answer.once('close', () => end((endedMs = Date.now())))
      const lastEvent = (): unknown => JSON.parse(text.trimEnd().split('\n').at(-1) || 'null')
      if (answer.statusCode === 200) resolve({ endedMs: () => endedMs, ended, lastEvent })
      else reject(new Error(`the watch was answered ${answer.statusCode}`))
    })
    request.once('error', reject)
  })
}

/** Lets user ada read WATCHED_PATH, by RBAC. */
export async function allowWatch({ plane }: TestGateway): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'
  const { code } = await plane.raw('POST', path, {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
  })
  if (code !== 201) throw new Error(`the binding was answered ${code}`)
  const access = { verb: 'watch', resource: 'configmaps', namespace: 'default' }
  await untilMay(plane.raw, { user: 'ada' }, access)
}

/** A client of one gateway over kept connections. */
export interface GatewayClient {
  /** @param path below the API of the management cluster */
  readonly ask: (token: string, path: string) => Promise<TimedAnswer>
  readonly close: () => void
}

/** A client of that gateway; of the first one when absent. */
export function gatewayClientOf(setup: TestGateway, gateway = setup.gateways[0]): GatewayClient {
  if (!gateway) throw new Error('there is no gateway')
  const agent = new Agent({ keepAlive: true, maxSockets: 256, ca: setup.ca })
  return {
    ask: (token, path) => askTimed(setup, gateway, token, `${MANAGEMENT}${path}`, agent),
    close: () => agent.destroy(),
  }
}

/** The smallest value that is not below this share of all values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.ceil(sorted.length * share), sorted.length) - 1] ?? Number.NaN
}

/** Measures until the end of the block that it is used in. */
export interface MachineLag extends AsyncDisposable {
  /**
   * The longest round trip so far, including the current one, in milliseconds.
   *
   * @param sinceMs leaves out those that ended before this time, in epoch milliseconds; absent = none
   */
  readonly maxMs: (sinceMs?: number) => number
}

const PAUSE_MS = 10

/**
 * Repeats a cheap round trip through the processes that a promised time depends on. Tests subtract the longest one:
 * a machine that stands still for two seconds can't keep a promise of one.
 */
export function measureMachineLag(roundTrip: () => Promise<unknown>): MachineLag {
  const stopped = new AbortController()
  let startMs = performance.now()
  const ended: { readonly atMs: number; readonly tookMs: number }[] = []
  const currentMs = (): number => performance.now() - startMs - PAUSE_MS
  const measuring = (async () => {
    while (!stopped.signal.aborted) {
      startMs = performance.now()
      // A failed round trip counts with its time.
      await roundTrip().catch(() => undefined)
      await delay(PAUSE_MS)
      ended.push({ atMs: Date.now(), tookMs: currentMs() })
    }
  })()
  return {
    maxMs: (sinceMs = 0) => {
      const since = ended.filter(({ atMs }) => atMs >= sinceMs)
      return Math.max(0, currentMs(), ...since.map(({ tookMs }) => tookMs))
    },
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await measuring
    },
  }
}
