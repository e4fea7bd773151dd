import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createKubeconfigConnection } from '../../../../src/gateway/targets/connection.ts'
import { KEY_EXTRAS } from '../../../../src/gateway/targets/impersonation-probe.ts'
import {
  type Upstream,
  type UpstreamAnswer,
  UpstreamUnavailable,
} from '../../../../src/kube/proxy/types.ts'
import { AddressRefused } from '../../../../src/runtime/address-guard.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { call } from '../../kube/proxy/upstream-server.ts'
import { asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'

const MINUTE_MS = 60_000

/** A connection whose upstreams are counted, and whose answers stay open until a test reads them. */
function start(open?: () => Promise<Upstream>) {
  const clock = manualClock(0)
  const events: string[] = []
  let answerProbe: (() => void) | null = null
  const upstream: Upstream = {
    send: async ({ path, signal }): Promise<UpstreamAnswer> => {
      const body = Readable.from([Buffer.from('{}')])
      if (path === '/fails') throw new UpstreamUnavailable('unprocessed', 'no answer')
      if (path === '/version' && answerProbe !== null)
        await new Promise<void>((resolve) => (answerProbe = resolve))
      asAbortSignal(signal).throwIfAborted()
      return { status: 200, headers: {}, body }
    },
    upgrade: async () => ({ status: 101, headers: {}, socket: new PassThrough() }),
    close: async () => void events.push('closed'),
  }
  const connection = createKubeconfigConnection({
    open:
      open ??
      (async () => {
        events.push('opened')
        return upstream
      }),
    extras: KEY_EXTRAS,
    userAgent: 'test',
    clock,
  })
  return {
    clock,
    events,
    connection,
    ...connection.upstream,
    probe: () => connection.probe(new AbortController().signal),
    holdProbe: () => {
      answerProbe = () => undefined
      return async () => {
        answerProbe?.()
        await setImmediate()
      }
    },
  }
}

const read = async ({ body }: UpstreamAnswer): Promise<void> => {
  await body.toArray()
  await setImmediate()
}

test('connections are opened for the first request, and closed 5 minutes after the last (9.5)', async () => {
  const { send, clock, events } = start()
  expect(events).toEqual([])
  const [first, second] = await Promise.all([send(call()), send(call())])
  expect(events).toEqual(['opened'])
  await read(first)
  // One is still open.
  await clock.advance(10 * MINUTE_MS)
  expect(events).toEqual(['opened'])
  await read(second)
  await clock.advance(4 * MINUTE_MS)
  await read(await send(call()))
  await clock.advance(5 * MINUTE_MS - 1)
  expect(events).toEqual(['opened'])
  await clock.advance(1)
  expect(events).toEqual(['opened', 'closed'])
  await read(await send(call()))
  expect(events).toEqual(['opened', 'closed', 'opened'])
  expect(clock.pending()).toBe(1)
})

test('a request that fails, and an upgrade that ends, count as use no longer (9.5)', async () => {
  const { send, upgrade, clock, events } = start()
  await expect(send(call({ path: '/fails' }))).rejects.toThrow('no answer')
  const tunnel = await upgrade({ ...call(), protocol: 'websocket' })
  await clock.advance(10 * MINUTE_MS)
  expect(events).toEqual(['opened'])
  if ('socket' in tunnel) tunnel.socket.destroy()
  await setImmediate()
  await clock.advance(5 * MINUTE_MS)
  expect(events).toEqual(['opened', 'closed'])
})

test('a probe does not keep an unused connection open (9.5)', async () => {
  const { send, probe, clock, events, holdProbe } = start()
  expect(await probe()).toEqual({ kind: 'allowed' })
  expect(events).toEqual(['opened', 'closed'])
  await read(await send(call()))
  for (let minute = 0; minute < 4; minute += 1) {
    await clock.advance(MINUTE_MS)
    expect(await probe()).toEqual({ kind: 'allowed' })
  }
  expect(events).toEqual(['opened', 'closed', 'opened'])
  // Not closed under a probe, but after it.
  const release = holdProbe()
  const probing = probe()
  await clock.advance(MINUTE_MS)
  expect(events.length).toBe(3)
  await release()
  expect(await probing).toEqual({ kind: 'allowed' })
  expect(events).toEqual(['opened', 'closed', 'opened', 'closed'])
})

test('closed connections take no request (9.5)', async () => {
  const { send, upgrade, connection, clock, events } = start()
  await send(call())
  await connection.close()
  expect(events).toEqual(['opened', 'closed'])
  for (const request of [send(call()), upgrade({ ...call(), protocol: 'SPDY/3.1' })])
    await expect(request).rejects.toBeInstanceOf(UpstreamUnavailable)
  expect(events.length).toBe(2)
  expect(clock.pending()).toBe(0)
})

test('a connection that cannot be opened is unavailable, and tried again (9.5)', async () => {
  const refusal = new AddressRefused('is a loopback address')
  let attempts = 0
  const { send, probe, clock } = start(async () => {
    attempts += 1
    throw refusal
  })
  for (const request of [send(call()), send(call())]) {
    const error = await request.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UpstreamUnavailable)
    expect(error).toMatchObject({ cause: refusal })
  }
  expect(await probe()).toMatchObject({ kind: 'unknown', cause: { cause: refusal } })
  expect(attempts).toBe(2)
  expect(clock.pending()).toBe(0)
})
