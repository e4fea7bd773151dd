/** @module-tag no-retry */
// Secrets that are pushed into entries of each kind that a project may meet (contract 36.4).
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import type { StoredVersion } from '../../support/kv-store/kv-store.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { aboutEntry, serveStore } from './served-store.ts'
import {
  AFTER_A_ROUND,
  type Project,
  allowDelivery,
  createProject,
  storeProgram,
  writtenIn,
} from './store-world.ts'

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

const stored = (entry: string): Promise<StoredVersion | null> =>
  served().store.get(`${web.name}/${entry}`)

/** Waits until the entry has these data in this version, and the Secret names it. */
const has = (
  entry: string,
  data: Readonly<Record<string, string>>,
  version: number,
  secret = entry,
): Promise<StoredVersion> =>
  eventually(
    `entry ${entry} has version ${version}`,
    async () => {
      const found = await stored(entry)
      const isThere =
        found?.metadata.version === version &&
        JSON.stringify(found.data) === JSON.stringify(data) &&
        found.metadata.custom_metadata?.['version'] === String(version) &&
        writtenIn(await web.read(secret)) === String(version)
      if (isThere) return found
      throw new Error(JSON.stringify(found))
    },
    AFTER_A_ROUND,
  )

const push = (name: string, data: Readonly<Record<string, string | Buffer>>, path = name) =>
  web.create(name, { direction: 'Push', path, data })

/** The entry stays as it is for a round. */
async function stays(entry: string): Promise<void> {
  const before = await stored(entry)
  await staysTrue(
    `entry ${entry} is left alone`,
    async () => expect(await stored(entry)).toEqual(before),
    { forMs: 13_000 },
  )
}

test('a namespace without the RoleBinding: nothing is pushed and nothing counted; with it, it is (36.2, 28.4)', async () => {
  const { store } = served()
  const closed = await createProject(plane, { allows: false })
  await closed.create('waits', { direction: 'Push', data: { a: '1' } })
  await push('counted', { a: '1' })
  await has('counted', { a: '1' }, 1)
  await served().says('Synced', 'store: 1.')
  expect(aboutEntry(await store.requests(), `${closed.name}/waits`)).toEqual([])
  expect(await store.get(`${closed.name}/waits`)).toBeNull()
  await allowDelivery(plane, closed.namespace)
  await served().says('Synced', 'store: 2.')
  expect((await store.get(`${closed.name}/waits`))?.data).toEqual({ a: '1' })
})

describe.concurrent('an entry', () => {
  test('that needs check-and-set, or has custom metadata of others, keeps both (36.4)', async () => {
    const parts = { cas_required: true, custom_metadata: { team: 'a', version: 'of the team' } }
    await ask('POST', 'metadata', 'planned', parts)
    await push('planned', { a: '1' })
    await has('planned', { a: '1' }, 1)
    await web.change('planned', { stringData: { a: '2' } })
    const { metadata } = await has('planned', { a: '2' }, 2)
    expect(metadata.custom_metadata).toEqual(
      expect.objectContaining({ team: 'a', 'managed-by': 'management-operator', name: 'planned' }),
    )
    expect((await ask('GET', 'metadata', 'planned')).json).toMatchObject({
      data: { cas_required: true },
    })
  })

  test.each([
    { name: 'deleted', method: 'DELETE', api: 'data' },
    { name: 'destroyed', method: 'PUT', api: 'destroy' },
  ])('whose version was $name gets the data again (36.4)', async ({ name, method, api }) => {
    await push(name, { a: '1' })
    await has(name, { a: '1' }, 1)
    await ask(method, api, name, api === 'destroy' ? { versions: [1] } : undefined)
    expect((await has(name, { a: '1' }, 2)).metadata.deletion_time).toBe('')
  })

  test('that was deleted with its metadata gets version 1 again (36.4)', async () => {
    await push('gone', { a: '1' })
    await has('gone', { a: '1' }, 1)
    await web.change('gone', { stringData: { a: '2' } })
    await has('gone', { a: '2' }, 2)
    await ask('DELETE', 'metadata', 'gone')
    expect((await has('gone', { a: '2' }, 1)).data).toEqual({ a: '2' })
  })

  test('in which others write is left alone from then on, until it is deleted (36.4)', async () => {
    await push('taken', { a: '1' })
    await has('taken', { a: '1' }, 1)
    await served().store.put(`${web.name}/taken`, { a: 'of others' })
    expect(await web.event('taken', 'StoreConflict')).toContain('delete the entry')
    await web.change('taken', { stringData: { a: '2' } })
    await stays('taken')
    expect((await stored('taken'))?.data).toEqual({ a: 'of others' })
    await ask('DELETE', 'metadata', 'taken')
    await has('taken', { a: '2' }, 1)
  })

  test('that another program manages is left alone, even with the same data (36.4)', async () => {
    await served().store.put(`${web.name}/managed`, { a: '1' })
    await ask('POST', 'metadata', 'managed', { custom_metadata: { 'managed-by': 'terraform' } })
    await push('managed', { a: '1' })
    expect(await web.event('managed', 'StoreConflict')).toContain('left alone')
    expect((await stored('managed'))?.metadata).toMatchObject({
      version: 1,
      custom_metadata: { 'managed-by': 'terraform' },
    })
  })

  test('that two Secrets name has the data of one; the other has an Event, and does not fight (36.4)', async () => {
    await push('first', { whose: 'first' }, 'shared/path')
    await has('shared/path', { whose: 'first' }, 1, 'first')
    await push('second', { whose: 'second' }, 'shared/path')
    expect(await web.event('second', 'StoreConflict')).toContain(`${web.name}/shared/path`)
    await stays('shared/path')
    await web.change('first', { stringData: { whose: 'first again' } })
    await has('shared/path', { whose: 'first again' }, 2, 'first')
    expect(writtenIn(await web.read('second'))).toBe('')
  })

  test('stays when its Secret is deleted, and belongs to one of the same name later (36.4)', async () => {
    await push('again', { a: '1' })
    await has('again', { a: '1' }, 1)
    await web.remove('again')
    await stays('again')
    const { metadata } = await push('again', { a: '2' })
    const found = await has('again', { a: '2' }, 2)
    expect(found.metadata.custom_metadata?.['uid']).toBe(metadata.uid)
  })

  test('follows the path that the annotation names, and the entry at the first path stays (36.4)', async () => {
    await push('moves', { a: '1' }, 'from')
    await has('from', { a: '1' }, 1, 'moves')
    const annotations = { 'management.platform.sh/secret-store-path': 'to' }
    await web.change('moves', { metadata: { annotations } })
    await has('to', { a: '1' }, 1, 'moves')
    expect((await stored('from'))?.data).toEqual({ a: '1' })
  })
})

