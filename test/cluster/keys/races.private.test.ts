// Races with other clients: a proxy holds one write of the operator while the key changes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { KEY_PATTERN } from '../../support/canary.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import {
  type FaultProxy,
  type Rule,
  type SeenRequest,
  first,
  startProxy,
} from '../../support/fault-proxy.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  SOON,
  type StoredKey,
  fieldsOfOperator,
  keyClientOf,
  createdAgo,
  secondAfter,
} from './key-client.ts'

const HOUR = 3600
const FOREIGN = 'example.com/backup'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  operator = await startOperator({ kubeconfig })
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

/** Holds the operator's first request with a method to an object. */
function holdFirst(method: 'PATCH' | 'DELETE', name: string, subresource?: 'status'): Rule {
  const path = pathOf(ACCESS_KEYS, { name }, subresource)
  const isIt = (request: SeenRequest) => request.method === method && request.path === path
  return proxy.on(first(1, isIt), { kind: 'hold' })
}

const isWatch = ({ query }: SeenRequest): boolean => query.has('watch')

/** Forwards the held request; returns the status code of its response. */
async function forward(rule: Rule): Promise<number> {
  rule.release()
  const answered = () => rule.hits[0]?.status ?? undefined
  return eventually('a response', answered, SOON)
}

describe.concurrent('an expired key that changes while its delete is held', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a Login key', spec: { type: 'Login' } as const, age: HOUR },
    { name: 'a User key after its retention', spec: { type: 'User' } as const, age: 25 * HOUR },
  ])('is Active again after a use: $name (5.3)', async ({ spec, age }) => {
    const name = uniqueName('used')
    const held = holdFirst('DELETE', name)
    await keys.create({ ...spec, ttl: HOUR, ttlAfterLastActivity: true }, { name, ...createdAgo(age) })
    await held.reached(SOON)
    const usedMs = Date.now()
    const used = await keys.use(name, usedMs)
    expect(await forward(held)).toBe(409)
    const key = await keys.shown(name, 'Active')
    expect(key.metadata).toMatchObject({ uid: used.metadata.uid })
    expect(key.metadata).not.toHaveProperty('deletionTimestamp')
    expect(key.spec).toEqual(used.spec)
    expect(key.status.expirationTimestamp).toBe(secondAfter(usedMs, HOUR))
  })

  test('is Active again with a longer ttl (5.3)', async () => {
    const name = uniqueName('kept')
    const held = holdFirst('DELETE', name)
    await keys.create({ type: 'Login', ttl: HOUR }, { name, ...createdAgo(HOUR) })
    await held.reached(SOON)
    await keys.patch(name, { spec: { ttl: 2 * HOUR } })
    expect(await forward(held)).toBe(409)
    await keys.shown(name, 'Active')
  })
})

// Not concurrent: it freezes the watch for all.
test('an expired key is deleted once, even while the watch does not deliver the deletion (5.2, 5.3)', async () => {
  const name = uniqueName('silent')
  const held = holdFirst('DELETE', name)
  await keys.create({ type: 'Login', ttl: HOUR }, { name, ...createdAgo(HOUR) })
  await held.reached(SOON)
  proxy.freeze(isWatch)
  expect(await forward(held)).toBe(200)
  await keys.gone(name)
  const isDelete = ({ method, path }: SeenRequest) => method === 'DELETE' && path.endsWith(name)
  expect(proxy.requests.filter(isDelete)).toHaveLength(1)
  proxy.cut(isWatch)
})

describe.concurrent('a key that changes while its adoption is held', () => {
  test('keeps the spec.key that a user has set (3.1)', async () => {
    const name = uniqueName('set')
    const held = holdFirst('PATCH', name)
    await keys.create({}, { name })
    const { body } = await held.reached(SOON)
    const generated = keyIn(body)
    expect(generated).toMatch(KEY_PATTERN)
    const secret = uniqueName('k'.repeat(32))
    await keys.patch(name, { spec: { key: secret } })
    expect(await forward(held)).toBe(409)
    const key = await keys.shown(name, 'Active')
    expect(key.spec.key).toBe(secret)
    expect(fieldsOfOperator(key)).not.toHaveProperty('f:spec')
  })

  test('is not created again by the late request after its deletion (3.1, 8.6)', async () => {
    const name = uniqueName('deleted')
    const held = holdFirst('PATCH', name)
    await keys.create({}, { name })
    await held.reached(SOON)
    await keys.remove(name)
    expect(await forward(held)).toBe(409)
    const isGone = async () => expect(await keys.read(name)).toBeNull()
    await staysTrue('there is no such key', isGone, { forMs: 500 })
  })

  test('gets another spec.key when it was deleted and created again (3.1, 8.6)', async () => {
    const name = uniqueName('again')
    const held = holdFirst('PATCH', name)
    const before = await keys.create({}, { name })
    const { body } = await held.reached(SOON)
    await keys.remove(name)
    const after = await keys.create({}, { name })
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(await forward(held)).toBe(409)
    const key = await keys.shown(name, 'Active')
    expect(key.metadata.uid).toBe(after.metadata.uid)
    expect(key.spec.key).toMatch(KEY_PATTERN)
    expect(key.spec.key).not.toBe(keyIn(body))
  })

  test('is reported with its new user (4.4, 8.6)', async () => {
    const name = uniqueName('changed')
    const held = holdFirst('PATCH', name, 'status')
    await keys.create({}, { name })
    await held.reached(SOON)
    await keys.patch(name, { spec: { user: '', team: 'ops' } })
    expect(await forward(held)).toBe(409)
    expect((await keys.shown(name, 'Active')).status.identity).toBe('team:ops')
  })
})

describe.concurrent('our finalizer, moved while its removal is held', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'after a foreign one', before: [REVOKE_FINALIZER, FOREIGN], after: [FOREIGN, REVOKE_FINALIZER], code: 422 },
    { name: 'before a foreign one', before: [FOREIGN, REVOKE_FINALIZER], after: [REVOKE_FINALIZER, FOREIGN], code: 422 },
    { name: 'not at all', before: [REVOKE_FINALIZER, FOREIGN], after: [REVOKE_FINALIZER, FOREIGN], code: 200 },
  ])('$name, is the one that is removed (5.1)', async ({ before, after, code }) => {
    const key = await keys.shown(await keys.create(), 'Active')
    await setFinalizers(key, before)
    const held = holdFirst('PATCH', key.metadata.name)
    await keys.remove(key)
    await held.reached(SOON)
    await setFinalizers(key, after)
    expect(await forward(held)).toBe(code)
    const left = await keys.shown(key, 'Terminating')
    expect(left.metadata.finalizers).toEqual([FOREIGN])
    await setFinalizers(key, [])
    await keys.gone(key)
  })
})

const setFinalizers = (key: StoredKey, value: readonly string[]) =>
  keys.patch(key, [{ op: 'replace', path: '/metadata/finalizers', value }])

/** spec.key in the body of an apply; undefined = absent. */
const keyIn = (body: string): string | undefined =>
  (JSON.parse(body) as Partial<StoredKey>).spec?.key
