import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'

const LOG = new URL('../../../src/runtime/log.ts', import.meta.url).href

/** Runs statements with a `log` in a new process; gives its parsed lines. */
function logged(level: string, statements: string): readonly Record<string, unknown>[] {
  const program = `import { createLogger } from '${LOG}'; const log = createLogger('${level}'); ${statements}`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  const lines = output.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('log lines (contract 8.5)', () => {
  test('have a sentence, fields, a level by name and an RFC 3339 time', () => {
    const [line] = logged('info', `log.info({ controller: 'config', tookMs: 3 }, 'reconciled')`)
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      controller: 'config',
      tookMs: 3,
      msg: 'reconciled',
    })
  })

  test('are omitted below the level', () => {
    const each = `for (const level of ['debug', 'info', 'warn', 'error']) log[level]({}, level)`
    expect(logged('debug', each).map(({ msg }) => msg)).toEqual(['debug', 'info', 'warn', 'error'])
    expect(logged('warn', each).map(({ msg }) => msg)).toEqual(['warn', 'error'])
  })

  test('of a child have its fields', () => {
    const lines = logged(
      'info',
      `const child = log.child({ reconcileId: 'r1' }); child.warn({ n: 1 }, 'a'); child.child({ n: 2 }).info({}, 'b')`,
    )
    expect(lines).toMatchObject([
      { reconcileId: 'r1', n: 1 },
      { reconcileId: 'r1', n: 2 },
    ])
  })

  test('are written in order before an immediate exit', () => {
    const many = `for (let n = 0; n < 5000; n += 1) log.info({ n }, 'line'); process.exit(0)`
    expect(logged('info', many).map(({ n }) => n)).toEqual(
      Array.from({ length: 5000 }, (_, n) => n),
    )
  })
})

describe('a log line holds no secret (contract 3.5)', () => {
  test('an object is reduced to its reference at any depth', () => {
    const secret = `{ name: 'ci', uid: 'u', resourceVersion: '7', key: 'HUNTER2', spec: { key: 'HUNTER2' }, namespace: { x: 'HUNTER2' } }`
    const [line, other] = logged(
      'info',
      `const o = ${secret}; log.info({ object: o, list: ['a', o], whole: { object: o } }, 's'); log.child({ object: o }).info({}, 's')`,
    )
    const reference = { name: 'ci', uid: 'u', resourceVersion: '7' }
    expect(line).toMatchObject({ object: reference, list: ['a', reference], whole: {} })
    expect(JSON.stringify([line, other])).not.toContain('HUNTER2')
    expect(other).toMatchObject({ object: reference })
  })

  test('an error shows name, message, code, stack and causes, and no other property', () => {
    const [line] = logged(
      'info',
      `
      const cause = Object.assign(new TypeError('refused'), { code: 'ECONNREFUSED', body: 'HUNTER2', headers: { authorization: 'HUNTER2' } })
      log.error({ err: Object.assign(new Error('call failed', { cause }), { code: 409, response: { body: 'HUNTER2' } }) }, 's')`,
    )
    expect(line).toMatchObject({
      level: 'error',
      err: {
        name: 'Error',
        message: 'call failed',
        stack: expect.stringContaining('call failed'),
        cause: { name: 'TypeError', message: 'refused', code: 'ECONNREFUSED' },
      },
    })
    expect(line?.['err']).not.toHaveProperty('code')
    expect(JSON.stringify(line)).not.toContain('HUNTER2')
  })

  test('an error of a failed system call has no stack: its message names the call', () => {
    const [line] = logged(
      'info',
      `
      try { process.chdir('/nonexistent') }
      catch (cause) { log.error({ err: new Error('the folder is unreadable', { cause }) }, 's') }`,
    )
    expect(line?.['err']).toEqual({
      name: 'Error',
      message: 'the folder is unreadable',
      cause: {
        name: 'Error',
        message: expect.stringContaining('ENOENT: no such file or directory, chdir'),
        code: 'ENOENT',
      },
    })
  })

  test.each([
    { name: 'a string', thrown: `'HUNTER2'`, type: 'string' },
    { name: 'an object', thrown: `{ body: 'HUNTER2' }`, type: 'object' },
    { name: 'undefined', thrown: 'undefined', type: 'undefined' },
  ])('a thrown value that is not an error shows only its type: $name', ({ thrown, type }) => {
    const [line] = logged('info', `log.error({ err: ${thrown} }, 's')`)
    expect(line).toMatchObject({ err: { name: type } })
    expect(JSON.stringify(line)).not.toContain('HUNTER2')
  })

  test('an error in another field is shown the same way', () => {
    const [line] = logged(
      'info',
      `log.error({ error: Object.assign(new Error('m'), { body: 'HUNTER2' }) }, 's')`,
    )
    expect(line).toMatchObject({ error: { name: 'Error', message: 'm' } })
    expect(JSON.stringify(line)).not.toContain('HUNTER2')
  })

  test('circular causes end', () => {
    const [line] = logged(
      'info',
      `const a = new Error('a'); a.cause = a; log.error({ err: a }, 's')`,
    )
    expect(line).toMatchObject({ err: { cause: { cause: { message: 'a' } } } })
  })
})
