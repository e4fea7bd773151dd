// Events of agents on their way into the log of the gateway (contract 23.1, 23.2).
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { generateKey } from '../../../../src/issuance/new-object.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { auditEvent, type BuiltEvent } from '../../../support/audit-event-builder.ts'
import { batchOf, centre, eventsOf, JSON_TYPE } from './agent-centre.ts'

const MOST_BYTES = 3 * 1024 * 1024

const textOf = ({ body }: Answer): string => (body as Buffer).toString()

async function refusalOf(answer: Promise<Answer>) {
  const refused = await answer
  const { message } = JSON.parse(textOf(refused)) as { message: string }
  return { status: refused.status, refusal: refused.refusal, message }
}

test('a batch is answered once the log has all of its events, in their order, as those of the agent (23.2)', async () => {
  const { send, events, observed } = centre()
  const sent = [...eventsOf(2), auditEvent({ stageTimestamp: '2026-11-28T12:00:04.000000Z' })]
  const answer = await send(batchOf(sent))
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
  expect(textOf(answer)).toBe('{"events":3}')
  expect(events()).toEqual(
    sent.map((event) => ({
      ...event,
      annotations: { ...(event['annotations'] as object), 'platform.sh/source': 'agent:east' },
    })),
  )
  expect(observed).toEqual([
    ...Array.from({ length: 3 }, () => 'Metadata ResponseComplete'),
    'east 6 s',
  ])
})

test('the answer waits for the log (23.2)', async () => {
  const { send, events, hold } = centre()
  const release = hold()
  let isAnswered = false
  const answer = send(batchOf(eventsOf(3))).then(() => (isAnswered = true))
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  expect([isAnswered, events().length]).toEqual([false, 0])
  release()
  await answer
  expect(events()).toHaveLength(3)
})

test('no events are a batch too, and say nothing of how far the agent is (23.1, 23.3)', async () => {
  const { send, observed } = centre()
  expect(textOf(await send(batchOf([])))).toBe('{"events":0}')
  expect(observed).toEqual([])
})

test('bodies are recorded again by the kinds and limits of the gateway, numbers digit for digit (21.4, 23.2)', async () => {
  const { send, events, lines, observed } = centre({ bodyLimit: 100 })
  const configMap = {
    objectRef: { resource: 'configmaps', apiVersion: 'v1' },
    level: 'RequestResponse',
  }
  const withBodies = (fields: BuiltEvent, requestObject: string, responseObject: string): string =>
    `${JSON.stringify(auditEvent({ level: 'RequestResponse', ...fields })).slice(0, -1)},"requestObject":${requestObject},"responseObject":${responseObject}}`
  const secret =
    '{"kind":"Secret","data":{"a":"canary"},"metadata":{"name":"s","managedFields":[{"a":1}]}}'
  const answer = await send(
    eventListOf(
      [
        withBodies(configMap, '{"n":1.10e2,"z":-0.0}', `["${'x'.repeat(200)}"]`),
        withBodies({}, secret, secret),
        withBodies(configMap, secret, 'null'),
        withBodies({ verb: 'patch' }, '["/data/a"]', '{}'),
        withBodies({ verb: 'patch' }, '[{"op":"add","path":"/data/a","value":"canary"}]', '{}'),
        withBodies({ verb: 'patch' }, '{"data":{"a":"canary"}}', '{}'),
        withBodies(configMap, '"\u2028\u0085"', `${'['.repeat(45)}${']'.repeat(45)}`),
      ],
      null,
    ),
  )
  expect(textOf(answer)).toBe('{"events":7}')
  expect(lines.join('')).not.toContain('canary')
  expect(lines[0]).toContain('"requestObject":{"n":1.10e2,"z":-0.0}')
  const hidden = { kind: 'Secret', data: '<hidden>', metadata: { name: 's' } }
  expect(events()).toMatchObject([
    { annotations: { 'platform.sh/response-omitted': 'size', 'audit.k8s.io/truncated': 'true' } },
    { requestObject: hidden, responseObject: hidden },
    { requestObject: hidden },
    { requestObject: ['/data/a'] },
    { requestObject: [{ op: 'add', path: '/data/a' }] },
    { requestObject: ['/data/a'] },
    { requestObject: '\u2028\u0085' },
  ])
  expect(events().map((event) => 'responseObject' in event)).toEqual([
    false,
    true,
    false,
    true,
    true,
    true,
    true,
  ])
  expect(observed.filter((one) => one.startsWith('omitted'))).toEqual(['omitted size'])
})

