import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { loginUrl, newHandOver } from '../../../../src/commands/login/hand-over.ts'

/** The bytes of RFC 7636, Appendix B. */
const BYTES = Buffer.from([
  116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105,
  214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
])

test('a hand-over has the verifier and the challenge of RFC 7636 (25.2)', () => {
  const { verifier, challenge, checkCode } = newHandOver(() => BYTES)
  expect(verifier).toBe('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')
  expect(challenge).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
  const digits = createHash('sha256').update(challenge).digest('hex')
  expect(checkCode).toBe(`${digits.slice(0, 4)}-${digits.slice(4, 8)}`)
})

test('a hand-over has secrets of its own, of 256 bits each (25.2, SH)', () => {
  const all = [newHandOver(), newHandOver()].flatMap(({ verifier, state }) => [verifier, state])
  expect(new Set(all).size).toBe(4)
  for (const one of all) expect(one).toMatch(/^[A-Za-z0-9_-]{43}$/)
})

test.each([
  { port: 40_000, query: 'cli=true&port=40000&state=S&code_challenge=C' },
  { port: null, query: 'cli=true&state=S&code_challenge=C' },
])('an address with port $port has state and challenge, and never the verifier (25.2)', (row) => {
  const handOver = { verifier: 'V', state: 'S', challenge: 'C', checkCode: 'K' }
  const url = loginUrl('https://platform.example.com', handOver, row.port)
  expect(url).toBe(`https://platform.example.com/login?${row.query}`)
})
