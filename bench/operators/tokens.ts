// Tokens in a burst beside keys in one, both at the product; and what signing has to do with it.
import type { Figures } from '../measure/rounds.ts'
import { cpuMs, settled } from '../measure/usage.ts'
import { type Testbed, startManager } from './comparators.ts'
import { warmUp } from './life.ts'
import { createLoad, deleteLoad } from './load.ts'
import { signingCpuMs } from './signing.ts'

/** The product with tokens, and with keys. */
export const TOKEN_COMPARATORS = ['product', 'keys'] as const

/** A burst of tokens, or of keys. */
export async function measureTokens(
  name: (typeof TOKEN_COMPARATORS)[number],
  bed: Testbed,
  count: number,
): Promise<Figures> {
  const kind = name === 'keys' ? 'keys' : 'tokens'
  await using operator = await startManager(bed)
  await warmUp(operator, 'product', bed, kind)
  const before = cpuMs(operator.pid)
  const { perSecond, latencyMs } = await createLoad(bed, { prefix: `burst-${kind}`, kind, count })
  await settled(operator.pid)
  const usedMs = cpuMs(operator.pid) - before
  await deleteLoad(bed, { prefix: `burst-${kind}`, kind })
  const burst = { burstPerSecond: perSecond, burstP50Ms: latencyMs.p50, cpuMsEach: usedMs / count }
  if (kind === 'keys') return burst
  return { ...burst, signingPercent: ((await signingCpuMs()) / burst.cpuMsEach) * 100 }
}
