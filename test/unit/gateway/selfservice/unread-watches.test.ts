// Clients that watch our kinds over a real connection and do not read (contract 12.2, 13.3, threats X7).
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import { createSelfService, isOwnKind } from '../../../../src/gateway/selfservice/handler.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import { credentialRefusals } from '../../../../src/gateway/streams/credential-refusals.ts'
import { ForwardBuffer } from '../../../../src/gateway/streams/forward-buffer.ts'
import { createMaxInFlight } from '../../../../src/gateway/streams/max-in-flight.ts'
import { terminable } from '../../../../src/gateway/streams/terminate.ts'
import type { Upstream, UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import type { HttpRequest } from '../../../../src/serving/http/request.ts'
import { eventually } from '../../../support/eventually.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { served } from '../listening-server.ts'
import { COUNTS } from './self-service-request.ts'

const PATH = '/apis/management.platform.sh/v1/ownedaccesskeys'
const MEBIBYTE = 1024 ** 2
const SOON = { withinMs: 10_000 }

const keyOf = (at: number, weight: number): object => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  metadata: { name: `key-${at}`, uid: `uid-${at}`, resourceVersion: '7' },
  spec: { user: 'ada', displayName: 'x'.repeat(weight) } satisfies OwnedAccessKeySpec,
})

/** Serves with this API server; counts the bytes read from its watches. */
async function serving(answers: (call: UpstreamCall) => Readable, clock: Clock = systemClock()) {
  const bodies: Readable[] = []
  const upstream: Pick<Upstream, 'send'> = {
    send: async (call) => {
      const body = answers(call)
      bodies.push(body)
      return { status: 200, headers: {}, body }
    },
  }
  const key = viewOf({
    metadata: { name: 'ci', uid: 'uid-ci' },
    spec: { user: 'ada', type: 'Login' },
  })
  const caller = { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
  const { answer } = createSelfService({
    upstream,
    limits: createMaxInFlight(() => undefined),
    buffer: createResponseBuffer(64 * MEBIBYTE, () => undefined),
    keyNamed: () => undefined,
    isConfigClosed: () => false,
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    newKey: () => 'a-key-in-clear',
    counts: COUNTS,
    clock,
  })
  const respond = async (call: HttpRequest) => {
    const reading = parseRequest(call.method, { kind: 'Management' }, call.target)
    if (!reading.ok || !isOwnKind(reading.request)) throw new Error('it is about own kinds')
    const underWay = { signal: call.gone, still: async () => caller, maySend: () => true }
    const isWatch = reading.request.attributes.verb === 'watch'
    const given = await answer(reading.request, call, caller, underWay)
    const nothing = (): void => undefined
    return terminable(given, {
      flows: nothing,
      isWatch,
      isLong: isWatch,
      upgrade: null,
      buffer: new ForwardBuffer(2 ** 28),
      refusals: credentialRefusals(caller).inStream,
      flowed: nothing,
      done: nothing,
    })
  }
  const { connect } = await served(respond)
  /** A client that reads nothing until the test resumes it. */
  const unread = async (query: string) => {
    const socket = await connect()
    socket.on('error', () => undefined)
    socket.write(`GET ${PATH}${query} HTTP/1.1\r\nHost: h\r\n\r\n`)
    return socket
  }
  return { bodies, unread }
}

/** Endless events of that many bytes; counts those that were read. */
function endless(weight: number) {
  let events = 0
  onTestFinished(() => void (events = Number.POSITIVE_INFINITY))
  const line = (): string =>
    `${JSON.stringify({ type: 'MODIFIED', object: keyOf(events, weight) })}\n`
  const body = (): Readable =>
    new Readable({
      highWaterMark: 1,
      read() {
        events += 1
        this.push(line())
      },
    })
  return { body, events: () => events }
}

test('a watch is ended when its client does not read and the connection is full (12.2, 13.3)', async () => {
  const { body, events } = endless(500_000)
  const clock = manualClock(t0)
  const { bodies, unread } = await serving(body, clock)
  await unread('?watch=1')
  let before = -1
  await eventually(
    'nothing more is taken',
    async () => {
      const now = events()
      for (let at = 0; at < 200; at += 1) await turn()
      // The watch looks by its clock whether the system has taken an event.
      await clock.advance(300)
      const isQuiet = now === before
      before = now
      return isQuiet || undefined
    },
    SOON,
  )
  await clock.advance(11_000)
  await eventually('it is ended', () => bodies[0]?.destroyed || undefined, SOON)
  expect(events()).toBeLessThan(before + 3)
})

test('a watch whose client reads gets every event in order (12.2)', async () => {
  const { body, events } = endless(1000)
  const { unread } = await serving(body)
  const socket = await unread('?watch=1')
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  await eventually('many events have come', () => events() > 300 || undefined, SOON)
  socket.destroy()
  const names = [...text.matchAll(/"name":"key-(\d+)"/g)].map(([, at]) => Number(at))
  expect(names.length).toBeGreaterThan(250)
  expect(names).toEqual(names.map((_, at) => at + 1))
})
