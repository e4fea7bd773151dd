// A 403 that refuses the account of this process is no answer to the caller (10.4).
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type Duplex, PassThrough } from 'node:stream'
import { text as read } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { refusesAccount, unlessAccountRefused } from '../../../../src/kube/proxy/account-refusal.ts'
import { UpstreamError, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { eventually } from '../../../support/eventually.ts'
import { ANN, WIRES, call, startServerAndUpstream, textOf } from './upstream-server.ts'

const OWN = 'system:serviceaccount:platform-system:gateway'
/** As kube-apiserver 1.36 says it for a moment after its start. */
const IMPERSONATION = `configmaps is forbidden: User "${OWN}" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "shop"`
const status = (message: string): string =>
  JSON.stringify({ kind: 'Status', status: 'Failure', message, reason: 'Forbidden', code: 403 })

describe('a 403 refuses the account of this process (10.4)', () => {
  test.each([
    { name: 'in JSON', text: status(IMPERSONATION), caller: 'ann', isPast: false, is: true },
    {
      name: 'in protobuf',
      text: `k8s\0\n${IMPERSONATION}`,
      caller: 'ann',
      isPast: false,
      is: true,
    },
    {
      name: 'for the legacy verb',
      text: status(`users "ann" is forbidden: User "${OWN}" cannot impersonate resource "users"`),
      caller: 'ann',
      isPast: false,
      is: true,
    },
    {
      name: 'not where it names the caller',
      text: status('pods is forbidden: User "ann" cannot impersonate resource "users"'),
      caller: 'ann',
      isPast: false,
      is: false,
    },
    {
      name: 'not where the caller lacks a right',
      text: status('pods is forbidden: User "ann" cannot list resource "pods"'),
      caller: 'ann',
      isPast: false,
      is: false,
    },
    {
      name: 'not where a policy quotes it after the impersonation',
      text: status(IMPERSONATION),
      caller: 'ann',
      isPast: true,
      is: false,
    },
    {
      name: 'where it runs as this process and lacks a right',
      text: status(`ownedaccesskeys is forbidden: User "${OWN}" cannot create resource "x"`),
      caller: null,
      isPast: true,
      is: true,
    },
    {
      name: 'not where a policy refuses a write of this process',
      text: status('ownedaccesskeys "x" is forbidden: exceeded quota'),
      caller: null,
      isPast: true,
      is: false,
    },
  ])('$name', ({ text, caller, isPast, is }) => {
    expect(refusesAccount(text, caller, isPast)).toBe(is)
  })
})

describe('the body of another 403', () => {
  const looked = (body: PassThrough) => {
    const answer = { status: 403, headers: {}, body }
    return Promise.race([unlessAccountRefused(answer, { impersonation: ANN }), delay(5000, null)])
  }

  test('keeps the piece that was looked at, for its reader (10.4)', async () => {
    const body = new PassThrough()
    body.write('forb')
    expect(await looked(body)).toMatchObject({ status: 403, body })
    body.end('idden')
    expect(await read(body)).toBe('forbidden')
  })

  test.each([
    { name: 'before it is looked at', isBefore: true },
    { name: 'while its first piece is waited for', isBefore: false },
  ])('is no answer when it breaks off $name (13.3)', async ({ isBefore }) => {
    const body = new PassThrough()
    if (isBefore) await once(body.destroy(), 'close')
    const answer = looked(body)
    body.destroy()
    expect(await answer).toBeInstanceOf(UpstreamError)
  })
})

const SOON = { withinMs: 10_000 }

const forbid = (outgoing: ServerResponse, message: string, headers = {}): void => {
  outgoing.writeHead(403, { 'content-type': 'application/json', ...headers }).end(status(message))
}

describe.each(WIRES)('over %s', (wire) => {
  test.each(['GET', 'POST'])(
    'a %s whose 403 names this process has no answer, and was not processed (10.4)',
    async (method) => {
      const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) =>
        forbid(outgoing, IMPERSONATION),
      )
      const sent = upstream.send(call({ method, impersonation: ANN }))
      await expect(sent).rejects.toMatchObject({
        name: UpstreamUnavailable.name,
        outcome: 'accountRefused',
      })
      expect(server.received).toHaveLength(1)
    },
  )

  test('another 403 whose body pauses ends on the server when its reader leaves (13.4)', async () => {
    let closed = 0
    const { upstream } = await startServerAndUpstream(wire, (_, outgoing) => {
      outgoing.once('close', () => (closed += 1))
      outgoing.writeHead(403).write('forbidden')
    })
    const { body } = await upstream.send(call({ impersonation: ANN }))
    body.resume()
    await once(body, 'data')
    await delay(20)
    body.destroy()
    await eventually('it is closed', () => body.closed || undefined, SOON)
    await eventually('the request ends', () => closed === 1 || undefined, SOON)
  })

  test.each([0, 20_000, 300_000])(
    'another 403 passes whole, with %d bytes more (10.4)',
    async (more) => {
      const message = `pods is forbidden: User "ann" cannot list resource "pods"${'.'.repeat(more)}`
      const { upstream } = await startServerAndUpstream(wire, (_, outgoing) =>
        forbid(outgoing, message),
      )
      const answer = await upstream.send(call({ impersonation: ANN }))
      expect(answer.status).toBe(403)
      expect(await textOf(answer)).toBe(status(message))
    },
  )
})

test.each(['https', 'http'] as const)(
  'an upgrade over %s whose 403 has no body yet ends on the server when it is aborted (13.3)',
  async (wire) => {
    const { upstream, server } = await startServerAndUpstream(wire, () => undefined)
    server.server.on('upgrade', (_: unknown, socket: Duplex) => {
      socket.on('error', () => undefined).on('end', () => socket.end())
      socket.resume().write('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\n')
    })
    const ending = new AbortController()
    const { signal } = ending
    const upgraded = upstream.upgrade({ ...call({ signal }), protocol: 'websocket' })
    await eventually('it is sent', () => server.sockets.size === 1 || undefined, SOON)
    await delay(50)
    ending.abort()
    await expect(upgraded).rejects.toThrow('did not answer')
    await eventually('it is closed', () => server.sockets.size === 0 || undefined, SOON)
  },
)
