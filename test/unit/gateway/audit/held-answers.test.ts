import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { BodyCopy } from '../../../../src/gateway/audit/body-copy.ts'
import { HeldEndBody, copyWhileRead } from '../../../../src/gateway/audit/copied-bodies.ts'
import { CopyBudget } from '../../../../src/gateway/audit/copy-budget.ts'
import { readBody } from '../../../../src/serving/http/answer.ts'
import { served } from '../listening-server.ts'

const GET = 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
const NONE = Buffer.alloc(0)

const newCopy = (): BodyCopy => new BodyCopy(100, new CopyBudget(100))

/** What a client gets of `abcdef`, whose record is written by `write`. */
async function answered(contentLength: number | null, write: () => Promise<void>) {
  const { say } = await served(async () => {
    const copy = newCopy()
    const source = Readable.from([Buffer.from('abc'), Buffer.from('def')])
    const body = new HeldEndBody(source, { copy, contentLength, beforeEnd: write })
    const headers = contentLength === null ? {} : { 'content-length': String(contentLength) }
    return { status: 200, headers, body }
  })
  const text = await say(GET)
  return text.slice(text.indexOf('\r\n\r\n') + 4)
}

describe('a client', () => {
  test.each([
    {
      name: 'in chunks',
      contentLength: null,
      whole: /^3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n$|^6\r\nabcdef\r\n0\r\n\r\n$/,
    },
    { name: 'with a length', contentLength: 6, whole: /^abcdef$/ },
  ])(
    'gets a whole answer when its record is written: $name (22.2)',
    async ({ contentLength, whole }) => {
      expect(await answered(contentLength, async () => undefined)).toMatch(whole)
    },
  )

  test.each([
    {
      name: 'in chunks',
      contentLength: null,
      cut: /^(?:(?:3\r\n(?:abc|def)|6\r\nabcdef)\r\n){1,2}$/,
    },
    { name: 'with a length', contentLength: 6, cut: /^abcd?e?$/ },
  ])(
    'sees that an answer is cut when writing fails: $name (22.2)',
    async ({ contentLength, cut }) => {
      const text = await answered(contentLength, () => Promise.reject(new Error('disk full')))
      // No last chunk, and less than the length.
      expect(text).toMatch(cut)
    },
  )

  test('that waits for 100 Continue is asked for its body only by its reader (21.4)', async () => {
    const copy = newCopy()
    const { say } = await served(async ({ body }) => {
      copyWhileRead(body, copy)
      const bytes = await readBody(body)
      return { status: 200, headers: {}, body: bytes ?? NONE }
    })
    const head = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\nconnection: close\r\n'
    const text = await say(`${head}expect: 100-continue\r\n\r\nabc`)
    expect(text).toMatch(/^HTTP\/1.1 100 Continue\r\n.*\r\n\r\nabc$/s)
    expect(copy.body).toEqual({ bytes: Buffer.from('abc') })
  })

  test('that waits for 100 Continue is not asked by the copy (21.4)', async () => {
    const copy = newCopy()
    const { say } = await served(async ({ body }) => {
      copyWhileRead(body, copy)
      return { status: 403, headers: {}, body: NONE }
    })
    const head = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n'
    const text = await say(`${head}expect: 100-continue\r\n\r\n`)
    expect(text).not.toContain('100 Continue')
    expect(copy.body).toEqual({ omitted: 'unread' })
  })
})
