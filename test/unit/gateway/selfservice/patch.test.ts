import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS, type Resource } from '../../../../src/api/names.ts'
import { nestedField } from '../../../../src/domain/json/field-path.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import {
  type Change,
  bodyOf,
  sentPatch,
  sentPut,
} from '../../../../src/gateway/selfservice/patch.ts'
import { callTo } from '../request-builder.ts'
import { MADE_WITH_CI, key, owner, project } from './key-objects.ts'

const current = key({
  metadata: {
    resourceVersion: '7',
    labels: { ...MADE_WITH_CI, was: 'there' },
    ownerReferences: [owner('ci')],
  },
  spec: {
    key: 'the-key-itself',
    identity: { username: 'ada', connectorData: 'data' },
    oidcLogin: { idToken: 'token' },
  },
})
const GUARD = { uid: 'uid-ci' }
const VERSIONED = { uid: 'uid-ci', resourceVersion: '7' }

function sentOn(
  change: Change,
  resource: Resource = ACCESS_KEYS,
  object = current,
): Json | undefined {
  const body = bodyOf(resource, change, object)
  return body.ok ? body.value.json : undefined
}

describe('a PUT (12.4)', () => {
  const put = (sent: JsonMap) => sentOn({ by: 'put', sent })

  test('keeps hidden fields and those that manifests lack', () => {
    expect(
      put({
        metadata: { name: 'ci', labels: { a: 'b' } },
        spec: { user: 'ada', identity: { username: 'x' } },
      }),
    ).toEqual({
      apiVersion: 'management.platform.sh/v1',
      kind: 'OwnedAccessKey',
      metadata: {
        name: 'ci',
        ...GUARD,
        annotations: { 'management.platform.sh/created': '2026-11-21T10:00:00Z' },
        labels: { ...MADE_WITH_CI, a: 'b' },
        finalizers: ['management.platform.sh/revoke'],
        ownerReferences: [owner('ci')],
      },
      spec: {
        user: 'ada',
        key: 'the-key-itself',
        identity: { username: 'x', connectorData: 'data' },
        oidcLogin: { idToken: 'token' },
      },
    })
  })

  describe('of the manifest that created a key', () => {
    const FILLED = { user: 'ada', type: 'User', ttl: 3600, scope: project('shop') }
    const GATEWAY = 'management-operator-gateway'
    const filled = (...fields: readonly string[]): JsonMap =>
      key({
        metadata: {
          managedFields: [
            {
              manager: GATEWAY,
              fieldsV1: { 'f:spec': Object.fromEntries(fields.map((name) => [`f:${name}`, {}])) },
            },
            { manager: 'kubectl-create', fieldsV1: { 'f:spec': { 'f:displayName': {} } } },
          ],
        },
        spec: { ...FILLED, key: 'the-key-itself' },
      })
    const ALL = ['user', 'type', 'ttl', 'scope', 'key']
    const specOf = (spec: Json | undefined, ...fields: readonly string[]) => {
      const sent: JsonMap = { metadata: { name: 'ci' }, ...(spec === undefined ? {} : { spec }) }
      return nestedField(sentOn({ by: 'put', sent }, ACCESS_KEYS, filled(...fields)), ['spec'])
    }
    const kept = { ...FILLED, key: 'the-key-itself' }

    test.each([
      { name: 'without a spec', spec: undefined, is: kept },
      { name: 'with a null as spec', spec: null, is: kept },
      { name: 'with an empty spec', spec: {}, is: kept },
      {
        name: 'with empty values',
        spec: { user: '', type: '', ttl: 0, scope: null, key: '' },
        is: kept,
      },
      { name: 'with a title', spec: { displayName: 'x' }, is: { ...kept, displayName: 'x' } },
    ])('keeps what the create filled in, $name (12.1)', ({ spec, is }) => {
      expect(specOf(spec, ...ALL)).toEqual(is)
    })

    test('changes a field that it has, and keeps the others (12.1)', () => {
      expect(specOf({ ttl: 60 }, ...ALL)).toEqual({ ...kept, ttl: 60 })
      const other = { user: 'bob', type: 'Other', ttl: 5, scope: project('bank'), key: 'x' }
      expect(specOf(other, ...ALL)).toEqual(other)
    })

    test('removes a field that a client has set since (12.1)', () => {
      expect(specOf({}, 'user')).toEqual({ user: 'ada', key: 'the-key-itself' })
    })

    test('names a team or subject instead of the user, and is checked for that (12.1)', () => {
      expect(specOf({ team: 'ops' }, 'user')).toEqual({ team: 'ops', key: 'the-key-itself' })
    })
  })

  test('sets every field that it contains', () => {
    const metadata = {
      name: 'ci',
      uid: 'other',
      resourceVersion: '5',
      annotations: { 'management.platform.sh/created': 'x', a: 'b' },
      labels: { 'management.platform.sh/made-with': 'x' },
      finalizers: [],
      ownerReferences: [],
    }
    const sent = { kind: 'X', apiVersion: 'y', metadata, spec: { key: 'other', oidcLogin: {} } }
    expect(put(sent)).toEqual(sent)
  })

  test('removes a whole field that it leaves out', () => {
    expect(put({ spec: { user: 'ada' } })).not.toHaveProperty('spec.identity')
    expect(put({})).not.toHaveProperty('spec')
  })
})

