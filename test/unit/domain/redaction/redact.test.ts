import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS, TOKENS } from '../../../../src/api/names.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { TOKEN } from '../../../../src/domain/redaction/fields.ts'
import {
  SHOWS_NOTHING,
  redacted,
  redactedAnswer,
  redactedFailure,
} from '../../../../src/domain/redaction/redact.ts'
import { key, token } from '../../gateway/selfservice/key-objects.ts'

const SECRET = 'pak_0123456789abcdefghijklmnop'
const QUOTED = 'line one\n"line two" \\ and'
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
const annotated = (annotations: JsonMap): JsonMap => ({ annotations })

const secretKey = (metadata: JsonMap = {}): JsonMap =>
  key({
    metadata,
    spec: {
      key: SECRET,
      identity: { username: 'ada', connectorData: QUOTED },
      oidcLogin: { idToken: `${SECRET}-id`, lastRefresh: '2026-11-21T10:00:00Z' },
    },
  })

const shown = (object: JsonMap): JsonMap => redacted(ACCESS_KEYS, object, SHOWS_NOTHING)

describe('the redaction of a key (12.4)', () => {
  test('removes the secret fields, and nothing else', () => {
    const object = secretKey()
    expect(shown(object)).toEqual({
      ...object,
      spec: { user: 'ada', identity: { username: 'ada' } },
    })
  })

  test('leaves a key without secrets unchanged', () => {
    const object = key({ metadata: annotated({ a: 'b' }), spec: { ttl: 5 } })
    expect(shown(object)).toEqual(object)
  })

  test.each([
    { name: 'an annotation', metadata: annotated({ note: `my ${SECRET}!` }) },
    { name: 'the name of an annotation', metadata: annotated({ [`x/${SECRET}`]: 'y' }) },
    { name: 'a label', metadata: { labels: { of: SECRET } } },
    { name: 'an annotation of JSON', metadata: annotated({ x: JSON.stringify({ y: QUOTED }) }) },
    {
      name: 'an annotation of JSON in JSON',
      metadata: annotated({ x: JSON.stringify({ y: JSON.stringify({ z: QUOTED }) }) }),
    },
    {
      name: 'the keys of a set in managedFields',
      metadata: { managedFields: [{ fieldsV1: { [`v:"${SECRET}"`]: {} } }] },
    },
    {
      name: 'the last applied configuration',
      metadata: annotated({ [LAST_APPLIED]: JSON.stringify(secretKey()) }),
    },
    {
      name: 'the last applied configuration of another key',
      metadata: annotated({
        [LAST_APPLIED]: JSON.stringify(key({ spec: { key: 'another-secret-of-the-past' } })),
      }),
    },
    {
      name: 'the last applied configuration of the last applied configuration',
      metadata: annotated({
        [LAST_APPLIED]: JSON.stringify(
          key({ metadata: annotated({ [LAST_APPLIED]: JSON.stringify(secretKey()) }) }),
        ),
      }),
    },
  ])('leaves no secret in $name', ({ metadata }) => {
    const text = JSON.stringify(shown(secretKey(metadata)))
    for (const part of [SECRET, 'line one', 'line two', 'another-secret'])
      expect(text).not.toContain(part)
  })

  test.each([
    { name: 'broken', text: '{"spec":' },
    { name: 'a text', text: '"text"' },
    { name: 'null', text: 'null' },
    { name: 'a list', text: '[]' },
    { name: 'empty', text: '' },
    { name: 'thousands of levels deep (E8)', text: `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}` },
    { name: 'with a repeated field (E8)', text: `{"spec":{"key":"${SECRET}"},"spec":{}}` },
  ])('drops a last applied configuration that is $name', ({ text }) => {
    const object = key({ metadata: annotated({ [LAST_APPLIED]: text, a: 'b' }) })
    expect(shown(object)).toEqual(key({ metadata: annotated({ a: 'b' }) }))
  })

  test('keeps a last applied configuration without secrets unchanged', () => {
    const text = `${JSON.stringify(key({ spec: { ttl: 5 } }), null, 1)}\n`
    const object = key({ metadata: annotated({ [LAST_APPLIED]: text }) })
    expect(shown(object)).toEqual(object)
  })

  test('hides a digest in its field, but leaves it elsewhere', () => {
    const digest = `sha256:${'0'.repeat(64)}`
    const object = key({ metadata: annotated({ digest }), spec: { key: digest } })
    expect(shown(object)).toEqual(key({ metadata: annotated({ digest }) }))
  })
})

const table = (...objects: readonly JsonMap[]): JsonMap => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  rows: objects.map((object) => ({ cells: ['x'], object })),
})
const list = (...items: readonly JsonMap[]): JsonMap => ({ kind: 'OwnedAccessKeyList', items })