describe.concurrent('a Secret', () => {
  test('with binary data is refused; once it is, it is pushed at once (36.4)', async () => {
    await push('binary', { text: 'a', binary: Buffer.from([0xff, 0xfe, 0]) })
    expect(await web.event('binary', 'StoreContentRefused')).toContain('UTF-8')
    expect(await stored('binary')).toBeNull()
    await web.change('binary', { data: { binary: null } })
    await has('binary', { text: 'a' }, 1)
  })

  test('without data leaves the entry as it is (36.4)', async () => {
    await push('emptied', { a: '1' })
    await has('emptied', { a: '1' }, 1)
    await web.change('emptied', { data: { a: null } })
    expect(await web.event('emptied', 'StoreContentRefused')).toContain('no data')
    await stays('emptied')
    expect((await stored('emptied'))?.data).toEqual({ a: '1' })
  })

  test('of text of each kind is the same there (36.4)', async () => {
    const data = { a: 'ä & <b> ☃ \u2028\n\t\u0000"\\', bom: '\ufeffb', empty: '' }
    await push('texts', data)
    expect((await has('texts', data, 1)).data).toEqual(data)
  })

  test.each([
    { name: 'release', type: 'helm.sh/release.v1', labels: {} },
    { name: 'bootstrap', type: 'bootstrap.kubernetes.io/token', labels: {} },
    { name: 'account', type: 'kubernetes.io/service-account-token', labels: {} },
    { name: 'key', type: 'management.platform.sh/signing-key', labels: {} },
    { name: 'ours', type: 'Opaque', labels: { 'management.platform.sh/app': 'shop' } },
  ])('that others own ($name) is never pushed (36.4)', async ({ name, type, labels }) => {
    const annotations = { 'kubernetes.io/service-account.name': 'default' }
    await web.create(name, { direction: 'Push', type, labels, annotations, data: { a: '1' } })
    expect(await web.event(name, 'StoreContentRefused')).toContain('is not synced')
    expect(await stored(name)).toBeNull()
  })

  test.each([
    { name: 'version-1', labels: {}, engine: '1', words: 'version 2 only' },
    { name: 'version-3', labels: {}, engine: '3', words: 'neither 1 nor 2' },
  ] as const)('of $name is refused (36.2)', async ({ name, engine, words }) => {
    await web.create(name, { direction: 'Push', engine: engine as '1', data: { a: '1' } })
    expect(await web.event(name, 'StorePathRefused')).toContain(words)
    expect(await stored(name)).toBeNull()
  })

  test('whose label is neither Pull nor Push has an Event, and is pushed once it is (36.2)', async () => {
    await push('label', { a: '1' })
    await has('label', { a: '1' }, 1)
    const label = (value: string) => ({
      metadata: { labels: { 'management.platform.sh/secret-store': value } },
      stringData: { a: value },
    })
    await web.change('label', label('push'))
    expect(await web.event('label', 'StorePathRefused')).toContain('neither Pull nor Push')
    expect((await stored('label'))?.data).toEqual({ a: '1' })
    await web.change('label', label('Push'))
    await has('label', { a: 'Push' }, 2)
  })
})
