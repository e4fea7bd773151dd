// Probes whether the API server lets the gateway impersonate users. Without it, the first request would be the test.
import { ACCESS_KEY_EXTRA, HEARTBEAT_NAME, SCOPE_EXTRA, TOKEN_ID_EXTRA } from '../../api/names.ts'
import { AUTHENTICATED_GROUP } from '../../authn/caller.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import { AccountRefused } from '../../kube/proxy/account-refusal.ts'
import { type Upstream, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { readBody } from '../../serving/http/answer.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'
import { impersonationOf } from '../proxy/impersonation.ts'

/** The dependencies of the probe. */
interface ImpersonationProbeOptions {
  readonly upstream: Pick<Upstream, 'send'>
  /** The extras that requests of callers carry: the API server must let this process send each of them. */
  readonly extras: Readonly<Record<string, string>>
  /** For the API server's audit log. */
  readonly userAgent: string
  readonly clock: Clock
  readonly log: Log
  /** Called each time the API server refuses. */
  readonly refused: () => void
  /** Stops the probe. */
  readonly signal: AbortSignal
}

/** The result of the probe. */
export interface ImpersonationProbe {
  /** Ready after the first success. Later refusals do not change it: they are for metrics and the log. */
  readonly readiness: Readonly<Record<'may-act', HealthCheck>>
}

/**
 * The result of one attempt. `unknown` proves nothing: a gateway that starts is not ready yet. `because` may quote the
 * API server; `cause` is the error where there was no answer.
 */
export type ProbeResult =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly because: string }
  | { readonly kind: 'unknown'; readonly because: string; readonly cause?: Error }

/** The pause before the next attempt, by the result of the last one. */
const PAUSE_MS = { allowed: 60_000, otherwise: 5000 }
const TIMEOUT_MS = 10_000
/** The longest message of the API server that is logged, in characters. */
const LONGEST_MESSAGE = 500

/** The user of the heartbeat key, which is no person. RBAC lets every user read the version. */
const USER = 'heartbeat'
const GROUPS = ['platform:authenticated', AUTHENTICATED_GROUP]
const PROBE_REQUEST = { method: 'GET', path: '/version', body: null, isLongRunning: false } as const

/** The extras of requests with an access key (contract 10.5). */
export const KEY_EXTRAS = { [ACCESS_KEY_EXTRA]: HEARTBEAT_NAME } as const

/** The extras of requests with a token (contract 9.2). */
export const TOKEN_EXTRAS = {
  ...KEY_EXTRAS,
  [TOKEN_ID_EXTRA]: HEARTBEAT_NAME,
  [SCOPE_EXTRA]: '*',
} as const

/** Probes at once, then every minute, or every 5 seconds after a failure, until the signal aborts. */
export function probeImpersonation(options: ImpersonationProbeOptions): ImpersonationProbe {
  const { clock, log, refused, signal } = options
  let isProven = false
  let wasRefused = false
  let because = 'it has not been tried yet'
  const attempt = async (): Promise<number> => {
    const finding = await attemptOnce(options)
    if (finding.kind === 'allowed') {
      if (wasRefused) log.info({}, 'the API server lets this server act for its callers again')
      isProven = true
      wasRefused = false
      return PAUSE_MS.allowed
    }
    because = finding.because
    if (finding.kind === 'unknown') return PAUSE_MS.otherwise
    refused()
    if (!wasRefused)
      log.error({ refusal: because }, 'the API server does not let this server act for its callers')
    wasRefused = true
    return PAUSE_MS.otherwise
  }
  const keepTrying = async (): Promise<void> => {
    while (!signal.aborted) await sleep(clock, await attempt(), signal)
  }
  void keepTrying()
  const unreadyMessage = (): string =>
    `it is not proven that this server may act for its callers: ${because}`
  return { readiness: { 'may-act': () => (isProven ? null : unreadyMessage()) } }
}

/** Tries once, for 10 s at most. Never rejects for what the API server or the network does. */
export async function attemptOnce({
  upstream,
  extras,
  userAgent,
  signal,
}: Pick<
  ImpersonationProbeOptions,
  'upstream' | 'extras' | 'userAgent' | 'signal'
>): Promise<ProbeResult> {
  const attemptSignal = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
    }
    const { status, body } = await upstream.send({
      ...PROBE_REQUEST,
      impersonation: impersonationOf({ user: USER, groups: GROUPS }, extras),
      headers,
      signal: attemptSignal,
    })
    const answerBody = await readBody(body).catch(() => null)
    return probeResultOf(status, answerBody?.toString('utf8') ?? '')
  } catch (error) {
    if (error instanceof UpstreamUnavailable && error.cause instanceof AccountRefused)
      return probeResultOf(403, error.cause.body.toString('utf8'))
    if (error instanceof UpstreamUnavailable)
      return { kind: 'unknown', because: error.message, cause: error }
    throw error
  }
}

/** A 403 that names the impersonated user proves impersonation; any other 403 refuses the gateway itself. */
function probeResultOf(status: number, text: string): ProbeResult {
  if (status === 200) return { kind: 'allowed' }
  const message = parseJsonMap(text)?.['message']
  if (status !== 403 || typeof message !== 'string')
    return { kind: 'unknown', because: `${PROBE_REQUEST.path} was answered with ${status}` }
  if (message.includes(`User "${USER}" cannot `)) return { kind: 'allowed' }
  return { kind: 'refused', because: message.replaceAll(/\s+/g, ' ').slice(0, LONGEST_MESSAGE) }
}
