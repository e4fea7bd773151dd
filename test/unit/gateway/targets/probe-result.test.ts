// The second table has codes that real servers sent.
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { attemptOnce, KEY_EXTRAS } from '../../../../src/gateway/targets/impersonation-probe.ts'
import { conditionOf, PROBE_FAULTS } from '../../../../src/gateway/targets/probe-result.ts'
import { connect } from '../../../../src/kube/client/connection.ts'
import { UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { createUpstream } from '../../../../src/kube/proxy/upstream.ts'
import { AddressRefused, createAddressGuard } from '../../../../src/runtime/address-guard.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { type Act, startUpstreamServer, TLS } from '../../kube/proxy/upstream-server.ts'
import { kubeconfig } from './target-secrets.ts'

const failing = (because: string, isTried: boolean) => ({ kind: 'failing', because, isTried })

test('a fault quotes nothing of what the API server says (9.5)', () => {
  const said = 'Bearer abc'
  for (const kind of ['refused', 'unknown'] as const)
    expect(JSON.stringify(conditionOf({ kind, because: said }))).not.toContain(said)
})

test('the condition names the kind of a refused address (9.5)', () => {
  const cause = new UpstreamUnavailable('unprocessed', 'x', {
    cause: new AddressRefused('is a loopback address'),
  })
  expect(conditionOf({ kind: 'unknown', because: 'x', cause })).toEqual(
    failing('the address of the API server is a loopback address', false),
  )
})

describe('the condition of a real server', () => {
  const trusted = { 'certificate-authority-data': btoa(TLS.ca) }
  const answer =
    (status: number, body: object | string): Act =>
    (_, outgoing) =>
      outgoing.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  const forbidden = (message: string): Act => answer(403, { kind: 'Status', message })

  async function conditionAt(server: string, cluster: object, name: string | null = null) {
    const guard = createAddressGuard(
      () => null,
      (_, __, callback) =>
        name === null
          ? callback(null, [{ address: '127.0.0.1', family: 4 }])
          : callback(Object.assign(new Error(name), { code: name }), []),
    )
    const text = kubeconfig(server, { cluster })
    const clock = systemClock()
    const connection = await connect({ kind: 'value', text }, clock, guard)
    const upstream = createUpstream({
      connection,
      clock,
      observer: { responded: () => undefined },
    })
    onTestFinished(async () => {
      await upstream.close()
      await connection.close()
    })
    const { signal } = new AbortController()
    return conditionOf(
      await attemptOnce({ upstream, extras: KEY_EXTRAS, userAgent: 'test', signal }),
    )
  }

  test.each<{ name: string; act: Act; condition: object }>([
    { name: 'the version', act: answer(200, {}), condition: { kind: 'ready' } },
    {
      name: 'a refusal of the user that is impersonated',
      act: forbidden('forbidden: User "heartbeat" cannot get path "/version"'),
      condition: { kind: 'ready' },
    },
    {
      name: 'a refusal to impersonate',
      act: forbidden(
        'users "heartbeat" is forbidden: User "x" cannot impersonate resource "users"',
      ),
      condition: failing(PROBE_FAULTS.powerless, false),
    },
    { name: 'a 401', act: answer(401, {}), condition: failing(PROBE_FAULTS.refused, false) },
    {
      name: 'a page',
      act: answer(404, '<html>'),
      condition: failing(PROBE_FAULTS.unexpected, true),
    },
    { name: 'a 500', act: answer(500, {}), condition: failing(PROBE_FAULTS.unexpected, true) },
  ])('that answers with $name (9.5)', async ({ act, condition }) => {
    const { url } = await startUpstreamServer('h2', act)
    expect(await conditionAt(url, trusted)).toEqual(condition)
  })

  test.each<{
    name: string
    cluster: object
    host?: string
    resolved?: string
    fault: string
    isTried: boolean
  }>([
    { name: 'another authority', cluster: {}, fault: PROBE_FAULTS.untrusted, isTried: false },
    {
      name: 'a certificate for another name',
      cluster: { ...trusted, 'tls-server-name': 'other.test' },
      fault: PROBE_FAULTS.untrusted,
      isTried: false,
    },
    {
      name: 'a name that leads nowhere',
      cluster: trusted,
      host: 'api.test',
      resolved: 'ENOTFOUND',
      fault: PROBE_FAULTS.unresolved,
      isTried: true,
    },
  ])(
    'is False with $name (9.5)',
    async ({ cluster, host = '127.0.0.1', resolved, fault, isTried }) => {
      const { url } = await startUpstreamServer('h2', answer(200, {}))
      const server = url.replace('127.0.0.1', host)
      expect(await conditionAt(server, cluster, resolved)).toEqual(failing(fault, isTried))
    },
  )

  test('that is not there, or speaks no TLS (9.5)', async () => {
    const plain = createServer()
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
    const { port } = plain.address() as AddressInfo
    const server = `https://127.0.0.1:${port}`
    expect(await conditionAt(server, trusted)).toEqual(failing(PROBE_FAULTS.unreachable, true))
    await new Promise((resolve) => plain.close(resolve))
    expect(await conditionAt(server, trusted)).toEqual(failing(PROBE_FAULTS.unreachable, true))
  })
})
