// Kills the operator during a write and checks that the next one completes it; checks of a running operator.
import { expect, onTestFinished } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import type { Operator, OwnOperator } from '../support/command-process.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { type Act, type FaultProxy, type Rule, first } from '../support/fault-proxy.ts'
import type { WritePoint } from './write-points.ts'

const SOON = { withinMs: 20_000 }

/** How far a write is when the operator is killed, and when the API server receives it. */
export interface Position {
  readonly name: string
  readonly act: Act
  /** `late`: after the next operator has completed the change. */
  readonly arrives: 'never' | 'late' | 'before'
}

/** Before the request is forwarded, and after the commit but before the response. */
export const POSITIONS: readonly Position[] = [
  { name: 'sent but never received', act: { kind: 'hold' }, arrives: 'never' },
  { name: 'sent and received late', act: { kind: 'hold' }, arrives: 'late' },
  { name: 'committed but not answered', act: { kind: 'swallow' }, arrives: 'before' },
]

/** The operator to kill, and how to start the next one. */
export interface Crashes {
  readonly proxy: FaultProxy
  readonly operator: () => OwnOperator
  readonly start: (flags?: readonly string[]) => Promise<void>
}

/** Kills the operator at a write and waits until the next one has completed the change. */
export function crashOf({ proxy, operator, start }: Crashes) {
  return async (
    point: WritePoint & { readonly flags?: readonly string[] },
    { act, arrives }: Position,
  ): Promise<void> => {
    const { successor = point } = point
    const rule = proxy.on(first(1, point.matches), act)
    onTestFinished(() => rule.remove())
    await point.trigger()
    await rule.reached(SOON)
    operator().kill('SIGKILL')
    await operator().exited
    if (arrives === 'never') rule.remove()
    if (arrives === 'before') rule.release()
    await start(point.flags)
    await point.completed()
    if (arrives !== 'late') return
    if (point.successor) await point.successor.trigger()
    await successor.completed()
    expect(await lateAnswer(rule)).toBeGreaterThanOrEqual(400)
    await successor.completed()
  }
}

/** Forwards a held write; returns the status code of its response. */
export function lateAnswer(rule: Rule): Promise<number> {
  rule.release()
  return eventually('the late write gets a response', () => rule.hits[0]?.status ?? undefined, SOON)
}

/** The operator is healthy, whatever the API server does (contract 8.2). */
export async function expectHealthy(operator: Operator): Promise<void> {
  expect((await operator.health('/healthz')).code).toBe(200)
}

/** Runs `work`, and checks until it is done that the operator stays healthy. */
export async function expectHealthyDuring(
  operator: Operator,
  work: () => Promise<void>,
): Promise<void> {
  const during = { isOver: false }
  const alive = async (): Promise<void> => {
    while (!during.isOver) {
      await staysTrue('the operator is healthy', () => expectHealthy(operator), { forMs: 0 })
    }
  }
  const done = work().finally(() => {
    during.isOver = true
  })
  await Promise.all([done, alive()])
}

/** No uncaught error is logged, and nothing is on standard error (contract 8.3). */
export function expectNoUncaughtErrors(operator: Operator): void {
  expect(operator.output().stderr).toBe('')
  const unexpected = operator.logs().filter(({ msg }) => msg.startsWith('unexpected error'))
  expect(unexpected).toEqual([])
}

/** Stops the operator by SIGTERM: it exits with 0 and has logged no uncaught error. */
export async function expectCleanExit(operator: OwnOperator): Promise<void> {
  expect(await operator.stop()).toEqual({ code: 0, signal: null })
  expectNoUncaughtErrors(operator)
}

const LIST_LIMIT = 10_000

/** Names of keys with a deletionTimestamp. */
export async function keysStuckInDeletion(admin: KubeClient): Promise<readonly string[]> {
  const { items } = await admin.list(ACCESS_KEYS, {}, LIST_LIMIT)
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : []))
}
