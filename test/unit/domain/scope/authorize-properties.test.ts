import { expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { authorize, parseScope } from '../../../../src/domain/scope/authorize.ts'
import { firstUncoveredEntry } from '../../../../src/domain/scope/covers.ts'
import type { RequestInfo } from '../../../../src/domain/scope/request-info.ts'
import type { PolicyRule } from '../../../../src/domain/scope/roles.ts'
import { randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import { oneEntry, pair, union } from './random-scopes.ts'
import { CLUSTER_ROLES, PREFIX, UNIVERSE, grants } from './reference-matcher.ts'

const SCOPES = repeated(30, 200)
const PAIRS = repeated(105, 700)

/** The ClusterRoles of the reference matcher, as RBAC rules. */
const roleRules = (role: string): readonly PolicyRule[] =>
  (CLUSTER_ROLES.get(role) ?? []).map(({ paths = [], groups = [], ...rule }) => ({
    ...rule,
    apiGroups: groups,
    nonResourceURLs: paths,
  }))

/** The decision on requests by a scope, parsed once. */
function decider(scope: Scope): (request: RequestInfo) => boolean {
  const read = parseScope(scope)
  return (request) =>
    authorize(read, request, { projectNamespacePrefix: PREFIX, roleRules }).allowed
}

test('authorize agrees with the reference matcher on every request (11.1 to 11.7)', () => {
  let allowed = 0
  for (let seed = 0; seed < SCOPES; seed += 1) {
    const random = randomFrom(seed)
    const scope = random.pick([oneEntry(random), union(oneEntry(random), oneEntry(random))])
    const isAllowed = decider(scope)
    const wrong = UNIVERSE.find((request) => isAllowed(request) !== grants(scope, request))
    expect({ seed, scope, wrong }).toEqual({ seed, scope, wrong: undefined })
    allowed += UNIVERSE.some(isAllowed) ? 1 : 0
  }
  expect(allowed).toBeGreaterThan(SCOPES / 2)
})

test('a covered scope allows no request that the covering scope denies (11.8)', () => {
  const pairs = Array.from({ length: PAIRS }, (_, seed) => pair(randomFrom(seed)))
  const covered = pairs.filter(({ child, parent }) => firstUncoveredEntry(child, parent) === null)
  expect(covered.length).toBeGreaterThan(PAIRS / 7)
  const more = covered.find(({ child, parent }) => {
    const [byChild, byParent] = [decider(child), decider(parent)]
    return UNIVERSE.some((request) => byChild(request) && !byParent(request))
  })
  expect(more).toBeUndefined()
})
