/** @module-tag no-retry */
// The delivery process is killed at each write of a Pull and a Push, and the next one goes on: both are in step, no version is
// written twice, and no entry of others is touched (contract 36.3, 36.4).
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { POSITIONS, lateAnswer } from '../../faults/operator-crash.ts'
import { deliveryKubeconfig, startDelivery } from '../../support/claims/delivery.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { first, startProxy } from '../../support/fault-proxy.ts'
import {
  type FrontedPlatform,
  SYNC_WRITES,
  type Synced,
  startFrontedPlatform,
  synced,
} from './store-front.ts'
import { type Project, createProject, storeProgram } from './store-world.ts'

const SOON = { withinMs: 60_000 }

const program = await storeProgram()
const plane = await privateControlPlane()
const api = await startProxy(plane)
afterAll(() => api[Symbol.asyncDispose]())
const kubeconfig = await api.kubeconfig(await deliveryKubeconfig(plane))

const rounds = SYNC_WRITES.flatMap((point, nth) =>
  POSITIONS.flatMap((position, turn) =>
    [false, true].map((changes) => ({
      point,
      position,
      changes,
      // Half of them are the first write of their Secret.
      isFirst: (nth + turn) % 2 === 0,
      secret: `round-${nth}-${turn}-${changes ? 'changed' : 'same'}`,
      name: point.name,
      how: `${position.name}${changes ? ', and another change meanwhile' : ''}`,
    })),
  ),
)
type Round = (typeof rounds)[number]

let manager: OwnProcess
let delivery: OwnProcess
let platform: FrontedPlatform
let web: Project
const start = () => startDelivery(plane, { kubeconfig, flags: [platform.flag] })
const syncedIn = ({ point, secret }: Round): Synced =>
  synced(platform, web, point.direction, secret)

beforeAll(async () => {
  manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  platform = await startFrontedPlatform(plane, program)
  web = await createProject(plane)
  delivery = await start()
  await platform.says('Synced')
  await platform.store.put(`${web.name}/foreign`, { key: 'of others' })
  await web.create('foreign', { direction: 'Push', data: { key: 'ours' } })
  await Promise.all(
    rounds
      .filter(({ isFirst }) => !isFirst)
      .map(async (round) => {
        await syncedIn(round).create('one')
        await syncedIn(round).isInStep('one')
      }),
  )
}, 180_000)
afterAll(async () => {
  await Promise.all([manager?.stop(), delivery?.stop()])
  await platform?.[Symbol.asyncDispose]()
})

/** Nothing says of a version that it is ours before its custom metadata: where the Secret has changed since, it is left alone. */
const isLeftAlone = ({ point, position, changes }: Round): boolean =>
  changes &&
  ((point.name === 'the entry' && position.arrives === 'before') ||
    (point.name === 'its owner' && position.arrives !== 'before'))

async function expectLeftAlone(secret: string): Promise<void> {
  expect(await web.event(secret, 'StoreConflict')).toContain('left alone')
  expect((await platform.store.get(`${web.name}/${secret}`))?.data).toEqual({ key: 'two' })
}

test.each(rounds)(
  'a process that is killed at $name, $how, is in step after its next start (36.3, 36.4)',
  async (round) => {
    const { point, position, changes, isFirst, secret } = round
    const one = syncedIn(round)
    const proxy = point.at === 'store' ? platform.front : api
    const before = isFirst ? 0 : await one.version()
    const rule = proxy.on(first(1, point.matches(web, secret)), position.act)
    onTestFinished(() => rule.remove())
    await (isFirst ? one.create('two') : one.change('two'))
    await rule.reached(SOON)
    delivery.kill('SIGKILL')
    expect(await delivery.exited).toEqual({ code: null, signal: 'SIGKILL' })
    if (changes) await one.change('three')
    if (position.arrives === 'never') rule.remove()
    if (position.arrives === 'before') rule.release()
    delivery = await start()
    const wanted = changes ? 'three' : 'two'
    await (isLeftAlone(round) ? expectLeftAlone(secret) : one.isInStep(wanted))
    if (position.arrives === 'late') {
      await lateAnswer(rule)
      // Late custom metadata say whose the version is, so that it is replaced.
      await one.isInStep(wanted)
    }
    expect((await one.version()) - before).toBeLessThanOrEqual(changes ? 2 : 1)
  },
)

test('no entry of others was touched (36.4)', async () => {
  expect(await platform.store.get(`${web.name}/foreign`)).toMatchObject({
    data: { key: 'of others' },
    metadata: { version: 1, custom_metadata: null },
  })
})
