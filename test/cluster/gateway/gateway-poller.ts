// What a gateway says of a key while something happens: asked all the time, and watched.
import { Agent, get } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { untilMay } from '../../support/access-review.ts'
import { ISSUER, type ProcessOptions } from '../../support/command-process.ts'
import type { FaultProxy } from '../../support/fault-proxy.ts'
import {
  type GatewayAnswer,
  type OwnGateway,
  ask,
  startGateway,
} from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { type TestGateway, MANAGEMENT } from './test-gateway.ts'

/** Leads to no API: nobody upstream is asked. A key that is good is answered 404 there. */
export const NOWHERE = '/nowhere'

/** A request that goes upstream, and that everybody may make who has a good key. */
export const UPSTREAM = `${MANAGEMENT}/version`

/** What user ada may see, once `letWatch` says so, and others may not. */
export const WATCHED = `${MANAGEMENT}/api/v1/namespaces/default/configmaps`

/** A gateway beside those of the front, with a line of its own to the API server where one is given. */
export async function startAnotherGateway(
  { plane }: TestGateway,
  { line, ...options }: { readonly line?: FaultProxy } & Pick<ProcessOptions, 'env'>,
): Promise<OwnGateway> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const own = await plane.serviceAccountKubeconfig(namespace, name)
  const kubeconfig = line ? await line.kubeconfig(own) : own
  return startGateway({ ...options, kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
}

/** An answer, and when it was asked for and came, in epoch milliseconds. */
export interface PolledAnswer extends GatewayAnswer {
  readonly sentMs: number
  readonly doneMs: number
}

/** One request of the bearer of that key; code 0 where no answer comes, which `body` explains. */
export async function polledAnswerOf(
  { ca }: TestGateway,
  gateway: OwnGateway,
  token: string,
  path = NOWHERE,
  agent?: Agent,
): Promise<PolledAnswer> {
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

/** Asks again and again until the end of the block that it is used in. */
export interface GatewayPoller extends AsyncDisposable {
  /** Every answer so far, in order. */
  readonly all: readonly PolledAnswer[]
  /** Those to requests that left in this time; epoch milliseconds. */
  readonly between: (fromMs: number, toMs: number) => readonly PolledAnswer[]
  /** When the last request left that was accepted, epoch milliseconds; 0 = none was. */
  readonly lastAcceptedMs: () => number
  /** How long after one the next left at most, beyond the usual: how late the machine is; milliseconds. */
  readonly lateMs: () => number
}

/** So often that a second shows, so seldom that what happens is not this. */
const EVERY_MS = 100

/** Asks from now on. */
export function pollGateway(
  front: TestGateway,
  gateway: OwnGateway,
  token: string,
  path = NOWHERE,
): GatewayPoller {
  const all: PolledAnswer[] = []
  const agent = new Agent({ keepAlive: true, ca: front.ca })
  const stopped = new AbortController()
  const asking = (async () => {
    while (!stopped.signal.aborted) {
      all.push(await polledAnswerOf(front, gateway, token, path, agent))
      await wait(EVERY_MS)
    }
  })()
  return {
    all,
    between: (fromMs, toMs) => all.filter(({ sentMs }) => sentMs > fromMs && sentMs < toMs),
    lastAcceptedMs: () => Math.max(0, ...all.filter(isAccepted).map(({ sentMs }) => sentMs)),
    lateMs: () =>
      Math.max(0, ...all.map(({ sentMs }, at) => sentMs - (all[at - 1]?.sentMs ?? sentMs))) -
      EVERY_MS,
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await asking
      agent.destroy()
    },
  }
}

/** Whether whoever asked was taken for somebody. */
export const isAccepted = ({ code }: Pick<PolledAnswer, 'code'>): boolean =>
  code === 404 || code === 200

/** The codes of answers, each once. */
export const codesOf = (answers: readonly Pick<PolledAnswer, 'code'>[]): ReadonlySet<number> =>
  new Set(answers.map(({ code }) => code))

/** A watch through a gateway. */
export interface OpenWatch {
  /** When it ended, in epoch milliseconds; null while it is open. */
  readonly endedMs: () => number | null
  /** Resolves when it ends, with the moment. */
  readonly ended: Promise<number>
  /** The last event, parsed; null = none came. */
  readonly last: () => unknown
}

/** Opens a watch of what user ada may see by `letWatch`. @throws Error when it is refused */
export function openWatch(
  front: TestGateway,
  gateway: OwnGateway,
  token: string,
): Promise<OpenWatch> {
  return new Promise((opened, refused) => {
    const url = `${gateway.url()}${WATCHED}?watch=true`
    const headers = { authorization: `Bearer ${token}` }
    const request = get(url, { ca: front.ca, headers, agent: false }, (answer) => {
      let text = ''
      let endedMs: number | null = null
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.once('error', () => undefined)
      const { promise: ended, resolve } = Promise.withResolvers<number>()
      answer.once('close', () => resolve((endedMs = Date.now())))
      const last = (): unknown => JSON.parse(text.trimEnd().split('\n').at(-1) || 'null')
      if (answer.statusCode === 200) opened({ endedMs: () => endedMs, ended, last })
      else refused(new Error(`the watch was answered ${answer.statusCode}`))
    })
    request.once('error', refused)
  })
}

/** Lets user ada see what `openWatch` watches. */
export async function allowWatch({ plane }: TestGateway): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'
  const { code } = await plane.raw('POST', path, {
    metadata: { name: 'ada' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
  })
  if (code !== 201) throw new Error(`the binding was answered ${code}`)
  const wish = { verb: 'watch', resource: 'configmaps', namespace: 'default' }
  await untilMay(plane.raw, { user: 'ada' }, wish)
}
