// The gateway's stages in front of an API server in memory, with a key that a test ends.
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Reauthentication } from '../../../src/authn/authenticator.ts'
import type { KeyCaller } from '../../../src/authn/caller.ts'
import { accessLog } from '../../../src/gateway/access-log.ts'
import { createSelfService } from '../../../src/gateway/selfservice/handler.ts'
import type { Quota } from '../../../src/gateway/selfservice/quota.ts'
import { createResponseBuffer } from '../../../src/gateway/selfservice/response-buffer.ts'
import { createMaxInFlight } from '../../../src/gateway/streams/max-in-flight.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../../src/kube/proxy/types.ts'
import { asAbortSignal } from '../../../src/runtime/concurrency/end-signal.ts'
import type { Answer } from '../../../src/serving/http/answer.ts'
import { t0, viewOf } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { EXPIRES, handlerFor } from './handler-builder.ts'
import { callTo } from './request-builder.ts'
import { COUNTS, PLACE } from './selfservice/self-service-request.ts'

/** The collection of the keys. */
export const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
/** The collections of the others of ours. */
export const TOKENS = '/apis/management.platform.sh/v1/directclusterendpointtokens'
export const CONFIGS = '/apis/management.platform.sh/v1/configs'

const KINDS = [
  [KEYS, 'OwnedAccessKey'],
  [TOKENS, 'DirectClusterEndpointToken'],
  [CONFIGS, 'Config'],
] as const

/** A collection of another kind. */
export const MAPS = '/api/v1/namespaces/default/configmaps'

/** The caller: a user in person, with all rights on their own keys. */
const CALLER: KeyCaller = {
  key: viewOf({ metadata: { name: 'ada', uid: 'uid-ada' }, spec: { user: 'ada', type: 'Login' } }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** An API server that stores complete requests; `act` = what it does before it answers. */
function apiServer(act: (call: UpstreamCall) => Promise<void> | void, isDeaf: boolean) {
  const stored: string[] = []
  const asked: UpstreamCall[] = []
  const answers: UpstreamAnswer[] = []
  const send: Upstream['send'] = async (call) => {
    if (call.maySend?.() === false) throw new UpstreamUnavailable('unprocessed', 'not sent')
    asked.push(call)
    const answer = await answerTo(call)
    answers.push(answer)
    return answer
  }
  const answerTo: Upstream['send'] = async (call) => {
    const { body, signal, method, path, impersonation } = call
    const ended = once(asAbortSignal(signal), 'abort').then(() => {
      throw new UpstreamUnavailable('unprocessed', 'ended')
    })
    ended.catch(() => undefined)
    const sent = body instanceof Readable ? text(body) : (body?.toString() ?? '')
    const object = storedAs(path, await Promise.race([sent, ended]))
    const acting = act(call)
    await (isDeaf ? acting : Promise.race([acting, ended]))
    const [collection = ''] = path.split('?')
    if (method === 'DELETE' && collection === KEYS && impersonation !== null)
      return said(403, { kind: 'Status', code: 403 })
    if (method === 'GET' && collection.endsWith('/missing'))
      return said(404, { kind: 'Status', code: 404 })
    if (method !== 'GET' && !path.includes('dryRun')) stored.push(`${method} ${path.split('?')[0]}`)
    if (method === 'GET' && path.startsWith(`${KEYS}?`))
      return said(200, { kind: 'OwnedAccessKeyList', metadata: {}, items: [object] })
    return said(method === 'POST' ? 201 : 200, object)
  }
  return { upstream: { send }, stored, asked, answers }
}

const said = (status: number, json: object): UpstreamAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Readable.from([Buffer.from(JSON.stringify(json))]),
})

/** The object it returns: a key of ada, where that fits. */
function storedAs(path: string, sent: string): object {
  const given = (sent === '' ? {} : JSON.parse(sent)) as { readonly metadata?: object }
  const known = { name: 'a', uid: 'uid-a', creationTimestamp: '2026-11-21T10:00:00Z' }
  return {
    spec: { user: 'ada', type: 'User' },
    ...given,
    kind: KINDS.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'ConfigMap',
    metadata: { ...given.metadata, ...known },
  }
}

