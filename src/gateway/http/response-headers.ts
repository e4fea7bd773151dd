// Headers of an answer of the API server on their way to the client (contract 13.1).
import type { OutgoingHttpHeaders } from 'node:http'
import type { UpstreamHeaders } from '../../kube/proxy/upstream.ts'

/**
 * What passes. Never `www-authenticate` and cookies, which are between the API server and the gateway,
 * nor what belongs to their connection. Content-Length is for who passes the body on unchanged.
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
  'audit-id',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
] as const

/** The headers that pass; repeated ones stay so. */
export function clientHeaders(headers: UpstreamHeaders): OutgoingHttpHeaders {
  const passed = PASSED_TO_CLIENT.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]]]
  })
  return Object.fromEntries(passed) as OutgoingHttpHeaders
}
