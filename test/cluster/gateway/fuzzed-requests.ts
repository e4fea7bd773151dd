// Requests that no client would send, on their way to the API server, and what its audit log has of them.
import { isDeepStrictEqual } from 'node:util'
import type { RequestTarget } from '../../../src/domain/scope/request-info.ts'
import { type ParsedRequest, parseRequest } from '../../../src/gateway/request/parse.ts'
import type { Audit } from '../../support/audit-log.ts'
import { type Taken, byUserAgent, takenOf } from '../../support/fuzz/audited.ts'
import { type SentRequest, requestSent } from '../../support/fuzz/requests.ts'
import type { Sender } from '../../support/fuzz/sender.ts'
import type { Random } from '../../support/random.ts'

/** A request, and what the gateway reads of it; null where it refuses. */
export interface FuzzedRequest {
  readonly sent: SentRequest
  readonly read: ParsedRequest | null
}

/** A request as it leaves, and what must come of it. */
export interface Row {
  readonly sent: SentRequest
  readonly target: string
  readonly headers?: readonly string[]
  /** Whether what the API server took it for is right; nothing where it never got there. */
  readonly isRight: (taken: readonly Taken[]) => boolean
}

/** It must have been taken for this and nothing else, exactly once; never where there is nothing. */
export const exactly =
  (...wanted: readonly Taken[]) =>
  (taken: readonly Taken[]): boolean =>
    isDeepStrictEqual(taken, wanted)

const MANAGEMENT: RequestTarget = { kind: 'Management' }

/** One request of any kind. */
export function drawRequests(random: Random): FuzzedRequest {
  const sent = requestSent(random)
  const result = parseRequest(sent.method, MANAGEMENT, sent.rest)
  return { sent, read: result.ok ? result.request : null }
}

/** Where requests go, and whose they are in the audit log. */
export interface Way {
  readonly sender: Sender
  readonly audit: Audit
  readonly account: string
}

/** A request that was taken for something else than it should have been. */
export interface Mismatch {
  readonly sent: SentRequest
  readonly target: string
  /** The code of the answer; 0 = there was none. */
  readonly code: number | undefined
  readonly taken: readonly Taken[]
}

/** Sends the rows, looks all of them up, and tells those that went wrong. */
export async function mismatchesIn(
  { sender, audit, account }: Way,
  rows: readonly Row[],
): Promise<Mismatch[]> {
  const mark = await audit.mark()
  const userAgent = (at: number): string => `fuzz/${mark.offset}/${at}`
  const codes = await sender.send(
    rows.map(({ sent: { method }, target, headers = [] }, at) => ({
      method,
      target,
      headers: [...headers, `User-Agent: ${userAgent(at)}`],
    })),
  )
  const audited = byUserAgent(await audit.linesSince(mark, account))
  return rows.flatMap(({ sent, target, isRight }, at) => {
    const taken = (audited.get(userAgent(at)) ?? []).map(takenOf)
    return isRight(taken) ? [] : [{ sent, target, code: codes[at], taken }]
  })
}
