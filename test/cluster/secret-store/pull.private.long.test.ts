/** @module-tag no-retry */
// Entries of each kind that a project may meet, pulled (contract 36.2, 36.3).
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { aboutEntry, readStoreCondition, serveStore, trusting } from './served-store.ts'
import { type Project, allowDelivery, createProject, storeProgram } from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
const served = serveStore(plane, program)
let web: Project

prepareWith([program], async () => {
  web = await createProject(plane)
  await served().says('Synced', '0')
})

/** Asks about an entry of the project, as its owner does. */
const ask = (method: string, api: string, entry: string, body?: object) =>
  served().store.ask(method, `/v1/secret/${api}/${web.name}/${entry}`, body)

/** Pulls an entry with this value into a Secret of its name. */
async function pulled(name: string, data: Readonly<Record<string, string>>): Promise<void> {
  await served().store.put(`${web.name}/${name}`, data)
  await web.create(name, { direction: 'Pull' })
  await web.has(name, data)
}

test('a namespace without the RoleBinding: nothing is asked and nothing counted; with it, its Secrets follow (36.2, 28.4)', async () => {
  const { store } = served()
  const closed = await createProject(plane, { allows: false })
  await store.put(`${closed.name}/waits`, { a: '1' })
  await closed.create('waits', { direction: 'Pull' })
  await pulled('counted', { a: '1' })
  await served().says('Synced', 'store: 1.')
  expect(aboutEntry(await store.requests(), `${closed.name}/waits`)).toEqual([])
  expect(await closed.texts('waits')).toEqual({})
  await allowDelivery(plane, closed.namespace)
  await closed.has('waits', { a: '1' })
  await served().says('Synced', 'store: 2.')
})

describe.concurrent('the version of an entry', () => {
  test('deleted keeps the data, undeleted and the next one follow (36.3)', async () => {
    await pulled('deleted', { a: '1' })
    await ask('DELETE', 'data', 'deleted')
    expect(await web.event('deleted', 'StoreNotFound')).toContain('the last data stay')
    const { metadata } = (await web.read('deleted')) ?? {}
    await ask('POST', 'undelete', 'deleted', { versions: [1] })
    await served().store.put(`${web.name}/deleted`, { a: '2' })
    await web.has('deleted', { a: '2' })
    expect((await web.read('deleted'))?.metadata.uid).toBe(metadata?.uid)
  })

  test('destroyed keeps the data, and the next one follows (36.3)', async () => {
    await pulled('destroyed', { a: '1' })
    await ask('PUT', 'destroy', 'destroyed', { versions: [1] })
    expect(await web.event('destroyed', 'StoreNotFound')).toContain('the last data stay')
    expect(await web.texts('destroyed')).toEqual({ a: '1' })
    await served().store.put(`${web.name}/destroyed`, { a: '2' })
    await web.has('destroyed', { a: '2' })
  })

  test('gone with all its metadata keeps the data, and a new version 1 follows (36.3)', async () => {
    await pulled('gone', { a: '1' })
    await ask('DELETE', 'metadata', 'gone')
    expect(await web.event('gone', 'StoreNotFound')).toContain(`${web.name}/gone`)
    expect(await web.texts('gone')).toEqual({ a: '1' })
    await served().store.put(`${web.name}/gone`, { a: 'anew' })
    await web.has('gone', { a: 'anew' })
  })

  test('is not there yet: metadata without a version change nothing, and the first one follows (36.3)', async () => {
    await ask('POST', 'metadata', 'planned', { custom_metadata: { team: 'a' } })
    await web.create('planned', { direction: 'Pull', data: { own: 'x' } })
    expect(await web.event('planned', 'StoreNotFound')).toContain('no data')
    await served().store.put(`${web.name}/planned`, { a: '1' })
    await web.has('planned', { a: '1', own: 'x' })
    expect((await ask('GET', 'metadata', 'planned')).json).toMatchObject({
      data: { custom_metadata: { team: 'a' } },
    })
  })
})

describe.concurrent('an entry', () => {
  test('with JSON of each kind: strings as they are, the rest compact (36.3)', async () => {
    const path = `/v1/secret/data/${web.name}/kinds`
    const { code } = await served().store.ask('POST', path, {
      data: {
        empty: '',
        text: 'ä & <b> ☃ \u2028\n',
        nothing: null,
        yes: true,
        list: [1, 'a', { b: [] }],
        deep: { a: { b: '<&>' } },
        fraction: 0.1,
        constructor: 'y',
      },
    })
    expect(code).toBe(200)
    await web.create('kinds', { direction: 'Pull' })
    await web.has('kinds', {
      empty: '',
      text: 'ä & <b> ☃ \u2028\n',
      nothing: 'null',
      yes: 'true',
      list: '[1,"a",{"b":[]}]',
      deep: '{"a":{"b":"<&>"}}',
      fraction: '0.1',
      constructor: 'y',
    })
  })

  // Each goes into a Secret that has data of an entry before.
  test.each([
    { name: 'a-space', data: { 'a b': '1' }, words: 'A name in the entry' },
    { name: 'a-slash', data: { good: '1', '../up': '1' }, words: 'A name in the entry' },
    { name: 'no-name', data: { '': '1' }, words: 'A name in the entry' },
    { name: 'dots', data: { '..': '1' }, words: 'A name in the entry' },
    { name: 'long', data: { ['a'.repeat(254)]: '1' }, words: 'A name in the entry' },
    { name: 'large', data: { a: 'x'.repeat(1024 * 1024 + 1) }, words: 'more than 1 MiB' },
    {
      name: 'large-together',
      data: { a: 'x'.repeat(600_000), b: 'x'.repeat(600_000) },
      words: 'more than 1 MiB',
    },
    {
      name: 'many',
      data: Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`n${at}`, ''])),
      words: 'more than 1000 names',
    },
  ])(
    'that no Secret takes ($name) changes nothing, and says why (36.3)',
    async ({ name, data, words }) => {
      await pulled(name, { before: 'x' })
      const before = await web.read(name)
      await served().store.put(`${web.name}/${name}`, data)
      expect(await web.event(name, 'StoreContentRefused')).toContain(words)
      expect(await web.read(name)).toEqual(before)
      await served().store.put(`${web.name}/${name}`, { after: 'y' })
      await web.has(name, { after: 'y' })
    },
  )
})

