// A probe of the gateway's right to impersonate: nothing else shows it before the first request.
import { HEARTBEAT_KEY } from '../../api/names.ts'
import { AUTHENTICATED_GROUP } from '../../authn/caller.ts'
import { parseJsonMap } from '../../domain/json/json.ts'
import { type Upstream, UpstreamUnavailable } from '../../kube/proxy/types.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { readBody } from '../../serving/http/answer.ts'
import type { HealthCheck } from '../../serving/http/pages.ts'
import { impersonationOf } from '../proxy/forward.ts'

/** What the probe needs. */
interface ImpersonationProbeOptions {
  readonly upstream: Pick<Upstream, 'send'>
  /** As the API server's audit log has it. */
  readonly userAgent: string
  readonly clock: Clock
  readonly log: Log
  /** Called each time the API server refuses. */
  readonly refused: () => void
  /** Ends it. */
  readonly signal: AbortSignal
}

/** The result of the probe. */
export interface ImpersonationProbe {
  /** Ready once the API server has let it act; what it says later is for metrics and the log. */
  readonly readiness: Readonly<Record<'may-act', HealthCheck>>
}

/** What one attempt showed. Of what is `unknown` nothing is concluded, and a gateway that starts waits on. */
type Finding =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused' | 'unknown'; readonly because: string }

const AGAIN_MS = { allowed: 60_000, otherwise: 5000 }
const WITHIN_MS = 10_000
/** Characters of what the API server says, at most. */
const MOST_TEXT = 500

/** The user of the heartbeat key, which has no person; every user may see the version. */
const USER = 'heartbeat'
const ASKED = {
  method: 'GET',
  path: '/version',
  impersonation: impersonationOf(
    { user: USER, groups: ['platform:authenticated', AUTHENTICATED_GROUP] },
    HEARTBEAT_KEY,
  ),
  body: null,
  isLongRunning: false,
} as const

/** Tries at once, and again every minute, or every 5 seconds while it fails, until the signal aborts. */
export function probeImpersonation(options: ImpersonationProbeOptions): ImpersonationProbe {
  const { clock, log, refused, signal } = options
  let isProven = false
  let wasRefused = false
  let because = 'it has not been tried yet'
  const attempt = async (): Promise<number> => {
    const finding = await tried(options)
    if (finding.kind === 'allowed') {
      if (wasRefused) log.info({}, 'the API server lets this gateway act for its callers again')
      isProven = true
      wasRefused = false
      return AGAIN_MS.allowed
    }
    because = finding.because
    if (finding.kind === 'unknown') return AGAIN_MS.otherwise
    refused()
    if (!wasRefused)
      log.error(
        { refusal: because },
        'the API server does not let this gateway act for its callers',
      )
    wasRefused = true
    return AGAIN_MS.otherwise
  }
  const keepTrying = async (): Promise<void> => {
    while (!signal.aborted) await sleep(clock, await attempt(), signal)
  }
  void keepTrying()
  const failing = (): string => `the gateway is not known to act for its callers: ${because}`
  return { readiness: { 'may-act': () => (isProven ? null : failing()) } }
}

async function tried({ upstream, userAgent, signal }: ImpersonationProbeOptions): Promise<Finding> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])
  try {
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
    }
    const { status, body } = await upstream.send({ ...ASKED, headers, signal: ends })
    const said = await readBody(body).catch(() => null)
    return findingOf(status, said?.toString('utf8') ?? '')
  } catch (error) {
    if (error instanceof UpstreamUnavailable) return { kind: 'unknown', because: error.message }
    throw error
  }
}

/** A 403 for the impersonated user proves that the gateway may impersonate; any other 403 is its own. */
function findingOf(status: number, text: string): Finding {
  if (status === 200) return { kind: 'allowed' }
  const message = parseJsonMap(text)?.['message']
  if (status !== 403 || typeof message !== 'string')
    return { kind: 'unknown', because: `${ASKED.path} was answered with ${status}` }
  if (message.includes(`User "${USER}" cannot `)) return { kind: 'allowed' }
  return { kind: 'refused', because: message.replaceAll(/\s+/g, ' ').slice(0, MOST_TEXT) }
}
