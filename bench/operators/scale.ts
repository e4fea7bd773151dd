// The cost of many keys: the start of an operator with them, and their memory.
import { join } from 'node:path'
import { callsSince, writesIn } from '../../test/support/api-calls.ts'
import { type Running, startPeer } from '../measure/peer-process.ts'
import type { Figures } from '../measure/rounds.ts'
import { cpuMs, peakMb, residentMb, settled, untilRest } from '../measure/usage.ts'
import { type OperatorName, type Testbed, startNamed, userOf } from './comparators.ts'
import { createLoad } from './load.ts'
import { removeSeeds, seed } from './seed.ts'

/** Operators, and beside them a program that only lists and parses. */
export const STARTED = ['product', 'controller-runtime', 'list and parse'] as const

type StartedName = (typeof STARTED)[number]

const LISTER = join(import.meta.dirname, '../peers/list.ts')

/**
 * Starts it over no keys, and over `count`: the difference is what these cost. The keys are copies of one that the same
 * operator has made, so that it finds nothing to do.
 */
export async function measureStart(
  name: StartedName,
  bed: Testbed,
  count: number,
): Promise<Figures> {
  const empty = await started(name, bed)
  const maker = name === 'list and parse' ? 'product' : name
  const original = await madeBy(maker, bed)
  await seed(bed, 'keys', original, { prefix: 'scale', count })
  const mark = await bed.audit.mark()
  const full = await started(name, bed)
  const writes =
    name === 'list and parse' ? 0 : writesIn(await callsSince(bed.audit, mark, userOf(maker)))
  for (const prefix of ['scale', 'original']) await removeSeeds(bed, prefix)
  return {
    cpuMs: full.cpuMs - empty.cpuMs,
    mbPer10000: ((full.mb - empty.mb) / count) * 10_000,
    mb: full.mb,
    peakMb: full.peakMb,
    writes,
  }
}

async function started(name: StartedName, bed: Testbed) {
  await using running: Running =
    name === 'list and parse'
      ? await startPeer(process.execPath, [LISTER, bed.peerKubeconfig])
      : await startNamed(name, bed)
  await untilRest(running.pid)
  const { pid } = running
  return { cpuMs: cpuMs(pid), mb: residentMb(pid), peakMb: peakMb(pid) }
}

/** One key, or token, that this operator has made ready. @returns its name */
export async function madeBy(
  name: OperatorName,
  bed: Testbed,
  more: Parameters<typeof createLoad>[1] = {},
): Promise<string> {
  await using operator = await startNamed(name, bed)
  await createLoad(bed, { prefix: 'original', count: 1, ...more })
  await settled(operator.pid)
  return 'original-0'
}
