/** @module-tag no-retry */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { StoreClient } from '../../../../src/delivery/store/client.ts'
import { SecretStoreError } from '../../../../src/delivery/store/store-error.ts'
import { NotLeaderError } from '../../../../src/kube/client/api-error.ts'
import { startStore, TOKEN } from '../../../support/store-server.ts'

const MOUNT = { data: { path: 'secret/', type: 'kv', options: { version: '2' } } }
const MOUNT_PATH = '/v1/sys/internal/ui/mounts/secret'
const CREATED = '2025-12-01T00:00:00.123456789Z'
const METADATA = {
  data: {
    current_version: 1,
    versions: { 1: { created_time: CREATED, deletion_time: '', destroyed: false } },
    custom_metadata: { owner: 'us' },
  },
}
const DATA = {
  lease_duration: 0,
  data: { data: { a: 'b' }, metadata: { version: 3, created_time: CREATED } },
}
const LOOK_UP = {
  data: { ttl: 60, creation_ttl: 90, expire_time: '2026-01-01T00:00:00Z', renewable: true },
}
const RENEWAL = { auth: { lease_duration: 90, renewable: true } }

/** A store in which each call of the table below succeeds. */
async function fullStore() {
  const store = await startStore()
  const { replies } = store
  replies.set(MOUNT_PATH, { body: MOUNT })
  replies.set('/v1/secret/metadata/p/a', (response, { method }) =>
    method === 'GET' ? response.end(JSON.stringify(METADATA)) : response.writeHead(204).end(),
  )
  replies.set('/v1/secret/data/p/a', (response, { method }) =>
    response.end(
      JSON.stringify(method === 'GET' ? DATA : { data: { version: 4, created_time: CREATED } }),
    ),
  )
  replies.set('/v1/secret/p/a', { body: { lease_duration: 60, data: { a: 'b' } } })
  replies.set('/v1/auth/token/lookup-self', { body: LOOK_UP })
  replies.set('/v1/auth/token/renew-self', { body: RENEWAL })
  return store
}

interface CallRow {
  readonly name: string
  readonly path: string
  readonly call: (client: StoreClient) => Promise<unknown>
  readonly isWrite?: boolean
}

const SECRET_VALUE = 'canary-of-a-value'

const CALLS: readonly CallRow[] = [
  {
    name: 'readMetadata',
    path: '/v1/secret/metadata/p/a',
    call: (client) => client.readMetadata('p/a'),
  },
  {
    name: 'readData of version 2',
    path: '/v1/secret/data/p/a',
    call: (client) => client.readData('p/a', 2),
  },
  {
    name: 'readData of version 1',
    path: '/v1/secret/p/a',
    call: (client) => client.readData('p/a', 1),
  },
  {
    name: 'writeData',
    path: '/v1/secret/data/p/a',
    call: (client) => client.writeData('p/a', { key: SECRET_VALUE }, 3),
    isWrite: true,
  },
  {
    name: 'writeCustomMetadata',
    path: '/v1/secret/metadata/p/a',
    call: (client) => client.writeCustomMetadata('p/a', { owner: SECRET_VALUE }),
    isWrite: true,
  },
  {
    name: 'lookupToken',
    path: '/v1/auth/token/lookup-self',
    call: (client) => client.lookupToken(),
  },
  {
    name: 'renewToken',
    path: '/v1/auth/token/renew-self',
    call: (client) => client.renewToken(),
    isWrite: true,
  },
]

const ANSWERS: Readonly<Record<string, unknown>> = {
  readMetadata: {
    currentVersion: 1,
    createdTime: CREATED,
    state: 'live',
    customMetadata: { owner: 'us' },
  },
  'readData of version 2': { version: 3, createdTime: CREATED, content: { a: 'b' } },
  'readData of version 1': { version: null, createdTime: '', content: { a: 'b' } },
  writeData: { version: 4, createdTime: CREATED },
  writeCustomMetadata: undefined,
  lookupToken: { ttlSeconds: 60, isRenewable: true, creationTtlSeconds: 90 },
  renewToken: { ttlSeconds: 90, isRenewable: true, creationTtlSeconds: 90 },
}

