import { once } from 'node:events'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CopiedBody } from '../../../../src/domain/audit/bodies/parsed-body.ts'
import { BodyCopy } from '../../../../src/gateway/audit/body-copy.ts'
import { HeldEndBody, copyOf, copyWhileRead } from '../../../../src/gateway/audit/copied-bodies.ts'
import { CopyBudget } from '../../../../src/gateway/audit/copy-budget.ts'
import { BodyCut, readBody } from '../../../../src/serving/http/answer.ts'
import { eventuallyPasses } from '../../../support/eventually.ts'

/** Waits until the expectation holds. */
const becomes = (holds: () => void): Promise<void> =>
  eventuallyPasses('the expectation', holds, { withinMs: 5000 })

const newCopy = (limit = 1024 ** 2): BodyCopy => new BodyCopy(limit, new CopyBudget(1024 ** 2))

/** Serves one POST by `serve`. @returns its port */
async function serving(serve: (message: IncomingMessage) => Promise<void>): Promise<number> {
  const server = createServer((message, response) => {
    void serve(message).finally(() => response.end())
  })
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Sends the pieces in turn, and ends unless `isCut`. */
async function post(port: number, pieces: readonly string[], isCut = false): Promise<void> {
  const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false })
  sent.on('error', () => undefined)
  const closed = new Promise((resolve) => void sent.once('close', resolve))
  sent.on('response', (response) => response.resume())
  for (const piece of pieces) {
    sent.write(piece)
    await nextTurn()
  }
  if (isCut) sent.destroy()
  else sent.end()
  await closed
}

const READERS: readonly { name: string; read: (body: Readable) => Promise<string> }[] = [
  { name: 'a loop', read: async (body) => String(await readBody(body)) },
  {
    name: 'a pipe',
    read: async (body) => String(await readBody(body.pipe(new PassThrough()))),
  },
  {
    name: 'a listener that pauses',
    read: async (body) => {
      let text = ''
      body.on('data', (piece: Buffer) => {
        text += piece.toString()
        body.pause()
        setImmediate(() => body.resume())
      })
      await once(body, 'end')
      return text
    },
  },
]

describe('the body of a request', () => {
  test.each(READERS)('is copied while $name reads it (21.4)', async ({ read }) => {
    const copy = newCopy()
    let text = ''
    const port = await serving(async (message) => {
      // What has arrived before is copied too.
      await nextTurn()
      copyWhileRead(message, copy)
      text = await read(message)
    })
    const pieces = Array.from({ length: 30 }, (_, at) => `${at}`.repeat(3000))
    await post(port, pieces)
    expect(text).toBe(pieces.join(''))
    expect(copy.body).toEqual({ bytes: Buffer.from(pieces.join('')) })
  })

  test('is not read by being copied (21.4)', async () => {
    const copy = newCopy()
    let wasRead = true
    let atEnd: CopiedBody | null = null
    const port = await serving(async (message) => {
      copyWhileRead(message, copy)
      await nextTurn()
      await nextTurn()
      wasRead = message.readableDidRead || message.readableFlowing !== null
      atEnd = copy.body
      copy.release()
    })
    await post(port, ['a'])
    expect(wasRead).toBe(false)
    expect(atEnd).toEqual({ omitted: 'unread' })
    // Node reads the rest when it has answered.
    expect(copy.body).toEqual({ omitted: 'incomplete' })
  })

  test('is read no faster than its reader takes it (21.4)', async () => {
    const source = Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(10_000)))
    const copy = newCopy()
    copyWhileRead(source, copy)
    source.read()
    await nextTurn()
    expect(copy.body).toEqual({ omitted: 'incomplete' })
    expect(source.readableEnded).toBe(false)
    source.resume()
    await once(source, 'end')
    expect(copy.body).toEqual({ bytes: Buffer.alloc(1_000_000) })
  })

  test('that a client breaks off is incomplete, and its memory is given back (21.4)', async () => {
    const budget = new CopyBudget(1024 ** 2)
    const copy = new BodyCopy(1024 ** 2, budget)
    const failed = Promise.withResolvers<unknown>()
    const port = await serving(async (message) => {
      copyWhileRead(message, copy)
      failed.resolve(await readBody(message).catch((error: unknown) => error))
    })
    await post(port, ['a'.repeat(1000), 'b'], true)
    expect(await failed.promise).toBeInstanceOf(Error)
    expect(copy.body).toEqual({ omitted: 'incomplete' })
    expect(budget.held).toBe(0)
  })
})

test('a body that is held is cut at once, whatever its client has read (13.4)', async () => {
  const source = new PassThrough()
  const { body, calls } = held({ source })
  source.write('x'.repeat(1000))
  await nextTurn()
  source.destroy(new BodyCut('its key has ended'))
  await once(body, 'error')
  expect({ isDestroyed: body.destroyed, calls }).toEqual({ isDestroyed: true, calls: [false] })
})

/** A body whose end is held until `write` is settled, and what its reader got. */
function held({ contentLength = null as number | null, source = new PassThrough() as Readable }) {
  const write = Promise.withResolvers<void>()
  const calls: boolean[] = []
  const copy = newCopy()
  const body = new HeldEndBody(source, {
    copy,
    contentLength,
    beforeEnd: (isWhole) => {
      calls.push(isWhole)
      return write.promise
    },
  })
  const seen = { text: '', isEnded: false, error: null as Error | null }
  const read = (): void => {
    body.on('data', (piece: Buffer) => (seen.text += piece.toString()))
    body.once('end', () => (seen.isEnded = true))
    body.once('error', (error) => (seen.error = error))
  }
  return { write, calls, copy, body, seen, read, source: source as PassThrough }
}

