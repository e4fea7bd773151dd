import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { forward } from '../../../../src/gateway/proxy/forward.ts'
import { isSmallBody } from '../../../../src/gateway/proxy/small-body.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { EndSource } from '../../../../src/runtime/concurrency/end-signal.ts'
import { callTo } from '../request-builder.ts'

describe('a body is read before it is sent (13.3)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly headers: Record<string, string>; readonly isSmall: boolean }>([
    { name: 'one byte', headers: { 'content-length': '1' }, isSmall: true },
    { name: '16 KiB', headers: { 'content-length': '16384' }, isSmall: true },
    { name: 'a byte more', headers: { 'content-length': '16385' }, isSmall: false },
    { name: 'no bytes', headers: { 'content-length': '0' }, isSmall: false },
    { name: 'no length', headers: {}, isSmall: false },
    { name: 'chunks', headers: { 'transfer-encoding': 'chunked' }, isSmall: false },
    { name: 'both', headers: { 'content-length': '1', 'transfer-encoding': 'chunked' }, isSmall: false },
    { name: 'a client that waits', headers: { 'content-length': '1', expect: '100-continue' }, isSmall: false },
    { name: 'a length that is none', headers: { 'content-length': 'x' }, isSmall: false },
  ])('$name: $isSmall', ({ headers, isSmall }) => {
    expect(isSmallBody({ headers })).toBe(isSmall)
  })
})

/** A PATCH with a body that a test writes, and what the API server has got of it. */
function patching(headers: Record<string, string>) {
  const body = new PassThrough()
  const ended = new EndSource()
  const sent: UpstreamCall[] = []
  const reading = parseRequest(
    'PATCH',
    { kind: 'Management' },
    '/api/v1/namespaces/shop/configmaps/x',
  )
  if (!reading.ok) throw new Error('the request is refused')
  const send = async (call: UpstreamCall) => {
    sent.push(call)
    return { status: 200, headers: {}, body: Readable.from([]) }
  }
  const call = callTo('/', { method: 'PATCH', headers, body })
  const answer = forward({ send }, reading.request, call, 'gateway', { signal: ended })
  return { body, ended, sent, answer }
}

describe('a small body (13.3)', () => {
  test('is sent in one piece, once all of it is there', async () => {
    const { body, sent, answer } = patching({ 'content-length': '4' })
    body.write('ab')
    await new Promise(setImmediate)
    expect(sent).toEqual([])
    body.end('cd')
    expect((await answer).status).toBe(200)
    expect(sent.map((call) => call.body)).toEqual([Buffer.from('abcd')])
  })

  test('that breaks off does not reach the API server', async () => {
    const { body, sent, answer } = patching({ 'content-length': '4' })
    body.write('ab')
    body.destroy()
    expect((await answer).status).toBe(503)
    expect(sent).toEqual([])
  })

  test('of a request that ends while it is read does not reach the API server', async () => {
    const { body, ended, sent, answer } = patching({ 'content-length': '4' })
    ended.end()
    body.end('abcd')
    expect((await answer).status).toBe(503)
    expect(sent).toEqual([])
  })
})

test('a body in chunks is streamed (13.3)', async () => {
  const { body, sent, answer } = patching({ 'transfer-encoding': 'chunked' })
  expect((await answer).status).toBe(200)
  expect(sent.map((call) => call.body)).toEqual([body])
})
