import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { type Lifecycle, startLifecycle } from '../../../src/runtime/lifecycle.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { type LoggedLine, memoryLog } from '../../support/memory-log.ts'

interface LifecycleRun {
  readonly lifecycle: Lifecycle
  readonly clock: ManualClock
  readonly lines: readonly LoggedLine[]
  readonly signals: EventEmitter
  readonly exits: readonly number[]
}

function startedLifecycle(): LifecycleRun {
  const exits: number[] = []
  const signals = new EventEmitter()
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const process = Object.assign(signals, { exit: (code: number) => exits.push(code) })
  return { lifecycle: startLifecycle(process, clock, log), clock, lines, signals, exits }
}

const never = (): Promise<void> => new Promise(() => {})

describe('an orderly stop (contract 8.3)', () => {
  test.each(['SIGTERM', 'SIGINT'])('%s runs the steps, the last added first', async (signal) => {
    const { lifecycle, signals, exits } = startedLifecycle()
    const ran: string[] = []
    for (const step of ['servers', 'lease', 'controllers'])
      lifecycle.onStop(step, 1000, async () => void ran.push(step))
    expect(lifecycle.stopping.aborted).toBe(false)
    signals.emit(signal)
    expect(lifecycle.stopping.aborted).toBe(true)
    expect(await lifecycle.finished).toBe(0)
    expect(ran).toEqual(['controllers', 'lease', 'servers'])
    expect(exits).toEqual([])
  })

  test('a step waits for the previous one', async () => {
    const { lifecycle, clock } = startedLifecycle()
    const inFlight = Promise.withResolvers<void>()
    const ran: string[] = []
    lifecycle.onStop('lease', 1000, async () => void ran.push('lease'))
    lifecycle.onStop('controllers', 1000, () => inFlight.promise)
    lifecycle.stop('test', 0)
    await clock.advance(999)
    expect(ran).toEqual([])
    inFlight.resolve()
    await lifecycle.finished
    expect(ran).toEqual(['lease'])
  })

  test.each([
    { name: 'takes too long', run: never, level: 'warn' },
    { name: 'fails', run: () => Promise.reject(new Error('x')), level: 'error' },
    {
      name: 'throws',
      run: () => {
        throw new Error('x')
      },
      level: 'error',
    },
  ])('a step that $name does not block the others', async ({ run, level }) => {
    const { lifecycle, clock, lines } = startedLifecycle()
    const ran: string[] = []
    lifecycle.onStop('lease', 1000, async () => void ran.push('lease'))
    lifecycle.onStop('controllers', 1000, run)
    lifecycle.stop('test', 0)
    await clock.advance(1000)
    expect(await lifecycle.finished).toBe(0)
    expect(ran).toEqual(['lease'])
    expect(lines).toContainEqual(
      expect.objectContaining({ level, fields: expect.objectContaining({ step: 'controllers' }) }),
    )
  })

  test('all steps together have 30 s', async () => {
    const { lifecycle, clock } = startedLifecycle()
    for (const step of ['a', 'b', 'c']) lifecycle.onStop(step, 20_000, never)
    let code: number | null = null
    void lifecycle.finished.then((exitCode) => {
      code = exitCode
    })
    lifecycle.stop('test', 0)
    await clock.advance(29_999)
    expect(code).toBeNull()
    await clock.advance(1)
    expect(code).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  test('a step added during the shutdown runs too', async () => {
    const { lifecycle } = startedLifecycle()
    const ran: string[] = []
    lifecycle.onStop('controllers', 1000, async () => {
      lifecycle.onStop('late', 1000, async () => void ran.push('late'))
    })
    lifecycle.stop('test', 0)
    await lifecycle.finished
    expect(ran).toEqual(['late'])
  })

  test('the first reason to stop gives the exit code', async () => {
    const { lifecycle, lines } = startedLifecycle()
    lifecycle.stop('lost the lease', 1)
    lifecycle.stop('again', 0)
    expect(await lifecycle.finished).toBe(1)
    expect(lines[0]).toEqual({
      level: 'info',
      fields: { because: 'lost the lease' },
      sentence: 'stopping',
    })
  })
})

describe('an immediate exit', () => {
  test('follows a second signal', () => {
    const { lifecycle, signals, exits } = startedLifecycle()
    lifecycle.onStop('controllers', 1000, never)
    signals.emit('SIGTERM')
    expect(exits).toEqual([])
    signals.emit('SIGINT')
    expect(exits).toEqual([1])
  })
})

const MODULES = new URL('../../../src/runtime/', import.meta.url).href
const PROGRAM = `
  import { systemClock } from '${MODULES}clock.ts'
  import { startLifecycle } from '${MODULES}lifecycle.ts'
  import { createLogger } from '${MODULES}log.ts'
  const log = createLogger('info')
  const lifecycle = startLifecycle(process, systemClock(), log)
  const busy = setInterval(() => {}, 1000)
`

/** Runs the program; calls `onReady` when it prints that it is ready. */
async function exitOf(
  rest: string,
  onReady: (
    kill: (signal: NodeJS.Signals) => void,
    said: (text: string) => Promise<void>,
  ) => Promise<void>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM + rest])
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const said = async (text: string): Promise<void> => {
    while (!output.includes(text)) await once(child.stdout, 'data')
  }
  const closed = once(child, 'close')
  await onReady((signal) => child.kill(signal), said)
  const [code] = (await closed) as [number | null]
  return { code, output }
}

describe('a real process', () => {
  test('SIGTERM ends it with 0 after its steps', async () => {
    const stopped = await exitOf(
      `lifecycle.onStop('flush', 5000, async () => { log.info({}, 'flushed') }); log.info({}, 'ready'); process.exit(await lifecycle.finished)`,
      async (kill, said) => {
        await said('ready')
        kill('SIGTERM')
      },
    )
    expect(stopped.output).toMatch(/"stopping"[^]*"flushed"[^]*"stopped"/)
    expect(stopped.code).toBe(0)
  })

  test('a second signal ends it with 1 while a step hangs', async () => {
    const stopped = await exitOf(
      `lifecycle.onStop('hang', 25000, () => { log.info({}, 'hanging'); return new Promise(() => {}) }); log.info({}, 'ready'); process.exit(await lifecycle.finished)`,
      async (kill, said) => {
        await said('ready')
        kill('SIGTERM')
        await said('hanging')
        kill('SIGTERM')
      },
    )
    expect(stopped.code).toBe(1)
  })

  test.each([
    { event: 'unhandledRejection', rest: `Promise.reject(new Error('no handler'))` },
    { event: 'uncaughtException', rest: `setImmediate(() => { throw new Error('no handler') })` },
  ])('an $event is logged and ends it with 1', async ({ event, rest }) => {
    const stopped = await exitOf(rest, async () => {})
    expect(stopped.code).toBe(1)
    expect(JSON.parse(stopped.output)).toMatchObject({
      level: 'error',
      event,
      err: { message: 'no handler' },
    })
  })
})
