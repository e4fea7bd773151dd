// How long the manager's work on many access keys keeps the event loop from all else, in CPU time: the longest turn of
// each scene. The API server is one in memory, in another process; the calls to it are real. The metrics are read all
// the while.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import { clientDeps } from '../../src/commands/shared/cluster-client.ts'
import type { ManagerSettings } from '../../src/commands/manager/flags.ts'
import { createStores } from '../../src/commands/manager/informers.ts'
import {
  type ManagerMetrics,
  countObjects,
  createManagerMetrics,
} from '../../src/commands/manager/metrics.ts'
import type { AccessKey } from '../../src/domain/accesskey/access-key.ts'
import { createClient } from '../../src/kube/client/client.ts'
import { connect } from '../../src/kube/client/connection.ts'
import { createInformerFactory } from '../../src/kube/informer/informers.ts'
import type { Store, StoreSink } from '../../src/kube/informer/store.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { keyController } from '../../test/support/key-controller-at-scale.ts'
import type { Figures } from '../measure/rounds.ts'
import { meterOfTurns } from '../measure/turns-meter.ts'

const HOUR_SECONDS = 3600
/** More often than any Prometheus scrapes. */
const SCRAPE_EVERY_MS = 1500
const NOTICED_WITHIN_MS = 500

/** Counts of the events in a scene so far. */
interface Tally {
  reconciled: number
  changed: number
  gone: number
  listed: number
}

/** A piece of work, and when it is done. */
interface Scene {
  readonly name: string
  readonly act: () => void
  readonly isDone: () => boolean
}

/** The real clock, which a scene can set forward; every timer notices that soon. */
function clockAhead() {
  const clock = systemClock()
  let aheadMs = 0
  return {
    ...clock,
    nowMs: () => clock.nowMs() + aheadMs,
    schedule: (delayMs: number, callback: () => void) =>
      clock.schedule(Math.min(delayMs, NOTICED_WITHIN_MS), callback),
    putForward: (ms: number) => {
      aheadMs += ms
    },
  }
}

/** An API server with so many keys, and a kubeconfig for it. */
async function startApi(keys: number) {
  const api = fork(join(import.meta.dirname, 'turns-api.ts'), [String(keys)])
  const [port] = (await once(api, 'message')) as [number]
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const kubeconfig = join(folder, 'kubeconfig')
  const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'it',
    clusters: [{ name: 'it', cluster }],
    users: [{ name: 'it', user: {} }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
  }
  await writeFile(kubeconfig, JSON.stringify(config))
  return {
    kubeconfig,
    loseAll: () => void api.send('lose all'),
    stop: async () => {
      api.kill()
      await rm(folder, { recursive: true })
    },
  }
}

/** The manager's controller of keys at that API server; it works once `list` is called. */
async function startManager(kubeconfig: string, tally: Tally) {
  const log = createLogger('error')
  const clock = clockAhead()
  const metrics = createManagerMetrics({ workers: 16, perObjectMetrics: false } as ManagerSettings)
  const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
  const client = createClient(clientDeps({ clock, log, metrics }, connection, () => undefined))
  const stores = createStores()
  const controller = keyController({ client, clock, log, stores, metrics: told(metrics, tally) })
  metrics.follow(countObjects(controller.options))
  for (const store of [stores.tokens, stores.configMaps, stores.users, stores.teams]) {
    store.begin()
    store.end()
  }
  stores.keys.subscribe(({ before, after }) => {
    if (before) tally[after ? 'changed' : 'gone'] += 1
  })
  const abort = new AbortController()
  const { signal } = abort
  const { startInformer } = createInformerFactory({
    client,
    clock,
    log,
    restarted: () => undefined,
    signal,
  })
  return {
    clock,
    metrics,
    cap: controller.cap,
    /** @returns what lists again */
    list: () => startInformer(ACCESS_KEYS, toldOf(stores.keys, tally), {}).relist,
    stop: async () => {
      abort.abort()
      await controller.stop()
      await connection.close()
    },
  }
}

function told(metrics: ManagerMetrics, tally: Tally): ManagerMetrics {
  const controller: ManagerMetrics['controller'] = (name) => {
    const { loop, ...rest } = metrics.controller(name)
    const finished: typeof loop.finished = (...how) => {
      tally.reconciled += 1
      loop.finished(...how)
    }
    return { ...rest, loop: { ...loop, finished } }
  }
  return { ...metrics, controller }
}

const toldOf = (keys: Store<AccessKey>, tally: Tally): StoreSink => ({
  begin: () => keys.begin(),
  put: (object) => keys.put(object),
  remove: (object) => keys.remove(object),
  sweep: () => keys.sweep(),
  end: () => {
    keys.end()
    tally.listed += 1
  },
})

/** @returns the longest turn, in milliseconds of CPU time */
async function longestTurnOf(
  { act, isDone }: Scene,
  scrape: () => Promise<unknown>,
): Promise<number> {
  const meter = meterOfTurns()
  act()
  for (let scrapedMs = performance.now(); !isDone(); await sleep(20)) {
    if (performance.now() - scrapedMs < SCRAPE_EVERY_MS) continue
    await scrape()
    scrapedMs = performance.now()
  }
  return meter.stop()
}

/** The longest turn of each scene with `count` keys, and of all, in milliseconds of CPU time. */
export async function measureTurns(count: number): Promise<Figures> {
  const api = await startApi(count)
  const tally: Tally = { reconciled: 0, changed: 0, gone: 0, listed: 0 }
  const { clock, metrics, cap, list, stop } = await startManager(api.kubeconfig, tally)
  let listAnew = (): void => undefined
  let scrapes = 0
  const scrape = async (): Promise<void> => {
    await metrics.scrape()
    scrapes += 1
  }
  const start = (): void => {
    listAnew = list()
  }
  const loseAll = (): void => {
    api.loseAll()
    listAnew()
  }
  // biome-ignore format: a table
  const scenes: readonly Scene[] = [
    { name: 'start', act: start, isDone: () => tally.reconciled >= count },
    { name: 'three scrapes', act: () => undefined, isDone: () => scrapes >= 3 },
    { name: 'cap change', act: () => cap(HOUR_SECONDS), isDone: () => tally.changed >= count },
    { name: 'mass expiry', act: () => clock.putForward(HOUR_SECONDS * 1000), isDone: () => tally.changed >= count },
    { name: 'listed again, none changed', act: () => listAnew(), isDone: () => tally.listed > 0 },
    { name: 'listed again, all gone', act: loseAll, isDone: () => tally.gone >= count && tally.reconciled >= count },
  ]
  const longest: Record<string, number> = {}
  for (const scene of scenes) {
    Object.assign(tally, { reconciled: 0, changed: 0, gone: 0, listed: 0 })
    scrapes = 0
    longest[scene.name] = await longestTurnOf(scene, scrape)
  }
  await stop()
  await api.stop()
  return { ...longest, longestMs: Math.max(...Object.values(longest)) }
}
