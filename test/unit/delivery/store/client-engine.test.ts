// The client of the store against the real KV engine (contract 39, 36.3).
import { readFileSync } from 'node:fs'
import { lookup } from 'node:dns'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createStoreClient } from '../../../../src/delivery/store/client.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { ensureKvStore } from '../../../../tools/kv-store/program.ts'
import { type KvStore, startKvStore } from '../../../support/kv-store/kv-store.ts'
import { prepareWith, programOrSkip } from '../../../support/program-or-skip.ts'

const program = await programOrSkip(ensureKvStore)

let store: KvStore
prepareWith([program], async () => (store = await startKvStore(program)))
afterAll(() => store?.[Symbol.asyncDispose]())

function client(options: Partial<Parameters<typeof createStoreClient>[0]> = {}) {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return createStoreClient({
    address: store.url,
    namespace: '',
    token: store.rootToken,
    skipTLSVerify: false,
    ca: readFileSync(store.caFile, 'utf8'),
    mount: 'secret',
    resolve: lookup,
    clock: systemClock(),
    mayWrite: () => undefined,
    signal: stop.signal,
    ...options,
  })
}

const ALL = ['create', 'read', 'update'] as const

/** A token of a policy as docs recommend it. */
const policyToken = (parts: object = {}) =>
  store.makeToken({
    rules: [
      { path: 'secret/data/*', capabilities: ALL },
      { path: 'secret/metadata/*', capabilities: ALL },
    ],
    ...parts,
  })

test('the engine keeps an entry by check-and-set, with its metadata (36.3, 36.4)', async () => {
  const token = await policyToken()
  const kv = client({ token })
  expect(await kv.readMetadata('p/a')).toBeNull()
  expect(await kv.readData('p/a', 2)).toBeNull()
  const first = await kv.writeData('p/a', { key: 'ä <&>\n' }, 0)
  expect(first).toEqual({ version: 1, createdTime: expect.stringMatching(/^20.*Z$/) })
  expect(await kv.writeData('p/a', { key: 'b' }, 0)).toBe('conflict')
  expect(await kv.writeData('p/a', { key: 'b' }, 2)).toBe('conflict')
  await kv.writeCustomMetadata('p/a', { owner: 'us' })
  expect(await kv.readData('p/a', 2)).toEqual({
    ...Object(first),
    content: { key: 'ä <&>\n' },
  })
  const metadata = { currentVersion: 1, state: 'live', customMetadata: { owner: 'us' } }
  const { createdTime } = Object(first)
  expect(await kv.readMetadata('p/a')).toEqual({ ...metadata, createdTime })
  expect(await kv.writeData('p/a', { key: 'b' }, 1)).toMatchObject({ version: 2 })
})

test('the engine says of an entry that it was deleted, destroyed, or has no version (36.3)', async () => {
  const kv = client()
  await kv.writeData('p/gone', { a: 'b' }, 0)
  await store.ask('DELETE', '/v1/secret/data/p/gone')
  expect(await kv.readMetadata('p/gone')).toMatchObject({ currentVersion: 1, state: 'deleted' })
  expect(await kv.readData('p/gone', 2)).toBeNull()
  await store.ask('POST', '/v1/secret/destroy/p/gone', { versions: [1] })
  expect(await kv.readMetadata('p/gone')).toMatchObject({ currentVersion: 1, state: 'destroyed' })
  expect(await kv.readData('p/gone', 2)).toBeNull()
  await kv.writeCustomMetadata('p/empty', { owner: 'us' })
  expect(await kv.readMetadata('p/empty')).toMatchObject({ currentVersion: 0, state: 'none' })
  expect(await kv.readData('p/empty', 2)).toBeNull()
  expect(await kv.writeData('p/empty', { a: 'b' }, 0)).toMatchObject({ version: 1 })
  await store.ask('POST', '/v1/secret/metadata/p/later', { delete_version_after: '1h' })
  await kv.writeData('p/later', { a: 'b' }, 0)
  expect(await kv.readMetadata('p/later')).toMatchObject({ currentVersion: 1, state: 'live' })
  expect(await kv.readData('p/later', 2)).toMatchObject({ version: 1 })
})

test('the engine gives other JSON than texts as compact text (36.3)', async () => {
  const data = { number: 5432, big: 1.5, list: [1, { a: '<b>' }], word: true, nothing: null }
  await store.put('p/json', data)
  const content = {
    number: '5432',
    big: '1.5',
    list: '[1,{"a":"<b>"}]',
    word: 'true',
    nothing: 'null',
  }
  expect(await client().readData('p/json', 2)).toMatchObject({ version: 1, content })
  await store.ask('POST', '/v1/kv1/p/json', data)
  expect(await client({ mount: 'kv1' }).readData('p/json', 1)).toEqual({
    version: null,
    createdTime: '',
    content,
  })
})

