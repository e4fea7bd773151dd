// The duration of a refusal must not reveal its reason (threat C1): all refusals take the same steps, and the
// remaining difference is measured against the duration itself.
import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { textAfter } from '../../support/key-builder.ts'
import { createTestAuthenticator, key, secretOf } from './test-authenticator.ts'

const CLASSES: Readonly<Record<string, (at: number) => string>> = {
  unknown: (at) => secretOf(`unknown-${at}`),
  malformed: (at) => `sha256:${at}`.padEnd(71, '0'),
  disabled: (at) => secretOf(`disabled-${at % 100}`),
  deleted: (at) => secretOf(`deleted-${at % 100}`),
}
const ROUNDS = 4000

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0

test('unknown, malformed, disabled and deleted keys are refused in the same time (C1)', async () => {
  const { callers } = createTestAuthenticator(
    ...Array.from({ length: 100 }, (_, at) => key(`disabled-${at}`, { disabled: true })),
    ...Array.from({ length: 100 }, (_, at) =>
      key(`deleted-${at}`, {}, { metadata: { deletionTimestamp: textAfter(0) } }),
    ),
    ...Array.from({ length: 1000 }, (_, at) => key(`good-${at}`)),
  )
  const times = new Map(Object.keys(CLASSES).map((name) => [name, [] as number[]]))
  for (let round = 0; round < ROUNDS; round += 1) {
    // In turn, so that other load of the machine affects all classes alike.
    for (const [name, tokenOf] of Object.entries(CLASSES)) {
      const token = tokenOf(round)
      const startMs = performance.now()
      const { ok } = await callers.authenticate(token)
      times.get(name)?.push(performance.now() - startMs)
      expect(ok).toBe(false)
    }
  }
  const medians = [...times.values()].map((some) => median(some.slice(ROUNDS / 2)))
  // Of some 6 microseconds each; over a network the difference is lost in a thousand times as much.
  expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(2)
})
