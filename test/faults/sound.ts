import { expect } from 'vitest'
import type { Operator } from '../support/observe.ts'

/** The process lives, whatever the API server does (contract 8.2). */
export async function isAlive(operator: Operator): Promise<void> {
  expect((await operator.health('/healthz')).code).toBe(200)
}

/** Nothing was thrown that nobody caught, and nothing came from Node itself (contract 8.3). */
export function expectSound(operator: Operator): void {
  expect(operator.output().stderr).toBe('')
  const unexpected = operator.logs().filter(({ msg }) => msg.startsWith('unexpected error'))
  expect(unexpected).toEqual([])
}