test('a body nested too deeply, or with too many values, is left out of its event (21.4, 23.1)', async () => {
  const { send, events, observed } = centre({ bodyLimit: 1024 ** 2 })
  const withBody = (body: string): string =>
    `${JSON.stringify(auditEvent({ level: 'Request' })).slice(0, -1)},"requestObject":${body}}`
  const deep = `${'['.repeat(1001)}${']'.repeat(1001)}`
  const many = `[${'0,'.repeat(200_000)}0]`
  expect((await send(eventListOf([deep, many].map(withBody), null))).status).toBe(200)
  expect(events()).toMatchObject([
    { annotations: { 'platform.sh/request-omitted': 'depth' } },
    { annotations: { 'platform.sh/request-omitted': 'size' } },
  ])
  expect(observed.slice(0, 4)).toEqual([
    'omitted depth',
    'Request ResponseComplete',
    'omitted size',
    'Request ResponseComplete',
  ])
})

test('each event is one line, whatever characters an agent sends (21.3)', async () => {
  const { send, events, lines } = centre()
  const ends = 'a\n\r\u2028\u2029\u0085b\ud800'
  const sent = { userAgent: ends, verb: ends, requestURI: `/${ends}` }
  await send(batchOf([auditEvent({ ...sent, user: { username: ends, groups: [ends] } })]))
  expect(events()).toMatchObject([{ ...sent, user: { username: ends, groups: [ends] } }])
  expect(lines.join('')).not.toMatch(/[\n\r\u2028\u2029\u0085]/)
})

describe('nothing of a batch is kept (23.2)', () => {
  test('where one event is none: the answer names the first such one, and quotes nothing', async () => {
    const { send, events, observed } = centre()
    const key = generateKey()
    const sent = eventsOf(1000).map((event, at) =>
      at === 997 || at === 999 ? { ...event, stage: key } : event,
    )
    const refused = await refusalOf(send(batchOf(sent)))
    expect(refused).toEqual({
      status: 400,
      refusal: 'agentEventsMalformed',
      message:
        'nothing was kept: items[997]: stage is none of RequestReceived, ResponseStarted, ResponseComplete, Panic',
    })
    expect([events(), observed]).toEqual([[], []])
  })

  const event = JSON.stringify(auditEvent({ level: 'RequestResponse' }))
  const withBody = (name: string): string =>
    eventListOf([`${event.slice(0, -1)},"${name}":{"a":}}`], null)
  // biome-ignore format: a table
  test.each<{ name: string; text: string | Buffer; headers?: Readonly<Record<string, string>>; status: number; message: string }>([
    { name: 'a body that is not JSON', text: 'canary', status: 400, message: 'the body is not a JSON object' },
    { name: 'a body that is not UTF-8', text: Buffer.from([0x7b, 0xff, 0x7d]), status: 400, message: 'the body is not UTF-8' },
    { name: 'a list that breaks off', text: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${event}`, status: 400, message: 'the body is not a JSON object' },
    { name: 'a list without commas', text: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${event} ${event}]}`, status: 400, message: 'items is not a JSON list' },
    { name: 'a requestObject that is not JSON', text: withBody('requestObject'), status: 400, message: 'items[0]: requestObject is not JSON' },
    { name: 'a responseObject that is not JSON', text: withBody('responseObject'), status: 400, message: 'items[0]: responseObject is not JSON' },
    { name: 'more than 1,000 events', text: batchOf(eventsOf(1001)), status: 413, message: 'at most 1000 events may be sent at once' },
    { name: 'more than 3 MiB', text: `{"x":"${'x'.repeat(MOST_BYTES)}"}`, status: 413, message: `at most ${MOST_BYTES} bytes` },
    { name: 'more than 3 MiB in chunks', text: `{"x":"${'x'.repeat(MOST_BYTES)}"}`, headers: { ...JSON_TYPE, 'content-length': String(7) }, status: 413, message: `at most ${MOST_BYTES} bytes` },
    { name: 'no content type', text: batchOf([]), headers: {}, status: 415, message: 'must be sent as application/json' },
    { name: 'YAML', text: batchOf([]), headers: { 'content-type': 'application/yaml' }, status: 415, message: 'must be sent as application/json' },
    { name: 'compressed events', text: batchOf([]), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, status: 415, message: 'must be sent as application/json' },
  ])('of $name', async ({ text, headers, status, message }) => {
    const { send, events, observed } = centre()
    const refused = await refusalOf(send(text, headers === undefined ? {} : { headers }))
    expect(refused).toMatchObject({ status, message: expect.stringContaining(message) })
    expect(refused.message).not.toContain('canary')
    expect([events(), observed]).toEqual([[], []])
  })
})

