/** @module-tag no-retry */
import { expect, test } from 'vitest'
import type { Resolve } from '../../../../src/runtime/address-guard.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { startStore } from '../../../support/store-server.ts'

const SOON = { withinMs: 5000 }
const MOST_BYTES = 2 * 1024 * 1024
const DATA_PATH = '/v1/secret/data/p/a'
const MOUNT_PATH = '/v1/sys/internal/ui/mounts/secret'
const MOUNT = { data: { path: 'secret/', type: 'kv', options: { version: '2' } } }

const CREATED = '2026-11-30T00:00:00Z'

/** An answer of version 2 with so many bytes. */
function dataOf(bytes: number): string {
  const text = (value: string): string =>
    JSON.stringify({
      data: { data: { a: value }, metadata: { version: 1, created_time: CREATED } },
    })
  return text('x'.repeat(bytes - text('').length))
}

test('an answer has 2 MiB at most (36.1)', async () => {
  const { client, replies } = await startStore()
  const store = client()
  replies.set(DATA_PATH, { body: dataOf(MOST_BYTES) })
  expect(await store.readData('p/a', 2)).toMatchObject({ version: 1 })
  replies.set(DATA_PATH, { body: dataOf(MOST_BYTES + 1) })
  await expect(store.readData('p/a', 2)).rejects.toMatchObject({
    kind: 'refused',
    message: /bytes/,
  })
  replies.set(DATA_PATH, (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  await expect(store.readData('p/a', 2)).rejects.toMatchObject({
    kind: 'refused',
    message: /bytes/,
  })
})

test('a write has 2 MiB at most, with the escapes of JSON (36.1)', async () => {
  const { client, replies, calls } = await startStore()
  replies.set(MOUNT_PATH, { body: MOUNT })
  replies.set(DATA_PATH, { body: { data: { version: 1, created_time: CREATED } } })
  const store = client()
  const around = JSON.stringify({ options: { cas: 0 }, data: { a: '' } }).length
  const write = (bytes: number) => store.writeData('p/a', { a: 'x'.repeat(bytes - around) }, 0)
  expect(await write(MOST_BYTES)).toMatchObject({ version: 1 })
  await expect(write(MOST_BYTES + 1)).rejects.toMatchObject({ kind: 'refused', code: null })
  expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(1)
})

test.each(['read', 'write'] as const)(
  'a $0 takes 10 seconds at most, and its connection ends then (36.1)',
  async (what) => {
    const clock = manualClock(Date.now())
    const { client, replies, calls } = await startStore()
    let isClosed = false
    replies.set(MOUNT_PATH, { body: MOUNT })
    replies.set(DATA_PATH, (response) => {
      response.on('close', () => (isClosed = true))
      response.write('{')
    })
    const store = client({ clock })
    const late = what === 'read' ? store.readData('p/a', 2) : store.writeData('p/a', {}, 0)
    const error = late.catch((caught: unknown) => caught)
    await eventually('a request', () => calls.find(({ path }) => path === DATA_PATH), SOON)
    await clock.advance(9_999)
    expect(isClosed).toBe(false)
    await clock.advance(1)
    expect(await error).toMatchObject({ kind: 'unreachable', code: null })
    await eventually('the end of the connection', () => isClosed || undefined, SOON)
  },
)

test('8 connections are open at most, whatever is asked at once (36.5)', async () => {
  const clock = manualClock(Date.now())
  const { client, replies, calls, sockets } = await startStore()
  const held: (() => void)[] = []
  const store = client({ clock })
  replies.set(MOUNT_PATH, { body: MOUNT })
  replies.set(DATA_PATH, (response, { method }) => {
    const body =
      method === 'GET'
        ? dataOf(200)
        : JSON.stringify({ data: { version: 1, created_time: CREATED } })
    held.push(() => response.end(body))
  })
  replies.set('/v1/secret/data/p/first', { body: { data: { version: 1, created_time: CREATED } } })
  await store.writeData('p/first', {}, 0)
  sockets.clear()
  const all = Array.from({ length: 12 }, () => [
    store.readData('p/a', 2),
    store.writeData('p/a', {}, 0),
  ]).flat()
  await eventually('8 requests', () => held.length === 8 || undefined, SOON)
  expect(sockets.size).toBe(8)
  const writes = () => calls.filter(({ method, path }) => method === 'POST' && path === DATA_PATH)
  expect(writes()).toHaveLength(2)
  await eventually(
    'the end of all',
    () => {
      for (const answer of held.splice(0)) answer()
      return calls.length === 26 || undefined
    },
    SOON,
  )
  for (const answer of held.splice(0)) answer()
  await Promise.all(all)
  // The reads have kept theirs.
  expect(sockets.size).toBe(6 + 12)
})

test('a write that waited too long for a connection is not sent (36.4)', async () => {
  const clock = manualClock(Date.now())
  const { client, replies, calls } = await startStore()
  replies.set(MOUNT_PATH, { body: MOUNT })
  replies.set(DATA_PATH, () => undefined)
  const store = client({ clock })
  const written = Array.from({ length: 5 }, () =>
    store.writeData('p/a', {}, 0).catch((caught: unknown) => caught),
  )
  const posts = () => calls.filter(({ method }) => method === 'POST')
  await eventually('two writes', () => posts().length === 2 || undefined, SOON)
  await clock.advance(10_000)
  for (const one of await Promise.all(written)) expect(one).toMatchObject({ kind: 'unreachable' })
  expect(await store.readMetadata('p/a')).toBeNull()
  expect(posts()).toHaveLength(2)
})

test('a write whose connection breaks is sent once, and a read again (36.4)', async () => {
  const { client, replies, calls } = await startStore()
  replies.set(MOUNT_PATH, { body: MOUNT })
  const store = client()
  await store.readMetadata('p/a')
  replies.set(DATA_PATH, (response) => response.socket?.destroy())
  await expect(store.writeData('p/a', {}, 0)).rejects.toMatchObject({
    kind: 'unreachable',
    code: null,
    message: 'no answer of the store: ECONNRESET',
  })
  expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(1)
  await expect(store.readData('p/a', 2)).rejects.toMatchObject({ kind: 'unreachable' })
  expect(calls.filter(({ method, path }) => method === 'GET' && path === DATA_PATH)).toHaveLength(2)
})

/** Name servers with one answer. */
const at =
  (...addresses: readonly string[]): Resolve =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )

test.each([
  { address: '169.254.1.1', fault: 'link-local' },
  { address: 'fe80::1', fault: 'link-local' },
  { address: '169.254.169.254', fault: 'metadata' },
  { address: '::ffff:169.254.169.254', fault: 'metadata' },
  { address: 'fd00:ec2::254', fault: 'metadata' },
  { address: '0.0.0.0', fault: 'unspecified' },
  { address: '::', fault: 'unspecified' },
  { address: '224.0.0.1', fault: 'multicast' },
  { address: 'ff02::1', fault: 'multicast' },
])('a store at $address is refused by name and by address (36.1)', async ({ address, fault }) => {
  const { client, port } = await startStore()
  const host = address.includes(':') ? `[${address}]` : address
  const refusal = { kind: 'unreachable', code: null, message: expect.stringContaining(fault) }
  const direct = client({ address: `https://${host}:${port}` })
  await expect(direct.readMetadata('p/a')).rejects.toMatchObject(refusal)
  const named = client({
    address: `https://store.example.com:${port}`,
    resolve: at('127.0.0.1', address),
  })
  await expect(named.readMetadata('p/a')).rejects.toMatchObject(refusal)
})

test('a store may have a loopback address, and is known by its name (36.1)', async () => {
  const pair = serverPair('store', { hosts: ['store.example.com'] })
  const { client, port } = await startStore(pair)
  const options = { address: `https://store.example.com:${port}`, resolve: at('127.0.0.1') }
  expect(await client(options).readMetadata('p/a')).toBeNull()
})

test.each([
  { host: 'localhost', resolved: '127.0.0.1', outcome: null, asked: 1 },
  { host: 'LOCALHOST', resolved: '127.0.0.1', outcome: null, asked: 1 },
  { host: '127.0.0.1', resolved: '127.0.0.1', outcome: null, asked: 1 },
  { host: 'localhost', resolved: '10.0.0.1', outcome: 'unreachable', asked: 0 },
  { host: 'store.example.com', resolved: '127.0.0.1', outcome: 'refused', asked: 0 },
  { host: '10.0.0.1', resolved: '127.0.0.1', outcome: 'refused', asked: 0 },
])(
  'http to $host at $resolved is asked only on this machine (36.1)',
  async ({ host, resolved, outcome, asked }) => {
    const { client, port, calls } = await startStore(null)
    const store = client({ address: `http://${host}:${port}`, resolve: at(resolved) })
    const kindOf = ({ kind }: { kind?: unknown }): unknown => kind
    expect(await store.readMetadata('p/a').catch(kindOf)).toBe(outcome)
    expect(calls).toHaveLength(asked)
  },
)

test.each([
  { name: 'no URL', settings: { address: 'store' }, words: /https:\/\/host:port/ },
  { name: 'another scheme', settings: { address: 'ftp://store' }, words: /https:\/\/host:port/ },
  { name: 'a user', settings: { address: 'https://canary@store' }, words: /has a user/ },
  { name: 'a password', settings: { address: 'https://:canary@store' }, words: /has a user/ },
  { name: 'a query', settings: { address: 'https://store?canary' }, words: /a query/ },
  { name: 'a fragment', settings: { address: 'https://store#canary' }, words: /fragment/ },
  { name: 'http', settings: { address: 'http://canary' }, words: /write https/ },
  { name: 'an empty token', settings: { token: '' }, words: /token.*empty/ },
  { name: 'a token with a line break', settings: { token: 'canary\n' }, words: /white space/ },
  { name: 'a token that is not ASCII', settings: { token: 'canary é' }, words: /ASCII/ },
  { name: 'a namespace with a space', settings: { namespace: 'canary a' }, words: /white space/ },
])(
  'settings with $name refuse each call, and quote nothing (36.1)',
  async ({ settings, words }) => {
    const { client, calls } = await startStore()
    const store = client(settings)
    const attempts = [
      () => store.readMetadata('p/a'),
      () => store.writeData('p/a', {}, 0),
      store.renewToken,
    ]
    for (const attempt of attempts) {
      const error: unknown = await attempt().catch((caught: unknown) => caught)
      expect(error).toMatchObject({ kind: 'refused', code: null, message: words })
      expect(String((error as Error).stack)).not.toMatch('canary')
    }
    expect(calls).toEqual([])
  },
)

test('a store proves who it is by the issuers that are trusted, unless none are asked for (36.1)', async () => {
  const { client } = await startStore()
  const untrusted = {
    kind: 'unreachable',
    code: null,
    message: expect.stringMatching(/[A-Z_]{9,} .*--secret-store-ca-file/),
  }
  for (const ca of [null, serverPair('other').caPem])
    await expect(client({ ca }).readMetadata('p/a')).rejects.toMatchObject(untrusted)
  for (const ca of [null, serverPair('other').caPem])
    expect(await client({ ca, skipTLSVerify: true }).readMetadata('p/a')).toBeNull()
  const other = await startStore(serverPair('store', { hosts: ['other.example.com'] }))
  await expect(other.client().readMetadata('p/a')).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'no answer of the store: ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a store that is not there is unreachable (36.3)', async () => {
  const { client } = await startStore()
  await expect(
    client({ address: 'https://127.0.0.1:1' }).readMetadata('p/a'),
  ).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'no answer of the store: ECONNREFUSED',
  })
  const failing: Resolve = (_, __, callback) => callback(new Error('canary'), [])
  const nameless = client({ address: 'https://store.example.com', resolve: failing })
  await expect(nameless.readMetadata('p/a')).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'no answer of the store',
  })
})

test('calls and connections end with the signal (36.1)', async () => {
  const { client, replies, calls, stop } = await startStore()
  let isClosed = false
  replies.set(DATA_PATH, (response) => response.on('close', () => (isClosed = true)))
  const error = client()
    .readData('p/a', 2)
    .catch((caught: unknown) => caught)
  await eventually('a request', () => calls[0], SOON)
  stop()
  expect(await error).toMatchObject({ kind: 'unreachable' })
  await eventually('the end of the connection', () => isClosed || undefined, SOON)
})
