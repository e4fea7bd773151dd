// The headers of the API server's answer for the client (contract 13.1).
import type { OutgoingHttpHeaders } from 'node:http'
import type { UpstreamHeaders } from '../../kube/proxy/types.ts'

/**
 * The headers that pass to the client. Never `www-authenticate`, cookies and connection headers, which are between the
 * API server and the gateway. Content-Length passes only with an unchanged body.
 */
const PASSED_TO_CLIENT: ReadonlySet<string> = new Set([
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
])

/** The length of a body that is passed on unchanged; empty = it has none. */
export const bodyLengthHeaders = ({
  'content-length': length,
}: UpstreamHeaders): OutgoingHttpHeaders =>
  typeof length === 'string' ? { 'content-length': length } : {}

/** The headers that pass to the client; repeated ones stay repeated. */
export const clientHeaders = (headers: UpstreamHeaders): OutgoingHttpHeaders =>
  pickedHeaders(headers, (name) => PASSED_TO_CLIENT.has(name))

/** The headers that pass to the client with an unchanged body, in an object of their own. */
export const unchangedHeaders = (headers: UpstreamHeaders): OutgoingHttpHeaders =>
  pickedHeaders(
    headers,
    (name) =>
      PASSED_TO_CLIENT.has(name) ||
      (name === 'content-length' && typeof headers[name] === 'string'),
  )

/** The headers whose names are wanted; repeated ones stay repeated. */
export function pickedHeaders(
  headers: UpstreamHeaders,
  isWanted: (name: string) => boolean,
): OutgoingHttpHeaders {
  const picked: OutgoingHttpHeaders = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined && isWanted(name))
      picked[name] = typeof value === 'string' ? value : [...value]
  }
  return picked
}
