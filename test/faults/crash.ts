// An operator that is killed in the middle of a write, and the next one, which must bring it to its end.
import { expect, onTestFinished } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { OwnOperator } from '../support/operator.ts'
import type { FaultProxy } from '../support/proxy.ts'
import { type Act, first, type Rule } from '../support/proxy-rules.ts'
import type { WritePoint } from './write-points.ts'

const SOON = { withinMs: 20_000 }

/** Where a write is when the operator is killed, and when the API server gets it. */
export interface Position {
  readonly name: string
  readonly act: Act
  /** `late`: after the next operator has done the work. */
  readonly arrives: 'never' | 'late' | 'before'
}

/** Before it is forwarded, and after the commit but before the answer. */
export const POSITIONS: readonly Position[] = [
  { name: 'on its way, and lost', act: { kind: 'hold' }, arrives: 'never' },
  { name: 'on its way, and comes late', act: { kind: 'hold' }, arrives: 'late' },
  { name: 'done, and not answered', act: { kind: 'swallow' }, arrives: 'before' },
]

/** Whom to kill, and how to start the next. */
export interface Crashes {
  readonly proxy: FaultProxy
  readonly operator: () => OwnOperator
  readonly start: (flags?: readonly string[]) => Promise<void>
}

/** Kills the operator at a write and waits until the next one has brought it to its end. */
export function crashOf({ proxy, operator, start }: Crashes) {
  return async (
    point: WritePoint & { readonly flags?: readonly string[] },
    { act, arrives }: Position,
  ): Promise<void> => {
    const { heir = point } = point
    const rule = proxy.on(first(1, point.isIt), act)
    onTestFinished(() => rule.remove())
    await point.lead()
    await rule.reached(SOON)
    operator().kill('SIGKILL')
    await operator().exited
    if (arrives === 'never') rule.remove()
    if (arrives === 'before') rule.release()
    await start(point.flags)
    await point.ends()
    if (arrives !== 'late') return
    if (point.heir) await point.heir.lead()
    await heir.ends()
    expect(await lateAnswer(rule)).toBeGreaterThanOrEqual(400)
    await heir.ends()
  }
}

/** Lets a write go that was held, and says how it was answered. */
export function lateAnswer(rule: Rule): Promise<number> {
  rule.release()
  return eventually('the late write is answered', () => rule.hits[0]?.status ?? undefined, SOON)
}
