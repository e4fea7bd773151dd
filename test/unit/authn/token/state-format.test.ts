// The file of a state directory is used whole, or not at all (contract 9.2).
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  type KeptState,
  readStateFile,
  stateFileOf,
} from '../../../../src/authn/token/state-format.ts'
import { START_MS } from './direct-world.ts'
import { newTestKey } from './test-issuer.ts'

const ISSUER = 'https://platform.example.com/oidc'
const key = newTestKey()

/** Keys, a missing one, and so many revoked tokens. */
const stateOf = (tokens = 3): KeptState => ({
  keys: {
    keys: new Map([[key.kid, key.jwk]]),
    missingSinceMs: new Map([['gone', START_MS - 60_000]]),
  },
  list: {
    asOfMs: START_MS,
    tokens: new Map(
      Array.from({ length: tokens }, (_, at) => [`id-${at}`, START_MS + 3_600_000] as const),
    ),
  },
  projectNamespacePrefix: 'p-',
})

const fileOf = async (kept: KeptState): Promise<Buffer> =>
  Buffer.concat(await stateFileOf(ISSUER, kept))

/** The file with another second line, and a digest that is right. */
async function withHead(change: (head: string) => string): Promise<Buffer> {
  const [, head = '', list = ''] = (await fileOf(stateOf())).toString().split('\n')
  const content = `${change(head)}\n${list}`
  const sha256 = hash('sha256', content, 'base64url')
  return Buffer.from(`${JSON.stringify({ format: 1, sha256 })}\n${content}`)
}

test.each([0, 1, 999, 1000, 1001, 2500])(
  'a state with %i revoked tokens is read back as it was written (9.2)',
  async (tokens) => {
    const kept = stateOf(tokens)
    expect(await readStateFile(await fileOf(kept), ISSUER)).toEqual({ ok: true, kept })
    const unknown = { ...kept, projectNamespacePrefix: null }
    expect(await readStateFile(await fileOf(unknown), ISSUER)).toEqual({ ok: true, kept: unknown })
  },
)

test('no byte of a file can change without the whole file being refused (9.2)', async () => {
  const file = await fileOf(stateOf())
  for (let at = 0; at < file.length; at += 1) {
    const changed = Buffer.from(file)
    changed[at] = (changed[at] ?? 0) ^ 1
    const read = await readStateFile(changed, ISSUER)
    expect({ at, ok: read.ok }).toEqual({ at, ok: false })
  }
  for (let end = 0; end < file.length; end += 1)
    expect((await readStateFile(file.subarray(0, end), ISSUER)).ok).toBe(false)
})

describe('a file with a right digest is refused (9.2)', () => {
  test.each([
    {
      name: 'of another issuer',
      change: (head: string) => head.replace('platform.', 'other.'),
      because: 'it belongs to another issuer',
    },
    { name: 'without a head', change: () => '', because: 'it belongs to another issuer' },
    ...['"P"', '"p_"', '"-p"', '5', '"p\\u0000"', `"${'p'.repeat(64)}"`].map((prefix) => ({
      name: `with ${prefix} as the prefix, which discovery would not give either`,
      change: (head: string) => head.replace('"p-"', prefix),
      because: 'it is damaged',
    })),
    {
      name: 'with a missing key of no time',
      change: (head: string) => head.replace('"missing":{', '"missing":{"a":"b",'),
      because: 'it is damaged',
    },
  ])('$name', async ({ change, because }) => {
    expect(await readStateFile(await withHead(change), ISSUER)).toEqual({ ok: false, because })
  })

  test('and one that is changed in nothing is used', async () => {
    expect(await readStateFile(await withHead((head) => head), ISSUER)).toMatchObject({ ok: true })
  })
})
