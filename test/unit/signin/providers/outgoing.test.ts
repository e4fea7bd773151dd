/** @module-tag no-retry */
import { lookup } from 'node:dns'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Resolve } from '../../../../src/runtime/address-guard.ts'
import { type Clock, systemClock } from '../../../../src/runtime/clock.ts'
import { createOutgoing } from '../../../../src/signin/providers/outgoing.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { startForgedProvider } from '../../../support/oidc/forged-provider.ts'
import { NO_END } from '../../../support/oidc/sign-in.ts'
import { collectGarbage } from '../../../support/heap.ts'

/** Name servers whose answers a test says: each name has the next of its addresses, the last one for good. */
function nameServers(addresses: Readonly<Record<string, readonly string[]>>): Resolve {
  const asked = new Map<string, number>()
  return (name, _, callback) => {
    const answers = addresses[name] ?? []
    const at = asked.get(name) ?? 0
    asked.set(name, at + 1)
    const address = answers[Math.min(at, answers.length - 1)]
    if (address === undefined) callback(new Error('ENOTFOUND'), [])
    else callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
  }
}

const outgoing = (configured: string, resolve: Resolve, clock: Clock = systemClock()) => {
  const trust = async () => 'unverified' as const
  const send = createOutgoing({ configured: new URL(configured), trust, resolve, clock })
  return (url: string, signal = NO_END) => send({ url, headers: {}, body: null }, signal)
}

const SOON = { withinMs: 5000 }

const portOf = (issuer: string): string => new URL(issuer).port

test('a call follows no redirect (25.6, SJ)', async () => {
  const { issuer, answers, requests } = await startForgedProvider()
  answers.set('/keys', (response) => response.writeHead(302, { location: `${issuer}/other` }).end())
  const get = outgoing(issuer, lookup)
  await expect(get(`${issuer}/keys`)).rejects.toMatchObject({
    reason: 'provider_answer',
    because: 'the provider answered 302',
  })
  expect(requests.map(({ path }) => path)).toEqual(['/keys'])
})

test('a call names this program, as front ends of providers demand', async () => {
  const { issuer, requests } = await startForgedProvider()
  await outgoing(issuer, lookup)(`${issuer}/keys`)
  expect(requests[0]?.headers['user-agent']).toBe('management-operator')
})

test('a call leaves no connection behind (25.6)', async () => {
  const { issuer, answers } = await startForgedProvider()
  let isClosed = false
  answers.set('/keys', (response) => {
    response.socket?.once('close', () => (isClosed = true))
    response.end('{}')
  })
  await outgoing(issuer, lookup)(`${issuer}/keys`)
  await eventually('the end of the connection', () => isClosed || undefined, SOON)
})

test('a status of 500 and more means that the provider is away (25.5)', async () => {
  const { issuer, answers } = await startForgedProvider()
  const get = outgoing(issuer, lookup)
  answers.set('/keys', { status: 503, body: 'a secret' })
  await expect(get(`${issuer}/keys`)).rejects.toMatchObject({ reason: 'provider_unreachable' })
  answers.set('/keys', { status: 418, body: 'a secret' })
  await expect(get(`${issuer}/keys`)).rejects.toMatchObject({ reason: 'provider_answer' })
})

