import { Readable } from 'node:stream'
import type { HttpRequest } from '../../../src/serving/http/request.ts'

/** A GET of this target without a credential, but for what `given` says. */
export const callTo = (target: string, given: Partial<HttpRequest> = {}): HttpRequest => ({
  id: '00000000-0000-4000-8000-000000000001',
  method: 'GET',
  target,
  headers: {},
  rawHeaders: Object.entries(given.headers ?? {}).flatMap(([name, value]) => [name, String(value)]),
  by: 'request',
  body: Readable.from([]),
  remoteAddress: '192.0.2.1',
  clientCertificate: null,
  authenticated: () => undefined,
  gone: new AbortController().signal,
  ended: new AbortController().signal,
  unsent: () => 0,
  ...given,
})
