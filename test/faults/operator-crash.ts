// An operator that is killed in the middle of a write, and the next one, which must bring it to its end.
import { expect, onTestFinished } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import type { OwnOperator } from '../support/command-process.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { type Act, type Rule, first } from '../support/fault-proxy-rules.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'
import type { Operator } from '../support/process-output.ts'
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

/** The process lives, whatever the API server does (contract 8.2). */
export async function expectAlive(operator: Operator): Promise<void> {
  expect((await operator.health('/healthz')).code).toBe(200)
}

/** Does something, and asks again and again until it is done whether the operator lives. */
export async function expectAliveDuring(
  operator: Operator,
  deed: () => Promise<void>,
): Promise<void> {
  const during = { isOver: false }
  const alive = async (): Promise<void> => {
    while (!during.isOver) {
      await staysTrue('the operator lives', () => expectAlive(operator), { forMs: 0 })
    }
  }
  const done = deed().finally(() => {
    during.isOver = true
  })
  await Promise.all([done, alive()])
}

/** Nothing was thrown that no one caught, and nothing came from Node itself (contract 8.3). */
export function expectSound(operator: Operator): void {
  expect(operator.output().stderr).toBe('')
  const unexpected = operator.logs().filter(({ msg }) => msg.startsWith('unexpected error'))
  expect(unexpected).toEqual([])
}

/** Ends an operator as a kubelet does, after which nothing may be said against its whole life. */
export async function expectGoodEnd(operator: OwnOperator): Promise<void> {
  expect(await operator.stop()).toEqual({ code: 0, signal: null })
  expectSound(operator)
}

const MORE_THAN_THERE_ARE = 10_000

/** Names of the keys that are being deleted and still there. */
export async function keysStuckInDeletion(admin: KubeClient): Promise<readonly string[]> {
  const { items } = await admin.list(ACCESS_KEYS, {}, MORE_THAN_THERE_ARE)
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : []))
}