test.each(CALLS.filter(({ isWrite }) => isWrite))(
  'call $name of a process that does not lead any more sends no write (8.1)',
  async ({ call }) => {
    const { client, calls } = await fullStore()
    const mayWrite = (): void => {
      throw new NotLeaderError()
    }
    await expect(call(client({ mayWrite }))).rejects.toBeInstanceOf(NotLeaderError)
    expect(calls.filter(({ method }) => method !== 'GET')).toEqual([])
  },
)

test.each(CALLS)(
  'call $name asks $path and reads the answer (36.1)',
  async ({ name, path, call, isWrite }) => {
    const { client, calls } = await fullStore()
    expect(await call(client())).toEqual(ANSWERS[name])
    const last = calls.at(-1)
    expect(last).toMatchObject({ method: isWrite ? 'POST' : 'GET', path })
    expect(last?.headers).toMatchObject({
      'user-agent': 'management-operator',
      'x-vault-request': 'true',
      'x-vault-token': TOKEN,
    })
    expect(last?.headers['x-vault-namespace']).toBeUndefined()
  },
)

test('the bodies of writes are those of the API (36.4)', async () => {
  const { client, calls } = await fullStore()
  const store = client()
  await store.writeData('p/a', { key: 'ä', ['__proto__']: 'x' }, 3)
  await store.writeCustomMetadata('p/a', { owner: 'us' })
  const bodies = calls.filter(({ method }) => method === 'POST').map(({ body }) => body)
  expect(bodies).toEqual([
    '{"options":{"cas":3},"data":{"key":"ä","__proto__":"x"}}',
    '{"custom_metadata":{"owner":"us"}}',
  ])
})

test('each call names the namespace of the store, and the mount may have a path (36.1)', async () => {
  const { client, calls } = await startStore()
  const store = client({ namespace: 'team/a', mount: 'team a/kv' })
  await store.readMetadata('p/a b/ü?#%2e')
  expect(calls[0]?.path).toBe('/v1/team%20a/kv/metadata/p/a%20b/%C3%BC%3F%23%252e')
  expect(calls[0]?.headers['x-vault-namespace']).toBe('team/a')
})

test('the address may have a path, of a server in front (36.1)', async () => {
  const { client, calls, origin } = await startStore()
  for (const address of [`${origin}/store`, `${origin}/store/`])
    await client({ address }).readMetadata('p/a')
  expect(calls.map(({ path }) => path)).toEqual(Array(2).fill('/store/v1/secret/metadata/p/a'))
})

test.each(
  ['', 'p', 'p/a', 'metadata'].flatMap((start) => ['', '.', '..'].map((bad) => `${start}/${bad}`)),
)('path %s is refused before anything is sent (36.2)', async (path) => {
  const { client, calls } = await fullStore()
  const store = client()
  const attempts = [
    () => store.readMetadata(path),
    () => store.readData(path, 1),
    () => store.readData(`${path}/a`, 2),
    () => store.writeData(path, {}, 0),
    () => store.writeCustomMetadata(path, {}),
    () => client({ mount: path }).readMetadata('p/a'),
  ]
  for (const attempt of attempts)
    await expect(attempt()).rejects.toMatchObject({ kind: 'refused', code: null })
  expect(calls).toEqual([])
})

test('half of a character in a path is refused (36.2)', async () => {
  const { client } = await startStore()
  await expect(client().readMetadata('p/\ud83d')).rejects.toMatchObject({ kind: 'refused' })
})

test.each(['config', 'data', 'detailed-metadata', 'metadata', 'subkeys'])(
  'project %s has no entries of version 1: they would be those of all projects in version 2 (36.2)',
  async (project) => {
    const { client, calls } = await startStore()
    const read = client().readData(`${project}/other/a`, 1)
    await expect(read).rejects.toMatchObject({ kind: 'refused', code: null })
    expect(calls).toEqual([])
    expect(await client().readData(`${project}/other/a`, 2)).toBeNull()
  },
)

test('missing, deleted and destroyed entries are null (36.3)', async () => {
  const { client, replies } = await startStore()
  const store = client()
  expect(await store.readMetadata('p/a')).toBeNull()
  expect(await store.readData('p/a', 1)).toBeNull()
  const deleted = { data: { data: null, metadata: { version: 3, destroyed: true } } }
  replies.set('/v1/secret/data/p/a', { status: 404, body: deleted })
  expect(await store.readData('p/a', 2)).toBeNull()
})

