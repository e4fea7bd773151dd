// What holds for every policy that is shipped, whatever it is about (contract 5.5).
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
    readonly variables?: readonly { readonly expression: string }[]
    readonly validations: readonly { readonly expression: string }[]
  }
}

const FOLDER = join(import.meta.dirname, '../../config/policies')
/** The API server's budget: a check costs 350,000 of 1,000,000 per expression and 10,000,000 per policy. */
const PER_EXPRESSION = 2
const PER_POLICY = 28
/** An expression in a loop asks as often as its list is long: the lists are bounded beside it. */
const LOOP = /\.all\(/

const texts = readdirSync(FOLDER).map((file) => readFileSync(join(FOLDER, file), 'utf8'))
const policies = texts
  .flatMap((text) => parseAllDocuments(text))
  .map((document) => document.toJS() as Policy)
  .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')

const checksIn = (expression: string): number =>
  expression.split(".check('").length - 1 + (LOOP.test(expression) ? 1 : 0)

describe.each(policies)('$metadata.name', ({ spec }) => {
  const { variables = [], validations, matchConstraints } = spec
  const expressions = [...variables, ...validations].map(({ expression }) => expression)

  test('asks the authorizer within the budget of the API server (5.5)', () => {
    const checks = expressions.map(checksIn)
    expect(checks.filter((count) => count > PER_EXPRESSION)).toEqual([])
    expect(checks.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(PER_POLICY)
  })

  test('compares with the stored object, and never meets a deletion or a write of status (5.5)', () => {
    const { resourceRules } = matchConstraints
    const operations = resourceRules.flatMap((rule) => rule.operations)
    expect(['CREATE', 'UPDATE']).toEqual(expect.arrayContaining(operations))
    expect(resourceRules.flatMap(({ resources }) => resources).join()).not.toContain('/')
    expect(expressions.join('\n')).toContain('oldObject')
  })
})

test('the policies name no account (5.5)', () => {
  for (const text of texts) expect(text).not.toMatch(/serviceaccounts?[:/]|platform-system/i)
})
