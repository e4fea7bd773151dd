/** @module-tag no-retry */
// Two thousand Secrets, half pulled and half pushed: all in step, and where nothing changes no write on either side, in memory that
// stays as it is (contract 36.5).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditOf } from '../../support/audit-log.ts'
import { writesOfPrograms } from '../../support/claims/claim-writes.ts'
import { startDelivery } from '../../support/claims/delivery.ts'
import { type OwnProcess, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { asInPod } from '../../support/image-process.ts'
import type { StoreRequest } from '../../support/kv-store/kv-store.ts'
import { metric } from '../../support/metrics-page.ts'
import {
  type Project,
  type StorePlatform,
  createProject,
  startStorePlatform,
  storeProgram,
} from './store-world.ts'

const PROJECTS = 20
const OF_EACH = 100
const MANY = PROJECTS * OF_EACH
const ROUNDS = 3
const CONCURRENT = 16
const MOST_BYTES = 150 * 2 ** 20
/** What a heap may take and give back between two looks. */
const MORE_BYTES = 15 * 2 ** 20
const IN_TIME = { withinMs: 600_000 }

const program = await storeProgram()
const plane = await privateControlPlane()
const audit = auditOf(plane)
const pod = await asInPod('config/delivery/deployment.yaml')

let manager: OwnProcess
let delivery: OwnProcess
let platform: StorePlatform
const projects: Project[] = []
const start = () =>
  startDelivery(plane, { ...pod, flags: [`--secret-store-ca-file=${platform.store.caFile}`] })

beforeAll(async () => {
  manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  platform = await startStorePlatform(plane, program)
  for (let at = 0; at < PROJECTS; at += 1) projects.push(await createProject(plane))
  delivery = await start()
  await platform.says('Synced')
}, IN_TIME.withinMs)
afterAll(async () => {
  await Promise.all([manager?.stop(), delivery?.stop()])
  await platform?.store[Symbol.asyncDispose]()
})

const rss = (): Promise<number> => metric(delivery, 'process_resident_memory_bytes')
const inMb = (bytes: number): number => Math.round(bytes / 2 ** 20)
const compared = (outcome: string): Promise<number> =>
  metric(delivery, 'platform_secret_store_syncs_total', `outcome="${outcome}"`)

async function createAll(): Promise<void> {
  const { store } = platform
  const waiting = projects.flatMap((project) =>
    Array.from({ length: OF_EACH }, (_, at) => ({ project, at })),
  )
  const creators = Array.from({ length: CONCURRENT }, async () => {
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      const { project, at } = one
      const data = { user: `user-${at}`, password: `${project.name}-${at}` }
      if (at % 2 === 0) {
        await project.create(`pushed-${at}`, { direction: 'Push', data })
      } else {
        await store.put(`${project.name}/pulled-${at}`, data)
        await project.create(`pulled-${at}`, { direction: 'Pull' })
      }
    }
  })
  await Promise.all(creators)
}

/** Waits until so many comparisons more have found all in step. @returns how long it took, in milliseconds */
async function roundsOf(count: number): Promise<number> {
  const before = await compared('unchanged')
  const startMs = performance.now()
  const areDone = async () => (await compared('unchanged')) - before >= count * MANY || undefined
  await eventually(`${count} rounds`, areDone, IN_TIME)
  return performance.now() - startMs
}

const writesIn = (requests: readonly StoreRequest[]): readonly string[] =>
  requests
    .filter(({ method, path }) => method !== 'GET' && !path.startsWith('/v1/auth/'))
    .map(({ method, path }) => `${method} ${path}`)

async function expectNoWrites(act: () => Promise<void>): Promise<readonly StoreRequest[]> {
  const mark = await audit.mark()
  await platform.store.requests()
  await act()
  const requests = await platform.store.requests()
  expect(await writesOfPrograms(audit, mark)).toEqual({})
  expect(writesIn(requests)).toEqual([])
  return requests
}

test(
  `${MANY} Secrets get in step (36.5)`,
  async () => {
    const startMs = performance.now()
    await createAll()
    const createdMs = performance.now()
    await eventually(
      'all are in step',
      async () => {
        const { message } = await platform.says('Synced')
        return message.includes(`store: ${MANY}.`) || undefined
      },
      IN_TIME,
    )
    console.log(
      `measured: ${MANY} Secrets made in ${Math.round(createdMs - startMs)} ms, in step ${Math.round(performance.now() - createdMs)} ms later; RSS ${inMb(await rss())} MB`,
    )
    for (const project of [projects[0], projects.at(-1)]) {
      const texts = { user: 'user-1', password: `${project?.name}-1` }
      await project?.has('pulled-1', texts)
      expect((await platform.store.get(`${project?.name}/pushed-98`))?.data).toEqual({
        user: 'user-98',
        password: `${project?.name}-98`,
      })
    }
  },
  IN_TIME.withinMs,
)

test(
  `${ROUNDS} rounds without a change write nothing, none is doubled, and memory stays (36.5)`,
  async () => {
    await roundsOf(1)
    const before = await rss()
    const requests = await expectNoWrites(async () => {
      const tookMs = await roundsOf(ROUNDS)
      console.log(`measured: a round takes ${Math.round(tookMs / ROUNDS)} ms at most`)
      expect(tookMs / ROUNDS).toBeLessThan(60_000)
    })
    const after = await rss()
    console.log(`measured: RSS ${inMb(before)} MB before, ${inMb(after)} MB after`)
    expect(after).toBeLessThanOrEqual(Math.min(MOST_BYTES, before + MORE_BYTES))
    const counts = Map.groupBy(requests, ({ path }) => path)
    // The edges of the time cut two rounds.
    const often = [...counts].filter(([, { length }]) => length > ROUNDS + 2)
    expect(often.filter(([path]) => path.startsWith('/v1/secret/'))).toEqual([])
  },
  IN_TIME.withinMs,
)

test(
  'a restart reads them all and writes nothing (36.5)',
  async () => {
    await delivery.stop()
    await expectNoWrites(async () => {
      const startMs = performance.now()
      delivery = await start()
      await roundsOf(1)
      console.log(
        `measured: all compared ${Math.round(performance.now() - startMs)} ms after a restart; RSS ${inMb(await rss())} MB`,
      )
    })
    expect(await rss()).toBeLessThanOrEqual(MOST_BYTES)
  },
  IN_TIME.withinMs,
)
