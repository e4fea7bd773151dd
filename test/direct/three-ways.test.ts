// One decision by three ways: what a key may do through the gateway, a token of the same identity and scope may do through
// the direct endpoint and at the stock API server that asks our webhook, and nothing else (contract 9.2, 9.6, 11).
import { describe, expect, test } from 'vitest'
import { RULE_ROWS } from './three-ways-rules.ts'
import { EXCEPTIONS, TARGET_ROWS } from './three-ways-targets.ts'
import { askedOf } from './three-ways-requests.ts'
import { type Seen } from './three-ways-answers.ts'
import { isElsewhere, startThreeWays } from './three-ways.ts'

const ways = await startThreeWays()

const TABLE = await Promise.all(
  [...TARGET_ROWS, ...RULE_ROWS].map(async (entry) => {
    const credentials = await ways.credentials(entry.scope, entry.owner)
    if (credentials === null) throw new Error(`the API server refuses the scope of ${entry.name}`)
    return { ...entry, credentials }
  }),
)

/** The answer in the words of the table. */
function inWords({ code, by }: Seen): number | string {
  if (code !== 403 || by === '') return code
  return by.startsWith('the scope') ? 'scope' : by
}

describe.each(TABLE)('with $name', ({ scope, credentials, rows }) => {
  test.each(rows)('%s is answered %s (9.2, 9.6, 11.2 to 11.7)', async (request, expected) => {
    const { gateway, direct, stock } = await ways.answers(credentials, askedOf(request))
    expect(inWords(gateway)).toBe(expected)
    const refused: Seen = { code: 401, by: '', what: '' }
    const sameAs = isElsewhere(scope) ? refused : gateway
    expect({ direct, stock }).toEqual({ direct: sameAs, stock: sameAs })
  })
})

test.each(EXCEPTIONS)(
  '$name (9.6, 11.6, 11.7)',
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
