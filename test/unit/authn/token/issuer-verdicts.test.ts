import { expect, test } from 'vitest'
import type { IssuerAnswer } from '../../../../src/authn/token/issuer-client.ts'
import { inTurns } from '../../../../src/authn/token/issuer-documents.ts'
import {
  judgeDiscovery,
  judgeKeys,
  judgeList,
} from '../../../../src/authn/token/issuer-verdicts.ts'
import { formatTimestamp } from '../../../../src/domain/time.ts'
import type { RevokedList } from '../../../../src/domain/token/revoked-list.ts'
import { newTestKey } from './test-issuer.ts'

const NOW_MS = Date.parse('2026-11-21T10:00:00Z')
const MINUTE_MS = 60_000
const LATER_MS = NOW_MS + 60 * MINUTE_MS
const ISSUER = 'https://platform.example/oidc'

const answer = (body: string | null, parts: Partial<IssuerAnswer> = {}): IssuerAnswer => ({
  body: body === null ? null : Buffer.from(body),
  dateMs: NOW_MS,
  monotonicMs: 0,
  etag: null,
  asOfMs: null,
  ...parts,
})

const listText = (asOfMs: number, tokens: Readonly<Record<string, number>>): string =>
  JSON.stringify({
    asOf: formatTimestamp(asOfMs),
    tokens: Object.fromEntries(
      Object.entries(tokens).map(([jti, expiresMs]) => [jti, formatTimestamp(expiresMs)]),
    ),
  })

const listOf = (asOfMs: number, tokens: Readonly<Record<string, number>>): RevokedList => ({
  asOfMs,
  tokens: new Map(Object.entries(tokens)),
})

const LAST = listOf(NOW_MS - MINUTE_MS, { a: LATER_MS })

test.each([
  {
    name: 'the first list is accepted, and all of its tokens are new',
    sent: answer(listText(NOW_MS, { a: LATER_MS })),
    last: null,
    verdict: { ok: true, value: { isUnchanged: false, newlyRevoked: ['a'], dateMs: NOW_MS } },
  },
  {
    name: 'a later list is accepted with the tokens that the last one did not have',
    sent: answer(listText(NOW_MS, { a: LATER_MS, b: LATER_MS })),
    last: LAST,
    verdict: { ok: true, value: { isUnchanged: false, newlyRevoked: ['b'] } },
  },
  {
    name: 'an unchanged list gets the asOf of its header',
    sent: answer(null, { asOfMs: NOW_MS }),
    last: LAST,
    verdict: { ok: true, value: { list: { ...LAST, asOfMs: NOW_MS }, isUnchanged: true } },
  },
  {
    name: 'an unchanged list without the header keeps its asOf',
    sent: answer(null),
    last: LAST,
    verdict: { ok: true, value: { list: LAST, isUnchanged: true, newlyRevoked: [] } },
  },
  {
    name: 'an unchanged list needs a last one',
    sent: answer(null),
    last: null,
    verdict: {
      ok: false,
      because: 'it is a 304, but no list was accepted before',
      isListFault: true,
    },
  },
  {
    name: 'an answer without a Date is rejected',
    sent: answer(listText(NOW_MS, {}), { dateMs: null }),
    last: null,
    verdict: { ok: false, because: 'its answer has no Date', isListFault: false },
  },
  {
    name: 'an answer of more than an hour ago is rejected',
    sent: answer(listText(NOW_MS, {}), { dateMs: NOW_MS - 66 * MINUTE_MS }),
    last: null,
    verdict: {
      ok: false,
      because: 'its answer is more than an hour older than the clock of this machine',
      isListFault: false,
    },
  },
  {
    name: 'another page is rejected',
    sent: answer('<html>'),
    last: null,
    verdict: { ok: false, because: 'it is not a list of revoked tokens', isListFault: true },
  },
  {
    name: 'an older list is rejected',
    sent: answer(listText(NOW_MS - 2 * MINUTE_MS, { a: LATER_MS })),
    last: LAST,
    verdict: { ok: false, because: 'it is older than the last one', isListFault: true },
  },
  {
    name: 'a list that lacks an unexpired token is rejected',
    sent: answer(listText(NOW_MS, {})),
    last: LAST,
    verdict: { ok: false, because: 'it lacks a token of the last one', isListFault: true },
  },
])('$name (9.2)', async ({ sent, last, verdict }) => {
  expect(await inTurns(judgeList(sent, last, NOW_MS))).toMatchObject(verdict)
})

const { jwk } = newTestKey()
const KEYS = JSON.stringify({ keys: [jwk] })

test.each([
  { name: 'keys with a Date are accepted', sent: answer(KEYS), lastMs: null, because: null },
  {
    name: 'keys two seconds older than the last ones are accepted',
    sent: answer(KEYS),
    lastMs: NOW_MS + 2000,
    because: null,
  },
  {
    name: 'older keys are rejected',
    sent: answer(KEYS),
    lastMs: NOW_MS + 2001,
    because: 'it is older than the last one',
  },
  {
    name: 'keys without a Date are rejected',
    sent: answer(KEYS, { dateMs: null }),
    lastMs: null,
    because: 'its answer has no Date',
  },
])('$name (9.2)', ({ sent, lastMs, because }) => {
  expect(judgeKeys(sent, lastMs)).toEqual(
    because === null
      ? { ok: true, value: { keys: [jwk], dateMs: NOW_MS } }
      : { ok: false, because },
  )
})

test.each([
  {
    name: 'a discovery document of this issuer has the prefix',
    body: { issuer: ISSUER, project_namespace_prefix: 'p-' },
    verdict: { ok: true, value: 'p-' },
  },
  {
    name: 'a discovery document of another issuer is rejected as such',
    body: { issuer: `${ISSUER}/x` },
    verdict: { ok: false, because: 'it names another issuer', isOfAnotherIssuer: true },
  },
])('$name (9.2)', ({ body, verdict }) => {
  expect(judgeDiscovery(answer(JSON.stringify(body)), ISSUER)).toEqual(verdict)
})

test('a document that could not be read has no verdict (9.2)', () => {
  expect([judgeDiscovery(null, ISSUER), judgeKeys(null, null)]).toEqual([null, null])
})