describe('a patch (12.1, 12.5)', () => {
  test('carries the version of the object that was read', () => {
    const sent = { spec: { ttl: 5 } }
    expect(sentOn({ by: 'merge', sent })).toEqual({ metadata: VERSIONED, ...sent })
    expect(sentOn({ by: 'apply', sent })).toEqual({
      apiVersion: 'management.platform.sh/v1',
      kind: 'OwnedAccessKey',
      metadata: { name: 'ci', ...VERSIONED },
      ...sent,
    })
    expect(sentOn({ by: 'json', sent: [] })).toEqual([
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
    ])
  })

  test('keeps the resourceVersion that the client sends', () => {
    const sent = { metadata: { resourceVersion: '5', uid: 'x' } }
    expect(sentOn({ by: 'merge', sent })).toEqual(sent)
  })

  test.each(['x', 5, []])('with %j for metadata is refused', (metadata) => {
    for (const by of ['merge', 'apply', 'put'] as const)
      expect(sentOn({ by, sent: { metadata } })).toBeUndefined()
  })

  test('of settings restores the values shown as REDACTED', () => {
    const config = {
      metadata: { uid: 'u', resourceVersion: '7' },
      spec: { auth: { oidc: { clientSecret: 'literal-secret' } } },
    }
    const back = { spec: { auth: { oidc: { clientSecret: 'REDACTED', clientId: 'x' } } } }
    for (const by of ['merge', 'apply', 'put'] as const)
      expect(sentOn({ by, sent: back }, CONFIGS, config)).toMatchObject({
        spec: { auth: { oidc: { clientSecret: 'literal-secret', clientId: 'x' } } },
      })
    const other = { spec: { auth: { oidc: { clientSecret: 'new' } } } }
    expect(sentOn({ by: 'put', sent: other }, CONFIGS, config)).toMatchObject(other)
  })
})

