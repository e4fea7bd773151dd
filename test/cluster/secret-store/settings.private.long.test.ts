/** @module-tag no-retry */
// Each setting of secretStore, as it works and as it does not, with what condition SecretStoreReady says (contract 36.1). Tokens
// and certificates: token.private.long.test.ts, certificates.private.long.test.ts.
import { describe, expect, test } from 'vitest'
import { readyOf, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { aboutEntry, readStoreCondition, serveStore, trusting, untilAsked } from './served-store.ts'
import { PLATFORM_TOKEN, type Project, createProject, storeProgram } from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
const settings = settingsOf(plane)
const IN_CLEAR = 'PLATFORM_CONFIG_STORE_TOKEN'
const served = serveStore(plane, program, { env: { [IN_CLEAR]: 'hvs.the-token-of-nobody' } })
/** A little longer than two intervals. */
const TWO_ROUNDS = { forMs: 23_000 }
let web: Project

prepareWith([program], async () => {
  web = await createProject(plane)
  await served().says('Synced', '0')
})

const isAbsent = (): Promise<true> =>
  eventually(
    'the condition is absent',
    async () => (await readStoreCondition(plane)) === null || undefined,
    { withinMs: 30_000 },
  )

// In the order of the file: the first ones are about a store that no Secret asks.
describe('address', () => {
  test.each([
    { address: 'http://store.example.com:8200', words: 'only a loopback host may: write https' },
    { address: 'https://store.example.com:8200/?a=b', words: 'a query or a fragment' },
    { address: 'https://ada@store.example.com:8200', words: 'has a user' },
  ])('$address is never asked: AddressMissing, and why (36.1)', async ({ address, words }) => {
    await served().declare({ address })
    const { status, message } = await served().says('AddressMissing', words)
    expect(status).toBe('False')
    expect(message).not.toContain('example.com')
  })

  test.each([
    {
      name: 'of nobody',
      address: 'https://127.0.0.1:1',
      why: 'No answer of the store: ECONNREFUSED.',
    },
    {
      name: 'of a metadata service',
      address: 'https://169.254.169.254',
      why: 'The host of secretStore.address is a metadata address.',
    },
    {
      name: 'of another server',
      address: 'the API server',
      why: 'No answer of the store: UNABLE_TO_VERIFY_LEAF_SIGNATURE (no certificate that is trusted: --secret-store-ca-file names the issuers of a private one).',
    },
  ])('$name: Unreachable (36.1)', async ({ address, why }) => {
    await served().declare({ address: address === 'the API server' ? plane.url : address })
    const { status, message } = await served().says('Unreachable', why)
    expect({ status, message }).toEqual({
      status: 'False',
      message: `The store does not answer; every Secret and entry stays as it is. ${why}`,
    })
    await served().declare()
    await served().says('Synced')
  })

  test('absent: VAULT_ADDR of the delivery process counts, and without it AddressMissing (36.1)', async () => {
    const { store, declare, says, restart } = served()
    await declare({ address: undefined })
    expect((await says('AddressMissing', 'VAULT_ADDR')).status).toBe('False')
    await restart({ ...trusting(store), env: { VAULT_ADDR: store.url } })
    await says('Synced')
    await declare({ address: 'https://127.0.0.1:1' })
    await says('Unreachable')
    await restart()
    await declare()
    await says('Synced')
  })
})

describe('namespace', () => {
  test('that the store has: entries are read there and written there, with a token of it (36.1)', async () => {
    const { store, declare, setToken, says } = served()
    const project = await createProject(plane)
    await store.addNamespace('team/one')
    await store.put(`${project.name}/a`, { from: 'the root' })
    await store.put(`${project.name}/a`, { from: 'the namespace' }, 'team/one')
    await setToken(await store.makeToken({ ...PLATFORM_TOKEN, namespace: 'team/one' }))
    await declare({ namespace: 'team/one' })
    await project.create('a', { direction: 'Pull' })
    await project.create('b', { direction: 'Push', data: { b: '1' } })
    await project.has('a', { from: 'the namespace' })
    await eventually(
      'the entry is pushed',
      async () => (await store.get(`${project.name}/b`, 'team/one')) ?? undefined,
      { withinMs: 60_000 },
    )
    expect(await store.get(`${project.name}/b`)).toBeNull()
    await Promise.all(['a', 'b'].map(project.remove))
    await setToken(await store.makeToken(PLATFORM_TOKEN))
    await declare()
    await says('Synced', '0')
  })

  test.each([
    { namespace: 'nowhere', reason: 'Unreachable', words: 'does not answer' },
    { namespace: 'white space', reason: 'AddressMissing', words: 'secretStore.namespace' },
  ])('$namespace: $reason (36.1)', async ({ namespace, reason, words }) => {
    await served().declare({ namespace })
    expect(await served().says(reason, words)).toMatchObject({ status: 'False' })
    await served().declare()
    await served().says('Synced')
  })
})

describe('auth.token', () => {
  test('in the settings of the Secret and as $NAME goes before tokenSecretRef; a literal in spec is a fault (36.1, 6.8)', async () => {
    const { store, declare, says } = served()
    await declare({ auth: { token: `$${IN_CLEAR}`, tokenSecretRef: { name: 'store-token' } } })
    expect((await says('Denied')).message).toContain('The store refuses the token')
    const token = await store.makeToken(PLATFORM_TOKEN)
    await settings.secret(JSON.stringify({ secretStore: { auth: { token } } }))
    await declare({ auth: { tokenSecretRef: { name: 'nowhere' } } })
    await says('Synced')
    await settings.secret('{}')
    await says('TokenMissing', 'Secret nowhere')
    for (const [literal, fault] of [
      ['hvs.in-clear', 'secretStore.auth.token'],
      ['$PLATFORM_CONFIG_NOT_SET', 'PLATFORM_CONFIG_NOT_SET'],
    ] as const) {
      await declare({ auth: { token: literal } })
      const found = await settings.settled('it is a fault', (status) =>
        readyOf(status).message.includes(fault),
      )
      expect(readyOf(found)).toMatchObject({ status: 'False', reason: 'Invalid' })
      expect(readyOf(found).message).not.toContain('in-clear')
    }
    await declare()
    await says('Synced')
  })

  test('neither token nor tokenSecretRef: TokenMissing (36.1)', async () => {
    await served().declare({ auth: {} })
    const { status } = await served().says('TokenMissing', 'Set secretStore.auth.token')
    expect(status).toBe('False')
    await served().declare()
    await served().says('Synced')
  })
})

describe('the Config', () => {
  test.each([
    { name: 'syncInterval', parts: { syncInterval: 'one minute' } },
    { name: 'address', parts: { address: 'ftp://store' } },
    { name: 'auth.tokenSecretRef.name', parts: { auth: { tokenSecretRef: { key: 'k' } } } },
  ])(
    'has a fault in secretStore.$name: the settings before stay in force, and are served (6.5, 36.1)',
    async ({ name, parts }) => {
      const { store, declare, says } = served()
      await declare(parts)
      const status = await settings.settled('it is a fault', (found) =>
        readyOf(found).message.includes(`secretStore.${name}`),
      )
      expect(readyOf(status)).toMatchObject({ status: 'False', reason: 'Invalid' })
      const secret = `meanwhile-${name.toLowerCase()}`
      await store.put(`${web.name}/${secret}`, { a: name })
      await web.create(secret, { direction: 'Pull' })
      await web.has(secret, { a: name })
      await web.remove(secret)
      await declare()
      await says('Synced')
    },
  )
})

describe('syncInterval', () => {
  test('of a second counts as 10 seconds, and the condition says so (36.1)', async () => {
    const { store, declare, says } = served()
    await store.put(`${web.name}/often`, { a: '1' })
    await web.create('often', { direction: 'Pull' })
    await declare({ syncInterval: '1s' })
    expect(await says('Synced', 'A syncInterval below 10s counts as 10s.')).toMatchObject({
      status: 'True',
    })
    await web.has('often', { a: '1' })
    await untilAsked(store, `${web.name}/often`)
    let asked = 0
    await staysTrue(
      'rounds come each 10 s',
      async () => {
        asked += aboutEntry(await store.requests(), `${web.name}/often`).length
        expect(asked).toBeLessThanOrEqual(3)
      },
      TWO_ROUNDS,
    )
    expect(asked).toBeGreaterThan(0)
  })

  test('of an hour: nothing is asked meanwhile, but a changed Secret is pushed (36.1, 36.5)', async () => {
    const { store, declare, says } = served()
    const at = `${web.name}/seldom`
    await web.create('seldom', { direction: 'Push', data: { a: '1' } })
    await declare({ syncInterval: '1h' })
    await eventually('it is pushed', async () => (await store.get(at)) ?? undefined, {
      withinMs: 30_000,
    })
    expect((await says('Synced', 'store: 2.')).message).not.toContain('10s')
    await store.put(`${web.name}/often`, { a: '2' })
    await web.change('seldom', { stringData: { a: '2' } })
    await eventually(
      'the change is pushed within 5 s and a little more',
      async () => (await store.get(at))?.metadata.version === 2 || undefined,
      { withinMs: 10_000 },
    )
    await staysTrue(
      'there is no round',
      async () => expect(await web.texts('often')).toEqual({ a: '1' }),
      { forMs: 12_000 },
    )
    await declare()
    await web.has('often', { a: '2' })
  })
})

test('switched off: the condition is absent and nothing is asked; on again, what waited is done (36.1)', async () => {
  const { store, declare, says } = served()
  await declare({ enabled: false })
  await isAbsent()
  await web.create('waits', { direction: 'Push', data: { a: '1' } })
  const before = await web.texts('often')
  await store.put(`${web.name}/often`, { a: '3' })
  await store.requests()
  await staysTrue(
    'the store is left alone',
    async () => {
      expect(await store.requests()).toEqual([])
      expect(await readStoreCondition(plane)).toBeNull()
    },
    { forMs: 15_000 },
  )
  expect(await web.texts('often')).toEqual(before)
  await settings.declare({})
  expect(await readStoreCondition(plane)).toBeNull()
  await declare()
  await web.has('often', { a: '3' })
  await says('Synced')
  expect((await store.get(`${web.name}/waits`))?.data).toEqual({ a: '1' })
})

test('--secret-store-mount names the engine; one that the token may not use is Denied, one that is not there is said in an Event (36.2)', async () => {
  const { store, restart, setToken, says } = served()
  const flags = trusting(store).flags ?? []
  await restart({ flags: [...flags, '--secret-store-mount=nowhere'] })
  expect((await says('Denied')).status).toBe('False')
  const rules = [{ path: 'nowhere/*', capabilities: ['read'] }] as const
  await setToken(await store.makeToken({ rules }))
  expect((await says('Partly')).status).toBe('False')
  expect(await web.event('often', 'StoreContentRefused')).toContain('--secret-store-mount')
  expect(await web.texts('often')).toEqual({ a: '3' })
  await setToken(await store.makeToken(PLATFORM_TOKEN))
  await restart()
  await says('Synced')
})
