import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import type { HttpRequest } from '../../../../src/serving/http/request.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'
import { memoryAudit } from './memory-audit.ts'

const t0 = Date.parse('2026-11-28T10:00:00Z')
const PODS = '/kubernetes/management/api/v1/namespaces/shop/pods'

const POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"n":1.0}}'
const SECRET =
  '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"p":"aHVudGVyMg=="}}'

const posted = (body: string, type = 'application/json'): Partial<HttpRequest> => ({
  method: 'POST',
  headers: { 'content-type': type, 'content-length': String(body.length) },
  body: Readable.from([Buffer.from(body)]),
})

/** A gateway whose API server reads the request, and answers with these pieces. */
function bodyGateway(level: string, pieces: readonly string[], headers = {}) {
  const read: string[] = []
  const log = memoryAudit(
    { policy: { rules: [{ level, omitStages: ['RequestReceived'] }] } },
    manualClock(t0),
  )
  const accepted: (string | undefined)[] = []
  const respond = handlerFor(
    CALLER,
    async ({ body, headers: sent }) => {
      accepted.push(String(sent['accept']), String(sent['accept-encoding']))
      for await (const piece of body instanceof Readable ? body : [body ?? ''])
        read.push(String(piece))
      const answer = Readable.from(pieces.map((piece) => Buffer.from(piece)))
      return {
        status: 200,
        headers: { 'content-type': 'application/json', ...headers },
        body: answer,
      }
    },
    { audit: log.audit },
  )
  return { ...log, read, respond, accepted }
}

const textOf = async (body: Buffer | Readable): Promise<string> =>
  Buffer.isBuffer(body) ? body.toString() : (await body.toArray()).join('')

test.each<{
  readonly level: string
  readonly body: string
  readonly resource: string
  readonly expected: readonly [name: unknown, request: unknown, response: unknown]
}>([
  { level: 'Metadata', body: POD, resource: 'pods', expected: ['web', undefined, undefined] },
  { level: 'Request', body: POD, resource: 'pods', expected: ['web', JSON.parse(POD), undefined] },
  {
    level: 'RequestResponse',
    body: POD,
    resource: 'pods',
    expected: ['web', JSON.parse(POD), JSON.parse(POD)],
  },
  {
    level: 'RequestResponse',
    body: SECRET,
    resource: 'secrets',
    expected: [
      's',
      { ...(JSON.parse(SECRET) as object), data: '<hidden>' },
      { ...(JSON.parse(SECRET) as object), data: '<hidden>' },
    ],
  },
])(
  'a create of $resource at level $level has its name and these bodies (21.3, 21.4)',
  async (row) => {
    const { level, body, resource, expected } = row
    const { respond, events, read } = bodyGateway(level, [body.slice(0, 9), body.slice(9)])
    const path = `/kubernetes/management/api/v1/namespaces/shop/${resource}`
    const answer = await respond(callTo(path, posted(body)))
    expect(await textOf(answer.body)).toBe(body)
    answer.ended?.('complete')
    expect(read.join('')).toBe(body)
    const [{ objectRef, requestObject, responseObject } = {}] = events()
    expect([(objectRef as { name?: string }).name, requestObject, responseObject]).toEqual(expected)
  },
)

test('numbers of a body are recorded digit for digit (21.4)', async () => {
  const { respond, recorder, events } = bodyGateway('Request', ['{}'])
  await respond(callTo(PODS, posted(POD)))
  expect(recorder.isKnown).toBe(true)
  expect(JSON.stringify(events())).toContain('"n":1')
})

test('the last byte of an answer that is recorded waits for its event (22.2)', async () => {
  const { respond, hold, events } = bodyGateway('RequestResponse', [POD], {
    'content-length': String(POD.length),
  })
  const release = hold()
  const { body } = await respond(callTo(`${PODS}/web`))
  if (Buffer.isBuffer(body)) throw new Error('the answer does not stream')
  const pieces: string[] = []
  body.on('data', (piece: Buffer) => pieces.push(piece.toString()))
  await vi.waitFor(() => expect(pieces.join('')).toBe(POD.slice(0, -1)))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([pieces.join(''), body.readableEnded]).toEqual([POD.slice(0, -1), false])
  release()
  await vi.waitFor(() => expect(body.readableEnded).toBe(true))
  expect([pieces.join(''), events().length]).toEqual([POD, 1])
})

test('an answer whose event cannot be written is cut without an end (22.2)', async () => {
  const { respond, fail } = bodyGateway('RequestResponse', [POD])
  const { body } = await respond(callTo(`${PODS}/web`))
  fail()
  await expect(textOf(body)).rejects.toThrow('the record could not be written yet')
})

test('an answer whose client leaves is recorded as incomplete (21.4)', async () => {
  const { respond, events } = bodyGateway('RequestResponse', [POD.slice(0, 9), POD.slice(9)])
  const { body, ended } = await respond(callTo(`${PODS}/web`))
  if (Buffer.isBuffer(body)) throw new Error('the answer does not stream')
  body.destroy()
  ended?.('clientGone')
  await vi.waitFor(() =>
    expect(events()).toMatchObject([
      { annotations: { 'platform.sh/response-omitted': 'incomplete' } },
    ]),
  )
})

test('an answer to be recorded is asked for as JSON without compression (21.4)', async () => {
  const headers = {
    accept:
      'application/vnd.kubernetes.protobuf, application/json;as=Table;g=meta.k8s.io;v=v1, */*',
    'accept-encoding': 'gzip',
  }
  for (const [level, expected] of [
    ['Request', [headers.accept, 'gzip']],
    ['RequestResponse', [' application/json;as=Table;g=meta.k8s.io;v=v1', 'identity']],
  ] as const) {
    const { respond, accepted } = bodyGateway(level, ['{}'])
    await respond(callTo(`${PODS}/web`, { headers }))
    expect(accepted).toEqual(expected)
  }
})
