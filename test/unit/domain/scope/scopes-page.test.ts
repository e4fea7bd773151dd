// The tables of docs/scopes.md, row by row, and the shipped roles.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { KeyCaller } from '../../../../src/authn/caller.ts'
import { parseScope } from '../../../../src/domain/scope/authorize.ts'
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import {
  type PolicyRule,
  SCOPE_ROLES,
  clusterRoleNameOf,
} from '../../../../src/domain/scope/roles.ts'
import { isEscalatingVerb, isSensitiveResource } from '../../../../src/domain/scope/sensitive.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import { authorizeRequest, mayCreate } from '../../../../src/gateway/stages/authorization.ts'
import { cookbook, cookbookScopes } from '../../../support/documentation-blocks.ts'

const ROLES = shippedRoles()
const SURROUNDINGS = {
  projectNamespacePrefix: 'p-',
  roleRules: (role: string) => ROLES.get(role) ?? [],
}
const RECIPES = cookbook()

describe('docs/scopes.md shows each field alone, two together, and sensitive requests (11.2, 11.3, 11.4, 11.5, 11.7)', () => {
  test.each(RECIPES)('$scope: $method $path: $answer', ({ scope, method, path, answer }) => {
    const { target, rest } = routeOf(path)
    const reading = parseRequest(method, target, rest)
    if (!reading.ok) throw new Error(reading.answer.body.toString())
    const caller = { scope: parseScope(scope) } as KeyCaller
    const { request } = reading
    const merge = 'application/merge-patch+json'
    const creates = mayCreate(request, method === 'PATCH' ? merge : undefined)
    const refusal = authorizeRequest(caller, request.attributes, creates, SURROUNDINGS)
    expect(refusal?.status ?? 'passes').toBe(answer === 'passes' ? 'passes' : 403)
  })

  test('shows every field of a scope, and an allowed and a denied request for most scopes', () => {
    const fields = new Set(fieldsOf(cookbookScopes()))
    expect([...fields].toSorted()).toEqual([...new Set(fieldsOfSchema())].toSorted())
    expect(RECIPES.length).toBeGreaterThan(80)
    expect(RECIPES.filter(({ answer }) => answer === 'passes').length).toBeGreaterThan(30)
  })
})

describe('config/scope-roles (11.4)', () => {
  test('has all roles, and the gateway has the right to read each of them (1.3)', () => {
    expect([...ROLES.keys()].toSorted()).toEqual(SCOPE_ROLES)
    const granted = [...read('config/rbac/gateway.yaml').matchAll(/- (platform:scope:\S+)$/gm)]
    expect(granted.map(([, name]) => name)).toEqual(SCOPE_ROLES.map(clusterRoleNameOf))
  })

  test.each([...ROLES])(
    '%s grants only reads, self reviews and events of agents, and nothing that outlives a key',
    (_, rules) => {
      expect(rules).not.toEqual([])
      for (const { verbs, apiGroups = [], resources = [], nonResourceURLs = [] } of rules) {
        const isReview = resources.every((one) => one.startsWith('selfsubject'))
        const isOfAgents = nonResourceURLs.join() === '/agents/*'
        const writes = isOfAgents ? ['post'] : isReview && resources.length > 0 ? ['create'] : null
        expect(writes ?? ['get', 'list', 'watch']).toEqual(expect.arrayContaining([...verbs]))
        expect([...verbs, ...apiGroups, ...resources, ...nonResourceURLs]).not.toContain('*')
        expect(resources.some(isSensitiveResource) || verbs.some(isEscalatingVerb)).toBe(false)
        expect(resources).not.toContain('secrets')
      }
    },
  )
})

/** The targets of the gateway, as their paths name them (contract 9.1). */
function routeOf(path: string): { readonly target: RequestTarget; readonly rest: string } {
  const [, kubernetes, kind, first = '', inside, second = ''] = path.split('/')
  if (kubernetes !== 'kubernetes') throw new Error(path)
  if (kind === 'management') return { target: { kind: 'Management' }, rest: after(path, 2) }
  if (kind === 'cluster')
    return { target: { kind: 'Cluster', cluster: first }, rest: after(path, 3) }
  const place = { project: first }
  const target: RequestTarget =
    inside === 'space'
      ? { kind: 'ProjectSpace', ...place, space: second }
      : { kind: 'ProjectVirtualCluster', ...place, virtualCluster: second }
  return { target, rest: after(path, 5) }
}

/** What is behind that many segments. */
const after = (path: string, segments: number): string =>
  `/${path
    .split('/')
    .slice(segments + 1)
    .join('/')}`

function read(path: string): string {
  return readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8')
}

/** Such as `rules.resources.group`. */
function fieldsOf(value: unknown, under = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => fieldsOf(one, under))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = under === '' ? name : `${under}.${name}`
    return [field, ...fieldsOf(inner, field)]
  })
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

function fieldsOfSchema(): readonly string[] {
  const [document] = parseAllDocuments(read('crds/ownedaccesskeys.yaml'))
  const schema = document?.getIn(
    'spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.scope'
      .split('.')
      .map((part) => (part === '0' ? 0 : part)),
  ) as { toJSON(): Schema }
  return propertiesOf(schema.toJSON())
}

function propertiesOf({ properties = {}, items }: Schema, under = ''): readonly string[] {
  if (items !== undefined) return propertiesOf(items, under)
  return Object.entries(properties).flatMap(([name, inner]) => {
    const field = under === '' ? name : `${under}.${name}`
    return [field, ...propertiesOf(inner, field)]
  })
}

/** The rules of the ClusterRoles in config/scope-roles, by the role of a scope. */
function shippedRoles(): ReadonlyMap<string, readonly PolicyRule[]> {
  const folder = join(import.meta.dirname, '../../../../config/scope-roles')
  const prefix = 'platform:scope:'
  const files = readdirSync(folder).filter((name) => name !== 'kustomization.yaml')
  return new Map(
    files.map((file) => {
      const { metadata, rules } = parse(readFileSync(join(folder, file), 'utf8')) as {
        readonly metadata: { readonly name: string }
        readonly rules: readonly PolicyRule[]
      }
      if (!metadata.name.startsWith(prefix)) throw new Error(`${file} names ${metadata.name}`)
      return [metadata.name.slice(prefix.length), rules]
    }),
  )
}