describe.concurrent('a Secret', () => {
  test.each([
    { name: 'release', type: 'helm.sh/release.v1', labels: {} },
    { name: 'bootstrap', type: 'bootstrap.kubernetes.io/token', labels: {} },
    { name: 'account', type: 'kubernetes.io/service-account-token', labels: {} },
    { name: 'session', type: 'management.platform.sh/session', labels: {} },
    { name: 'ours', type: 'Opaque', labels: { 'management.platform.sh/app': 'shop' } },
  ])('that others own ($name) gets nothing (36.4)', async ({ name, type, labels }) => {
    await served().store.put(`${web.name}/${name}`, { a: '1' })
    const annotations = { 'kubernetes.io/service-account.name': 'default' }
    await web.create(name, { direction: 'Pull', type, labels, annotations })
    expect(await web.event(name, 'StoreContentRefused')).toContain('is not synced')
    expect(Object.keys(await web.texts(name))).not.toContain('a')
  })

  test.each([
    { name: 'up', annotations: { path: '../other' }, words: 'cannot be a path' },
    { name: 'root', annotations: { path: '/' }, words: 'cannot be a path' },
    { name: 'empty', annotations: { path: '' }, words: 'cannot be a path' },
    { name: 'encoded', annotations: { path: 'a%2f..%2fb' }, words: 'cannot be a path' },
    { name: 'question', annotations: { path: 'a?version=1' }, words: 'cannot be a path' },
    { name: 'endless', annotations: { path: 'a'.repeat(513) }, words: 'more than 512' },
    { name: 'third', annotations: { version: '3' }, words: 'neither 1 nor 2' },
  ])(
    'with an annotation that names no entry ($name): StorePathRefused (36.2)',
    async ({ name, annotations, words }) => {
      const of = Object.entries(annotations).map(([what, text]) => [
        `management.platform.sh/secret-store-${what}`,
        text,
      ])
      await web.create(`path-${name}`, {
        direction: 'Pull',
        annotations: Object.fromEntries(of) as Record<string, string>,
      })
      expect(await web.event(`path-${name}`, 'StorePathRefused')).toContain(words)
      expect(await web.texts(`path-${name}`)).toEqual({})
    },
  )
})

test('version 1 of the engine, by its mount: entries follow, and nothing is pushed there (36.2)', async () => {
  const { store, restart, says } = served()
  const own = await createProject(plane)
  const put = (value: string) =>
    store.ask('POST', `/v1/kv1/${own.name}/first`, { value, ttl: '1h' })
  await put('one')
  const flags = trusting(store).flags ?? []
  await restart({ flags: [...flags, '--secret-store-mount=kv1'] })
  await own.create('first', { direction: 'Pull', engine: '1' })
  await own.has('first', { value: 'one', ttl: '1h' })
  await put('two')
  await own.has('first', { value: 'two', ttl: '1h' })
  const kept = await own.read('first')
  await store.ask('DELETE', `/v1/kv1/${own.name}/first`)
  expect(await own.event('first', 'StoreNotFound')).toContain('the last data stay')
  expect(await own.read('first')).toEqual(kept)
  await own.create('pushed', { direction: 'Push', engine: '1', data: { a: '1' } })
  expect(await own.event('pushed', 'StorePathRefused')).toContain('version 2 only')
  expect((await store.ask('GET', `/v1/kv1/${own.name}/pushed`)).code).toBe(404)
  await restart()
  await says('Partly')
})

test('projectNamespacePrefix: projects have other namespaces, and what was pulled stays (36.2)', async () => {
  const { store, declare } = served()
  await pulled('before', { a: '1' })
  const team = await createProject(plane, { prefix: 'team-' })
  await store.put(`${team.name}/after`, { a: 'team' })
  await team.create('after', { direction: 'Pull' })
  await store.requests()
  await declare({}, { projectNamespacePrefix: 'team-' })
  await team.has('after', { a: 'team' })
  await store.put(`${web.name}/before`, { a: '2' })
  await store.requests()
  await staysTrue(
    'the other namespaces are left alone',
    async () => {
      expect(aboutEntry(await store.requests(), `${web.name}/before`)).toEqual([])
      expect(await web.texts('before')).toEqual({ a: '1' })
    },
    { forMs: 13_000 },
  )
  await eventually(
    'only the other counts',
    async () =>
      (await readStoreCondition(plane))?.message?.includes('Secrets in step with the store: 1.') ||
      undefined,
    { withinMs: 30_000 },
  )
  await declare()
  await web.has('before', { a: '2' })
})
