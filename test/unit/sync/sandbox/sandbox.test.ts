import { afterAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { checkExpression } from '../../../../src/sync/patches/expression.ts'
import { type EvaluationResult, OVERRUN } from '../../../../src/sync/sandbox/protocol.ts'
import { createSandbox } from '../../../../src/sync/sandbox/sandbox.ts'
import { eventually } from '../../../support/eventually.ts'
import { createPatientSandbox } from '../../../support/patient-sandbox.ts'
import { repeated, sampled } from '../../../support/tier.ts'
import { HOSTILE } from '../hostile-expressions.ts'

const sandbox = createSandbox(systemClock())
const patient = createPatientSandbox()
afterAll(() => Promise.all([sandbox.close(), patient.close()]))

const place = { virtualCluster: 'vc', hostNamespace: 'host', namespaces: null }
const requestFor = (source: string, value: unknown = 'v', context: unknown = {}) => ({
  source,
  value: JSON.stringify(value),
  context: JSON.stringify(context),
  path: 'data.a',
  place,
  object: 'a',
})
/** The result within the bounds of 19.4. */
const bounded = (...of: Parameters<typeof requestFor>): Promise<EvaluationResult> =>
  sandbox.evaluate(requestFor(...of))
/** The result within these bounds, tried again where a busy machine had no time for it. */
const atLast = (...of: Parameters<typeof requestFor>): Promise<EvaluationResult> =>
  eventually(
    `there is time for ${of[0]}`,
    async () => {
      const result = await bounded(...of)
      return result.kind === 'failed' && result.isTransient ? undefined : result
    },
    { withinMs: 30_000 },
  )
/** The result of an expression that is not to overrun. */
const evaluate = (...of: Parameters<typeof requestFor>): Promise<EvaluationResult> =>
  patient.evaluate(requestFor(...of))

const value = (json: unknown): EvaluationResult => ({ kind: 'value', json: JSON.stringify(json) })

describe('what an expression gives (19.3, 19.4)', () => {
  test.each<{ source: string; value?: unknown; result: EvaluationResult }>([
    { source: 'value', result: value('v') },
    {
      source: 'value',
      value: { b: [1, null, 'x'], a: true },
      result: value({ b: [1, null, 'x'], a: true }),
    },
    { source: '"constant"', result: value('constant') },
    { source: 'undefined', result: { kind: 'remove' } },
    { source: 'null', result: { kind: 'remove' } },
    { source: 'value ? undefined : 1', result: { kind: 'remove' } },
    { source: '{ a: 1, b: undefined, c: [null] }', result: value({ a: 1, c: [null] }) },
    { source: '-0', result: value(0) },
    { source: '1e21', result: value(1e21) },
    { source: 'Object.create(null)', result: value({}) },
    { source: 'valueExists', result: value(true) },
    { source: 'context.a?.b ?? "none"', result: value('none') },
    { source: 'context.path', result: value('data.a') },
    { source: 'Object.keys(context)', result: value(['path']) },
    { source: 'value.toUpperCase() // loud', result: value('V') },
    { source: 'value = 2, value + 1', result: value(3) },
    { source: '(() => { const a = []; a.push(value); return a })()', result: value(['v']) },
    { source: 'btoa("äö😀")', result: value('w6TDtvCfmIA=') },
    { source: 'atob("w6TDtvCfmIA=")', result: value('äö😀') },
    { source: 'atob(btoa(value))', result: value('v') },
    {
      source: 'virtualToHostDNS("web.shop.svc")',
      result: value('web-x-shop-x-vc.host.svc.cluster.local'),
    },
    {
      source: '[Date.now(), new Date().toISOString()]',
      result: value([0, '1970-01-01T00:00:00.000Z']),
    },
    {
      source: 'new Date(2020, 0, 31).toString()',
      result: value('Fri Jan 31 2020 00:00:00 GMT+0000'),
    },
    { source: '"\\ud800"', result: value('\ud800') },
    { source: '{ ["__proto__"]: 1 }', result: { kind: 'value', json: '{"__proto__":1}' } },
    { source: '(Array.prototype.push = () => 1, [1])', result: value([1]) },
    { source: '((Object.prototype.toJSON = () => "x"), { a: "y" })', result: value({ a: 'y' }) },
    { source: '((String.prototype.toJSON = () => "x"), "y")', result: value('y') },
  ])('$source', async ({ source, value: given = 'v', result }) => {
    expect(checkExpression(source).ok).toBe(true)
    expect(await evaluate(source, given)).toEqual(result)
  })

  test.each([
    { source: 'a.b', because: 'ReferenceError', detail: "'a' is not defined" },
    { source: '(() => { throw new TypeError(value) })()', because: 'TypeError', detail: 'v' },
    { source: '(() => { throw value })()', because: 'it threw a value', detail: 'v' },
    {
      source: '(() => { throw Object.assign(new Error("m"), { name: value }) })()',
      because: 'it threw an error',
      detail: 'm',
    },
    { source: 'atob("***")', because: 'TypeError', detail: 'atob takes base64' },
    { source: 'atob("/w==")', because: 'TypeError', detail: 'atob: the data is not UTF-8 text' },
    { source: 'btoa(1)', because: 'TypeError', detail: 'btoa takes a string' },
    { source: 'virtualToHostDNS(value)', because: 'Error', detail: /takes <name>/ },
    { source: 'NaN', because: 'the result holds NaN, which is not a JSON value', detail: '' },
    { source: '[undefined]', because: 'the result holds undefined in a list', detail: '' },
    { source: '"x".repeat(2 ** 29)', because: 'it needs more than 32 MiB of memory', detail: '' },
    { source: '"x".repeat(2 ** 20)', because: 'the result is larger than 1 MiB', detail: '' },
  ])('$source fails: $because', async ({ source, because, detail }) => {
    expect(await evaluate(source)).toMatchObject({
      kind: 'failed',
      because,
      detail: expect.stringMatching(detail) as string,
    })
  })

  test('an expression without an end fails: it took longer than 100 ms', async () => {
    expect(await bounded('(() => { for (;;); })()')).toEqual(OVERRUN)
    expect(OVERRUN.because).toBe('it took longer than 100 ms')
  })

  test('an expression leaves nothing behind for the next one', async () => {
    await evaluate('((globalThis.left = 1), (Object.prototype.left = 1), (atob = () => "x"), 1)')
    expect(await evaluate('[typeof left, typeof {}.left, atob("YQ==")]')).toEqual(
      value(['undefined', 'undefined', 'a']),
    )
  })
})

describe('hostile expressions (19.3, 19.4, E10)', () => {
  const MESSAGES = {
    time: /longer than 100 ms/,
    memory: /32 MiB/,
    'time or memory': /longer than 100 ms|32 MiB|InternalError|RangeError/,
    'time or result': /longer than 100 ms|^the result /,
    error: /Error|threw|failed/,
    result: /^the result /,
  }

  test.each(sampled(HOSTILE, 6))('$source is stopped by: $ends', async ({ source, ends }) => {
    expect(checkExpression(source).ok).toBe(true)
    // The worker is there: its start is not measured.
    await atLast('value')
    let turns = 0
    const counting = setInterval(() => (turns += 1), 10)
    const idle = performance.now()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const idleMs = performance.now() - idle
    const startedTurns = turns
    const started = performance.now()
    const result = await bounded(source)
    const tookMs = performance.now() - started
    const turned = turns - startedTurns
    clearInterval(counting)
    // One that does not overrun by itself may do so on a busy machine.
    const isPatient = !ends.includes('time')
    expect(isPatient ? await evaluate(source) : result).toMatchObject({
      kind: 'failed',
      because: expect.stringMatching(MESSAGES[ends]) as string,
    })
    // The bound is as long as the timer of this thread was.
    expect(tookMs / idleMs).toBeLessThan(3)
    // The event loop went on meanwhile.
    expect(turned).toBeGreaterThanOrEqual(Math.floor(tookMs / 100))
    expect(await atLast('value + 1', 1)).toEqual(value(2))
  })

  test('the memory of the process stays bounded', async () => {
    const before = process.memoryUsage().rss
    for (let round = 0; round < repeated(14, 20); round += 1)
      await bounded('(() => { const a = []; for (;;) a.push("x".repeat(1000)) })()')
    const grownMiB = (process.memoryUsage().rss - before) / 1024 / 1024
    expect(grownMiB).toBeLessThan(200)
    expect(await atLast('value')).toEqual(value('v'))
  })
})

describe('the sandbox', () => {
  test('answers with a failure once it is closed', async () => {
    const closing = createSandbox(systemClock())
    const request = { source: '1', value: '1', context: '{}', path: 'data.a', place, object: 'a' }
    const waiting = closing.evaluate(request)
    await closing.close()
    expect(await waiting).toMatchObject({
      kind: 'failed',
      because: 'the process ends',
      isTransient: true,
    })
    expect(await closing.evaluate(request)).toMatchObject({
      kind: 'failed',
      because: 'the process ends',
      isTransient: true,
    })
  })
})
