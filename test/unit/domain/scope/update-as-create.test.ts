// Requests that need create as well, requests for everything at once, and scopes as text (contract 7.1, 11.1, 11.6, 11.7).
import { describe, expect, test } from 'vitest'
import {
  authorize,
  grantsAnything,
  parseScope,
  parseScopeText,
} from '../../../../src/domain/scope/authorize.ts'
import { authorizeWithCreate, needsCreate } from '../../../../src/domain/scope/update-as-create.ts'
import type { RequestInfo } from '../../../../src/domain/scope/request-info.ts'
import { cluster, of, ofEvery, scopeOf } from './scope-builder.ts'

const target = { kind: 'Cluster', cluster: 'c1' } as const
const CONTEXT = { projectNamespacePrefix: 'p-', roleRules: () => [] }

/** `update pods x` in namespace a; a resource may have a subresource. */
function asked(text: string, group = ''): RequestInfo {
  const [verb = '', what = '', name = ''] = text.split(' ')
  if (what.startsWith('/')) return { target, verb, path: what }
  const [resource = '', subresource = ''] = what.split('/')
  return { target, verb, group, version: 'v1', resource, subresource, namespace: 'a', name }
}

// biome-ignore format: a table
describe('a request needs create as well by its attributes (11.6)', () => {
  test.each([
    { text: 'update pods x',           is: true },
    { text: 'update pods x',           is: true,  group: 'metrics.k8s.io' },
    { text: 'update pods',             is: false },
    { text: 'update pods/status x',    is: false },
    { text: 'patch pods x',            is: false },
    { text: 'create pods x',           is: false },
    { text: 'get pods x',              is: false },
    { text: 'get pods/exec x',         is: true },
    { text: 'create pods/attach x',    is: true },
    { text: 'get pods/portforward x',  is: true },
    { text: 'get pods/portforward',    is: true },
    { text: 'get pods/proxy x',        is: false },
    { text: 'get pods/log x',          is: false },
    { text: 'get pods/exec x',         is: false, group: 'example.com' },
    { text: 'get machines/exec x',     is: false },
    { text: 'update /healthz',         is: false },
  ])('$text $group: $is', ({ text, group, is }) => expect(needsCreate(asked(text, group))).toBe(is))

  test('it is granted only with both, and the message names what is missing', () => {
    const decide = (verbs: readonly string[], creates: boolean) =>
      authorizeWithCreate(parseScope(scopeOf({ ...of('pods'), verbs })), asked('update pods x'), creates, CONTEXT)
    const missing = (verb: string) => ({ allowed: false, because: expect.stringContaining(`grant "${verb}" on "pods" "x"`) as string })
    expect(decide(['update'], true)).toEqual(missing('create'))
    expect(decide(['create'], true)).toEqual(missing('update'))
    expect(decide(['create'], false)).toEqual(missing('update'))
    expect(decide(['update'], false)).toEqual({ allowed: true })
    expect(decide(['update', 'create'], true)).toEqual({ allowed: true })
  })
})

describe('a request for everything at once is granted without a scope only (11.7)', () => {
  const scopes = [cluster('*'), scopeOf(ofEvery('*')), scopeOf({ nonResourceURLs: ['*'] })]
  test.each([
    asked('* pods x'),
    asked('get * x'),
    asked('get pods/* x'),
    asked('get pods x', '*'),
    asked('* /healthz'),
  ])('%j', (request) => {
    for (const scope of scopes)
      expect(authorize(parseScope(scope), request, CONTEXT).allowed).toBe(false)
    expect(authorize(null, request, CONTEXT)).toEqual({ allowed: true })
  })

  test('a version or a name of that kind is no such request', () => {
    const request = { ...asked('get pods *'), version: '*' }
    expect(authorize(parseScope(cluster('c1')), request, CONTEXT)).toEqual({ allowed: true })
  })
})

describe('the text of a scope in a token (7.1, 11.1)', () => {
  test('is a star, or JSON of a scope', () => {
    expect(parseScopeText('*')).toEqual({ grants: null })
    expect(parseScopeText('{"clusters":[{"cluster":"c1"}]}')).toEqual({
      grants: parseScope(cluster('c1')),
    })
  })

  test.each([
    '',
    ' ',
    '* ',
    '"*"',
    'null',
    '[]',
    '5',
    '{',
    '{"rules":[]}x',
    '{"rules":[],"rules":[]}',
    "{'rules':[]}",
  ])('is malformed: %j', (text) => expect(parseScopeText(text)).toBe(null))

  test.each([
    '{}',
    '{"clusters":[]}',
    '{"unknown":[1]}',
    '{"__proto__":{"clusters":[{"cluster":"*"}]}}',
  ])('sets nothing, and grants nothing: %s', (text) => {
    const { grants } = parseScopeText(text) ?? { grants: null }
    expect(grants).toEqual([])
    expect(grantsAnything(grants, target, CONTEXT)).toBe(false)
  })
})
