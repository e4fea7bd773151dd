// A setup file of vitest, in use where ASSERTIONS names a file: each test appends a line with how many calls
// of `expect` it made. Tests that run concurrently share one state of `expect`, so each call is counted for the
// test in whose asynchronous context it is made.
import { AsyncLocalStorage } from 'node:async_hooks'
import { appendFileSync } from 'node:fs'
import { afterAll, aroundEach, expect } from 'vitest'
import type { TestLine } from './by-rule.ts'

const file = process.env['ASSERTIONS']

// The first of all hooks, so that it is around all others.
if (file !== undefined) {
  const ofTest = new AsyncLocalStorage<{ expects: number }>()
  const stopCounting = onEachCall(() => {
    const own = ofTest.getStore()
    if (own !== undefined) own.expects += 1
  })
  // Files share a worker: each would count on top of all before it.
  afterAll(stopCounting)
  aroundEach(async (runTest, { task }) => {
    const own = { expects: 0 }
    await ofTest.run(own, runTest)
    const retry = task.result?.retryCount ?? 0
    const line: TestLine = { test: task.fullName, expects: own.expects, retry }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  })
}

/** Calls back for each call of `expect`, which sets its counter one higher: nothing else tells of a call. @returns stops that */
function onEachCall(called: () => void): () => void {
  const states = (globalThis as Record<symbol, unknown>)[Symbol.for('matchers-object')] as WeakMap<
    object,
    ReturnType<typeof expect.getState>
  >
  const own = expect.getState()
  const watched = new Proxy(own, {
    defineProperty(state, name, descriptor) {
      if (name === 'assertionCalls' && descriptor.value === state.assertionCalls + 1) called()
      return Reflect.defineProperty(state, name, descriptor)
    },
  })
  states.set(expect, watched)
  return () => void states.set(expect, own)
}
