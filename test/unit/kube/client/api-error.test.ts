import { describe, expect, test } from 'vitest'
import {
  type StatusError,
  statusErrorOf,
  isConflict,
  isGone,
  isNotFound,
  isRefusal,
} from '../../../../src/kube/client/api-error.ts'
import { plantCanary, findCanaries } from '../../../support/canary.ts'

const CALL = 'PATCH /apis/g/v1/things/a'

const fails = (code: number, body: unknown, retryAfter?: string): StatusError =>
  statusErrorOf(CALL, code, body, retryAfter)

describe('the message of a StatusError', () => {
  test.each([
    {
      name: 'a 403 repeats user, verb and resource',
      code: 403,
      body: { reason: 'Forbidden', message: 'things "a" is forbidden' },
      message: `${CALL}: 403 Forbidden: things "a" is forbidden`,
    },
    {
      name: 'a 422 names fields and reasons',
      code: 422,
      body: {
        reason: 'Invalid',
        message: 'spec.ttl: Invalid value: "secret"',
        details: {
          causes: [
            { reason: 'FieldValueInvalid', field: 'spec.ttl', message: 'secret' },
            { reason: 'FieldValueForbidden', field: 'spec.key' },
          ],
        },
      },
      message: `${CALL}: 422 Invalid: spec.ttl FieldValueInvalid, spec.key FieldValueForbidden`,
    },
    {
      name: 'a refusal by a policy without fields',
      code: 422,
      body: { reason: 'Invalid', details: { causes: [{ message: 'secret' }, { field: 'spec' }] } },
      message: `${CALL}: 422 Invalid: spec`,
    },
    {
      name: 'null causes',
      code: 500,
      body: { reason: 'InternalError', details: { causes: null } },
      message: `${CALL}: 500 InternalError`,
    },
    { name: 'missing details', code: 400, body: {}, message: `${CALL}: 400` },
    {
      name: 'an answer that is not a Status',
      code: 404,
      body: 'page not found',
      message: `${CALL}: 404`,
    },
    { name: 'an answer that is not JSON', code: 502, body: undefined, message: `${CALL}: 502` },
    { name: 'an answer of null', code: 503, body: null, message: `${CALL}: 503` },
    {
      name: 'a Status with fields of wrong types',
      code: 409,
      body: { reason: 7, message: { a: 1 }, details: [] },
      message: `${CALL}: 409`,
    },
  ])('$name', ({ code, body, message }) => {
    expect(fails(code, body)).toMatchObject({ name: 'StatusError', code, message })
  })

  test.each([400, 413, 422, 500, 502])('a %i quotes no value of the object', (code) => {
    const planted = plantCanary('answer')
    const failure = fails(code, {
      reason: 'Invalid',
      message: `spec.key: Invalid value: "${planted.secret}"`,
      details: {
        name: planted.secret,
        causes: [{ reason: 'FieldValueInvalid', field: 'spec.key', message: planted.secret }],
      },
    })
    const sinks = { text: `${failure.stack}`, fields: JSON.stringify(failure) }
    expect(findCanaries(sinks, [planted])).toEqual([])
  })
})

describe('the Retry-After of a StatusError', () => {
  test.each([
    { name: 'the header, in seconds', body: {}, header: '7', ms: 7000 },
    {
      name: 'the Status',
      body: { details: { retryAfterSeconds: 3 } },
      header: undefined,
      ms: 3000,
    },
    {
      name: 'the header before the Status',
      body: { details: { retryAfterSeconds: 3 } },
      header: '1',
      ms: 1000,
    },
    { name: 'zero', body: {}, header: '0', ms: 0 },
    { name: 'neither', body: {}, header: undefined, ms: null },
    { name: 'a date', body: {}, header: 'Sat, 21 Nov 2026 10:00:00 GMT', ms: null },
    { name: 'a negative number', body: {}, header: '-1', ms: null },
  ])('$name', ({ body, header, ms }) => {
    expect(fails(429, body, header).retryAfterMs).toBe(ms)
  })
})

test.each([
  { code: 404, is: isNotFound },
  { code: 409, is: isConflict },
  { code: 410, is: isGone },
])('$code has a predicate of its own', ({ code, is }) => {
  expect(is(fails(code, {}))).toBe(true)
  expect([404, 409, 410].filter((other) => is(fails(other, {})))).toEqual([code])
  expect(is(Object.assign(new Error('of another kind'), { code }))).toBe(false)
})

const NAMED_FIELD = { details: { causes: [{ reason: 'FieldValueInvalid', field: 'spec' }] } }

test.each([
  { code: 400, body: {}, isKnown: true, is: true },
  { code: 403, body: {}, isKnown: true, is: true },
  { code: 500, body: {}, isKnown: true, is: true },
  { code: 422, body: NAMED_FIELD, isKnown: true, is: true },
  { code: 422, body: {}, isKnown: true, is: false },
  { code: 409, body: {}, isKnown: true, is: false },
  { code: 404, body: {}, isKnown: true, is: false },
  { code: 404, body: {}, isKnown: false, is: true },
  { code: 429, body: {}, isKnown: true, is: false },
  { code: 503, body: {}, isKnown: true, is: false },
  { code: 504, body: {}, isKnown: true, is: false },
])(
  'the answer $code with $body is a refusal of the write: $is (known object: $isKnown)',
  ({ code, body, isKnown, is }) => {
    expect(isRefusal(fails(code, body), isKnown)).toBe(is)
  },
)

test('a webhook that names no cause refuses a whole object, but a PATCH may have a test that failed', () => {
  const answer = (call: string) => statusErrorOf(call, 422, {}, undefined)
  expect(isRefusal(answer('PUT /api/v1/things/a'), true)).toBe(true)
  expect(isRefusal(answer('POST /api/v1/things'), false)).toBe(true)
  expect(isRefusal(answer('PATCH /api/v1/things/a'), true)).toBe(false)
})

test('no answer is no refusal', () => {
  expect(isRefusal(new Error('no answer'), true)).toBe(false)
})
