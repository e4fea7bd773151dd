// The store of secrets that tests run (tools/kv-store) is what clients expect: OpenBao's own client reads and writes it, and is
// refused by it (contract 39, 36).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureKvStore, ensureKvStorePeer } from '../../../tools/kv-store/program.ts'
import { type KvStore, startKvStore } from '../../support/kv-store/kv-store.ts'
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'
import { runCommand } from '../../support/run-command.ts'

const program = await programOrSkip(ensureKvStore)
const peer = await programOrSkip(ensureKvStorePeer)

let store: KvStore
prepareWith([program, peer], async () => (store = await startKvStore(program)))
afterAll(() => store?.[Symbol.asyncDispose]())

/** Whose token the peer has, and where it asks. */
interface Asking {
  readonly token?: string
  readonly namespace?: string
}

/** The results of the peer's steps. @throws Error with what it says when it fails */
async function peerTakes(
  steps: readonly string[],
  { token = store.rootToken, namespace = '' }: Asking = {},
): Promise<readonly unknown[]> {
  const env = { CA_FILE: store.caFile, TOKEN: token, NAMESPACE: namespace }
  const { code, stdout, stderr } = await runCommand(peer, [store.url, ...steps], { env })
  if (code !== 0) throw new Error(stderr)
  const lines = stdout.trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as readonly [string, unknown])[1])
}

const DENIED = [403, ['1 error occurred:\n\t* permission denied\n\n']]
const NO_TOKEN = [403, ['permission denied']]
const STALE = [400, ['check-and-set parameter did not match the current version']]

describe("OpenBao's client takes it for a store (39)", () => {
  test('version 2: writes by check-and-set, reads, deletes, destroys and forgets (36.3, 36.4)', async () => {
    expect(await peerTakes(['read', 'metadata', 'create', 'create', 'name', 'read'])).toEqual([
      'not found',
      'not found',
      1,
      STALE,
      null,
      { data: { user: 'ada', port: 5432 }, version: 1, custom: { owner: 'the peer' } },
    ])
    const custom = { owner: 'the peer' }
    expect(await peerTakes(['replace', 'replace', 'delete', 'read', 'metadata'])).toEqual([
      2,
      STALE,
      null,
      // The client reads the metadata that come with the 404.
      { data: null, version: 2, custom },
      { current: 2, versions: { 1: 'there', 2: 'deleted' }, custom },
    ])
    expect(await peerTakes(['undelete', 'read', 'destroy', 'read', 'metadata'])).toEqual([
      null,
      { data: { user: 'grace' }, version: 2, custom },
      null,
      { data: null, version: 2, custom },
      { current: 2, versions: { 1: 'there', 2: 'destroyed' }, custom },
    ])
    expect(await peerTakes(['forget', 'read', 'metadata', 'create'])).toEqual([
      null,
      'not found',
      'not found',
      1,
    ])
  })

  test('version 1: writes and reads (36.2)', async () => {
    expect(await peerTakes(['read 1', 'write 1', 'read 1'])).toEqual([
      'not found',
      null,
      { user: 'ada' },
    ])
  })

  test('a policy decides on each path and capability', async () => {
    const token = await store.makeToken({
      rules: [
        { path: 'secret/data/*', capabilities: ['create', 'read', 'update'] },
        { path: 'secret/data/shop/*', capabilities: ['read'] },
        { path: 'secret/metadata/+/database', capabilities: ['read'] },
        { path: 'kv1/shop/database', capabilities: ['read'] },
        { path: 'kv1/shop/database', capabilities: ['deny'] },
      ],
    })
    await store.ask('DELETE', '/v1/secret/metadata/shop/database')
    await store.put('shop/database', { user: 'ada' })
    const steps = ['replace', 'read', 'metadata', 'delete', 'read 1']
    expect(await peerTakes(steps, { token })).toEqual([
      DENIED,
      { data: { user: 'ada' }, version: 1, custom: null },
      { current: 1, versions: { 1: 'there' }, custom: null },
      DENIED,
      DENIED,
    ])
  })

  test('tells which engine a mount has (36.4)', async () => {
    const mountOf = async (path: string) => store.ask('GET', `/v1/sys/internal/ui/mounts/${path}`)
    expect(await mountOf('secret')).toMatchObject({
      code: 200,
      json: { data: { path: 'secret/', type: 'kv', options: { version: '2' } } },
    })
    expect(await mountOf('kv1/shop/database')).toMatchObject({
      json: { data: { path: 'kv1/', options: { version: '1' } } },
    })
    expect((await mountOf('absent')).code).toBe(403)
  })

  test('creating and replacing take different capabilities', async () => {
    const token = await store.makeToken({
      rules: [{ path: 'secret/data/shop/database', capabilities: ['create'] }],
    })
    await store.ask('DELETE', '/v1/secret/metadata/shop/database')
    expect(await peerTakes(['create', 'replace'], { token })).toEqual([1, DENIED])
  })

  test('a token looks itself up, renews itself as far as it may, and ends (36.5)', async () => {
    const life = { ttl: 600, explicitMaxTtl: 900, renewable: true }
    const token = await store.makeToken(life)
    const policies = ['default', 'test']
    expect(await peerTakes(['lookup', 'renew', 'lookup'], { token })).toEqual(
      [1, 2, 3].map(() => ({ seconds: expect.closeTo(600, -1), renewable: true, policies })),
    )
    await store.expireToken(token)
    expect(await peerTakes(['lookup', 'renew', 'read'], { token })).toEqual([
      NO_TOKEN,
      NO_TOKEN,
      NO_TOKEN,
    ])
    const other = await store.makeToken()
    const fixed = { seconds: 768 * 3600, renewable: false, policies }
    expect(await peerTakes(['lookup', 'renew', 'revoke', 'lookup'], { token: other })).toEqual([
      { ...fixed, seconds: expect.closeTo(fixed.seconds, -1) },
      [400, ['lease is not renewable']],
      null,
      NO_TOKEN,
    ])
    const blind = await store.makeToken({ noDefaultPolicy: true })
    expect(await peerTakes(['lookup'], { token: blind })).toEqual([DENIED])
  })

  test('a namespace has data of its own, and its tokens reach no other (36.1)', async () => {
    await store.addNamespace('team/child')
    await store.put('shop/database', { user: 'the child' }, 'team/child')
    const rules = [{ path: 'secret/*', capabilities: ['read'] as const }]
    const token = await store.makeToken({ namespace: 'team/child', rules })
    const inChild = { token, namespace: 'team/child' }
    expect(await peerTakes(['read'], inChild)).toMatchObject([{ data: { user: 'the child' } }])
    expect(await peerTakes(['lookup'], inChild)).toMatchObject([{ renewable: false }])
    expect(await peerTakes(['read'], { token, namespace: 'team' })).toEqual([DENIED])
    expect(await peerTakes(['read'], { token })).toEqual([DENIED])
    expect(await peerTakes(['read'], { namespace: 'team' })).toEqual(['not found'])
    expect(await peerTakes(['name'], { namespace: 'none' })).toEqual([
      [404, ['namespace not found']],
    ])
  })
})

