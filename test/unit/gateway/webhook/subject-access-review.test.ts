// The checks of the webhook, each alone and in their order (contract 9.6).
import { describe, expect, test } from 'vitest'
import { ERRORS } from '../../../../src/gateway/errors.ts'
import {
  type WebhookContext,
  decideReview,
} from '../../../../src/gateway/webhook/subject-access-review.ts'
import { cluster, of, scopeOf } from '../../domain/scope/scope-builder.ts'
import {
  CONTEXT,
  TOKEN_ID,
  attributesOf,
  decided,
  extraOf,
  forwardedExtraOf,
  specOf,
} from './review-builder.ts'

const PODS = attributesOf('get pods x')
const UNRESTRICTED = extraOf(null)
const [SCOPE, ID] = ['platform.sh/scope', 'platform.sh/token-id']
const KEY = 'platform.sh/access-key'

const UNKNOWN: WebhookContext['revocation'] = {
  isRevoked: () => false,
  unknownSince: () => '2026-11-21T10:00:00Z',
}
const REVOKED: WebhookContext['revocation'] = {
  isRevoked: (jti) => jti === TOKEN_ID,
  unknownSince: () => null,
}

const decide = (spec: unknown, context: Partial<WebhookContext> = {}) =>
  decideReview(spec, { ...CONTEXT, ...context })

/** JSON.parse keeps `__proto__` as an own name; an object literal does not. */
const json = (text: string): unknown => JSON.parse(text)

describe('the webhook has no opinion, whatever else is wrong, on (9.6)', () => {
  const wrong: Partial<WebhookContext> = { revocation: UNKNOWN, scopeContext: null }
  test.each([
    { name: 'a node', user: 'system:node:n', extra: undefined },
    { name: 'a service account', user: 'system:serviceaccount:a:b', extra: {} },
    { name: 'a person of the cluster', user: 'ada', extra: { 'example.com/x': ['y'] } },
    { name: 'a user without a name', user: undefined, extra: null },
    { name: 'a name that only resembles ours', user: 'platform', extra: {} },
    { name: 'an extra that only resembles ours', user: 'ada', extra: { 'platform.sh': ['y'] } },
    { name: 'a prototype as extra', user: 'ada', extra: json('{"__proto__":["x"]}') },
    { name: 'malformed extras of others', user: 'ada', extra: { 'example.com/x': 5 } },
  ])('users that are not ours: $name', ({ user, extra }) => {
    const spec = { ...PODS, user, extra }
    expect(decide(spec, wrong)).toEqual({ denied: false })
  })

  test.each([
    { name: 'of a team', user: 'platform:team:dev', extra: { [KEY]: ['ci'] } },
    { name: 'of a user', user: 'ada', extra: { [KEY]: ['ci'] } },
    { name: 'with an empty scope', user: 'ada', extra: { [KEY]: ['ci'], [SCOPE]: [] } },
    { name: 'with a null scope', user: 'ada', extra: { [KEY]: ['ci'], [SCOPE]: null } },
    { name: 'with an empty token-id', user: 'ada', extra: { [KEY]: ['ci'], [ID]: [] } },
    {
      name: 'for our own kinds',
      user: 'ada',
      extra: { [KEY]: ['ci'] },
      asked: 'get configs.management.platform.sh',
    },
    { name: 'without attributes', user: 'ada', extra: { [KEY]: ['ci'] }, asked: null },
  ])('requests of a gateway, which has decided: $name', ({ user, extra, asked = 'get pods' }) => {
    const spec = { ...(asked === null ? {} : attributesOf(asked)), user, extra }
    expect(decide(spec, wrong)).toEqual({ denied: false })
  })

  test('what the scope of a token grants, without a reason, which a server would append to the refusal by RBAC', () => {
    expect(decided(null, 'get pods x')).toEqual({ denied: false })
    expect(decided(cluster('c1'), 'get pods x')).toEqual({ denied: false })
  })
})