/** What a test changes. */
export interface StageOptions {
  /** What its API server does before it answers. */
  readonly act?: (call: UpstreamCall) => Promise<void> | void
  /** Whether its API server completes aborted requests. */
  readonly isDeaf?: boolean
  /** Runs before a use counts as recorded. */
  readonly started?: () => Promise<void>
  /** Ended keys beyond the quota. */
  readonly beyond?: ReturnType<Extract<ReturnType<Quota['take']>, { readonly ok: true }>['beyond']>
}

/** A gateway whose stages succeed, and a key that ends when the test says so. */
export function createStage({
  act = () => undefined,
  isDeaf = false,
  started = async () => undefined,
  beyond = [],
}: StageOptions = {}) {
  const clock = manualClock(t0)
  let now: Reauthentication = { ok: true, caller: CALLER }
  const counted: string[] = []
  const { log, lines } = memoryLog()
  const streams = new InFlightRequests({
    clock,
    reauthenticate: async () => now,
    observer: {
      opened: (kind) => void counted.push(`opened ${kind}`),
      closed: (kind) => void counted.push(`closed ${kind}`),
      cut: (reason) => void counted.push(`cut ${reason}`),
    },
  })
  const { upstream, ...server } = apiServer(act, isDeaf)
  let underWay = 0
  const limits = createMaxInFlight(() => undefined)
  const handle = handlerFor(CALLER, upstream.send, {
    limits: {
      admit: (uid, kind) => {
        const admission = limits.admit(uid, kind)
        underWay += 1
        return admission.ok ? { ok: true, release: () => void (underWay -= 1) } : admission
      },
    },
    activity: {
      started: () => started().then(() => 'later' as const),
      flowed: () => undefined,
      flush: async () => undefined,
    },
    inFlight: streams,
    selfService: createSelfService({
      upstream,
      limits,
      buffer: createResponseBuffer(64 * 1024 ** 2, () => undefined),
      keyNamed: () => undefined,
      isConfigClosed: () => false,
      caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
      newKey: () => 'a-key-in-clear',
      counts: { ...COUNTS, take: () => ({ ...PLACE, beyond: () => beyond }) },
      clock,
    }),
    observers: [accessLog(log, clock)],
    log,
  })
  /** Starts a request with the part of its body that has arrived. */
  const begin = (method: string, path: string, came = '', gone = new AbortController()) => {
    const body = new PassThrough()
    // Who waits for the rest of it keeps a place from others for as long.
    onTestFinished(() => void body.end())
    if (came !== '') body.write(came)
    const apply = path.includes('fieldManager') ? 'apply-patch+yaml' : 'merge-patch+json'
    const type = method === 'PATCH' ? `application/${apply}` : 'application/json'
    const framing = came === '' ? {} : { 'transfer-encoding': 'chunked' }
    const headers = { 'content-type': type, ...framing }
    const call = callTo(`/kubernetes/management${path}`, {
      method,
      headers,
      body,
      gone: gone.signal,
    })
    const answer = handle(call)
    return {
      answer,
      /** Whether the request counted as a use of its key. */
      use: async () => useOf(await answer),
      rest: (piece = '') => void body.end(piece),
      body,
    }
  }
  /** The key ends, and the gateway does not know yet. */
  const endQuietly = (because: Extract<Reauthentication, { ok: false }>['because'] = 'revoked') => {
    now = { ok: false, because }
  }
  const end = async (because: Extract<Reauthentication, { ok: false }>['because']) => {
    endQuietly(because)
    streams.look(null)
    await clock.advance(0)
  }
  return { begin, end, endQuietly, clock, ...server, counted, lines, underWay: () => underWay }
}

/** The expiry headers of a response; none for an ended key. */
const useOf = ({ headers }: Answer): string =>
  String(headers[EXPIRES] ?? 'ended').replace('ada ', '')
