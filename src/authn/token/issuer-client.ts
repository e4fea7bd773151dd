// Reads the three public documents of the issuer (contract 9.2).
import { AS_OF_HEADER } from '../../api/names.ts'
import { parseTimestamp } from '../../domain/time.ts'
import type { HttpClient } from '../../runtime/http-client.ts'

const MIB = 1024 * 1024

/** The documents below the issuer, with the bounds of their answers. */
const DOCUMENTS = {
  discovery: { path: '/.well-known/openid-configuration', maxBytes: MIB, withinMs: 5000 },
  keys: { path: '/keys', maxBytes: MIB, withinMs: 5000 },
  revoked: { path: '/revoked', maxBytes: 64 * MIB, withinMs: 30_000 },
} as const

/** A document that the issuer serves. */
export type IssuerDocument = keyof typeof DOCUMENTS

/** The documents, in the order of a poll. */
export const ISSUER_DOCUMENTS = Object.keys(DOCUMENTS) as readonly IssuerDocument[]

/** The answer to a request for a document. */
export interface IssuerAnswer {
  /** null = unchanged since the answer with the ETag that was sent (304). */
  readonly body: Buffer | null
  /** The Date header in epoch milliseconds; null = absent or malformed. */
  readonly dateMs: number | null
  /** When the answer began, by the monotonic counter. */
  readonly monotonicMs: number
  readonly etag: string | null
  /** The `asOf` of the list in epoch milliseconds, by its header; null = absent or malformed. */
  readonly asOfMs: number | null
}

/**
 * Maximum connections to the issuer. Polls send one request at a time, so that one replica answers a whole poll where it can;
 * a refresh of the keys uses another.
 */
export const ISSUER_SOCKETS = 2

// A proxy may cache keys for five minutes, and a withdrawn one must be noticed at the next poll.
const HEADERS = { accept: 'application/json', 'cache-control': 'no-cache' }

/**
 * Reads a document.
 *
 * @param etag of an earlier answer that is still valid; null = none
 * @throws Error for any status but 200 and 304, no answer in time, or one that is too large
 */
export async function readDocument(
  http: HttpClient,
  issuer: string,
  document: IssuerDocument,
  etag: string | null,
): Promise<IssuerAnswer> {
  const { path, maxBytes, withinMs } = DOCUMENTS[document]
  const { status, headers, body, monotonicMs } = await http.get({
    url: `${issuer}${path}`,
    headers: { ...HEADERS, ...(etag === null ? {} : { 'if-none-match': etag }) },
    statuses: etag === null ? [200] : [200, 304],
    maxBytes,
    withinMs,
  })
  if (body === null) throw new Error(`the issuer answered ${status}`)
  const dateMs = Date.parse(headers.date ?? '')
  return {
    body: status === 304 ? null : body,
    dateMs: Number.isNaN(dateMs) ? null : dateMs,
    monotonicMs,
    etag: headers.etag ?? null,
    asOfMs: parseTimestamp(headers[AS_OF_HEADER]),
  }
}