test('a write where another version is current is a conflict (36.4)', async () => {
  const { client, replies } = await fullStore()
  const errors = ['check-and-set parameter did not match the current version']
  replies.set('/v1/secret/data/p/a', { status: 400, body: { errors } })
  expect(await client().writeData('p/a', {}, 3)).toBe('conflict')
})

test('a mount is written to once it says to be of version 2, which is asked until then (36.4)', async () => {
  const { client, replies, calls } = await fullStore()
  const store = client()
  replies.set(MOUNT_PATH, { body: { data: { ...MOUNT.data, options: { version: '1' } } } })
  const attempts = [() => store.writeData('p/a', {}, 0), () => store.writeCustomMetadata('p/a', {})]
  for (const attempt of attempts)
    await expect(attempt()).rejects.toMatchObject({ kind: 'refused', message: /version 2 of KV/ })
  replies.set(MOUNT_PATH, { body: MOUNT })
  for (const attempt of [...attempts, ...attempts]) await attempt()
  expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
    ...[1, 2, 3].map(() => `GET ${MOUNT_PATH}`),
    ...[1, 2].flatMap(() => ['POST /v1/secret/data/p/a', 'POST /v1/secret/metadata/p/a']),
  ])
})

const STATUSES: readonly { status: number; kind: string; words: RegExp }[] = [
  { status: 403, kind: 'denied', words: /token.*policy/ },
  { status: 429, kind: 'unreachable', words: /429/ },
  { status: 412, kind: 'unreachable', words: /412/ },
  { status: 472, kind: 'unreachable', words: /disaster/ },
  { status: 473, kind: 'unreachable', words: /standby/ },
  { status: 500, kind: 'unreachable', words: /500/ },
  { status: 503, kind: 'unreachable', words: /sealed/ },
  { status: 301, kind: 'refused', words: /active node, or a load balancer/ },
  { status: 307, kind: 'refused', words: /active node, or a load balancer/ },
  { status: 405, kind: 'refused', words: /405$/ },
  { status: 401, kind: 'refused', words: /401$/ },
]

/** Everything of an error that a log could have. */
const wholeOf = (error: unknown): string =>
  inspect(error, { depth: 9, showHidden: true }) + String((error as Error).stack)

test.each(CALLS.flatMap((row) => STATUSES.map((answer) => ({ ...row, ...answer }))))(
  'call $name that is answered $status is $kind, follows nothing and quotes nothing (36.5)',
  async ({ path, call, status, kind, words }) => {
    const { client, replies, calls, origin } = await fullStore()
    replies.set(path, (response) =>
      response
        .writeHead(status, { location: `${origin}/other`, 'x-echo': TOKEN })
        .end(JSON.stringify({ errors: [TOKEN, SECRET_VALUE, 'words of the store'] })),
    )
    const error = await call(client()).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SecretStoreError)
    expect(error).toMatchObject({ kind, code: status, message: words })
    expect(wholeOf(error)).not.toMatch(/canary|words of the store/)
    expect(calls.map((one) => one.path)).not.toContain('/other')
  },
)

test.each(
  CALLS.flatMap((row) =>
    [
      { status: 200, body: `"${TOKEN} ${SECRET_VALUE}` },
      { status: 200, body: { data: [TOKEN, SECRET_VALUE] } },
      { status: 400, body: { errors: [TOKEN, SECRET_VALUE] } },
      { status: 404, body: { errors: [TOKEN, SECRET_VALUE] } },
      { status: 404, body: `<html>${TOKEN}` },
    ].map((reply) => ({ ...row, reply })),
  ).filter(({ name, reply }) => name !== 'writeCustomMetadata' || reply.status !== 200),
)(
  'call $name that is answered $reply.status with another shape is refused, and quotes nothing (36.5) [%$]',
  async ({ path, call, reply }) => {
    const { client, replies } = await fullStore()
    replies.set(path, reply)
    const outcome = await call(client()).catch((caught: unknown) => caught)
    expect(wholeOf(outcome)).not.toMatch(/canary/)
    expect(outcome).toMatchObject({ name: 'SecretStoreError', kind: 'refused', code: reply.status })
  },
)
