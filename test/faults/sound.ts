import { expect } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { staysTrue } from '../support/eventually.ts'
import type { Operator } from '../support/observe.ts'
import type { OwnOperator } from '../support/operator.ts'

/** The process lives, whatever the API server does (contract 8.2). */
export async function isAlive(operator: Operator): Promise<void> {
  expect((await operator.health('/healthz')).code).toBe(200)
}

/** Does something, and asks again and again until it is done whether the operator lives. */
export async function livesThrough(operator: Operator, deed: () => Promise<void>): Promise<void> {
  const during = { isOver: false }
  const alive = async (): Promise<void> => {
    while (!during.isOver) {
      await staysTrue('the operator lives', () => isAlive(operator), { forMs: 0 })
    }
  }
  const done = deed().finally(() => {
    during.isOver = true
  })
  await Promise.all([done, alive()])
}

/** Nothing was thrown that nobody caught, and nothing came from Node itself (contract 8.3). */
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
export async function hangingKeys(admin: KubeClient): Promise<readonly string[]> {
  const { items } = await admin.list(ACCESS_KEYS, {}, MORE_THAN_THERE_ARE)
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name] : []))
}