describe('the body of an answer', () => {
  test.each([
    { name: 'in chunks', contentLength: null, before: 'abcdef' },
    { name: 'with a length, whose last byte waits', contentLength: 6, before: 'abcde' },
  ])('ends when its record is written: $name (22.2)', async ({ contentLength, before }) => {
    const { write, calls, copy, seen, read, source } = held({ contentLength })
    read()
    source.write('abc')
    await becomes(() => expect(seen.text).toBe('abc'))
    source.end('def')
    await becomes(() => expect(calls).toEqual([true]))
    await nextTurn()
    expect(seen).toEqual({ text: before, isEnded: false, error: null })
    expect(copy.body).toEqual({ bytes: Buffer.from('abcdef') })
    write.resolve()
    await becomes(() => expect(seen.isEnded).toBe(true))
    expect(seen).toEqual({ text: 'abcdef', isEnded: true, error: null })
  })

  test.each([null, 6])(
    'is cut without its end when writing fails: length %s (22.2)',
    async (contentLength) => {
      const { write, seen, read, source, body } = held({ contentLength })
      read()
      source.end('abcdef')
      write.reject(new Error('disk full'))
      await becomes(() => expect(seen.error).toEqual(new Error('disk full')))
      expect(seen.isEnded).toBe(false)
      expect(seen.text).toBe(contentLength === null ? 'abcdef' : 'abcde')
      expect(body.destroyed).toBe(true)
    },
  )

  test.each([
    { name: 'one byte', bytes: 'a', contentLength: 1 },
    { name: 'none', bytes: '', contentLength: 0 },
    { name: 'more than its length', bytes: 'abcdef', contentLength: 3 },
    { name: 'less than its length', bytes: 'abc', contentLength: 9 },
  ])(
    'passes in order, whatever its length says: $name (22.2)',
    async ({ bytes, contentLength }) => {
      const { write, seen, read, source } = held({ contentLength })
      read()
      for (const byte of bytes) source.write(byte)
      source.end()
      write.resolve()
      await becomes(() => expect(seen.isEnded).toBe(true))
      expect(seen.text).toBe(bytes)
    },
  )

  test.each([null, 9])(
    'that fails gives what arrived before, and is recorded: length %s (13.3)',
    async (contentLength) => {
      const { calls, copy, seen, read, source } = held({ contentLength })
      source.write('abc')
      source.destroy(new Error('lost'))
      read()
      await becomes(() => expect(seen.error).toEqual(new Error('lost')))
      expect(seen.text).toBe('abc')
      expect(calls).toEqual([false])
      expect(copy.body).toEqual({ omitted: 'incomplete' })
    },
  )

  test('that fails while its client does not read gives what arrived before (13.3)', async () => {
    const { seen, read, source } = held({})
    source.write('a'.repeat(100_000))
    await becomes(() => expect(source.isPaused()).toBe(true))
    source.write('the rest')
    source.destroy(new Error('lost'))
    await becomes(() => expect(source.closed).toBe(true))
    read()
    await becomes(() => expect(seen.error).toEqual(new Error('lost')))
    expect(seen.text).toBe(`${'a'.repeat(100_000)}the rest`)
  })

  test('that failed before it was passed on is recorded (22.2)', async () => {
    const source = new PassThrough()
    source.on('error', () => undefined)
    source.destroy(new Error('lost'))
    await nextTurn()
    expect(source.closed).toBe(true)
    const { calls, seen, read } = held({ source })
    read()
    await becomes(() => expect(seen.error).toEqual(new Error('lost')))
    expect(calls).toEqual([false])
  })

  test('whose reader leaves ends its source, and is recorded once (22.2)', async () => {
    const { calls, copy, source, body, write, seen, read } = held({})
    read()
    source.write('abc')
    await becomes(() => expect(seen.text).toBe('abc'))
    body.destroy()
    await becomes(() => expect(source.destroyed).toBe(true))
    write.reject(new Error('disk full'))
    await nextTurn()
    expect(calls).toEqual([false])
    expect(copy.body).toEqual({ omitted: 'incomplete' })
  })

  test('whose reader leaves while its end is held is recorded once, as whole (22.2)', async () => {
    const { calls, source, body, write, seen, read } = held({})
    read()
    source.end('abc')
    await becomes(() => expect(calls).toEqual([true]))
    body.destroy()
    write.resolve()
    await nextTurn()
    expect(calls).toEqual([true])
    expect(seen).toEqual({ text: 'abc', isEnded: false, error: null })
  })

  test('is read no faster than its client reads (13.3)', async () => {
    let produced = 0
    const source = new Readable({
      read() {
        produced += 1
        this.push(produced > 1000 ? null : Buffer.alloc(10_000))
      },
    })
    const { body, write, copy } = held({ source })
    for (let round = 0; round < 50; round += 1) await nextTurn()
    expect(produced).toBeLessThan(30)
    write.resolve()
    body.resume()
    await once(body, 'end')
    expect(produced).toBe(1001)
    expect(copy.body).toEqual({ omitted: 'size' })
  })
})

test('a body in memory is its own copy, up to the limit (21.4)', () => {
  const bytes = Buffer.from('abc')
  expect(copyOf(bytes, 3)).toEqual({ bytes })
  expect(copyOf(bytes, 2)).toEqual({ omitted: 'size' })
})
