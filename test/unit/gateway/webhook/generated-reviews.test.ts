// The webhook on random scopes and requests, compared with the reference matcher of scopes (contract 9.6, 11.1).
import { expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { type RequestInfo, isResourceRequest } from '../../../../src/domain/scope/request-info.ts'
import { decideReview } from '../../../../src/gateway/webhook/subject-access-review.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import { oneEntry, union } from '../../domain/scope/random-scopes.ts'
import { UNIVERSE, grants } from '../../domain/scope/reference-matcher.ts'
import { CLUSTER, CONTEXT, extraOf, specOf } from './review-builder.ts'

const SCOPES = repeated(60, 600)

const ON_CLUSTER = UNIVERSE.filter(
  ({ target }) => target.kind === 'Cluster' && target.cluster === CLUSTER,
)
/** With updates and creates, which the universe of scopes does without. */
const REQUESTS: readonly RequestInfo[] = ON_CLUSTER.flatMap((request) =>
  request.verb === 'watch'
    ? ['watch', 'update', 'create'].map((verb) => ({ ...request, verb }))
    : [request],
)

/** A scope with other verbs in its rules. */
function randomScope(random: Random): Scope {
  const scope = random.pick([oneEntry(random), union(oneEntry(random), oneEntry(random))])
  const verbs = random.pick([
    { get: 'get', delete: 'delete', impersonate: 'impersonate' },
    { get: 'update', delete: 'get', impersonate: 'create' },
    { get: 'update', delete: 'watch', impersonate: 'get' },
  ])
  const text = JSON.stringify(scope)
  const replaced = text.replaceAll(/"(get|delete|impersonate)"/g, (_, verb: keyof typeof verbs) =>
    JSON.stringify(verbs[verb]),
  )
  return JSON.parse(replaced) as Scope
}

/** The review that an API server would send. */
const reviewed = (request: RequestInfo): object => {
  const { target: _, ...attributes } = request
  return isResourceRequest(request)
    ? { resourceAttributes: attributes }
    : { nonResourceAttributes: attributes }
}

/** The rule of `create`, stated once more: an update of a named object, and a session in a Pod. */
function isGranted(scope: Scope, request: RequestInfo): boolean {
  if (!grants(scope, request)) return false
  if (!isResourceRequest(request)) return true
  const { verb, group, resource, subresource, name } = request
  const isSession = `${group}/${resource}/${subresource}` === '/pods/exec'
  const isUpdate = verb === 'update' && name !== '' && subresource === ''
  return !(isSession || isUpdate) || grants(scope, { ...request, verb: 'create' })
}

test('a request is denied exactly where the scope does not grant it on this cluster (9.6, 11.1 to 11.7)', () => {
  let granted = 0
  let needingCreate = 0
  for (let seed = 0; seed < SCOPES; seed += 1) {
    const scope = randomScope(randomFrom(seed))
    const extra = extraOf(scope)
    const isDenied = (request: RequestInfo): boolean =>
      decideReview(specOf(extra, reviewed(request)), CONTEXT).denied
    const wrong = REQUESTS.find((request) => isDenied(request) === isGranted(scope, request))
    expect({ seed, scope, wrong }).toEqual({ seed, scope, wrong: undefined })
    const byScope = REQUESTS.filter((request) => grants(scope, request))
    const passed = byScope.filter((request) => isGranted(scope, request))
    granted += passed.length
    needingCreate += byScope.length - passed.length
  }
  expect(granted).toBeGreaterThan((SCOPES * REQUESTS.length) / 20)
  expect(needingCreate).toBeGreaterThan(SCOPES / 2)
})
