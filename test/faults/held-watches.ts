// All watches of an operator, held at the revision that each has reached.
import { expect } from 'vitest'
import { WATCHED } from '../../src/commands/manager/informers.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import type { FaultProxy, Rule } from '../support/fault-proxy.ts'
import { isWatch } from './operator-observations.ts'

const SOON = { withinMs: 20_000 }

/** Cuts every watch and holds its reopening; undefined where one is to relist, which drops its revision. */
export async function heldAtRevision(proxy: FaultProxy): Promise<Rule | undefined> {
  await watchesSettle(proxy)
  const holding = proxy.on(isWatch, { kind: 'hold' })
  proxy.cut(isWatch)
  const areHeld = () =>
    // Secrets and ConfigMaps of the sign-in namespace are watched, too.
    new Set(holding.hits.map(({ path }) => path)).size === WATCHED.length + 2 || undefined
  await eventually('each watch is held', areHeld, SOON)
  if (!holding.hits.some(({ query }) => query.has('sendInitialEvents'))) return holding
  holding.release()
  return undefined
}

/** Waits until no watch has been opened for a moment: one that is cut while it lists would only list again. */
async function watchesSettle({ requests }: FaultProxy): Promise<void> {
  const opened = (): number => requests.filter(isWatch).length
  const areSettled = async (): Promise<true> => {
    const before = opened()
    await staysTrue('no watch is opened', () => expect(opened()).toBe(before), { forMs: 1000 })
    return true
  }
  await eventually('the watches stay open', areSettled, SOON)
}