describe('the webhook denies (9.6)', () => {
  test('while the revoked tokens are not known', () => {
    const reason = 'revocation unknown since 2026-11-21T10:00:00Z'
    const denied = { denied: true, reason }
    expect(decide(specOf(UNRESTRICTED, PODS), { revocation: UNKNOWN })).toEqual(denied)
    // Before it reads anything else of the review.
    expect(decide(specOf({}, {}), { revocation: UNKNOWN, scopeContext: null })).toEqual(denied)
  })

  test('revoked tokens, whatever their scope, at the server and through the direct endpoint', () => {
    const denied = { denied: true, reason: 'the token is revoked' }
    for (const extra of [UNRESTRICTED, extraOf({}), forwardedExtraOf(null)])
      expect(decide(specOf(extra, PODS), { revocation: REVOKED })).toEqual(denied)
    const ownKinds = attributesOf('get configs.management.platform.sh')
    expect(decide(specOf(UNRESTRICTED, ownKinds), { revocation: REVOKED })).toEqual(denied)
  })

  test.each(['ownedaccesskeys', 'directclusterendpointtokens', 'configs', 'anything'])(
    'our own kind %s on a connected cluster, whatever the scope (12.4)',
    (resource) => {
      const scope = scopeOf({
        resources: [{ group: 'management.platform.sh', resources: [resource] }],
      })
      const spec = attributesOf(`get ${resource}.management.platform.sh x`, '')
      for (const extra of [UNRESTRICTED, extraOf(scope), forwardedExtraOf(null)])
        expect(decide(specOf(extra, spec))).toEqual({
          denied: true,
          reason: ERRORS.ownKindsElsewhere.message,
        })
    },
  )

  test('our own kinds out of the scope as any other, as the gateway does (11.1)', () => {
    expect(decided(scopeOf(of('pods')), 'get configs.management.platform.sh x')).toMatchObject({
      denied: true,
      reason: expect.stringMatching(/^the scope does not grant "get" on "configs/),
    })
  })

  test('what the scope does not grant, with the words of the gateway', () => {
    expect(decided(scopeOf(of('pods')), 'get secrets x')).toEqual({
      denied: true,
      reason: 'the scope does not grant "get" on "secrets" "x" in namespace "team" of cluster "c1"',
    })
  })

  test('all tokens until the settings are known, but revoked ones as such only later', () => {
    const denied = { denied: true, reason: 'settings are not known here yet' }
    const unknown = { scopeContext: null, revocation: REVOKED }
    expect(decide(specOf(UNRESTRICTED, PODS), unknown)).toEqual(denied)
  })
})

// biome-ignore format: a table
describe('the webhook denies what it cannot read, and says what is missing or wrong (9.6)', () => {
  const without = (name: string) => ({ ...UNRESTRICTED, [name]: undefined })
  const having = (name: string, value: unknown) => ({ ...UNRESTRICTED, [name]: value })
  const oneScope = `extra ${SCOPE} must have one value`
  const oneId = `extra ${ID} must have one value`
  const noScope = `extra ${SCOPE} is not a valid scope`
  test.each<{ name: string; extra: unknown; reason: string }>([
    { name: 'no extras',                    extra: undefined,                            reason: oneScope },
    { name: 'extras of others only',        extra: { 'example.com/x': ['y'] },           reason: oneScope },
    { name: 'extras as a list',             extra: [['platform.sh/scope', '*']],         reason: 'extra of the review is not an object' },
    { name: 'extras as text',               extra: 'platform.sh/scope',                  reason: 'extra of the review is not an object' },
    { name: 'no scope',                     extra: without(SCOPE),                       reason: oneScope },
    { name: 'an empty list as scope',       extra: having(SCOPE, []),                    reason: oneScope },
    { name: 'an empty scope',               extra: having(SCOPE, ['']),                  reason: oneScope },
    { name: 'two scopes',                   extra: having(SCOPE, ['*', '*']),            reason: oneScope },
    { name: 'an empty scope and another',   extra: having(SCOPE, ['', '*']),             reason: oneScope },
    { name: 'a scope as text',              extra: having(SCOPE, '*'),                   reason: oneScope },
    { name: 'a scope as object',            extra: having(SCOPE, { 0: '*', length: 1 }), reason: oneScope },
    { name: 'a number in the list',         extra: having(SCOPE, [5]),                   reason: oneScope },
    { name: 'a list in the list',           extra: having(SCOPE, [['*']]),               reason: oneScope },
    { name: 'a scope of a prototype',       extra: json(`{"__proto__":{"${SCOPE}":["*"]},"${ID}":["x"]}`), reason: oneScope },
    { name: 'names of the prototype',       extra: { constructor: ['*'], toString: [] }, reason: oneScope },
    { name: 'no token-id',                  extra: without(ID),                          reason: oneId },
    { name: 'an empty list as token-id',    extra: having(ID, []),                       reason: oneId },
    { name: 'an empty token-id',            extra: having(ID, ['']),                     reason: oneId },
    { name: 'two token-ids',                extra: having(ID, ['a', 'b']),               reason: oneId },
    { name: 'a token-id as number',         extra: having(ID, [1]),                      reason: oneId },
    { name: 'a scope that is not JSON',     extra: having(SCOPE, ['{']),                 reason: noScope },
    { name: 'a scope that is cut off',      extra: having(SCOPE, ['{"clusters":[{"cluster":"c1"}']), reason: noScope },
    { name: 'a list as scope',              extra: having(SCOPE, ['[]']),                reason: noScope },
    { name: 'null as scope',                extra: having(SCOPE, ['null']),              reason: noScope },
    { name: 'a quoted star',                extra: having(SCOPE, ['"*"']),               reason: noScope },
    { name: 'a star and a space',           extra: having(SCOPE, ['* ']),                reason: noScope },
    { name: 'two stars',                    extra: having(SCOPE, ['**']),                reason: noScope },
    { name: 'a name twice in the scope',    extra: having(SCOPE, ['{"rules":[],"rules":[{"verbs":["get"]}]}']), reason: noScope },
    { name: 'a malformed access-key',       extra: having(KEY, 'ci'),                    reason: `extra ${KEY} is not a list of strings` },
    { name: 'the same, without a scope',    extra: { [KEY]: 'ci' },                      reason: `extra ${KEY} is not a list of strings` },
    { name: 'an empty access-key alone',    extra: { [KEY]: [] },                        reason: oneScope },
    { name: 'a malformed scope of a gateway', extra: { [KEY]: ['ci'], [SCOPE]: '*' },    reason: oneScope },
    { name: 'a token-id, and no scope',     extra: { [KEY]: ['ci'], [ID]: ['x'] },       reason: oneScope },
    { name: 'a malformed token-id, and no scope', extra: { [KEY]: ['ci'], [ID]: 'x' },   reason: oneScope },
    { name: 'an empty scope of a gateway',  extra: { [KEY]: ['ci'], [SCOPE]: [''] },     reason: oneScope },
  ])('$name', ({ extra, reason }) => {
    expect(decide({ ...specOf({}, PODS), extra })).toEqual({ denied: true, reason })
  })

  test.each([
    { name: 'an empty list of a platform extra', extra: { [SCOPE]: [] } },
    { name: 'null as a platform extra', extra: { 'platform.sh/other': null } },
  ])('a user of another name counts as a token user by $name', ({ extra }) => {
    expect(decide({ ...PODS, user: 'ada', extra }).denied).toBe(true)
  })

  const attributes = { verb: 'get', resource: 'pods' }
  const path = { verb: 'get', path: '/healthz' }
  const either = 'the review must have either resourceAttributes or nonResourceAttributes'
  test.each<{ name: string; asked: object; reason: string }>([
    { name: 'neither attributes',     asked: {},                                                           reason: either },
    { name: 'both attributes',        asked: { resourceAttributes: attributes, nonResourceAttributes: path }, reason: either },
    { name: 'both attributes null',   asked: { resourceAttributes: null, nonResourceAttributes: null },    reason: either },
    { name: 'attributes of a prototype', asked: Object.create({ resourceAttributes: attributes }) as object, reason: either },
    { name: 'a list as attributes',   asked: { resourceAttributes: [attributes] },                         reason: 'the attributes of the review are not an object' },
    { name: 'text as attributes',     asked: { nonResourceAttributes: '/healthz' },                        reason: 'the attributes of the review are not an object' },
    { name: 'no verb of a path',      asked: { nonResourceAttributes: { path: '/healthz' } },              reason: 'the attributes of the review have no verb' },
    { name: 'an empty verb of a path', asked: { nonResourceAttributes: { ...path, verb: '' } },            reason: 'the attributes of the review have no verb' },
    { name: 'neither verb nor resource', asked: { resourceAttributes: { namespace: 'team' } },             reason: 'the attributes of the review have no resource' },
    { name: 'no resource',            asked: { resourceAttributes: { verb: 'get', name: 'pods' } },        reason: 'the attributes of the review have no resource' },
    { name: 'no path',                asked: { nonResourceAttributes: { verb: 'get' } },                   reason: 'the attributes of the review have no path' },
    ...['verb', 'group', 'version', 'resource', 'subresource', 'namespace', 'name'].flatMap((field) =>
      [['x'], 5, true, {}].map((value) => ({
        name: `${JSON.stringify(value)} as ${field}`,
        asked: { resourceAttributes: { ...attributes, [field]: value } },
        reason: `${field} in the attributes of the review is not a string`,
      })),
    ),
    ...['verb', 'path'].map((field) => ({
      name: `a list as ${field} of a path`,
      asked: { nonResourceAttributes: { ...path, [field]: ['/healthz'] } },
      reason: `${field} in the attributes of the review is not a string`,
    })),
  ])('$name', ({ asked, reason }) => {
    for (const extra of [UNRESTRICTED, extraOf(cluster('c1')), forwardedExtraOf(null)])
      expect(decide(specOf(extra, asked))).toEqual({ denied: true, reason })
  })

  test.each([
    { name: 'no spec', spec: undefined, reason: 'the review has no spec' },
    { name: 'null', spec: null, reason: 'the review has no spec' },
    { name: 'a list', spec: [], reason: 'the review has no spec' },
    { name: 'a number as user', spec: { ...PODS, user: 5 }, reason: 'the user of the review is not a string' },
    { name: 'a list as user', spec: { ...PODS, user: ['system:admin'] }, reason: 'the user of the review is not a string' },
  ])('$name', ({ spec, reason }) => {
    expect(decide(spec)).toEqual({ denied: true, reason })
  })
})

test('fields that a later API server may add change nothing, nor do selectors (9.6)', () => {
  const fieldSelector = { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n'] }] }
  const { resourceAttributes } = PODS as { readonly resourceAttributes: object }
  const asked = {
    resourceAttributes: { ...resourceAttributes, fieldSelector, later: [1] },
    later: {},
  }
  expect(decide(specOf(extraOf(scopeOf(of('pods'))), asked)).denied).toBe(false)
  expect(decide(specOf(extraOf(scopeOf(of('secrets'))), asked)).denied).toBe(true)
})
