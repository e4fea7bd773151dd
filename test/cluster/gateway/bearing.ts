// Somebody bears down on a gateway while everybody else goes on being served, and it stays quick.
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Front } from './front.ts'
import { isWhole, repeated } from '../../support/tier.ts'
import { type Pressure, underPressure } from './pressure.ts'

/** By how much an act may make the event loop of a gateway later than it is anyway, in milliseconds. */
export const MOST_LAG_MS = 50

/** The same for bodies that are read in one go, each as much as may be in one. */
export const MOST_BODY_LAG_MS = 2 * MOST_LAG_MS

/** How long the gateway is looked at while nobody bears down on it. */
const QUIET_FOR_MS = repeated(500, 5000)

/** Bears down on the gateway of a front. */
export interface Bearing {
  /** How late its event loop is while nobody does, on this machine and now; milliseconds. */
  readonly quietMs: number
  /** Acts while others go on being served: each of their answers is a 200. */
  readonly borneDown: <Result>(act: () => Promise<Result>) => Promise<Pressure<Result>>
  /**
   * Small by so many MiB, and in `make test-all` quick: by MOST_LAG_MS unless told otherwise. A median of the few
   * seconds of `make test` would measure the machine.
   */
  readonly expectWell: (pressure: Pressure<unknown>, mostMiB: number, mostLagMs?: number) => void
}

/** The others ask for `path` with this key. */
export async function bearingDown(front: Front, token: string, path: string): Promise<Bearing> {
  const [gateway] = front.gateways
  if (!gateway) throw new Error('there is no gateway')
  const { lagMs: quietMs } = await underPressure(gateway, () => delay(QUIET_FOR_MS))
  return {
    quietMs,
    borneDown: async (act) => {
      const over = new AbortController()
      const others = everybodyElse(front, token, path, over.signal)
      // What it fails with is told at the end.
      others.catch(() => undefined)
      const pressure = await underPressure(gateway, act).finally(() => over.abort())
      const codes = await others
      expect(codes.length).toBeGreaterThan(0)
      expect(new Set(codes)).toEqual(new Set([200]))
      const { grownMiB, lagMs } = pressure
      console.log(
        `${expect.getState().currentTestName}: ${codes.length} others served, ${grownMiB.toFixed(0)} MiB more, event loop late by ${lagMs.toFixed(0)} ms, ${quietMs.toFixed(0)} anyway`,
      )
      return pressure
    },
    expectWell: ({ grownMiB, lagMs }, mostMiB, mostLagMs = MOST_LAG_MS) => {
      expect(grownMiB).toBeLessThan(mostMiB)
      if (isWhole) expect(lagMs - quietMs).toBeLessThan(mostLagMs)
    },
  }
}

/** Asks with a good key, one after the other, until told to stop; the codes. */
async function everybodyElse(
  front: Front,
  token: string,
  path: string,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const codes: number[] = []
  while (!signal.aborted) {
    codes.push((await front.ask(token, path, { agent })).code)
    await delay(20)
  }
  agent.destroy()
  return codes
}
