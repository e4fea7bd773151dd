import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { EndSource, asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'

test('the end calls each listener once, in their order, and no later one', () => {
  const source = new EndSource()
  const called: string[] = []
  for (const name of ['a', 'b'])
    source.addEventListener('abort', () => called.push(`${name} ${source.aborted}`))
  expect(source.aborted).toBe(false)
  source.end()
  source.end()
  source.addEventListener('abort', () => called.push('late'))
  expect(called).toEqual(['a true', 'b true'])
})

test('a listener that was removed is not called', () => {
  const source = new EndSource()
  let calls = 0
  const listener = (): void => void (calls += 1)
  source.addEventListener('abort', listener)
  source.removeEventListener('abort', listener)
  source.end()
  expect(calls).toBe(0)
})

test('a listener that throws stops no other, and the process learns of it', async () => {
  const module = new URL('../../../../src/runtime/concurrency/end-signal.ts', import.meta.url)
  const worker = new Worker(
    `import { parentPort } from 'node:worker_threads'
     import { EndSource } from '${module.href}'
     const source = new EndSource()
     source.addEventListener('abort', () => { throw new Error('of a listener') })
     source.addEventListener('abort', () => parentPort.postMessage('called'))
     source.end()`,
    { eval: true },
  )
  const called: unknown[] = []
  worker.on('message', (name) => called.push(name))
  const [error] = (await once(worker, 'error')) as [Error]
  expect({ called, says: error.message }).toEqual({ called: ['called'], says: 'of a listener' })
})

test('an AbortSignal follows the source, from before its end and after it', () => {
  const source = new EndSource()
  const before = asAbortSignal(source)
  expect(before.aborted).toBe(false)
  source.end()
  expect(before.aborted).toBe(true)
  expect(asAbortSignal(source).reason).toBe('the request is over')
})

test('an AbortSignal stands for itself', () => {
  const { signal } = new AbortController()
  expect(asAbortSignal(signal)).toBe(signal)
})