describe('the test breaks it', () => {
  test('it answers 503 while it is sealed', async () => {
    await store.seal(true)
    expect(await peerTakes(['read'])).toEqual([[503, ['Vault is sealed']]])
    await store.seal(false)
    expect(await peerTakes(['lookup'])).toMatchObject([{ policies: ['root'] }])
  })

  test('every so many requests fails with a code, or without an answer', async () => {
    await store.requests()
    await store.fault({ path: 'lookup', every: 2, code: 429 })
    const slow = 'request path "auth/token/lookup-self": rate limit quota exceeded'
    const root = { seconds: 0, renewable: false, policies: ['root'] }
    expect(await peerTakes(['lookup', 'lookup', 'lookup'])).toEqual([root, [429, [slow]], root])
    await store.fault({ every: 1 })
    expect(await peerTakes(['lookup'])).toEqual([expect.stringMatching(/EOF|INTERNAL_ERROR/)])
    await store.fault({})
    const path = '/v1/auth/token/lookup-self'
    expect(await store.requests()).toEqual(
      [200, 429, 200, 0].map((code) => ({ method: 'GET', path, namespace: '', code })),
    )
  })

  test('an answer waits', async () => {
    const before = performance.now()
    await store.fault({ delayMs: 300 })
    await peerTakes(['lookup'])
    await store.fault({})
    expect(performance.now() - before).toBeGreaterThan(300)
  })

  test('its port takes no connection for a while, and the data stay', async () => {
    const version = await store.put('kept', { a: '1' })
    await store.listen(false)
    expect(await peerTakes(['lookup'])).toEqual([expect.stringContaining('connection refused')])
    await store.listen(true)
    expect(await peerTakes(['lookup'])).toMatchObject([{ policies: ['root'] }])
    expect((await store.get('kept'))?.metadata.version).toBe(version)
  })

  test('a restore brings back data and tokens, and takes what came later', async () => {
    const early = await store.makeToken()
    await store.put('rolled-back', { a: '1' })
    const backup = await store.backup()
    const late = await store.makeToken()
    await store.put('rolled-back', { a: '2' })
    await store.expireToken(early)
    await store.restore(backup)
    expect(await store.get('rolled-back')).toMatchObject({
      data: { a: '1' },
      metadata: { version: 1 },
    })
    expect(await peerTakes(['lookup'], { token: early })).toMatchObject([{ renewable: false }])
    expect(await peerTakes(['lookup'], { token: late })).toEqual([NO_TOKEN])
    expect(await store.put('rolled-back', { a: '3' })).toBe(2)
  })
})

describe('by http', () => {
  let plain: KvStore
  if (program !== '')
    beforeAll(async () => void (plain = await startKvStore(program, { scheme: 'http' })))
  afterAll(() => plain?.[Symbol.asyncDispose]())

  test('it serves what is no path of the API as nothing', async () => {
    expect(plain.caFile).toBe('')
    const answer = await fetch(`${plain.url}/test`)
    expect([answer.status, await answer.json()]).toEqual([404, { errors: [] }])
    const unknown = await plain.ask('GET', '/v1/nowhere/a')
    const text = 'no handler for route "nowhere/a". route entry not found.'
    expect(unknown).toEqual({ code: 404, json: { errors: [text] } })
  })
})