describe('the redaction of an answer (12.4)', () => {
  test.each([
    { name: 'one', answer: secretKey() },
    { name: 'a list', answer: list(key(), secretKey()) },
    { name: 'a Table', answer: table(secretKey(), key()) },
    { name: 'an empty list', answer: list() },
  ])('$name', ({ answer }) => {
    const clean = redactedAnswer(ACCESS_KEYS, answer, SHOWS_NOTHING, [])
    expect(JSON.stringify(clean)).not.toContain(SECRET)
    expect(JSON.stringify(clean).length).toBeLessThanOrEqual(JSON.stringify(answer).length)
  })

  /** That many levels of one list in another, or of maps. */
  const levels = (count: number, of: (inner: Json) => Json): Json =>
    Array.from({ length: count }).reduce<Json>(of, 'end')

  test.each([
    { name: 'lists', of: (inner: Json): Json => [inner] },
    { name: 'maps', of: (inner: Json): Json => ({ inner }) },
  ])('also hides secrets beside an object with thousands of nested $name (E8)', ({ of }) => {
    const claims = (count: number): JsonMap =>
      key({ spec: { identity: { extraClaims: { deep: levels(count, of) } } } })
    const [secret, deep] = [secretKey(), claims(20_000)]
    for (const answer of [list(secret, deep, key()), table(secret, deep, key())]) {
      const text = JSON.stringify(redactedAnswer(ACCESS_KEYS, answer, SHOWS_NOTHING, []))
      expect(text.match(/"uid":"uid-ci"/g)).toHaveLength(3)
      expect(text).not.toContain(SECRET)
      expect(text).not.toContain('end')
    }
    expect(shown(claims(200))).toEqual(claims(200))
  })

  test.each([{ kind: 'PartialObjectMetadata' }, { kind: 'Secret' }, {}])(
    'does not pass on the response %j',
    (answer) => {
      expect(() => redactedAnswer(ACCESS_KEYS, answer, SHOWS_NOTHING, [])).toThrow(
        'has another kind',
      )
    },
  )

  test('keeps the token that the caller may see', () => {
    const mine = token({ metadata: { name: 'mine' }, status: { token: SECRET } })
    const others = token({ metadata: { name: 'others' }, status: { token: SECRET } })
    const answer = { kind: 'DirectClusterEndpointTokenList', items: [mine, others] }
    const shows = (object: JsonMap) => (object === mine ? [TOKEN] : [])
    expect(redactedAnswer(TOKENS, answer, shows, [])['items']).toEqual([
      mine,
      { ...others, status: {} },
    ])
  })

  test('of Configs keeps references, and removes secrets and texts like them (6.3)', () => {
    const settings = (clientSecret: string): JsonMap => ({
      auth: { oidc: { clientSecret, issuerUrl: 'https://a:b@idp.test' } },
    })
    const config = {
      kind: 'Config',
      spec: settings('$PLATFORM_CONFIG_IDP'),
      status: settings('literal'),
    }
    expect(redacted(CONFIGS, config, SHOWS_NOTHING)).toEqual({
      kind: 'Config',
      spec: {
        auth: {
          oidc: { clientSecret: '$PLATFORM_CONFIG_IDP', issuerUrl: 'https://REDACTED@idp.test' },
        },
      },
      status: {
        auth: { oidc: { clientSecret: 'REDACTED', issuerUrl: 'https://REDACTED@idp.test' } },
      },
    })
  })
})

describe('the redaction of a failure (12.4)', () => {
  const whole = JSON.stringify(JSON.stringify(secretKey()))
  const status = {
    kind: 'Status',
    message: ` "" is invalid: patch: Invalid value: ${whole}: strict decoding error: unknown field "spec.x"`,
    details: {
      causes: [
        {
          field: 'patch',
          message: `Invalid value: ${whole}: strict decoding error: unknown field "spec.x"`,
        },
        { field: 'spec.ttl', message: 'Invalid value: "string": must be an integer' },
      ],
    },
  }

  test('removes the object', () => {
    expect(redactedFailure(status, [])).toEqual({
      kind: 'Status',
      message:
        ' "" is invalid: patch: Invalid value: strict decoding error: unknown field "spec.x"',
      details: {
        causes: [
          {
            field: 'patch',
            message: 'Invalid value: strict decoding error: unknown field "spec.x"',
          },
          { field: 'spec.ttl', message: 'Invalid value: "string": must be an integer' },
        ],
      },
    })
  })

  test('removes the secrets of the request', () => {
    const failure = {
      kind: 'Status',
      message: `bad ${SECRET}`,
      details: { causes: [{ message: SECRET }] },
    }
    expect(JSON.stringify(redactedFailure(failure, [SECRET]))).not.toContain(SECRET)
  })
})