describe('a log that takes nothing (22.2, 23.2)', () => {
  test('audit that is off is 409, and the agent drops its events', async () => {
    const { send, recorder } = centre()
    recorder.apply({ enabled: false })
    expect(await refusalOf(send(batchOf(eventsOf(1))))).toMatchObject({ status: 409 })
  })

  test('a gateway that stops is not one whose audit is off: the agent keeps its events', async () => {
    const { send, recorder } = centre()
    await recorder.end(AbortSignal.timeout(1000))
    const answer = await send(batchOf(eventsOf(1)))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('a log that has failed takes no batch, before anything of it is read', async () => {
    const { send, fail, events, agents, clock, heal } = centre()
    fail()
    expect(await send(batchOf(eventsOf(2)))).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
    })
    const body = Readable.from([Buffer.from('never read')])
    const refused = await agents.take('east', { headers: JSON_TYPE, body }, () => true)
    expect(refused).toMatchObject({ status: 503, refusal: 'agentEventsNotWritten' })
    expect(body.readableDidRead).toBe(false)
    expect(events()).toEqual([])
    heal()
    await clock.advance(1000)
    expect((await send(batchOf(eventsOf(2)))).status).toBe(200)
    // At least once: those of the first attempt were kept, and were sent again (23.2).
    expect(events()).toHaveLength(4)
  })

  test('a log that fails while a batch is made takes nothing of it', async () => {
    const { send, fail, hold, recorder, events } = centre()
    const release = hold()
    const { log } = recorder.current ?? { log: null }
    const first = log?.write({ text: '{}', withoutBodies: () => '{}' }).catch(() => undefined)
    const sending = send(batchOf(eventsOf(1000)))
    fail()
    release()
    await first
    expect((await sending).status).toBe(503)
    expect(recorder.waitingBytes).toBeLessThan(100)
    expect(events()).toEqual([])
  })
})

describe('the memory of batches (23.1)', () => {
  /** A batch that does not arrive before `go`. */
  function slowBatch() {
    const { promise, resolve: go } = Promise.withResolvers<void>()
    async function* pieces() {
      await promise
      yield Buffer.from(batchOf([]))
    }
    return { body: Readable.from(pieces(), { objectMode: false }), go }
  }

  test('two of the longest batches of a cluster are read at a time, and eight in all', async () => {
    const { agents, send } = centre()
    const slow = ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'].map((cluster) => {
      const { body, go } = slowBatch()
      return { cluster, go, answer: agents.take(cluster, { headers: JSON_TYPE, body }, () => true) }
    })
    const third = await send(batchOf([]), { cluster: 'a' })
    expect(third).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      refusal: 'agentEventsNoRoom',
    })
    expect((await send(batchOf([]), { cluster: 'e' })).status).toBe(429)
    for (const { go } of slow) go()
    expect(
      (await Promise.all(slow.map(({ answer }) => answer))).map(({ status }) => status),
    ).toEqual(slow.map(() => 200))
    expect((await send(batchOf([]), { cluster: 'a' })).status).toBe(200)
  })

  test.each([
    { name: 'of two clusters', clusters: ['a', 'b', 'c', 'd'], atOnce: 2 },
    { name: 'of one cluster', clusters: ['a', 'a'], atOnce: 1 },
  ])('lines of $atOnce batches $name are held at a time', async ({ clusters, atOnce }) => {
    const { send, hold, observed } = centre()
    const release = hold()
    const answers = clusters.map((cluster) => send(batchOf(eventsOf(10)), { cluster }))
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
    expect(observed).toHaveLength(atOnce * 10)
    release()
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses).toEqual(clusters.map(() => 200))
  })

  test('a slow cluster does not keep another one out', async () => {
    const { agents, send } = centre()
    const slow = [1, 2].map(() => {
      const { body, go } = slowBatch()
      return { go, answer: agents.take('a', { headers: JSON_TYPE, body }, () => true) }
    })
    expect((await send(batchOf([]), { cluster: 'a' })).status).toBe(429)
    expect((await send(batchOf([]), { cluster: 'b' })).status).toBe(200)
    for (const { go } of slow) go()
    await Promise.all(slow.map(({ answer }) => answer))
  })

  test('a batch whose sender leaves gives its room back', async () => {
    const { agents, send } = centre()
    for (let at = 0; at < 12; at += 1) {
      const body = new Readable({ read: () => undefined })
      const taken = agents.take('a', { headers: JSON_TYPE, body }, () => true)
      body.destroy(new Error('gone'))
      await expect(taken).rejects.toThrow('gone')
    }
    expect((await send(batchOf([]), { cluster: 'a' })).status).toBe(200)
  })
})
