// Properties of every shipped policy (contract 5.5).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

interface Policy {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[]
        readonly resources: readonly string[]
      }[]
    }
    /** The API server asks them first, with a budget of their own. */
    readonly matchConditions?: readonly { readonly expression: string }[]
    readonly variables?: readonly { readonly expression: string }[]
    readonly validations: readonly { readonly expression: string }[]
  }
}

const FOLDER = join(import.meta.dirname, '../../config/policies')
/** The API server's budget: a check costs 350,000 of 1,000,000 per expression and 10,000,000 per policy. */
const PER_EXPRESSION = 2
const PER_POLICY = 28
/** A call in a loop counts once per element; another rule bounds these lists. */
const LOOP = /\.all\(/

const texts = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file), 'utf8'))
const policies = texts
  .flatMap((text) => parseAllDocuments(text))
  .map((document) => document.toJS() as Policy)
  .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')

const checksIn = (expression: string): number =>
  expression.split(".check('").length - 1 + (LOOP.test(expression) ? 1 : 0)

/** It is about who deletes a key; others may never stop a deletion. */
const ON_DELETIONS = 'key-type.management.platform.sh'

describe.each(policies)('$metadata.name', ({ metadata, spec }) => {
  const { matchConditions = [], variables = [], validations, matchConstraints } = spec
  const expressions = [...variables, ...validations].map(({ expression }) => expression)

  test("calls the authorizer within the API server's cost budget (5.5)", () => {
    const checks = expressions.map(checksIn)
    expect(checks.filter((count) => count > PER_EXPRESSION)).toEqual([])
    expect(checks.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(PER_POLICY)
  })

  test('compares with the stored object, and applies to no write of status, and to no deletion but by a limited author (5.5)', () => {
    const { resourceRules } = matchConstraints
    const operations = resourceRules.flatMap((rule) => rule.operations)
    const known = ['CREATE', 'UPDATE', ...(metadata.name === ON_DELETIONS ? ['DELETE'] : [])]
    expect(known).toEqual(expect.arrayContaining(operations))
    expect(resourceRules.flatMap(({ resources }) => resources).join()).not.toContain('/')
    const conditions = matchConditions.map(({ expression }) => expression)
    expect([...conditions, ...expressions].join('\n')).toContain('oldObject')
  })
})

test('no policy names an account (5.5)', () => {
  for (const text of texts) expect(text).not.toMatch(/system:serviceaccount|platform-system/i)
})
