// The headers of the API server's answer for the client (contract 13.1).
import type { OutgoingHttpHeaders } from 'node:http'
import type { UpstreamHeaders } from '../../kube/proxy/types.ts'

/**
 * The headers that pass to the client. Never `www-authenticate`, cookies and connection headers, which are between the
 * API server and the gateway. Content-Length passes only with an unchanged body.
 */
const PASSED_TO_CLIENT = [
  'content-type',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'date',
  'etag',
  'expires',
  'last-modified',
  'vary',
  'location',
  'retry-after',
  'allow',
  'warning',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
] as const

/** The length of a body that is passed on unchanged; empty = it has none. */
export const bodyLengthHeaders = ({
  'content-length': length,
}: UpstreamHeaders): OutgoingHttpHeaders =>
  typeof length === 'string' ? { 'content-length': length } : {}

/** The headers that pass to the client; repeated ones stay repeated. */
export const clientHeaders = (headers: UpstreamHeaders): OutgoingHttpHeaders =>
  pickedHeaders(headers, PASSED_TO_CLIENT)

/** The headers of these names; repeated ones stay repeated. */
export function pickedHeaders(
  headers: UpstreamHeaders,
  names: readonly string[],
): OutgoingHttpHeaders {
  const picked: OutgoingHttpHeaders = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) picked[name] = typeof value === 'string' ? value : [...value]
  }
  return picked
}
