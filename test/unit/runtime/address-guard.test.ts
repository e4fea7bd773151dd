import type { LookupAddress } from 'node:dns'
import { connect as connectTls } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Connection, connect } from '../../../src/kube/client/connection.ts'
import { UpstreamUnavailable } from '../../../src/kube/proxy/types.ts'
import { createUpstream } from '../../../src/kube/proxy/upstream.ts'
import { AddressRefused, createAddressGuard } from '../../../src/runtime/address-guard.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import {
  breakConnection,
  call,
  echo,
  startUpstreamServer,
  TLS,
  textOf,
} from '../kube/proxy/upstream-server.ts'

const FORBIDDEN = '169.254.169.254'
const HERE = '127.0.0.1'
const faultOf = (address: string): string | null =>
  address === FORBIDDEN || address === '::1' ? 'is forbidden' : null

const kubeconfig = (server: string): string =>
  JSON.stringify({
    'current-context': 'it',
    clusters: [{ name: 'it', cluster: { server, 'certificate-authority-data': btoa(TLS.ca) } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    users: [{ name: 'it', user: { token: 'abc' } }],
  })

/** A resolver that answers with one list after the other, and with the last one for good. */
function resolver(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const guard = createAddressGuard(faultOf, (name, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(name)
    const found: LookupAddress[] = addresses.map((address) => ({ address, family: 4 }))
    setImmediate(() => callback(null, found))
  })
  return { guard, asked }
}

async function connectionTo(server: string, { guard }: Pick<ReturnType<typeof resolver>, 'guard'>) {
  const connection = await connect(
    { kind: 'value', text: kubeconfig(server) },
    systemClock(),
    guard,
  )
  onTestFinished(() => connection.close())
  return connection
}

/** Which error stands at the end of the chain of causes. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error
}

const refusal = new AddressRefused('is forbidden')

describe.each(['h2', 'https'] as const)('over %s', (wire) => {
  async function start(...answers: readonly (readonly string[])[]) {
    const server = await startUpstreamServer(wire, echo)
    const names = resolver(...answers)
    const url = server.url.replace(HERE, 'api.test')
    const connection = await connectionTo(url, names)
    const observer = { responded: () => undefined }
    const upstream = createUpstream({ connection, clock: systemClock(), observer })
    onTestFinished(() => upstream.close())
    return { server, names, connection, upstream }
  }

  test('a name that leads to a forbidden address at the second look-up is refused at the second connect (9.5)', async () => {
    // A server that speaks HTTP/2 only refuses the first connection of a read.
    const before = wire === 'h2' ? [[HERE], [HERE]] : [[HERE]]
    const { server, names, upstream } = await start(...before, [FORBIDDEN])
    expect(await textOf(await upstream.send(call({ path: '/a' })))).toBe('GET /a ')
    const opened = server.opened()
    breakConnection(server)
    await expect.poll(() => server.sockets.size).toBe(0)
    const error = await upstream.send(call({ path: '/b' })).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UpstreamUnavailable)
    expect(rootOf(error)).toEqual(refusal)
    expect(server.opened()).toBe(opened)
    expect(names.asked.length).toBeGreaterThan(before.length)
  })

  test.each([
    { name: 'the only one', addresses: [FORBIDDEN] },
    { name: 'behind an allowed one', addresses: [HERE, FORBIDDEN] },
    { name: 'before an allowed one', addresses: [FORBIDDEN, HERE] },
  ])('no connection is opened where a forbidden address is $name (9.5)', async ({ addresses }) => {
    const { server, upstream, connection } = await start(addresses)
    const error = await upstream.send(call()).catch((thrown: unknown) => thrown)
    expect(rootOf(error)).toEqual(refusal)
    const { calls, watches, forwards } = await connection.open()
    for (const pool of [calls, watches, forwards])
      await expect(pool.request({ method: 'GET', path: '/' })).rejects.toEqual(refusal)
    expect(server.opened()).toBe(0)
  })

  test('each connection with the options of TLS is checked (9.5)', async () => {
    const { connection, server } = await start([FORBIDDEN])
    const { tls, origin } = await connection.open()
    const { hostname: host, port } = new URL(origin)
    const socket = connectTls({ ...(tls as object), host, port: Number(port) })
    const error = await new Promise((resolve) => socket.once('error', resolve))
    expect(error).toEqual(refusal)
    expect(server.opened()).toBe(0)
  })
})

describe('a server that is an address (9.5)', () => {
  const names = resolver([HERE])
  test.each([
    `https://${FORBIDDEN}:6443`,
    'https://[::1]:6443',
    'https://[0:0::1]',
    // Other spellings of the address, which a URL has none of.
    'https://0xa9.254.43518',
    'https://2852039166',
    `https://${FORBIDDEN}.`,
  ])('%s is refused', async (server) => {
    await expect(connectionTo(server, names)).rejects.toEqual(refusal)
  })

  test('any other is connected to', async () => {
    const connection: Connection = await connectionTo(`https://${HERE}:6443`, names)
    expect(connection.server).toBe(`${HERE}:6443`)
    expect(names.asked).toEqual([])
  })
})

test.each<{ name: string; options: { all?: boolean }; result: unknown }>([
  {
    name: 'all',
    options: { all: true },
    result: [null, [{ address: HERE, family: 4 }], undefined],
  },
  { name: 'one', options: {}, result: [null, HERE, 4] },
])('a look-up for $name has the checked addresses (9.5)', async ({ options, result }) => {
  const { guard } = resolver([HERE])
  const got = await new Promise((resolve) =>
    guard.lookup('a', options, (...values) => resolve([values[0], values[1], values[2]])),
  )
  expect(got).toEqual(result)
})

test('a name without addresses, and a failed look-up, are errors (9.5)', async () => {
  const failing = createAddressGuard(faultOf, (_, __, callback) =>
    callback(new Error('no such name'), undefined as never),
  )
  for (const [guard, message] of [
    [resolver([]).guard, 'the name has no address'],
    [failing, 'no such name'],
  ] as const) {
    const error = await new Promise((resolve) => guard.lookup('a', {}, resolve))
    expect(error).toEqual(new Error(message))
  }
})
