// Continue tokens as text (contract 22.4).
import { expect, test } from 'vitest'
import {
  type ContinueToken,
  decodeContinue,
  encodeContinue,
  filtersDigest,
} from '../../../../src/domain/audit/continue-token.ts'

const TOKEN: ContinueToken = {
  filters: 'abc',
  interval: { sinceMs: 1, untilMs: null },
  position: { stageTimeMs: 2, id: 3, snapshotId: 4, store: 'gateway-0' },
}
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a token is read as it was written (22.4)', () => {
  expect(decodeContinue(encodeContinue(TOKEN))).toEqual(TOKEN)
  const open = { ...TOKEN, interval: { sinceMs: null, untilMs: 5 } }
  expect(decodeContinue(encodeContinue(open))).toEqual(open)
})

const [version, ...parts] = JSON.parse(
  Buffer.from(encodeContinue(TOKEN), 'base64url').toString(),
) as unknown[]

test.each([
  { name: 'empty', text: '' },
  { name: 'no base64url', text: `${encodeContinue(TOKEN)}=` },
  { name: 'cut', text: encodeContinue(TOKEN).slice(0, -4) },
  { name: 'no list', text: encoded({ filters: 'abc' }) },
  { name: 'of another version', text: encoded([2, ...parts]) },
  { name: 'too short', text: encoded([version, ...parts.slice(1)]) },
  { name: 'too long', text: encoded([version, ...parts, 1]) },
  {
    name: 'of a number as text',
    text: encoded([version, ...parts].map((one) => (one === 3 ? '3' : one))),
  },
  {
    name: 'of a fraction',
    text: encoded([version, ...parts].map((one) => (one === 2 ? 2.5 : one))),
  },
  {
    name: 'beyond exact numbers',
    text: encoded([version, ...parts].map((one) => (one === 4 ? 2 ** 60 : one))),
  },
  {
    name: 'of a time that is text',
    text: encoded([version, ...parts].map((one) => (one === null ? '' : one))),
  },
  { name: 'of filters that are none', text: encoded([version, 7, ...parts.slice(1)]) },
  { name: 'longer than any', text: encodeContinue({ ...TOKEN, filters: 'f'.repeat(1000) }) },
])('a token that is $name is none (22.4)', ({ text }) => {
  expect(decodeContinue(text)).toBeNull()
})

test('filters that differ in a name, a text or their number have other digests, their order has none (22.4)', () => {
  const digests = [
    [],
    [['user', 'ada']],
    [['user', 'bob']],
    [['verb', 'ada']],
    [
      ['user', 'ada'],
      ['verb', 'get'],
    ],
    [['user', 'ada","verb","get']],
    [['name', 'é']],
    [['name', 'è']],
  ].map((filters) => filtersDigest(filters as [string, string][]))
  expect(new Set(digests).size).toBe(digests.length)
  expect(
    filtersDigest([
      ['verb', 'get'],
      ['user', 'ada'],
    ]),
  ).toBe(digests[4])
})