test('an answer has 1 MiB at most (25.6)', async () => {
  const { issuer, answers } = await startForgedProvider()
  const get = outgoing(issuer, lookup)
  answers.set('/keys', { body: 'x'.repeat(1024 * 1024) })
  expect((await get(`${issuer}/keys`)).body).toHaveLength(1024 * 1024)
  answers.set('/keys', { body: 'x'.repeat(1024 * 1024 + 1) })
  await expect(get(`${issuer}/keys`)).rejects.toMatchObject({ reason: 'provider_answer' })
  answers.set('/keys', (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  await expect(get(`${issuer}/keys`)).rejects.toMatchObject({ reason: 'provider_answer' })
})

test('an answer takes 10 seconds at most, and its connection ends then (25.6)', async () => {
  const { issuer, answers, requests } = await startForgedProvider()
  let isClosed = false
  answers.set('/keys', (response) => {
    response.on('close', () => (isClosed = true))
    response.write('{')
  })
  const clock = manualClock(Date.now())
  const late = outgoing(issuer, lookup, clock)(`${issuer}/keys`)
  const refusal = late.catch((error: unknown) => error)
  await eventually('a request', () => requests[0], SOON)
  await clock.advance(9_999)
  expect(isClosed).toBe(false)
  await clock.advance(1)
  expect(await refusal).toMatchObject({ reason: 'provider_unreachable' })
  await eventually('the end of the connection', () => isClosed || undefined, SOON)
})

test('a name server that does not answer takes 10 seconds at most (25.6)', async () => {
  const clock = manualClock(Date.now())
  const late = outgoing(
    'https://idp.example.com',
    () => undefined,
    clock,
  )('https://idp.example.com')
  const refusal = late.catch((error: unknown) => error)
  await clock.advance(10_000)
  expect(await refusal).toMatchObject({ reason: 'provider_unreachable' })
})

test('a call ends with the signal of its caller', async () => {
  const { issuer, answers, requests } = await startForgedProvider()
  let isClosed = false
  answers.set('/keys', (response) => void response.on('close', () => (isClosed = true)))
  const caller = new AbortController()
  const call = outgoing(issuer, lookup)(`${issuer}/keys`, caller.signal)
  const refusal = call.catch((error: unknown) => error)
  await eventually('a request', () => requests[0], SOON)
  caller.abort()
  expect(await refusal).toMatchObject({ reason: 'provider_unreachable' })
  await eventually('the end of the connection', () => isClosed || undefined, SOON)
})

test('a call leaves nothing in memory while the signal of its caller lives on', async () => {
  const { issuer } = await startForgedProvider()
  const made: WeakRef<AbortSignal>[] = []
  const any = AbortSignal.any.bind(AbortSignal)
  const watched = vi.spyOn(AbortSignal, 'any').mockImplementation((signals) => {
    const signal = any(signals)
    made.push(new WeakRef(signal))
    return signal
  })
  onTestFinished(() => watched.mockRestore())
  const get = outgoing(issuer, lookup)
  for (let at = 0; at < 20; at += 1) await get(`${issuer}/keys`)
  watched.mockReset()
  const isLeft = (): boolean => {
    collectGarbage()
    return made.some((signal) => signal.deref() !== undefined)
  }
  expect(made.length).toBeGreaterThanOrEqual(20)
  await eventually('the end of all signals', () => !isLeft() || undefined, SOON)
})

test('a provider that refuses the connection is away, with the code of Node (25.5)', async () => {
  const get = outgoing('http://127.0.0.1:1', lookup)
  await expect(get('http://127.0.0.1:1/keys')).rejects.toMatchObject({
    reason: 'provider_unreachable',
    because: 'no answer of the provider: ECONNREFUSED',
  })
})

const unusable = { reason: 'provider_unusable' }

test.each([
  'http://idp.example.com/token',
  'http://127.0.0.1/token',
  'ftp://idp.example.com/token',
  'file:///etc/passwd',
  'https://user:password@idp.example.com/token',
  'no URL',
])('%s is not called for a provider on the Internet (25.6, SJ)', async (url) => {
  const get = outgoing('https://idp.example.com', nameServers({ 'idp.example.com': ['8.8.8.8'] }))
  await expect(get(url)).rejects.toMatchObject(unusable)
})

test.each([
  ['169.254.169.254'],
  ['100.100.100.200'],
  ['169.254.7.7'],
  ['0.0.0.0'],
  ['224.0.0.1'],
  ['[::ffff:169.254.169.254]'],
  ['[::ffff:127.0.0.1]'],
  ['[::]'],
  ['[fe80::1]'],
  ['[64:ff9b::a00:1]'],
  ['127.0.0.1'],
  ['2130706433'],
  ['0x7f.1'],
  ['10.0.0.1'],
  ['192.168.0.1'],
  ['[fd00::1]'],
])('address %s is not called for a provider on the Internet (25.6, SJ)', async (host) => {
  const get = outgoing('https://idp.example.com', nameServers({ 'idp.example.com': ['8.8.8.8'] }))
  await expect(get(`https://${host}/token`)).rejects.toMatchObject(unusable)
})

test('a name of an address nearby is not called for a provider on the Internet (25.6, SJ)', async () => {
  const resolve = nameServers({
    'idp.example.com': ['8.8.8.8'],
    'token.example.com': ['127.0.0.1'],
    'keys.example.com': ['10.0.0.1'],
    'meta.example.com': ['169.254.169.254'],
    'mapped.example.com': ['::ffff:127.0.0.1'],
  })
  const get = outgoing('https://idp.example.com', resolve)
  for (const name of ['token', 'keys', 'meta', 'mapped'])
    await expect(get(`https://${name}.example.com/`)).rejects.toMatchObject(unusable)
})

test('a name that later has an address nearby is not called (DNS rebinding) (25.6, SJ)', async () => {
  const { issuer, requests } = await startForgedProvider(serverPair('idp'))
  const resolve = nameServers({ 'idp.example.com': ['8.8.8.8', '127.0.0.1'] })
  const get = outgoing('https://idp.example.com', resolve)
  const url = `https://idp.example.com:${portOf(issuer)}/keys`
  await expect(get(url)).rejects.toMatchObject({
    ...unusable,
    because: 'a server of the provider has an address that is a loopback address',
  })
  await expect(get(url)).rejects.toMatchObject(unusable)
  expect(requests).toEqual([])
})

test('a provider on this machine is called there, and not in the network (25.6)', async () => {
  const { issuer } = await startForgedProvider(serverPair('idp'))
  const resolve = nameServers({ 'idp.example.com': ['127.0.0.1'] })
  const get = outgoing('https://idp.example.com', resolve)
  expect(await get(`https://idp.example.com:${portOf(issuer)}/keys`)).toMatchObject({ status: 200 })
  await expect(get('https://10.0.0.1/')).rejects.toMatchObject(unusable)
  const inNetwork = outgoing('https://10.0.0.1', resolve)
  await expect(inNetwork(`${issuer}/keys`)).rejects.toMatchObject(unusable)
})

test('a name without an address is asked for again at the next call', async () => {
  const { issuer } = await startForgedProvider(serverPair('idp'))
  let isUp = false
  const resolve: Resolve = (_, __, callback) =>
    isUp ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(new Error('down'), [])
  const get = outgoing('https://idp.example.com', resolve)
  const url = `https://idp.example.com:${portOf(issuer)}/keys`
  await expect(get(url)).rejects.toMatchObject({ reason: 'provider_unreachable' })
  isUp = true
  expect(await get(url)).toMatchObject({ status: 200 })
})
