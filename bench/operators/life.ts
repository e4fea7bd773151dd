// A life of access keys under one operator: a burst, a steady stream, a deletion in bulk.
import { callsFor, callsSince } from '../../test/support/api-calls.ts'
import type { Running } from '../measure/peer-process.ts'
import type { Figures } from '../measure/rounds.ts'
import { cpuMs, residentMb, settled } from '../measure/usage.ts'
import { type OperatorName, type Testbed, startNamed, userOf } from './comparators.ts'
import { createLoad, deleteLoad, floorLoad } from './load.ts'
import { type SeedKind, removeSeeds } from './seed.ts'

/** The number of keys that each operator gets. */
export interface LifeSizes {
  /** Keys of a burst. */
  readonly burst: number
  /** Keys of a steady stream of STEADY_PER_SECOND. */
  readonly steady: number
}

const STEADY_PER_SECOND = 50
/** The first keys of a process on Node meet code that is not compiled yet, and take twice the CPU of later ones. */
const WARM_UP = { product: 300, 'client-node': 300, 'controller-runtime': 30, echo: 30 } as const
/** Time limit of a burst of 10,000 keys, or of its deletion. */
const LONGEST = '10m'
/** Concurrent writes of the floor: as many as creating clients and workers of an operator together. */
const FLOOR_CONCURRENCY = 32
const RESOURCE = 'ownedaccesskeys'

/** Measures one operator from its start to the end of all keys. */
export async function measureLife(
  name: OperatorName,
  bed: Testbed,
  { burst, steady }: LifeSizes,
): Promise<Figures> {
  const prefix = `life-${name}`
  await using operator = await startNamed(name, bed)
  await settled(operator.pid)
  const atStart = { startCpuMs: cpuMs(operator.pid), idleMb: residentMb(operator.pid) }
  await warmUp(operator, name, bed)
  const inBurst = await loaded(operator, name, bed, { prefix: `${prefix}-b`, count: burst })
  const inStream = await loaded(operator, name, bed, {
    prefix: `${prefix}-s`,
    count: steady,
    rate: STEADY_PER_SECOND,
  })
  const withKeysMb = residentMb(operator.pid)
  const deletions = []
  for (const part of ['b', 's'])
    deletions.push(await deleteLoad(bed, { prefix: `${prefix}-${part}` }))
  const stopStartMs = performance.now()
  await operator.stop()
  const stopMs = performance.now() - stopStartMs
  return {
    ...atStart,
    ...burstFigures(inBurst),
    steadyP50Ms: inStream.p50Ms,
    steadyP99Ms: inStream.p99Ms,
    steadyCpuMsPerKey: inStream.cpuMsPerKey,
    withKeysMb,
    stopMs,
    deletedPerSecond:
      deletions.reduce((sum, { count }) => sum + count, 0) /
      deletions.reduce((sum, { seconds }) => sum + seconds, 0),
  }
}

/** The operators that measureBurst compares. */
export const BURST_COMPARATORS = [
  'product',
  'controller-runtime',
  'client-node',
  'floor',
  'floor-apply',
] as const

/** Measures a burst alone, which may be of many thousands. */
export async function measureBurst(
  name: (typeof BURST_COMPARATORS)[number],
  bed: Testbed,
  count: number,
): Promise<Figures> {
  if (name === 'floor' || name === 'floor-apply') return measureFloor(name, bed, count)
  const prefix = `burst-${name}`
  await using operator = await startNamed(name, bed)
  await warmUp(operator, name, bed)
  const inBurst = await loaded(operator, name, bed, { prefix, count, timeout: LONGEST })
  const withKeysMb = residentMb(operator.pid)
  const { perSecond } = await deleteLoad(bed, { prefix, timeout: LONGEST })
  await operator.stop()
  return { ...burstFigures(inBurst), withKeysMb, deletedPerSecond: perSecond }
}

const burstFigures = ({ perSecond, p50Ms, p99Ms, cpuMsPerKey, callsPerKey }: Loaded): Figures => ({
  burstPerSecond: perSecond,
  burstP50Ms: p50Ms,
  burstP99Ms: p99Ms,
  burstCpuMsPerKey: cpuMsPerKey,
  burstCallsPerKey: callsPerKey,
})

/** Gives an operator that has just started its first keys, or tokens, which no figure counts. */
export async function warmUp(
  { pid }: Pick<Running, 'pid'>,
  name: OperatorName,
  bed: Testbed,
  kind: SeedKind = 'keys',
): Promise<void> {
  const prefix = `warm-${name}`
  await createLoad(bed, { prefix, kind, count: WARM_UP[name] })
  await removeSeeds(bed, prefix, kind)
  await settled(pid)
}

interface Loaded {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMsPerKey: number
  readonly callsPerKey: number
}

async function loaded(
  { pid }: Running,
  name: OperatorName,
  bed: Testbed,
  flags: Parameters<typeof createLoad>[1],
): Promise<Loaded> {
  const mark = await bed.audit.mark()
  const before = cpuMs(pid)
  const { count, perSecond, latencyMs } = await createLoad(bed, flags)
  await settled(pid)
  return {
    perSecond,
    p50Ms: latencyMs.p50,
    p99Ms: latencyMs.p99,
    cpuMsPerKey: (cpuMs(pid) - before) / count,
    callsPerKey: callsFor(await callsSince(bed.audit, mark, userOf(name)), RESOURCE) / count,
  }
}

/**
 * The floors of a burst: the same writes by a client that knows them beforehand, without any operator; as updates, which cost
 * the API server the least, and by server-side apply, as the product writes.
 */
const FLOOR_WRITES = { floor: 'update', 'floor-apply': 'apply' } as const

/** Measures a floor of a burst. */
export async function measureFloor(
  name: keyof typeof FLOOR_WRITES,
  bed: Testbed,
  burst: number,
): Promise<Figures> {
  const { perSecond } = await floorLoad(bed, {
    prefix: name,
    writes: FLOOR_WRITES[name],
    count: burst,
    concurrency: FLOOR_CONCURRENCY,
    timeout: LONGEST,
  })
  const ended = await deleteLoad(bed, {
    prefix: name,
    'strip-finalizers': 'true',
    timeout: LONGEST,
  })
  return { burstPerSecond: perSecond, deletedPerSecond: ended.perSecond }
}