describe('a body (E8)', () => {
  const JSON_TYPE = 'application/json'
  const YAML_TYPE = 'application/yaml'
  const read = async (body: string | Buffer, type: string, headers = {}) => {
    const call = callTo('/', {
      headers: { 'content-type': type, ...headers },
      body: Readable.from([Buffer.from(body)]),
    })
    const sender = { call, caller: { identity: { user: 'ada' } } }
    const sent = await (type.includes('patch') ? sentPatch(sender) : sentPut(sender))
    return sent.ok ? sent.value : sent.answer.status
  }

  test.each([
    { body: '{"spec":{}}', type: JSON_TYPE, is: { by: 'put', sent: { spec: {} } } },
    {
      body: '{"spec":{}}',
      type: 'application/json; charset=utf-8',
      is: { by: 'put', sent: { spec: {} } },
    },
    { body: 'spec:\n  ttl: 5', type: YAML_TYPE, is: { by: 'put', sent: { spec: { ttl: 5 } } } },
    { body: '{"spec":{"ttl":5}}', type: YAML_TYPE, is: { by: 'put', sent: { spec: { ttl: 5 } } } },
    { body: '{spec: {ttl: 5}}', type: YAML_TYPE, is: { by: 'put', sent: { spec: { ttl: 5 } } } },
    { body: 'a: b', type: 'application/apply-patch+yaml', is: { by: 'apply', sent: { a: 'b' } } },
    {
      body: '{"a":"b"}',
      type: 'application/merge-patch+json',
      is: { by: 'merge', sent: { a: 'b' } },
    },
    { body: '[]', type: 'application/json-patch+json', is: { by: 'json', sent: [] } },
    { body: '{}', type: 'application/json-patch+json', is: 400 },
    { body: '[]', type: 'application/merge-patch+json', is: 400 },
    { body: '{}', type: 'application/strategic-merge-patch+json', is: 415 },
    { body: '{}', type: 'text/plain', is: 415 },
    { body: '{"a":1,"a":2}', type: JSON_TYPE, is: 400 },
    { body: '{"a":1,"\\u0061":2}', type: JSON_TYPE, is: 400 },
    {
      body: '{"a":{"b":1},"c":{"b":1}}',
      type: JSON_TYPE,
      is: { by: 'put', sent: { a: { b: 1 }, c: { b: 1 } } },
    },
    {
      body: '{"a":":\\"{","b":"}"}',
      type: JSON_TYPE,
      is: { by: 'put', sent: { a: ':"{', b: '}' } },
    },
    { body: 'a: 1\na: 2', type: YAML_TYPE, is: 400 },
    { body: '{"a":1,"a":2}', type: YAML_TYPE, is: 400 },
    { body: 'a: &x 1\nb: *x', type: YAML_TYPE, is: 400 },
    { body: '? [a]\n: 1', type: YAML_TYPE, is: 400 },
    { body: 'a: 1\n---\nb: 1', type: YAML_TYPE, is: 400 },
    { body: '9007199254740993', type: JSON_TYPE, is: 400 },
    { body: '{"a":9007199254740993}', type: JSON_TYPE, is: 400 },
    { body: '{"a":-9007199254740993}', type: JSON_TYPE, is: 400 },
    { body: '{"a":1e400}', type: JSON_TYPE, is: 400 },
    { body: 'a: .inf', type: YAML_TYPE, is: 400 },
    { body: 'a: .nan', type: YAML_TYPE, is: 400 },
    { body: `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, type: JSON_TYPE, is: 400 },
    { body: '['.repeat(16_000), type: YAML_TYPE, is: 400 },
    { body: `{"a":[${'1,'.repeat(100_000)}1]}`, type: JSON_TYPE, is: 400 },
    { body: Buffer.from([0x22, 0xff, 0x22]), type: JSON_TYPE, is: 400 },
    { body: '"', type: JSON_TYPE, is: 400 },
    { body: '', type: JSON_TYPE, is: 400 },
    { body: ' '.repeat(4 * 1024 * 1024), type: JSON_TYPE, is: 413 },
    { body: `a: ${'b'.repeat(17_000)}`, type: YAML_TYPE, is: 413 },
  ])(
    'of $type that begins with $body.0$body.1$body.2$body.3 is $is',
    async ({ body, type, is }) => {
      expect(await read(body, type)).toEqual(is)
    },
  )

  test('that is compressed is refused', async () => {
    expect(await read('{}', JSON_TYPE, { 'content-encoding': 'gzip' })).toBe(415)
  })
})
