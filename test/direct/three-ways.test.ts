// One decision by three ways: what a key may do through the gateway, a token of the same identity and scope may do through
// the direct endpoint and at the stock API server that asks our webhook, and nothing else (contract 9.2, 9.6, 11).
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../src/api/scope.gen.ts'
import { randomFrom } from '../support/random.ts'
import { repeated } from '../support/tier.ts'
import { inWords } from './three-ways-answers.ts'
import { requestDrawn, scopeDrawn } from './three-ways-random.ts'
import { askedOf } from './three-ways-requests.ts'
import { RULE_ROWS } from './three-ways-rules.ts'
import { EXCEPTIONS, TARGET_ROWS } from './three-ways-targets.ts'
import { type Answers, isElsewhere, startThreeWays } from './three-ways.ts'

const ways = await startThreeWays()

const TABLE = await Promise.all(
  [...TARGET_ROWS, ...RULE_ROWS].map(async (entry) => {
    const credentials = await ways.credentials(entry.scope, entry.owner)
    if (credentials === null) throw new Error(`the API server refuses the scope of ${entry.name}`)
    return { ...entry, credentials }
  }),
)

/** Whether the answers are those of one decision: a token for other clusters is none here (7.1). */
function areAlike({ gateway, direct, stock }: Answers, scope: Scope | null): boolean {
  if (isElsewhere(scope)) return direct.code === 401 && stock.code === 401
  // What two servers could read differently is refused before any decision, where a gateway stands (11.6).
  if (gateway.by === 'reader') return direct.by === 'reader'
  return isDeepStrictEqual(direct, gateway) && isDeepStrictEqual(stock, gateway)
}

describe.each(TABLE)('with $name', ({ scope, credentials, rows }) => {
  test.each(rows)('%s is answered %s (9.2, 9.6, 11.2 to 11.7)', async (request, expected) => {
    const answers = await ways.answers(credentials, askedOf(request))
    expect({ ...answers, areAlike: areAlike(answers, scope) }).toEqual({
      ...answers,
      areAlike: true,
    })
    expect(inWords(answers.gateway)).toBe(expected)
  })
})

test.each(EXCEPTIONS)(
  '$name (7.1, 9.6, 11.6, 11.7)',
  async ({ scope, request, gateway, direct, stock }) => {
    const credentials = await ways.credentials(scope)
    if (credentials === null) throw new Error('the API server refuses the scope')
    const seen = await ways.answers(credentials, askedOf(request))
    expect({
      gateway: inWords(seen.gateway),
      direct: inWords(seen.direct),
      stock: inWords(seen.stock),
    }).toEqual({ gateway, direct, stock })
  },
)

const SCOPES = repeated(5, 40)
const REQUESTS_EACH = repeated(30, 50)
const AT_ONCE = 5

test('random requests with random scopes are decided alike (9.2, 9.6, 11.1 to 11.7)', async () => {
  const counts = new Map<string, number>()
  const mismatches: string[] = []
  let seed = 0
  const compareScope = async (): Promise<void> => {
    seed += 1
    const own = seed
    const random = randomFrom(own)
    const scope = scopeDrawn(random)
    const credentials = await ways.credentials(scope)
    // The API server refuses scopes that can't be meant so: the next one, then.
    if (credentials === null) return compareScope()
    for (const _ of Array.from({ length: REQUESTS_EACH })) {
      const request = requestDrawn(random)
      const answers = await ways.answers(credentials, askedOf(request))
      const how = String(inWords(answers.gateway))
      counts.set(how, (counts.get(how) ?? 0) + 1)
      if (!areAlike(answers, scope))
        mismatches.push(JSON.stringify({ seed: own, scope, request, ...answers }))
    }
  }
  for (let begun = 0; begun < SCOPES; begun += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, compareScope))
  const all = SCOPES * REQUESTS_EACH
  console.log(`${all} requests, scopes of seeds 1 to ${seed}:`, Object.fromEntries(counts))
  expect(mismatches).toEqual([])
  const byScope = counts.get('scope') ?? 0
  expect(byScope).toBeGreaterThan(all / 5)
  expect(all - byScope).toBeGreaterThan(all / 5)
})
