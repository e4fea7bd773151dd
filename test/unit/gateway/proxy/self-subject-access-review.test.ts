// The answer of a target to a self review is bounded before it is read (contract 11.3, 13.3).
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { completedReview } from '../../../../src/gateway/proxy/self-subject-access-review.ts'

const MEBIBYTE = 1024 ** 2
const TARGET = { kind: 'Management' } as const
const review = (status: string): string =>
  `{"kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}},"status":${status}}`
const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`

const answerTo = (text: string, allowed: boolean) =>
  completedReview(
    'access',
    { status: 201, headers: {}, body: Readable.from([Buffer.from(text)]) },
    {
      target: TARGET,
      isNarrowed: true,
      decide: () => (allowed ? { allowed } : { allowed, because: 'out of the scope' }),
      rights: null,
    },
  )

describe('a self review that a target answers', () => {
  test.each([
    { name: 'with 2.8 MB of nested lists', text: review(`{"a":${deep(1.4e6)}}`) },
    { name: 'with a million lists', text: review(`{"a":[${'[],'.repeat(9e5)}1]}`) },
    { name: 'with nested lists in its spec', text: `{"spec":{"a":${deep(20_000)}},"status":{}}` },
    {
      name: 'with nested objects',
      text: review('{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)),
    },
    { name: 'with lists without an end', text: '['.repeat(2.8e6) },
    { name: 'with more than 3 MiB', text: review(`{"reason":"${'x'.repeat(3 * MEBIBYTE)}"}`) },
    { name: 'with half of an object', text: '{"spec":{}' },
    { name: 'with a list', text: '[]' },
  ])('$name is refused, for whatever the scope decides (11.3, 13.3)', async ({ text }) => {
    const answers = await Promise.all([answerTo(text, true), answerTo(text, false)])
    expect(answers.map(({ refusal }) => refusal)).toEqual([
      'selfReviewUnreadable',
      'selfReviewUnreadable',
    ])
  })

  test('is narrowed by the scope within the bounds (11.3)', async () => {
    const answer = await answerTo(review(`{"allowed":true,"a":${deep(50)}}`), false)
    expect(JSON.parse((answer.body as Buffer).toString())).toMatchObject({
      status: { allowed: false, denied: true, reason: 'out of the scope' },
    })
  })
})
