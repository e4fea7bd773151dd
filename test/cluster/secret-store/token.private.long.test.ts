/** @module-tag no-retry */
// The token of the store: in its Secret and not, refused, ending and renewed (contract 36.1, 36.5).
import { describe, expect, test } from 'vitest'
import { secretData } from '../../../src/api/objects.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import type { StoreTokenParts } from '../../support/kv-store/kv-store.ts'
import { metric } from '../../support/metrics-page.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { readStoreCondition, serveStore } from './served-store.ts'
import { PLATFORM_TOKEN, type Project, createProject, storeProgram } from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
const served = serveStore(plane, program)
const SECRETS_AT = '/api/v1/namespaces/platform-system/secrets'
/** The interval with what it varies by, and as long as the manager takes to hand a token over. */
const WITHIN_AN_INTERVAL = { withinMs: 20_000 }
let web: Project
let value = 0

prepareWith([program], async () => {
  web = await createProject(plane)
  await served().store.put(`${web.name}/follows`, { value: '0' })
  await web.create('follows', { direction: 'Pull' })
  await web.has('follows', { value: '0' })
})

/** The Secret has the value that is put into its entry now. */
async function follows(): Promise<void> {
  value += 1
  await served().store.put(`${web.name}/follows`, { value: String(value) })
  await web.has('follows', { value: String(value) })
}

/** The Secret keeps its value although its entry has another one. */
async function keeps(): Promise<void> {
  await served().store.put(`${web.name}/follows`, { value: 'not yet' })
  expect(await web.texts('follows')).toEqual({ value: String(value) })
}

const useToken = async (parts: StoreTokenParts = {}): Promise<string> => {
  const token = await served().store.makeToken({ ...PLATFORM_TOKEN, ...parts })
  await served().setToken(token)
  return token
}

const untilSynced = (what: string): Promise<unknown> =>
  eventually(
    what,
    async () => (await readStoreCondition(plane))?.reason === 'Synced' || undefined,
    WITHIN_AN_INTERVAL,
  )

describe('tokenSecretRef', () => {
  test('names no Secret: TokenMissing, the last data stay, and a token that is put there counts within the interval (36.1)', async () => {
    const { setToken, says } = served()
    await setToken(null)
    const { status } = await says('TokenMissing', 'Secret store-token of tokenSecretRef does not')
    expect(status).toBe('False')
    await keeps()
    await useToken()
    await untilSynced('the token counts')
    await follows()
  })

  test('optional: a missing Secret is waited for, Unknown and no fault (36.1)', async () => {
    const { declare, setToken, says } = served()
    await declare({ auth: { tokenSecretRef: { name: 'store-token', optional: true } } })
    await setToken(null)
    const { status, message } = await says('TokenMissing', 'The store waits for it.')
    expect(status).toBe('Unknown')
    expect(message).toContain('store-token')
    await useToken()
    await untilSynced('the token counts')
    await declare()
    await follows()
  })

  test.each([
    {
      name: 'lacks the key',
      object: { data: secretData({ other: 'hvs.x' }) },
      words: 'has no key token',
    },
    { name: 'has an empty key', object: { data: secretData({ token: '' }) }, words: 'it is empty' },
    {
      name: 'has two lines',
      object: { data: secretData({ token: 'hvs.a\nhvs.b' }) },
      words: 'visible ASCII',
    },
    {
      name: 'is of another type',
      object: { type: 'example.com/token', data: secretData({ token: 'hvs.x' }) },
      words: 'another type than Opaque',
    },
  ])('a Secret that $name: TokenMissing, and why (36.1)', async ({ name, object, words }) => {
    const secret = `wrong-${name.replaceAll(' ', '-')}`
    const made = await plane.raw('POST', SECRETS_AT, { metadata: { name: secret }, ...object })
    expect(made.code).toBe(201)
    await served().declare({ auth: { tokenSecretRef: { name: secret } } })
    const { message } = await served().says('TokenMissing', `Secret ${secret} of tokenSecretRef`)
    expect(message).toContain(words)
    expect(message).not.toContain('hvs.')
  })

  test('names the key (36.1)', async () => {
    const { declare, says, store } = served()
    const data = secretData({ theirs: await store.makeToken(PLATFORM_TOKEN) })
    await plane.raw('POST', SECRETS_AT, { metadata: { name: 'with-a-key' }, data })
    await declare({ auth: { tokenSecretRef: { name: 'with-a-key', key: 'theirs' } } })
    await says('Synced')
    await follows()
    await declare({ auth: { tokenSecretRef: { name: 'with-a-key', key: 'ours' } } })
    expect((await says('TokenMissing', 'has no key ours')).status).toBe('False')
    await declare()
    await says('Synced')
  })
})

