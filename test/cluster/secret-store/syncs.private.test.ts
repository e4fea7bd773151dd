/** @module-tag no-retry */
// Secrets of projects and entries of a real key-value engine, in step (contract 36). A store that is away: outages.private.long.test.ts.
import { afterAll, describe, expect, test } from 'vitest'
import { CLAIM_LABEL } from '../../../src/api/names.ts'
import { SECRET_STORE_LABEL } from '../../../src/api/secret-store-names.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { createClaimNamespace, startDelivery } from '../claims/claim-world.ts'
import {
  AFTER_A_ROUND,
  type Project,
  type StorePlatform,
  createProject,
  startStorePlatform,
  storeProgram,
  writtenIn,
} from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
let processes: readonly OwnProcess[] = []
let platform: StorePlatform
let web: Project
let other: Project

prepareWith([program], async () => {
  const manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  platform = await startStorePlatform(plane, program)
  const { store } = platform
  const delivery = await startDelivery(plane, [`--secret-store-ca-file=${store.caFile}`])
  processes = [manager, delivery]
  ;[web, other] = await Promise.all([createProject(plane), createProject(plane)])
  await platform.says('Synced')
})
afterAll(async () => {
  for (const process of processes) await process.stop()
  await platform?.store[Symbol.asyncDispose]()
})

describe.concurrent('a Secret that is pulled (36.3)', () => {
  test('gets the entry of its name, strings as they are and other JSON compact, and follows it', async () => {
    const { store } = platform
    const at = `${web.name}/database`
    await store.put(at, { user: 'ada', port: 5432, tls: { min: '1.2', on: true } })
    await web.create('database', { direction: 'Pull', data: { mine: 'kept' } })
    const first = { user: 'ada', port: '5432', tls: '{"min":"1.2","on":true}', mine: 'kept' }
    await web.has('database', first)
    await store.put(at, { user: 'grace' })
    await web.has('database', { user: 'grace', mine: 'kept' })
    expect((await web.read('database'))?.type).toBe('Opaque')
  })

  test('keeps its last data when the version is deleted, and says so', async () => {
    const { store } = platform
    await store.put(`${web.name}/kept`, { a: '1' })
    await web.create('kept', { direction: 'Pull' })
    await web.has('kept', { a: '1' })
    await store.ask('DELETE', `/v1/secret/data/${web.name}/kept`)
    expect(await web.event('kept', 'StoreNotFound')).toContain('the last data stay')
    expect(await web.texts('kept')).toEqual({ a: '1' })
  })

  test('reaches no other project, whatever path it names (38, threat 19)', async () => {
    const { store } = platform
    await store.put(`${other.name}/theirs`, { secret: 'of another project' })
    const paths = [
      `../${other.name}/theirs`,
      `/${other.name}/theirs`,
      `%2e%2e/${other.name}/theirs`,
    ]
    for (const [index, path] of paths.entries())
      await web.create(`escape-${index}`, { direction: 'Pull', path })
    await web.create('escape-name', { direction: 'Pull', path: `${other.name}/theirs` })
    for (const index of paths.keys()) await web.event(`escape-${index}`, 'StorePathRefused')
    expect(await web.event('escape-name', 'StoreNotFound')).toContain(`${web.name}/${other.name}`)
    for (const name of ['escape-0', 'escape-1', 'escape-2', 'escape-name'])
      expect(await web.texts(name)).toEqual({})
    const asked = await store.requests()
    expect(asked.filter(({ path }) => path.includes(`/${other.name}/theirs`))).toEqual([
      expect.objectContaining({ path: `/v1/secret/metadata/${web.name}/${other.name}/theirs` }),
    ])
  })
})

describe.concurrent('a Secret that is pushed (36.4)', () => {
  test('is in the entry with whose it is, and each change is a version', async () => {
    const { store } = platform
    await web.create('pushed', { direction: 'Push', path: 'ci/pushed', data: { key: 'one' } })
    const at = `${web.name}/ci/pushed`
    const version = (number: number) =>
      eventually(
        `version ${number}`,
        async () => {
          // The version is named last, once the entry also says whose it is.
          const isNamed = writtenIn(await web.read('pushed')) === String(number)
          const found = isNamed ? await store.get(at) : null
          return found?.metadata.version === number ? found : undefined
        },
        AFTER_A_ROUND,
      )
    const first = await version(1)
    expect(first.data).toEqual({ key: 'one' })
    expect(first.metadata.custom_metadata).toMatchObject({
      'managed-by': 'management-operator',
      namespace: web.namespace,
      name: 'pushed',
    })
    await web.change('pushed', { stringData: { key: 'two' } })
    expect((await version(2)).data).toEqual({ key: 'two' })
  })

  test("never replaces anybody else's entry", async () => {
    const { store } = platform
    await store.put(`${web.name}/foreign`, { whose: 'another' })
    await web.create('foreign', { direction: 'Push', data: { whose: 'ours' } })
    expect(await web.event('foreign', 'StoreConflict')).toContain('left alone')
    expect(await store.get(`${web.name}/foreign`)).toMatchObject({
      data: { whose: 'another' },
      metadata: { version: 1 },
    })
    expect((await platform.says('Partly')).message).toMatch(
      /not in step with the store: \d+ of \d+\./,
    )
  })

  test('may be that of a claim: the key is in the store, and nothing fights (36.2)', async () => {
    const project = await createProject(plane, { allows: false })
    const shop = await createClaimNamespace(plane, `${project.namespace}-claims`)
    await shop.allow()
    const claim = await shop.delivered('deploy', {
      secret: { labels: { [SECRET_STORE_LABEL]: 'Push' } },
    })
    const at = `${shop.name.slice('p-'.length)}/deploy`
    const stored = await eventually(
      'the key',
      async () => (await platform.store.get(at)) ?? undefined,
      AFTER_A_ROUND,
    )
    const secret = await shop.secret('deploy')
    expect(stored.data).toEqual({ key: secret?.texts['key'] })
    expect(secret?.metadata.labels).toMatchObject({ [CLAIM_LABEL]: claim.metadata.uid })
    await eventually(
      'the annotation',
      async () =>
        ((await shop.secret('deploy'))?.metadata.annotations ?? {})[
          'management.platform.sh/secret-store-written'
        ],
      AFTER_A_ROUND,
    )
    expect((await shop.read('deploy')).status.key?.keyID).toBe(claim.status.key?.keyID)
  })
})
