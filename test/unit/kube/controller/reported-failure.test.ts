import { expect, test } from 'vitest'
import type { Outcome } from '../../../../src/kube/controller/outcome.ts'
import { ReportedFailure } from '../../../../src/kube/controller/reported-failure.ts'
import { controllerOnClock } from './controller-on-clock.ts'

test('a failure that is reported already backs off, up to its own longest, without a line above debug (19.8)', async () => {
  const fails = (): Promise<Outcome> =>
    Promise.reject(new ReportedFailure('the host refuses it', { longestMs: 300_000 }))
  const controller = controllerOnClock(fails, 1, { level: 'debug', objectOf: () => undefined })
  controller.queue.add('a', 'change')
  await controller.clock.advance(3_600_000)
  expect(controller.calls.length).toBeLessThan(30)
  expect(new Set(controller.results())).toEqual(new Set(['error']))
  const levels = controller.lines.map(({ level }) => level)
  expect(new Set(levels)).toEqual(new Set(['debug']))
  const { length } = controller.calls
  await controller.clock.advance(600_000)
  expect(controller.calls).toHaveLength(length + 2)
  const fields = { inMs: 300_000, because: 'the host refuses it' }
  expect(controller.lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining(fields) as object }),
  )
  await controller.stop()
})
