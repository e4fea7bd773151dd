// The sections of the benchmark, and the control plane on which they run.
import { join } from 'node:path'
import { auditOf } from '../test/support/audit-log.ts'
import {
  OPERATOR_ACCOUNT,
  coordinatesOf,
  installProduct,
} from '../test/support/installed-control-plane.ts'
import { mustKubectl } from '../test/support/kubectl.ts'
import { createRaw } from '../test/support/raw-client.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { startControlPlane } from '../tools/control-plane/control-plane.ts'
import { type Measured, interleaved } from './measure/rounds.ts'
import { type Testbed, OPERATORS, PEER_ACCOUNT } from './operators/comparators.ts'
import { EXPIRY_COMPARATORS, measureExpiry, measureExpiryAtOnce } from './operators/expiry.ts'
import { measureLeader } from './operators/leader.ts'
import { measureLifecycle } from './operators/lifecycle.ts'
import { BURST_COMPARATORS, measureBurst, measureFloor, measureLife } from './operators/life.ts'
import { measureMany } from './operators/many.ts'
import { measureNoOp } from './operators/no-op.ts'
import { measureRefresh } from './operators/refresh.ts'
import { STARTED, measureStart } from './operators/scale.ts'
import { TOKEN_COMPARATORS, measureTokens } from './operators/tokens.ts'
import { measureTurns } from './operators/turns.ts'
import { ensurePeers } from './peers.ts'

/** The sizes of each section's measurements. */
interface Sizes {
  readonly rounds: number
  /** Keys of a burst, and of a steady stream. */
  readonly burst: number
  readonly steady: number
  /** Bursts without a stream. */
  readonly bursts: readonly { readonly count: number; readonly rounds: number }[]
  /** Numbers of keys with which a start is measured. */
  readonly start: readonly number[]
  readonly startRounds: number
  readonly expiry: {
    readonly count: number
    readonly withinMs: number
    readonly atOnce: number
    readonly rounds: number
  }
  readonly refresh: { readonly count: number; readonly rounds: number }
  readonly turns: number
  /** Keys and tokens of one operator; null = not measured. */
  readonly many: { readonly keys: number; readonly tokens: number } | null
}

/** A quarter of an hour for all sections, with the gateway's. */
export const QUICK: Sizes = {
  rounds: 5,
  burst: 200,
  steady: 100,
  bursts: [],
  start: [10_000],
  startRounds: 2,
  expiry: { count: 500, withinMs: 10_000, atOnce: 500, rounds: 1 },
  refresh: { count: 3000, rounds: 3 },
  turns: 10_000,
  many: null,
}

/** The scale of the goals: an hour and a half. */
export const FULL: Sizes = {
  rounds: 3,
  burst: 1000,
  steady: 1500,
  bursts: [
    { count: 3000, rounds: 2 },
    { count: 10_000, rounds: 1 },
  ],
  start: [10_000, 100_000],
  startRounds: 2,
  expiry: { count: 10_000, withinMs: 60_000, atOnce: 3000, rounds: 3 },
  refresh: { count: 10_000, rounds: 1 },
  turns: 100_000,
  many: { keys: 100_000, tokens: 20_000 },
}

type Section = (
  bed: Testbed,
  sizes: Sizes,
  log: (line: string) => void,
) => Promise<Readonly<Record<string, Measured>>>

const product = async (measure: () => Promise<Measured[string][number]>): Promise<Measured> => ({
  product: [await measure()],
})

/**
 * Every section by name; each returns one or more groups of figures. Those with most keys come last: the API server keeps
 * their events for watches, and a garbage collection of its 3 GB takes 3 s of CPU time, in one section or another.
 */
export const SECTIONS: Readonly<Record<string, Section>> = {
  operators: async (bed, { rounds, burst, steady }, log) => ({
    operators: await interleaved(
      [...OPERATORS, 'floor', 'floor-apply'] as const,
      rounds,
      (name) =>
        name === 'floor' || name === 'floor-apply'
          ? measureFloor(name, bed, burst)
          : measureLife(name, bed, { burst, steady }),
      log,
      ['client-node'],
    ),
  }),
  bursts: async (bed, { bursts }, log) => {
    const groups: Record<string, Measured> = {}
    for (const { count, rounds } of bursts)
      groups[`burst-${count}`] = await interleaved(
        BURST_COMPARATORS,
        rounds,
        (name) => measureBurst(name, bed, count),
        log,
      )
    return groups
  },
  'no-op': async () => ({ 'no-op': await product(measureNoOp) }),
  expiry: async (bed, { expiry }, log) => ({
    expiry: await product(() => measureExpiry(bed, expiry.count, expiry.withinMs)),
    'expiry-at-once': await interleaved(
      EXPIRY_COMPARATORS,
      expiry.rounds,
      (name) => measureExpiryAtOnce(name, bed, expiry.atOnce),
      log,
    ),
  }),
  refresh: async (bed, { refresh: { count, rounds } }, log) => ({
    refresh: await interleaved(['product'], rounds, () => measureRefresh(bed, count), log),
  }),
  tokens: async (bed, { rounds, burst }, log) => ({
    tokens: await interleaved(
      TOKEN_COMPARATORS,
      Math.min(rounds, 2),
      (name) => measureTokens(name, bed, burst),
      log,
    ),
  }),
  turns: async (_, { turns }) => ({ turns: await product(() => measureTurns(turns)) }),
  lifecycle: async (bed) => ({ lifecycle: await product(() => measureLifecycle(bed)) }),
  leader: async (bed) => ({ leader: await product(() => measureLeader(bed)) }),
  start: async (bed, { start, startRounds }, log) => {
    const groups: Record<string, Measured> = {}
    for (const count of start) {
      const name = count === start[0] ? 'start' : `start-${count}`
      groups[name] = await interleaved(
        STARTED,
        startRounds,
        (one) => measureStart(one, bed, count),
        log,
      )
    }
    return groups
  },
  many: async (bed, { many }) =>
    many === null ? {} : { many: await product(() => measureMany(bed, many)) },
}

/** Least rights of the peers. */
const RIGHTS = join(import.meta.dirname, 'peers/rights.yaml')

interface Account {
  readonly namespace: string
  readonly name: string
}

/** Starts a control plane with the product installed and no operator, for as long as `use` takes. */
export async function withTestbed(use: (bed: Testbed) => Promise<void>): Promise<void> {
  const peers = await ensurePeers(console.log)
  const plane = await startControlPlane({ audit: true, controllers: 'none', log: console.log })
  const raw = createRaw(plane.adminKubeconfig, systemClock())
  try {
    await installProduct(plane)
    await mustKubectl(plane, ['apply', '--server-side', '-f', RIGHTS])
    const kubeconfigOf = ({ namespace, name }: Account): Promise<string> =>
      plane.serviceAccountKubeconfig(namespace, name)
    await use({
      plane,
      peers,
      raw: raw.call,
      audit: auditOf({ ...coordinatesOf(plane), raw: raw.call }),
      operatorKubeconfig: await kubeconfigOf(OPERATOR_ACCOUNT),
      peerKubeconfig: await kubeconfigOf(PEER_ACCOUNT),
    })
  } finally {
    await raw.close()
    await plane.stop()
  }
}
