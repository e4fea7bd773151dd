import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/runtime/clock.ts'
import type { EvaluationRequest } from '../../../../src/sync/sandbox/protocol.ts'
import { createSandbox } from '../../../../src/sync/sandbox/sandbox.ts'
import { PLACE } from '../counting-sandbox.ts'

const LOOP = '(() => { for (;;); })()'
/** Only the end of the thread stops it. */
const ENDLESS_OPERATION = '3n ** 5000000n > 1n'

const requestFor = (source: string, object = 'a', value: unknown = 'v'): EvaluationRequest => ({
  source,
  value: JSON.stringify(value),
  context: '{}',
  path: 'data.a',
  place: PLACE,
  object,
})

/** A sandbox with slices that a busy machine has time for, and the requests in the order of their answers. */
function slicedSandbox(bounds = { wallMs: 500, interruptMs: 400, sliceMs: 150 }) {
  const sandbox = createSandbox(systemClock(), bounds)
  onTestFinished(() => sandbox.close())
  const answered: string[] = []
  const ask = async (name: string, request: EvaluationRequest): Promise<string> => {
    const result = await sandbox.evaluate(request)
    answered.push(name)
    return result.kind === 'value' ? result.json : result.kind
  }
  return { sandbox, answered, ask }
}

test('an expression that takes longer than a slice waits for shorter ones; all others are answered in their order (19.4)', async () => {
  const { answered, ask } = slicedSandbox()
  const sources = ['1', LOOP, ENDLESS_OPERATION, '2', 'x', '3']
  const results = await Promise.all(sources.map((source) => ask(source, requestFor(source))))
  expect(answered).toEqual(['1', ENDLESS_OPERATION, '2', 'x', '3', LOOP])
  expect(results).toEqual(['1', 'failed', 'failed', '2', 'failed', '3'])
})

test('a caller leaves its place while its request waits behind those of others, and no other does (19.4)', async () => {
  const { sandbox } = slicedSandbox()
  const steps: string[] = []
  const place = (name: string) => ({
    leave: () => void steps.push(`${name} leaves`),
    enter: async () => void steps.push(`${name} enters`),
  })
  await sandbox.evaluate(requestFor('1'), place('quick'))
  await sandbox.evaluate(requestFor(LOOP), place('slow'))
  steps.push('answered')
  expect(steps).toEqual(['slow leaves', 'slow enters', 'answered'])
})
