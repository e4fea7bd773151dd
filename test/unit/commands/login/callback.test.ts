import { describe, expect, test } from 'vitest'
import { callbackVerdict } from '../../../../src/commands/login/callback.ts'

const EXPECTED = { port: 40_000, state: 'the-state', platform: 'https://platform.example.com' }

/** The form of the platform's page. */
const FORM = {
  method: 'POST',
  target: '/callback',
  host: '127.0.0.1:40000',
  origin: 'null',
  contentType: 'application/x-www-form-urlencoded',
  body: 'code=the.code&state=the-state',
}

const CODE = { kind: 'code', code: 'the.code' }
const GUESS = { kind: 'guess' }
const refused = (status: number) => ({ kind: 'refused', status })

describe('a request at the loopback port (25.2, SH)', () => {
  test.each([
    { name: 'the form of the page', change: {}, verdict: CODE },
    { name: 'no Origin', change: { origin: null }, verdict: CODE },
    { name: 'the Origin of the platform', change: { origin: EXPECTED.platform }, verdict: CODE },
    { name: 'localhost', change: { host: 'localhost:40000' }, verdict: CODE },
    {
      name: 'a charset',
      change: { contentType: 'application/x-www-form-urlencoded; charset=UTF-8' },
      verdict: CODE,
    },
    { name: 'a foreign Origin', change: { origin: 'https://evil.example' }, verdict: refused(403) },
    {
      name: 'a platform of the same beginning',
      change: { origin: `${EXPECTED.platform}.evil.example` },
      verdict: refused(403),
    },
    { name: 'a foreign name', change: { host: 'evil.example:40000' }, verdict: refused(403) },
    { name: 'another port', change: { host: '127.0.0.1:40001' }, verdict: refused(403) },
    { name: 'no Host', change: { host: '' }, verdict: refused(403) },
    { name: 'another path', change: { target: '/' }, verdict: refused(404) },
    { name: 'a query', change: { target: '/callback?code=x' }, verdict: refused(404) },
    {
      name: 'a whole URL',
      change: { target: 'http://127.0.0.1:40000/callback' },
      verdict: refused(404),
    },
    { name: 'GET', change: { method: 'GET' }, verdict: refused(405) },
    { name: 'OPTIONS', change: { method: 'OPTIONS' }, verdict: refused(405) },
    { name: 'JSON', change: { contentType: 'application/json' }, verdict: refused(415) },
    { name: 'text', change: { contentType: 'text/plain' }, verdict: refused(415) },
    {
      name: 'a type of the same beginning',
      change: { contentType: `${FORM.contentType}x` },
      verdict: refused(415),
    },
    { name: 'no type', change: { contentType: '' }, verdict: refused(415) },
    { name: 'a body that is too large', change: { body: null }, verdict: refused(413) },
    { name: 'no code', change: { body: 'state=the-state' }, verdict: refused(400) },
    { name: 'no state', change: { body: 'code=the.code' }, verdict: refused(400) },
    { name: 'an empty code', change: { body: 'code=&state=the-state' }, verdict: refused(400) },
    {
      name: 'a code with a space',
      change: { body: 'code=a+b&state=the-state' },
      verdict: refused(400),
    },
    {
      name: 'a code of two lines',
      change: { body: 'code=a%0Ab&state=the-state' },
      verdict: refused(400),
    },
    {
      name: 'a code that is too long',
      change: { body: `code=${'c'.repeat(8193)}&state=the-state` },
      verdict: refused(400),
    },
    { name: 'two codes', change: { body: `${FORM.body}&code=x` }, verdict: refused(400) },
    { name: 'two states', change: { body: `${FORM.body}&state=x` }, verdict: refused(400) },
    { name: 'another state', change: { body: 'code=the.code&state=the-statf' }, verdict: GUESS },
    { name: 'an empty state', change: { body: 'code=the.code&state=' }, verdict: GUESS },
    {
      name: 'a part of the state',
      change: { body: 'code=the.code&state=the-stat' },
      verdict: GUESS,
    },
    {
      name: 'more than the state',
      change: { body: 'code=the.code&state=the-state1' },
      verdict: GUESS,
    },
  ])('with $name leads to $verdict', ({ change, verdict }) => {
    expect(callbackVerdict({ ...FORM, ...change }, EXPECTED)).toEqual(verdict)
  })
})
