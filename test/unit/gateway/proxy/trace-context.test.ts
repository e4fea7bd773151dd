// Trace headers from a client to the API server (contract 13.1).
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { upstreamHeaders } from '../../../../src/gateway/proxy/request-headers.ts'
import { create } from '../../../../src/gateway/selfservice/create.ts'
import { callTo } from '../request-builder.ts'
import { DEPS } from '../selfservice/echoing-api-server.ts'
import { exchangeOf } from '../selfservice/self-service-request.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const PARENT = `00-${TRACE}-${SPAN}-01`

/** The forwarded headers, without the request ID. */
const sent = (headers: Readonly<Record<string, string>>) => {
  const { 'audit-id': _id, ...others } = upstreamHeaders(
    callTo('/', { headers, remoteAddress: '' }),
  )
  return others
}

describe('traceparent (13.1)', () => {
  test.each([
    PARENT,
    `00-${TRACE}-${SPAN}-00`,
    `00-${TRACE}-${SPAN}-03`,
    `01-${TRACE}-${SPAN}-01`,
    `fe-${TRACE}-${SPAN}-ff`,
  ])('%s passes', (traceparent) => {
    expect(sent({ traceparent, tracestate: 'a=1' })).toEqual({ traceparent, tracestate: 'a=1' })
  })

  test.each([
    { name: 'nothing', traceparent: '' },
    { name: 'a word', traceparent: 'x' },
    { name: 'version ff', traceparent: `ff-${TRACE}-${SPAN}-01` },
    { name: 'capitals', traceparent: PARENT.toUpperCase() },
    { name: 'a trace ID of zeros', traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` },
    { name: 'a span ID of zeros', traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
    { name: 'a short trace', traceparent: `00-${TRACE.slice(1)}-${SPAN}-01` },
    { name: 'a long span', traceparent: `00-${TRACE}-${SPAN}0-01` },
    { name: 'no flags', traceparent: `00-${TRACE}-${SPAN}` },
    { name: 'a trailing field', traceparent: `00-${TRACE}-${SPAN}-01-x` },
    { name: 'a trailing field of a later version', traceparent: `01-${TRACE}-${SPAN}-01-x` },
    { name: 'a trailing line break', traceparent: `${PARENT}\n` },
    { name: 'two, as Node joins them', traceparent: `${PARENT}, ${PARENT}` },
    { name: 'a very long value', traceparent: `00-${'a'.repeat(10_000)}` },
  ])('$name is dropped, with its tracestate', ({ traceparent }) => {
    expect(sent({ traceparent, tracestate: 'a=1', accept: 'b' })).toEqual({ accept: 'b' })
  })

  test.each(['traceparent', 'Tracestate, TraceParent'])(
    'is dropped when Connection names it: %s (A2)',
    (connection) => {
      expect(sent({ connection, traceparent: PARENT, tracestate: 'a=1' })).toEqual({})
    },
  )
})

describe('tracestate (13.1)', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join()

  test.each([
    'rojo=00f067aa0ba902b7',
    'rojo=1,congo=t61rcWkgMzE',
    'rojo=1, congo=2',
    'rojo=1,,congo=2,',
    'tenant@system=a b:c;d',
    `a=${'v'.repeat(256)}`,
    many(32),
  ])('%s passes', (tracestate) => {
    expect(sent({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT, tracestate })
  })

  test.each([
    '',
    ',',
    'a',
    '=1',
    'a=',
    'A=1',
    'a=1=2',
    'a=\u00e9',
    'a=1\tb=2',
    'a b=1',
    many(33),
    `a=1,${'b'.repeat(257)}=1`,
    'a=1,\u00a0b=2',
    `a=${'v'.repeat(251)},b=${'v'.repeat(256)},`,
  ])('%j is dropped; traceparent passes', (tracestate) => {
    expect(sent({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT })
  })

  test('is dropped without a traceparent', () => {
    expect(sent({ tracestate: 'a=1' })).toEqual({})
  })
})

test("requests of self-service under the gateway's own account belong to the same trace (12.1, 13.1)", async () => {
  const traces: unknown[] = []
  const exchange = exchangeOf({
    verb: 'create',
    name: '',
    answers: ({ method, path, headers, body }) => {
      const { traceparent, tracestate } = headers
      traces.push([method, path.includes('dryRun'), traceparent, tracestate])
      return [
        method === 'POST' ? 201 : 200,
        JSON.parse((body as Buffer).toString()) as Record<string, never>,
      ]
    },
  })
  const headers = { 'content-type': 'application/json', traceparent: PARENT, tracestate: 'a=1' }
  const body = Readable.from([Buffer.from(JSON.stringify({ kind: 'OwnedAccessKey', spec: {} }))])
  await create({ ...exchange, call: callTo('/', { method: 'POST', headers, body }) }, DEPS)
  expect(traces).toEqual([
    ['POST', true, PARENT, 'a=1'],
    ['POST', false, PARENT, 'a=1'],
    ['PATCH', false, PARENT, 'a=1'],
  ])
})