test('the engine of one version is never taken for the other (36.2)', async () => {
  const refused = { kind: 'refused' }
  const one = client({ mount: 'kv1' })
  const two = client()
  await two.writeData('p/two', { a: 'b' }, 0)
  await expect(two.readData('p/two', 1)).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('version 2 of the engine'),
  })
  await expect(two.readData('data/p/two', 1)).rejects.toMatchObject(refused)
  const forged = { data: { a: 'forged' }, metadata: { version: 1, created_time: 'x' } }
  for (const more of [{}, { ttl: '0' }, { lease: '0s' }]) {
    await store.ask('POST', '/v1/kv1/data/p/two', { ...forged, ...more })
    await expect(one.readData('p/two', 2)).rejects.toMatchObject(refused)
  }
  const versions = { 1: { created_time: 'x', deletion_time: '', destroyed: false } }
  for (const more of [{}, { ttl: '0' }, { lease: '0s' }]) {
    const body = { current_version: 1, versions, custom_metadata: null, ...more }
    await store.ask('POST', '/v1/kv1/metadata/p/two', body)
    await expect(one.readMetadata('p/two')).rejects.toMatchObject(refused)
  }
  await expect(one.writeData('p/new', { a: 'b' }, 0)).rejects.toMatchObject(refused)
  await expect(one.writeCustomMetadata('p/new', { a: 'b' })).rejects.toMatchObject(refused)
  expect((await store.ask('GET', '/v1/kv1/data/p/new')).code).toBe(404)
  expect((await store.ask('GET', '/v1/kv1/metadata/p/new')).code).toBe(404)
})

test('a mount that is not there is refused with words, as is a path without a policy (36.1)', async () => {
  const none = client({ mount: 'none' })
  const words = { kind: 'refused', message: expect.stringContaining('--secret-store-mount') }
  await expect(none.readMetadata('p/a')).rejects.toMatchObject(words)
  await expect(none.readData('p/a', 1)).rejects.toMatchObject(words)
  await expect(none.writeData('p/a', {}, 0)).rejects.toMatchObject({ kind: 'denied', code: 403 })
  const denied = { kind: 'denied', code: 403 }
  const poor = client({ token: await store.makeToken() })
  await expect(poor.readMetadata('p/a')).rejects.toMatchObject(denied)
  await expect(poor.writeData('p/a', {}, 0)).rejects.toMatchObject(denied)
  await expect(client({ token: 'unknown' }).lookupToken()).rejects.toMatchObject(denied)
})

test('a namespace of the store has entries of its own (36.1)', async () => {
  await store.addNamespace('team')
  await client().writeData('p/shared', { a: 'root' }, 0)
  const team = client({ namespace: 'team' })
  expect(await team.readMetadata('p/shared')).toBeNull()
  expect(await team.writeData('p/shared', { a: 'team' }, 0)).toMatchObject({ version: 1 })
  expect(await client().readData('p/shared', 2)).toMatchObject({ content: { a: 'root' } })
})

test('a token is looked up and renewed, and a root token never ends (36.5)', async () => {
  const kv = client({ token: await policyToken({ ttl: 600, renewable: true }) })
  expect(await kv.lookupToken()).toMatchObject({ isRenewable: true, creationTtlSeconds: 600 })
  const { ttlSeconds, isRenewable } = await kv.renewToken()
  expect([ttlSeconds, isRenewable]).toEqual([600, true])
  const fixed = client({ token: await policyToken({ ttl: 600, renewable: false }) })
  expect(await fixed.lookupToken()).toMatchObject({ isRenewable: false })
  await expect(fixed.renewToken()).rejects.toMatchObject({ kind: 'refused', code: 400 })
  expect(await client().lookupToken()).toEqual({
    ttlSeconds: 0,
    isRenewable: false,
    creationTtlSeconds: 0,
  })
  const blind = client({ token: await policyToken({ noDefaultPolicy: true }) })
  await expect(blind.lookupToken()).rejects.toMatchObject({ kind: 'denied' })
  expect(await blind.readMetadata('p/none')).toBeNull()
})

test('a sealed store is unreachable (36.3)', async () => {
  await store.seal(true)
  onTestFinished(() => store.seal(false))
  await expect(client().readMetadata('p/a')).rejects.toMatchObject({
    kind: 'unreachable',
    code: 503,
  })
})