describe('a token', () => {
  test('that the store does not know: Denied, the last data stay (36.3)', async () => {
    await served().setToken('hvs.of-nobody')
    const { status, message } = await served().says('Denied')
    expect({ status, message }).toEqual({
      status: 'False',
      message:
        'The store refuses the token; every Secret and entry stays as it is. The store answered 403: its token is not valid there, or no policy of the token allows this path.',
    })
    await keeps()
    await useToken()
    await untilSynced('the next token counts')
    await follows()
  })

  test('that ends in the middle: Denied, the last data stay, and the next one counts within the interval (36.1, 36.3)', async () => {
    const token = await useToken()
    await follows()
    await served().store.expireToken(token)
    expect((await served().says('Denied')).status).toBe('False')
    await keeps()
    await useToken()
    await untilSynced('the next token counts')
    await follows()
  })

  test('that is replaced while it works: the next one is in use within the interval (36.1)', async () => {
    const { store, delivery } = served()
    const token = await useToken({ ttl: 3600 })
    const expiry = () => metric(delivery(), 'platform_secret_store_token_expiry_timestamp_seconds')
    const inSeconds = (atS: number): number => Math.abs(atS - Date.now() / 1000)
    const untilEnding = (ttl: number): Promise<unknown> =>
      eventually(
        `the token of ${ttl} s is in use`,
        async () => Math.abs(inSeconds(await expiry()) - ttl) < 60 || undefined,
        WITHIN_AN_INTERVAL,
      )
    await untilEnding(3600)
    await useToken({ ttl: 7200 })
    await untilEnding(7200)
    await store.expireToken(token)
    await follows()
    expect((await readStoreCondition(plane))?.reason).toBe('Synced')
  })

  test('may only read: what is pulled follows, and the condition says of how many it is refused (36.4)', async () => {
    const rules = [{ path: 'secret/*', capabilities: ['read'] }] as const
    await useToken({ rules })
    await web.create('denied', { direction: 'Push', data: { a: '1' } })
    const { message } = await served().says('Partly', 'The store refuses the token for 1 of them.')
    expect(message).toContain('1 of 2')
    await follows()
    await web.remove('denied')
  })

  test('may not look itself up: it is used as it is (36.5)', async () => {
    await useToken({ noDefaultPolicy: true })
    await follows()
    await served().says('Synced')
    const { store, delivery } = served()
    expect((await store.requests()).some(({ code }) => code === 403)).toBe(true)
    const name = 'platform_secret_store_token_expiry_timestamp_seconds'
    expect(await metric(delivery(), name)).toBe(0)
  })

  test.each([
    { name: 'of 30 s', parts: { ttl: 30, renewable: true } },
    { name: 'that is periodic, of 20 s', parts: { period: 20, renewable: true } },
  ])('$name renews itself and lives on (36.5)', { timeout: 300_000 }, async ({ parts }) => {
    const { store } = served()
    await useToken(parts)
    await follows()
    await store.requests()
    let renewals = 0
    await staysTrue(
      'the token works',
      async () => {
        const asked = await store.requests()
        renewals += asked.filter(({ path }) => path.endsWith('renew-self')).length
        expect(asked.filter(({ code }) => code !== 200)).toEqual([])
      },
      { forMs: 55_000 },
    )
    expect(renewals).toBeGreaterThanOrEqual(2)
    // At two thirds of its life, not more often.
    expect(renewals).toBeLessThanOrEqual(5)
    await follows()
  })

  test('that cannot be renewed ends: it is not asked to, and then Denied (36.5)', async () => {
    const { store, says } = served()
    await useToken({ ttl: 20 })
    await follows()
    await store.requests()
    await says('Denied')
    expect((await store.requests()).filter(({ path }) => path.includes('renew'))).toEqual([])
    await useToken()
    await untilSynced('the next token counts')
  })
})
