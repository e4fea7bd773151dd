// The measurements on a control plane with the product, and the objects and processes that they need.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Raw, createRaw } from '../../test/support/raw-client.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import { type Figures, type Measured, figureOf } from '../measure/rounds.ts'
import { type RunningProduct, startProduct } from '../product.ts'
import { measureActiveKeys } from './active-keys.ts'
import { watchMemory } from './footprint.ts'
import { watchLastUses } from './last-uses.ts'
import { type AuditSection, measureAudit } from './audit.ts'
import { KINDS, type KindFiles, type KindName } from './kinds.ts'
import { type LoadOptions, measureHalfLoad, measureKind, measureWatch, warmUp } from './loads.ts'
import { KEYS_PATH, USER, createAll, createObjects, keyOf, newSecret } from './objects.ts'
import type { GatewayResults, GatewayOptions, GatewaySubject } from './options.ts'
import { untilAnswers } from './request.ts'
import { NO_RIGHTS, measureRevoked } from './revoked.ts'
import { measureStarts } from './starts.ts'
import { type Ways, startWays } from './ways.ts'
import type { Way } from './way.ts'

/** Shared by all parts of the measurement. */
interface World {
  readonly plane: ControlPlane
  readonly product: RunningProduct
  readonly programs: Readonly<Record<'load' | 'delegate', string>>
  readonly raw: Raw
  /** A folder for keys; removed in the end. */
  readonly folder: string
  readonly options: GatewayOptions
}

/** The subjects that need a control plane. */
type ServedSubject = Exclude<GatewaySubject, 'authentication'>

/** Measures subjects in this order, as measureGateway does. */
export async function measureServed(
  plane: ControlPlane,
  programs: World['programs'],
  subjects: readonly ServedSubject[],
  options: GatewayOptions,
): Promise<GatewayResults> {
  await using ends = new AsyncDisposableStack()
  // There, as a temporary folder of a control plane is removed even when this process is killed.
  const folder = await mkdtemp(join(plane.dataDir, 'bench-gateway-'))
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
  const { ways, missing, startAnother } = started
  // The API server learns of rights, and the gateway of keys, a moment after they are stored.
  for (const way of ways) await untilAnswers(programs.load, way, KINDS.get.asked())
  const stage: Stage = { ...world, ways, startAnother, files }
  return { figures: await measureFigures(stage, subjects), missing }
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

/** The objects and processes that exist during the measurements. */
interface Stage extends World, Pick<Ways, 'ways' | 'startAnother'> {
  readonly files: KindFiles
}

type Figured = Partial<Record<GatewaySubject, Measured>>

async function measureFigures(stage: Stage, subjects: readonly ServedSubject[]): Promise<Figured> {
  const { plane, programs, options } = stage
  const { adminKubeconfig } = plane
  const loads: LoadOptions = { ...options, ...stage, load: programs.load, adminKubeconfig }
  const memory = await watchMemory(stage.ways)
  const lastUses = await watchLastUses(stage.product.gateway)
  await warmUp(loads)
  const figures: Figured = {}
  for (const subject of subjects)
    figures[subject] = await measureSubject(subject, figures, { loads, stage, memory, lastUses })
  return figures
}

interface Measuring {
  readonly loads: LoadOptions
  readonly stage: Stage
  /** Ends the observation of the processes' memory. */
  readonly memory: () => Promise<Measured>
  /** Ends the count of recorded uses. */
  readonly lastUses: () => Promise<Measured>
}

async function measureSubject(
  subject: ServedSubject,
  before: Figured,
  { loads, stage, memory, lastUses }: Measuring,
): Promise<Measured> {
  if (isKind(subject)) return measureKind(subject, loads)
  switch (subject) {
    case 'half-load':
      return measureHalfLoad(before.get ?? {}, loads)
    case 'audit':
    case 'audit-list':
    case 'audit-patch':
    case 'audit-watch':
      return auditOf(subject, loads, stage)
    case 'watch':
      return measureWatch(loads)
    case 'memory':
      return memory()
    case 'last-uses':
      return lastUses()
    case 'gateway-start':
      return measureStarts(stage.product, stage.options.log)
    case 'active-keys':
      return { gateway: [await activeKeysOf(stage, before)] }
    case 'revoked':
      return { gateway: [await revokedOf(stage)] }
    default:
      return subject satisfies never
  }
}

const isKind = (subject: GatewaySubject): subject is KindName => subject in KINDS

function gatewayOf({ ways }: Stage): Way {
  const gateway = ways.find(({ name }) => name === 'gateway')
  if (!gateway) throw new Error('the gateway does not run')
  return gateway
}

function activeKeysOf(stage: Stage, { patch = {} }: Figured): Promise<Figures> {
  const { product, options } = stage
  return measureActiveKeys({
    ...stage,
    gateway: product.gateway,
    way: gatewayOf(stage),
    caPem: product.caPem,
    operatorPid: product.operator.pid,
    count: options.activeKeys,
    serverWritesPerSecond: figureOf(patch, 'direct', 'perSecond')?.median ?? Number.NaN,
  })
}

function revokedOf(stage: Stage): Promise<Figures> {
  const { product, programs, options } = stage
  return measureRevoked({
    ...stage,
    load: programs.load,
    gateway: gatewayOf(stage),
    caPem: product.caPem,
    operatorPid: product.operator.pid,
    furtherKeys: options.keys,
    log: options.log,
  })
}

function auditOf(section: AuditSection, loads: LoadOptions, stage: Stage): Promise<Measured> {
  const { folder, product } = stage
  const { gateway } = product
  return measureAudit(section, { ...loads, way: gatewayOf(stage), gateway, folder })
}
