// The targets of `make fuzz`: their invariants hold for the kept inputs, and fail for parsers that are wrong.
import { describe, expect, test } from 'vitest'
import { readCorpus } from '../../../tools/fuzz/corpus.ts'
import { jsonTarget, jwsTarget, yamlTarget } from '../../../tools/fuzz/documents.ts'
import {
  type Parse,
  pathTarget,
  queryTarget,
  selectorTarget,
} from '../../../tools/fuzz/requests.ts'
import {
  addressTarget,
  durationTarget,
  expressionTarget,
  scopeTarget,
} from '../../../tools/fuzz/rules.ts'
import { fuzz } from '../../../tools/fuzz/session.ts'
import { claimsTarget } from '../../../tools/fuzz/sign-in.ts'
import type { FuzzTarget } from '../../../tools/fuzz/target.ts'
import { FUZZ_TARGETS } from '../../../tools/fuzz/targets.ts'
import { parse as parseAnyYaml } from 'yaml'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { identityOf } from '../../../src/signin/providers/oidc/claims.ts'
import { randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'

const resultOf = (target: FuzzTarget, corpus: readonly string[], runs: number) => {
  const { between } = randomFrom(2026)
  return fuzz(target, { corpus, random: () => between(0, 1), goesOn: (count) => count < runs })
}

describe('the invariant of a target', () => {
  test.each(Object.entries(FUZZ_TARGETS))(
    '%s holds for its corpus and changes of it',
    (name, target) => {
      const corpus = readCorpus(name)
      expect(corpus.length).toBeGreaterThan(3)
      expect(resultOf(target, corpus, repeated(500, 5000)).failure).toBeNull()
    },
  )
})

/** Forwards the bytes as they came, and reads what a server makes of them. */
const asItCame: Parse = (rest) => {
  const url = new URL(`http://server${rest}`)
  const result = parseRequest('GET', { kind: 'Management' }, `${url.pathname}${url.search}`)
  if (!result.ok) return 'refused'
  const [path = '', search = ''] = rest.split('?')
  return { ...result.request, path, search }
}

const WRONG: readonly (readonly [name: string, target: FuzzTarget])[] = [
  ['path', pathTarget(asItCame)],
  ['query', queryTarget(asItCame)],
  ['selector', selectorTarget((text) => !text.includes('('))],
  ['json', jsonTarget(() => null)],
  ['yaml', yamlTarget((text) => parseAnyYaml(text, { logLevel: 'silent' }))],
  ['jws', jwsTarget((token) => ({ token, kid: 'A'.repeat(43) }))],
  ['scope', scopeTarget((scope) => ('unknown' in scope ? null : parseScope(scope)))],
  [
    'expression',
    expressionTarget(
      (source) => ({ ok: true, expression: { source, reads: [], gives: null } }) as never,
    ),
  ],
  ['address', addressTarget((text) => (/^[\d.]+$/.test(text) ? { bits: 32, value: 0n } : null))],
  ['duration', durationTarget((text) => Number(text))],
  [
    'claims',
    claimsTarget((claims, settings) => ({ ...identityOf(claims, settings), emailVerified: true })),
  ],
]

test.each(WRONG)('the invariant of %s fails for a parser that is wrong', (name, target) => {
  expect(resultOf(target, readCorpus(name), 2000).failure).not.toBeNull()
})

test('a session keeps an input for each outcome, the shortest', () => {
  const target: FuzzTarget = {
    seeds: ['bb', 'b', 'a'],
    words: ['a'],
    run: (input) => input[0] ?? '',
  }
  const { corpus, runs } = resultOf(target, [], 3)
  expect({ corpus, runs }).toEqual({ corpus: ['a', 'b'], runs: 3 })
})
