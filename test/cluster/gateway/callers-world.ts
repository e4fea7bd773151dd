// Two gateways' knowledge of their callers beside an operator, on a control plane of a test file's own.
import { afterAll, beforeAll, expect } from 'vitest'
import { HEARTBEAT_ANNOTATION, HEARTBEAT_KEY } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { canary } from '../../support/canary.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { type OwnOperator, startOperator } from '../../support/operator.ts'
import { type Keys, type StoredKey, keysOf } from '../keys/keys.ts'
import { type Stand, startStand } from './callers-stand.ts'
import { lateness } from './lateness.ts'

/** A new key works at every replica within a second (10.3), and what ends one ends it as fast. */
const SECOND = { promisedMs: 1000 }
/** Enough for anything that is no promise. */
export const SOON = { withinMs: 20_000 }

/** A key with a secret that the test knows. */
export interface GivenKey {
  readonly key: StoredKey
  readonly secret: string
}

/** What a test file looks at and does. */
export interface CallersWorld {
  readonly keys: Keys
  /** To be asked for once the tests run. */
  readonly stands: () => readonly [Stand, Stand]
  readonly given: (
    spec?: OwnedAccessKeySpec,
    metadata?: Parameters<Keys['create']>[1],
  ) => Promise<GivenKey>
  /**
   * Every stand comes to say this of the secret within the time: a second unless told otherwise. A promise is
   * kept by so much later as API server and operator took at most for anything meanwhile.
   */
  readonly check: (
    secret: string,
    outcome: string,
    bound?: { readonly withinMs: number } | { readonly promisedMs: number },
  ) => Promise<void>
}

/** Starts it before the tests of the file, and ends it after them. */
export function callersWorld(plane: TestControlPlane): CallersWorld {
  const keys = keysOf(plane)
  let operator: OwnOperator
  let both: readonly [Stand, Stand]
  beforeAll(async () => {
    operator = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    both = [await startStand(plane), await startStand(plane)]
    await eventuallyPasses(
      'both are ready',
      () => expect(both.map(({ unready }) => unready())).toEqual([[], []]),
      SOON,
    )
  }, 300_000)
  afterAll(async () => {
    for (const stand of both ?? []) await stand[Symbol.asyncDispose]()
    await operator?.stop()
  })
  return {
    keys,
    stands: () => both,
    given: async (spec = {}, metadata = {}) => {
      const { secret } = canary('caller')
      return { key: await keys.create({ key: secret, ...spec }, metadata), secret }
    },
    check: async (secret, outcome, bound = SECOND) => {
      const says = ({ outcome: ask }: Stand): Promise<void> =>
        eventuallyPasses(
          `it is ${outcome}`,
          async () => expect(await ask(secret)).toBe(outcome),
          'withinMs' in bound ? bound : SOON,
        )
      if ('withinMs' in bound) {
        await Promise.all(both.map(says))
        return
      }
      const startMs = performance.now()
      await using late = lateness(async () => {
        await keys.read(HEARTBEAT_KEY)
        await operator.health('/healthz')
      })
      await Promise.all(both.map(says))
      const tookMs = performance.now() - startMs
      expect(tookMs - late.mostMs(), `ms to ${outcome}`).toBeLessThan(bound.promisedMs)
    },
  }
}

/** What a heartbeat key says. */
export const beatOf = ({ metadata }: Pick<StoredKey, 'metadata'>): string | undefined =>
  metadata.annotations?.[HEARTBEAT_ANNOTATION]
