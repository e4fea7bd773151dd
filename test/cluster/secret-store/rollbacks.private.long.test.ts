/** @module-tag no-retry */
// A store that is restored from a backup or emptied: it gets what is pushed again, what is pulled follows it, and a version that
// others write under a number that was given before is neither replaced nor overlooked (contract 36.3, 36.4).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDelivery } from '../../support/claims/delivery.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { synced } from './store-front.ts'
import {
  type Project,
  type StorePlatform,
  createProject,
  startStorePlatform,
  storeProgram,
} from './store-world.ts'

const program = await storeProgram()
const plane = await privateControlPlane()
let manager: OwnProcess
let delivery: OwnProcess
let platform: StorePlatform
let web: Project
let emptyBackup: number
const start = () =>
  startDelivery(plane, { flags: [`--secret-store-ca-file=${platform.store.caFile}`] })

beforeAll(async () => {
  manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  platform = await startStorePlatform(plane, program)
  emptyBackup = await platform.store.backup()
  web = await createProject(plane)
  delivery = await start()
  await platform.says('Synced')
})
afterAll(async () => {
  await Promise.all([manager?.stop(), delivery?.stop()])
  await platform?.store[Symbol.asyncDispose]()
})

/** What the store may do to a process that runs, and to one that starts afterwards. */
const WAYS = [
  { way: 'below the process', restarts: false },
  { way: 'while no process runs', restarts: true },
]

/** Sets the store back at a moment at which the process does nothing. */
async function whileStopped(restarts: boolean, act: () => Promise<unknown>): Promise<void> {
  delivery.kill(restarts ? 'SIGKILL' : 'SIGSTOP')
  if (restarts) await delivery.exited
  await act()
  if (restarts) delivery = await start()
  else delivery.kill('SIGCONT')
}

/** Two Secrets in step with their second versions, and a backup of their first. */
async function bothAtSecond(suffix: string) {
  const { store } = platform
  const pushed = synced(platform, web, 'Push', `pushed-${suffix}`)
  const pulled = synced(platform, web, 'Pull', `pulled-${suffix}`)
  const both = [pushed, pulled]
  await Promise.all(both.map((one) => one.create('one')))
  await Promise.all(both.map((one) => one.isInStep('one')))
  const backup = await store.backup()
  await Promise.all(both.map((one) => one.change('two')))
  await Promise.all(both.map((one) => one.isInStep('two')))
  return { pushed, pulled, backup }
}

test.each(WAYS)('restored $way: Push gives it the data, Pull follows', async ({ restarts }) => {
  const { pushed, pulled, backup } = await bothAtSecond(`back-${restarts}`)
  await whileStopped(restarts, () => platform.store.restore(backup))
  await Promise.all([pushed.isInStep('two'), pulled.isInStep('one')])
  expect(await pushed.version()).toBe(2)
})

test.each(WAYS)(
  'restored $way, and others write under the numbers that were known: theirs stay, and are pulled',
  async ({ restarts }) => {
    const { pushed, pulled, backup } = await bothAtSecond(`foreign-${restarts}`)
    const { store } = platform
    await whileStopped(restarts, async () => {
      await store.restore(backup)
      for (const { secret } of [pushed, pulled])
        expect(await store.put(`${web.name}/${secret}`, { key: 'of others' })).toBe(2)
    })
    await pulled.isInStep('of others')
    expect(await web.event(pushed.secret, 'StoreConflict')).toContain('left alone')
    await pushed.change('three')
    await platform.says('Partly')
    await pulled.change('three')
    await pulled.isInStep('three')
    expect((await store.get(`${web.name}/${pushed.secret}`))?.data).toEqual({ key: 'of others' })
    await web.remove(pushed.secret)
  },
)

test.each(WAYS)(
  'emptied $way: Push gives it the data, Pull keeps its own',
  async ({ restarts }) => {
    const { pushed, pulled } = await bothAtSecond(`empty-${restarts}`)
    await whileStopped(restarts, () => platform.store.restore(emptyBackup))
    await pushed.isInStep('two')
    expect(await pushed.version()).toBe(1)
    expect(await web.event(pulled.secret, 'StoreNotFound')).toContain('the last data stay')
    expect(await web.texts(pulled.secret)).toEqual({ key: 'two' })
    await pulled.change('three')
    await pulled.isInStep('three')
  },
)
