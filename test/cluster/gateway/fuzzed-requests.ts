// Random requests on their way to the API server, and how its audit log has them.
import { METHODS } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type { RequestTarget } from '../../../src/domain/scope/request-info.ts'
import { type ParsedRequest, parseRequest } from '../../../src/gateway/request/parse.ts'
import { parseYaml } from '../../../src/runtime/yaml.ts'
import { type Audit, type Taken, byUserAgent, takenOf } from '../../support/audit-log.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import type { Sender } from '../../support/raw-sender.ts'
import { ROUNDS, type SentRequest, requestSent } from '../../support/request-fuzzer.ts'

/** A random request, and how the gateway parses it; null where it refuses. */
export interface FuzzedRequest {
  readonly sent: SentRequest
  readonly parsed: ParsedRequest | null
}

/** A request to send, and the check of its audit events. */
export interface FuzzCase {
  readonly sent: SentRequest
  readonly target: string
  readonly headers?: readonly string[]
  /** Whether the audited requests are the expected ones; empty where none reached the API server. */
  readonly isExpected: (taken: readonly Taken[]) => boolean
}

/** The audit log has exactly these requests. */
export const exactly =
  (...wanted: readonly Taken[]) =>
  (taken: readonly Taken[]): boolean =>
    isDeepStrictEqual(taken, wanted)

const MANAGEMENT: RequestTarget = { kind: 'Management' }

/** Whether the gateway's HTTP server reads a request of that method: others are answered 400, and CONNECT 501. */
const isRead = (method: string): boolean => method !== 'CONNECT' && METHODS.includes(method)

/** One random request to that target. */
function randomRequest(random: Random, target: RequestTarget): FuzzedRequest {
  const sent = requestSent(random)
  const result = parseRequest(sent.method, target, sent.rest)
  return { sent, parsed: result.ok && isRead(sent.method) ? result.request : null }
}

/**
 * Sends random requests in rounds, and returns the mismatches of the first round that has some. `caseOf` makes a case
 * of a request, or null for one that is not sent.
 */
export async function fuzz(
  seed: number,
  channel: AuditedChannel,
  caseOf: (one: FuzzedRequest, random: Random) => FuzzCase | null,
  target: RequestTarget = MANAGEMENT,
): Promise<readonly Mismatch[]> {
  const random = randomFrom(seed)
  for (const count of ROUNDS) {
    const cases: FuzzCase[] = []
    while (cases.length < count) {
      const fuzzCase = caseOf(randomRequest(random, target), random)
      if (fuzzCase !== null) cases.push(fuzzCase)
    }
    const mismatches = await mismatchesIn(channel, cases)
    if (mismatches.length > 0) return mismatches
  }
  return []
}

/** Where requests are sent, and the user that the audit log names for them. */
export interface AuditedChannel {
  readonly sender: Sender
  readonly audit: Audit
  readonly account: string
}

/** A request that the API server audited otherwise than expected. */
interface Mismatch {
  readonly sent: SentRequest
  readonly target: string
  /** The code of the answer; 0 = no answer. */
  readonly code: number | undefined
  readonly taken: readonly Taken[]
}

/** Sends the cases, finds their audit events, and returns the mismatches. */
async function mismatchesIn(
  { sender, audit, account }: AuditedChannel,
  cases: readonly FuzzCase[],
): Promise<Mismatch[]> {
  const mark = await audit.mark()
  const userAgent = (at: number): string => `fuzz/${mark.offset}/${at}`
  const codes = await sender.send(
    cases.map(({ sent: { method }, target, headers = [] }, at) => ({
      method,
      target,
      headers: [...headers, `User-Agent: ${userAgent(at)}`],
    })),
  )
  const audited = byUserAgent(await audit.linesSince(mark, account))
  return cases.flatMap(({ sent, target, isExpected }, at) => {
    const taken = (audited.get(userAgent(at)) ?? []).map(takenOf)
    return isExpected(taken) ? [] : [{ sent, target, code: codes[at], taken }]
  })
}

/** The client certificate and key of a kubeconfig of tools/control-plane, as options of node:tls. */
export function clientCertificateOf(kubeconfig: string): {
  readonly cert: string
  readonly key: string
} {
  const { users } = parseYaml(kubeconfig) as {
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
  }
  const [user] = users.map((one) => one.user)
  const part = (name: string): string => Buffer.from(user?.[name] ?? '', 'base64').toString('utf8')
  return { cert: part('client-certificate-data'), key: part('client-key-data') }
}
