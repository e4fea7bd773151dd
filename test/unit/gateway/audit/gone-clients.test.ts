// Clients that leave while the event of their answer is written: a disk may take seconds for it (contract 22.2).
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { Upstream } from '../../../../src/kube/proxy/types.ts'
import { ReceivedBody } from '../../../../src/kube/proxy/received-body.ts'
import { createTargetRegistry } from '../../../../src/gateway/targets/resolver.ts'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { CALLER, managementOf, NO_TARGETS, serverHandlerFor } from '../handler-builder.ts'
import { served } from '../listening-server.ts'
import { asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'
import { memoryAudit } from './memory-audit.ts'

/** A body without an end, which fails with its request. */
class EndlessBody extends ReceivedBody {
  constructor(signal: AbortSignal) {
    super()
    signal.addEventListener('abort', () => this.destroy(new Error('the request was ended')))
  }

  override _read(): void {}
}

/** The events of a request whose client leaves while the first one is written, and whether its upstream is rid of it. */
async function eventsAfterLeaving(path: string, headers: readonly string[] = []) {
  const clock = manualClock(Date.parse('2026-11-28T10:00:00Z'))
  const rules = [{ level: 'Metadata', omitStages: ['RequestReceived'] }]
  const log = memoryAudit({ policy: { rules } }, clock)
  const release = log.hold()
  const answered: (EndlessBody | PassThrough)[] = []
  const upstream: Upstream = {
    send: async ({ signal }) => {
      const body = new EndlessBody(asAbortSignal(signal))
      answered.push(body)
      return { status: 200, headers: { 'content-type': 'application/json' }, body }
    },
    upgrade: async () => {
      const socket = new PassThrough()
      answered.push(socket)
      return { status: 101, headers: {}, socket }
    },
    close: async () => undefined,
  }
  const targets = createTargetRegistry(managementOf(upstream), NO_TARGETS)
  const handler = serverHandlerFor(CALLER, upstream.send, { audit: log.audit, targets })
  let isGone = false
  const { connect } = await served({
    ...handler,
    respond: (http) => {
      http.gone.addEventListener('abort', () => (isGone = true), { once: true })
      return handler.respond(http)
    },
  })
  const until = (what: string, probe: () => boolean) =>
    eventually(what, () => probe() || undefined, { withinMs: 10_000 })
  const socket = await connect()
  const lines = [`GET /kubernetes/management${path} HTTP/1.1`, 'host: localhost', ...headers]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await until('an event is written', () => log.counted.length > 0)
  socket.destroy()
  await until('the client has left', () => isGone)
  release()
  await until('the end is written', () => log.events().at(-1)?.['stage'] === 'ResponseComplete')
  await until('the upstream is rid of it', () => answered.every(({ destroyed }) => destroyed))
  return log.events().map(({ stage, annotations }) => [stage, annotations])
}

describe('a client that leaves while its event is written (21.5, 22.2)', () => {
  const by = (end: object) => expect.objectContaining(end)
  const ended = by({ 'platform.sh/end': 'client' })

  test.each([
    { name: 'a watch', path: '/api/v1/pods?watch=1' },
    { name: 'a log', path: '/api/v1/namespaces/shop/pods/web/log?follow=1' },
  ])('$name ends, and its end is recorded', async ({ path }) => {
    expect(await eventsAfterLeaving(path)).toEqual([
      ['ResponseStarted', by({})],
      ['ResponseComplete', ended],
    ])
  })

  test('a session in a workload ends, and its end is recorded', async () => {
    const path = '/api/v1/namespaces/shop/pods/web/exec?command=sh'
    const headers = ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13']
    expect(await eventsAfterLeaving(path, headers)).toEqual([
      ['ResponseStarted', by({})],
      ['ResponseComplete', ended],
    ])
  })

  test('a list ends', async () => {
    expect(await eventsAfterLeaving('/api/v1/pods')).toEqual([['ResponseComplete', by({})]])
  })
})
