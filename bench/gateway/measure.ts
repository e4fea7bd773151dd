// The gateway beside a direct connection and other proxies, on one API server.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Raw, createRaw } from '../../test/support/raw-client.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import type { Measured } from '../measure/rounds.ts'
import { ensurePeers } from '../peers.ts'
import { type RunningProduct, startProduct } from '../product.ts'
import { measureAuthentication } from './authentication.ts'
import { measureStarts, watchMemory } from './footprint.ts'
import { KINDS, type KindFiles } from './kinds.ts'
import { type LoadOptions, measureHalfLoad, measureKind, measureWatch, warmUp } from './loads.ts'
import { KEYS_PATH, USER, createAll, createObjects, keyOf, newSecret } from './objects.ts'
import { untilAnswers } from './request.ts'
import { NO_RIGHTS, measureRevoked } from './revoked.ts'
import { type Way, type WayName, startWays } from './ways.ts'

/** What is measured, in this order; `half-load` needs `get`. */
export const GATEWAY_SUBJECTS = [
  'get',
  'half-load',
  'list',
  'patch',
  'own-key',
  'refused-rbac',
  'refused-scope',
  'unknown-key',
  'watch',
  'memory',
  'start',
  'revoked',
  'authentication',
] as const

/** One of GATEWAY_SUBJECTS. */
export type GatewaySubject = (typeof GATEWAY_SUBJECTS)[number]

/** How much is measured. */
export interface GatewayOptions {
  readonly rounds: number
  /** Of each load of requests. */
  readonly seconds: number
  /** Patches of the object that 500 watches follow, in each round. */
  readonly watchEvents: number
  /** Access keys that the gateway knows, but for some hundred more, when keys are revoked. */
  readonly keys: number
  readonly subjects: readonly GatewaySubject[]
  /** Gets a line about each measurement. */
  readonly log: (line: string) => void
}

/** The usual sizes: for `make bench` within three minutes, and for figures to publish within fifteen. */
export const GATEWAY_SIZES = {
  quick: { rounds: 5, seconds: 0.4, watchEvents: 20, keys: 1000 },
  full: { rounds: 5, seconds: 3, watchEvents: 100, keys: 20_000 },
} as const

/** The figures of all subjects that were asked for. */
export interface GatewayMeasured {
  readonly figures: Readonly<Partial<Record<GatewaySubject, Measured>>>
  /** By way that could not be had, the reason. */
  readonly missing: Readonly<Partial<Record<WayName, string>>>
}

type Figured = Partial<Record<GatewaySubject, Measured>>

/** What the parts of the measurement share. */
interface World {
  readonly plane: ControlPlane
  readonly product: RunningProduct
  readonly programs: Readonly<Record<'load' | 'delegate', string>>
  readonly raw: Raw
  /** A folder for keys; removed in the end. */
  readonly folder: string
  readonly options: GatewayOptions
}

/**
 * Measures the gateway. Installs the product, starts it and the other proxies, and stops them; its objects stay on
 * the control plane, so it needs one that nothing else is measured on afterwards.
 *
 * @throws Error when an answer is not the one expected, with what came instead
 */
export async function measureGateway(
  plane: ControlPlane,
  options: GatewayOptions,
): Promise<GatewayMeasured> {
  const { subjects, rounds, log } = options
  if (subjects.includes('half-load') && !subjects.includes('get'))
    throw new Error('half-load is half of what get reaches: measure both')
  const isServed = subjects.some((one) => one !== 'authentication')
  const served = isServed
    ? await measureServed(plane, await ensurePeers(log), options)
    : { figures: {}, missing: {} }
  if (!subjects.includes('authentication')) return served
  // Last, when nothing else runs.
  const authentication = { gateway: await measureAuthentication(rounds) }
  return { ...served, figures: { ...served.figures, authentication } }
}

async function measureServed(
  plane: ControlPlane,
  programs: World['programs'],
  options: GatewayOptions,
): Promise<GatewayMeasured> {
  await using ends = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'bench-gateway-keys-'))
  ends.defer(() => rm(folder, { recursive: true }))
  const product = await startProduct(plane)
  ends.defer(() => product.stop())
  const client = createRaw(plane.adminKubeconfig, systemClock())
  ends.defer(() => client.close())
  const world: World = { plane, product, programs, raw: client.call, folder, options }
  const key = newSecret()
  const files = await createWorld(world, key)
  const started = await startWays({ ...world, key, log: options.log })
  ends.defer(() => started.stop())
  const { ways, missing } = started
  // The API server learns of rights, and the gateway of keys, a moment after they are stored.
  for (const way of ways) await untilAnswers(programs.load, way, KINDS.get.asked())
  return { figures: await measureFigures(world, ways, files), missing }
}

/** Creates the objects and keys, and the files of loads. */
async function createWorld({ raw, folder }: World, key: string): Promise<KindFiles> {
  const write = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content, { mode: 0o600 })
    return join(folder, name)
  }
  const scoped = newSecret()
  await createObjects(raw)
  await createAll(raw, KEYS_PATH, [
    keyOf(USER, key),
    keyOf('bench-scoped', scoped, { scope: NO_RIGHTS }),
  ])
  return {
    scopedKey: await write('scoped-key', scoped),
    unknownKey: await write('unknown-key', newSecret()),
    patch: await write('patch.json', '{"data":{"patched":"{request}"}}'),
  }
}

async function measureFigures(
  world: World,
  ways: readonly Way[],
  files: KindFiles,
): Promise<Figured> {
  const { plane, product, programs, raw, options } = world
  const { subjects, log } = options
  const { adminKubeconfig } = plane
  const loads: LoadOptions = { ...options, load: programs.load, ways, files, raw, adminKubeconfig }
  const figures: Figured = {}
  const memory = subjects.includes('memory') ? await watchMemory(ways) : null
  await warmUp(loads)
  for (const subject of GATEWAY_SUBJECTS.filter((one) => subjects.includes(one))) {
    if (subject in KINDS) figures[subject] = await measureKind(subject as keyof typeof KINDS, loads)
    if (subject === 'half-load') figures[subject] = await measureHalfLoad(figures.get ?? {}, loads)
    if (subject === 'watch') figures[subject] = await measureWatch(loads)
    if (subject === 'memory' && memory) figures[subject] = await memory()
    if (subject === 'start')
      figures[subject] = {
        gateway: await measureStarts(() => product.startAnotherGateway(), log),
      }
    if (subject === 'revoked') figures[subject] = await revokedOf(world, ways)
  }
  return figures
}

async function revokedOf(world: World, ways: readonly Way[]): Promise<Measured> {
  const { product, programs, options } = world
  const gateway = ways.find(({ name }) => name === 'gateway')
  if (!gateway) throw new Error('the gateway does not run')
  const figures = await measureRevoked({
    ...world,
    load: programs.load,
    gateway,
    caPem: product.caPem,
    operatorPid: product.operator.pid,
    furtherKeys: options.keys,
  })
  return { gateway: [figures] }
}
