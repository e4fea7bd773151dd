// Answers with random mistakes, read by our own code and by undici: what we take for complete, undici takes for the same
// (contract 13.1). We refuse more, never less.
import { Pool } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { AnswerParser } from '../../../../../src/kube/proxy/reads/answer-parser.ts'
import { type Random, randomFrom } from '../../../../support/random.ts'
import { repeated } from '../../../../support/tier.ts'
import { startByteServer } from './byte-server.ts'

const OK = 'HTTP/1.1 200 OK\r\n'
const SEEDS = [
  `${OK}Content-Type: application/json\r\nContent-Length: 5\r\n\r\nhello`,
  `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n`,
  `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: x\r\n\r\n`,
  'HTTP/1.1 404 Not Found\r\nWarning: a\r\nWarning: b\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 204 No Content\r\nEtag: "x"\r\n\r\n',
]
const PIECES = [
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '0',
  '1',
  'a',
  '\0',
  '\x80',
  'Content-Length: 1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'HTTP/1.1 200 OK\r\n',
  'Connection: close\r\n',
]

/** One of the seeds with some mistakes. */
function mistaken({ pick, between }: Random): string {
  let text = pick(SEEDS)
  for (let count = pick([1, 2, 3]); count > 0; count -= 1) {
    const at = Math.floor(between(0, text.length))
    const end = at + pick([0, 1, 2, 3])
    const piece = pick([pick(PIECES), pick(PIECES), ''])
    text = text.slice(0, pick([at, end])) + piece + text.slice(pick([at, end]))
  }
  return text
}

/** What our parser reads; null = no complete answer. */
function oursOf(text: string): string | null {
  let body = ''
  let status = 0
  let isComplete = false
  const parser = new AnswerParser({
    head: (head) => void (status = head.status),
    piece: (bytes) => void (body += bytes.toString('latin1')),
    end: () => void (isComplete = true),
  })
  parser.expect(false)
  try {
    parser.feed(Buffer.from(text, 'latin1'))
  } catch {
    // The bytes before may be a complete answer, and were passed on.
  }
  return isComplete ? `${status} ${body}` : null
}

/** A server that writes each text, and closes; and undici's reading of it, null = none that is complete. */
async function besideUndici() {
  let text = ''
  const { url } = await startByteServer((socket) => void socket.end(text, 'latin1'))
  const pool = new Pool(url, { connections: 1 })
  onTestFinished(() => pool.destroy())
  return async (said: string): Promise<string | null> => {
    text = said
    try {
      const { statusCode, body } = await pool.request({ method: 'GET', path: '/' })
      return `${statusCode} ${Buffer.from(await body.arrayBuffer()).toString('latin1')}`
    } catch {
      return null
    }
  }
}

/** undici takes 100 for an error, and some other informational answers: they are none of an answer here. */
const INFORMATIONAL = /^HTTP\/1\.[01] 1/m

test('an answer that we take for complete is the same one for undici', async () => {
  const undici = await besideUndici()
  const random = randomFrom(47)
  let accepted = 0
  for (let round = 0; round < repeated(500, 20_000); round += 1) {
    const text = mistaken(random)
    const ours = oursOf(text)
    if (ours === null || INFORMATIONAL.test(text)) continue
    accepted += 1
    expect([JSON.stringify(text), await undici(text)]).toEqual([JSON.stringify(text), ours])
  }
  expect(accepted).toBeGreaterThan(repeated(50, 2000))
})
