// A setup file of vitest, in use where ASSERTIONS names a file: each test appends a line with how many calls
// of `expect` it made. Tests that run concurrently in one file share one counter: their lines are estimates.
import { appendFileSync } from 'node:fs'
import { afterEach, expect } from 'vitest'
import type { TestLine } from './by-rule.ts'

const file = process.env['ASSERTIONS']

// The first of all hooks, so that it runs after all others.
if (file !== undefined) {
  afterEach(({ task }) => {
    const { assertionCalls: expects } = expect.getState()
    const line: TestLine = { test: task.fullName, expects, retry: task.result?.retryCount ?? 0 }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  })
}
