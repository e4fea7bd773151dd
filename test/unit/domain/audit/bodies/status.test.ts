import { describe, expect, test } from 'vitest'
import { responseStatusOf } from '../../../../../src/domain/audit/bodies/status.ts'
import { generateKey } from '../../../../../src/issuance/new-object.ts'
import { type PathOfKind, recordedJson, requestFor } from './recorded.ts'

const KEY = generateKey()
const PLAIN = 'hunter2-canary'

const PLAIN_CODES = [401, 403, 404, 405, 410, 429]
const OTHER_CODES = [400, 409, 413, 415, 422, 500, 503, 504]
const HIDDEN_PATHS: readonly PathOfKind[] = [
  '/secrets',
  '/serviceaccounts/token',
  'authentication.k8s.io/tokenreviews',
  'management.platform.sh/ownedaccesskeys',
  'management.platform.sh/others',
]

const statusOf = (code: number, details: object = { kind: 'pods', uid: 'u' }) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `it was ${PLAIN}, sent with ${KEY}`,
  reason: 'Invalid',
  details,
  code,
})

const recorded = (status: object, path: PathOfKind, code: number): unknown =>
  JSON.parse(recordedJson(JSON.stringify(status), { path, code }))

/** What responseStatus says; a row names what differs. */
function responseStatus(
  code: number,
  path: PathOfKind,
  parts: Partial<Parameters<typeof responseStatusOf>[0] & { status: object }> = {},
) {
  const { isOurs = false, level = 'Request', status = statusOf(code) } = parts
  const body = parts.body ?? { bytes: Buffer.from(JSON.stringify(status)) }
  return responseStatusOf({ code, body, isOurs, level, request: requestFor(path, 'patch') })
}

const SHOWN_MESSAGE = `it was ${PLAIN}, sent with <hidden>`

describe('a Status as the body of an answer', () => {
  test.each(OTHER_CODES)('of a hidden kind has no message and no details at %i (21.4)', (code) => {
    const shown = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Invalid', code }
    for (const path of HIDDEN_PATHS) expect(recorded(statusOf(code), path, code)).toEqual(shown)
    for (const details of [
      { kind: 'secrets' },
      { kind: 'Secret', group: '' },
      { kind: 'TokenReview', group: 'authentication.k8s.io' },
      { kind: 'ownedaccesskeys', group: 'management.platform.sh' },
    ])
      expect(recorded(statusOf(code, details), '/configmaps', code)).toEqual(shown)
  })

  test.each(PLAIN_CODES)(
    'of a hidden kind keeps its message at %i, without keys (21.4)',
    (code) => {
      const shown = { ...statusOf(code), message: SHOWN_MESSAGE }
      for (const path of HIDDEN_PATHS) expect(recorded(statusOf(code), path, code)).toEqual(shown)
    },
  )

  test('the code in its text counts for nothing (21.4)', () => {
    expect(recorded(statusOf(403), '/secrets', 422)).not.toHaveProperty('message')
  })

  test('keys are hidden in messages and details of every kind (21.4)', () => {
    const details = { causes: [{ message: KEY, field: `spec.${KEY}` }], [KEY]: 'x' }
    expect(recorded(statusOf(422, details), '/pods', 422)).toEqual({
      ...statusOf(422),
      message: SHOWN_MESSAGE,
      details: { causes: [{ message: '<hidden>', field: 'spec.<hidden>' }], '<hidden>': 'x' },
    })
  })
})

describe('responseStatus', () => {
  const full = (code: number) => ({
    metadata: {},
    status: 'Failure',
    reason: 'Invalid',
    message: SHOWN_MESSAGE,
    code,
  })
  const { message: _, ...withoutMessage } = full(0)

  test.each(PLAIN_CODES)('an upstream message of %i is kept at every level (21.3)', (code) => {
    for (const path of ['/pods', ...HIDDEN_PATHS] as const)
      for (const level of ['Metadata', 'Request', 'RequestResponse'] as const)
        expect(responseStatus(code, path, { level })).toEqual(full(code))
  })

  test.each(OTHER_CODES)(
    'one of %i from level Request on, but of no hidden kind (21.3)',
    (code) => {
      const without = { ...withoutMessage, code }
      expect(responseStatus(code, '/pods', { level: 'Metadata' })).toEqual(without)
      for (const level of ['Request', 'RequestResponse'] as const) {
        expect(responseStatus(code, '/pods', { level })).toEqual(full(code))
        for (const path of HIDDEN_PATHS)
          expect(responseStatus(code, path, { level })).toEqual(without)
        const status = statusOf(code, { kind: 'secrets' })
        expect(responseStatus(code, '/pods', { level, status })).toEqual(without)
      }
    },
  )

  test('messages that this program wrote are kept (21.3)', () => {
    const parts = { isOurs: true, level: 'Metadata' } as const
    expect(responseStatus(413, '/secrets', parts)).toEqual(full(413))
  })

  test.each([
    { name: 'success', code: 201, body: { bytes: Buffer.from(JSON.stringify(statusOf(201))) } },
    { name: 'no Status', code: 500, body: { bytes: Buffer.from('{"message":"x"}') } },
    { name: 'no JSON', code: 500, body: { bytes: Buffer.from('oh no') } },
    { name: 'a list', code: 500, body: { bytes: Buffer.from('[1]') } },
    { name: 'no copy', code: 500, body: { omitted: 'size' } as const },
  ])('$name is the code alone (21.3)', ({ code, body }) => {
    expect(responseStatus(code, '/pods', { body })).toEqual({ metadata: {}, code })
  })

  test('a long message is cut, after credentials in it are hidden (21.3)', () => {
    const message = `${'a'.repeat(4060)}${KEY}${'b'.repeat(4000)}`
    const shown = responseStatus(403, '/pods', { status: { ...statusOf(403), message } })
    expect(shown.message).toBe(`${'a'.repeat(4060)}<hidden>${'b'.repeat(28)}...TRUNCATED`)
  })

  test('a failure of more than a megabyte is its code alone (21.3)', () => {
    const status = { ...statusOf(403), message: 'a'.repeat(1024 ** 2) }
    expect(responseStatus(403, '/pods', { status })).toEqual({ metadata: {}, code: 403 })
  })

  test('fields of another type are left out (21.3)', () => {
    const status = { kind: 'Status', status: 1, reason: { a: PLAIN }, message: [PLAIN] }
    expect(responseStatus(500, '/pods', { status })).toEqual({ metadata: {}, code: 500 })
  })
})
