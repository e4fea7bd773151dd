// One operator with many keys and tokens: the cost of its start, and how soon a new key is ready.
import { callsSince, writesIn } from '../../test/support/api-calls.ts'
import { OPERATOR_USER } from '../../test/support/installed-control-plane.ts'
import type { Figures } from '../measure/rounds.ts'
import { cpuMs, peakMb, residentMb, untilRest } from '../measure/usage.ts'
import { type Testbed, startManager } from './comparators.ts'
import { createLoad } from './load.ts'
import { madeBy } from './scale.ts'
import { removeSeeds, seed } from './seed.ts'

const PREFIX = 'many'
const NEW = { count: 100, rate: 20 }

/** Starts the product over so many keys and tokens, with which it finds nothing to do, and creates more beside them. */
export async function measureMany(
  bed: Testbed,
  count: { readonly keys: number; readonly tokens: number },
): Promise<Figures> {
  const { audit } = bed
  for (const kind of ['keys', 'tokens'] as const) {
    const original = await madeBy('product', bed, { kind })
    await seed(bed, kind, original, { prefix: PREFIX, count: count[kind] })
  }
  const mark = await audit.mark()
  const startMs = performance.now()
  await using operator = await startManager(bed)
  const { pid } = operator
  const readyMs = performance.now() - startMs
  await untilRest(pid)
  const atRest = { startCpuMs: cpuMs(pid), mb: residentMb(pid), peakMb: peakMb(pid) }
  const writes = writesIn(await callsSince(audit, mark, OPERATOR_USER))
  const keys = await createLoad(bed, { prefix: 'beside', kind: 'keys', ...NEW })
  const tokens = await createLoad(bed, { prefix: 'beside', kind: 'tokens', ...NEW })
  for (const kind of ['keys', 'tokens'] as const)
    for (const prefix of [PREFIX, 'original', 'beside']) await removeSeeds(bed, prefix, kind)
  return {
    readyMs,
    ...atRest,
    writes,
    newKeyP50Ms: keys.latencyMs.p50,
    newKeyP99Ms: keys.latencyMs.p99,
    newTokenP50Ms: tokens.latencyMs.p50,
    newTokenP99Ms: tokens.latencyMs.p99,
  }
}
