// A key deletes keys of its user, itself included (contract 12.1, 12.4, 13.4).
import { describe, expect, test } from 'vitest'
import {
  type OwnedAccessKeyObject,
  accessKeyOf,
} from '../../../../src/domain/accesskey/access-key.ts'
import { nestedString } from '../../../../src/domain/json/field-path.ts'
import { type JsonMap, parseJsonMap } from '../../../../src/domain/json/json.ts'
import { deleteCollection, deleteOne } from '../../../../src/gateway/selfservice/delete.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { key, owner } from './key-objects.ts'
import { exchangeOf } from './self-service-request.ts'

const WAYS = [
  { verb: 'delete', name: 'ci', answer: deleteOne },
  { verb: 'deletecollection', name: '', answer: deleteCollection },
] as const

const named = (name: string, metadata: JsonMap = {}): JsonMap =>
  key({ metadata: { name, uid: `uid-${name}`, ...metadata } })

const ABOVE = named('above')
const OWNED = { ownerReferences: [owner('above')] }
const KEYS = [ABOVE, named('b'), named('ci', OWNED), named('d'), named('e')]

/**
 * Deletes all keys; the caller ends with its key, with its owner, or after that many deletions.
 *
 * @param changed a key whose deletion is refused, as it has changed, and with which the caller ends
 */
async function removedUntil(most: number, changed = '') {
  const removed: string[] = []
  let isRevoked = false
  const isOver = (): boolean =>
    isRevoked || removed.length >= most || ['ci', 'above'].some((one) => removed.includes(one))
  const answers = ({ method, path }: UpstreamCall): readonly [number, JsonMap] => {
    const name = /keys\/([a-z]+)/.exec(path)?.[1]
    if (method === 'GET') return [200, { kind: 'OwnedAccessKeyList', metadata: {}, items: KEYS }]
    if (name === undefined) return [403, { kind: 'Status' }]
    if (name === changed) {
      isRevoked = true
      return [409, { kind: 'Status' }]
    }
    removed.push(name)
    return [200, { kind: 'Status' }]
  }
  const exchange = exchangeOf(
    {
      verb: 'deletecollection',
      name: '',
      answers,
      find: (name) =>
        name === 'above'
          ? accessKeyOf(ABOVE as unknown as OwnedAccessKeyObject, () => '')
          : undefined,
      still: async () => {
        if (isOver()) throw new Error('the access key ended')
        return exchange.caller
      },
      maySend: () => !isOver(),
    },
    {},
    OWNED,
  )
  const ending = await deleteCollection(exchange).then(
    ({ status }) => status,
    (error: Error) => error.message,
  )
  return { removed, ending }
}

describe('the deletion of all keys of a user by one of them', () => {
  test('deletes the calling key and its owners last', async () => {
    const { removed, ending } = await removedUntil(Number.POSITIVE_INFINITY)
    expect(removed).toEqual(['b', 'd', 'e', 'above', 'ci'])
    expect(ending).toBe(200)
  })

  test.each([0, 1, 3])('stops when the calling key ends, after %i', async (most) => {
    const { removed, ending } = await removedUntil(most)
    expect(removed).toEqual(['b', 'd', 'e'].slice(0, most))
    expect(ending).toBe('the access key ended')
  })

  test('stops when the calling key ends, but not by the deletion of its owner', async () => {
    const { removed, ending } = await removedUntil(Number.POSITIVE_INFINITY, 'above')
    expect(removed).toEqual(['b', 'd', 'e'])
    expect(ending).toBe('the access key ended')
  })
})

type Said = readonly [code: number, json: JsonMap]

const FORBIDDEN: Said = [403, { kind: 'Status', code: 403 }]
const listOf = (...items: readonly JsonMap[]): JsonMap => ({
  kind: 'OwnedAccessKeyList',
  metadata: {},
  items,
})

test.each(WAYS)('$verb keeps a key that replaced the one that was read (12.1)', async (way) => {
  const [seen, recreated] = [key(), key({ metadata: { uid: 'uid-recreated' } })]
  let stored: JsonMap | null = seen
  const answers = ({ method, path, body }: UpstreamCall): Said => {
    const isOne = path.endsWith('/ci')
    if (method === 'GET') {
      stored = recreated
      return [200, isOne ? seen : listOf(seen)]
    }
    if (!isOne) return FORBIDDEN
    const uid = nestedString(parseJsonMap((body as Buffer).toString()), ['preconditions', 'uid'])
    if (uid !== '' && uid !== 'uid-recreated') return [409, { kind: 'Status', code: 409 }]
    stored = null
    return [200, recreated]
  }
  await way.answer(exchangeOf({ verb: way.verb, name: way.name, answers }))
  expect(stored).toEqual(recreated)
})

describe('the response to a deletion contains no hidden fields (12.4)', () => {
  const SECRET = 'pak_0123456789abcdefghijklmnop'
  const held = key({ metadata: { annotations: { note: SECRET } }, spec: { key: SECRET } })
  const [ONE, ALL] = WAYS
  const refused: JsonMap = { kind: 'Status', message: `uid-ci with ${SECRET} is kept`, code: 422 }

  test.each<{ name: string; way: (typeof WAYS)[number]; one?: Said; all?: Said }>([
    { name: 'a key with a finalizer', way: ONE, one: [200, held] },
    { name: 'a key that a policy protects and quotes', way: ONE, one: [422, refused] },
    { name: "a collection by the caller's RBAC", way: ALL, all: [200, listOf(held)] },
    { name: 'a collection, deleted one by one', way: ALL, one: [200, held] },
    { name: 'a collection that a policy protects and quotes', way: ALL, all: [422, refused] },
    {
      name: 'one of a collection that a policy protects and quotes',
      way: ALL,
      one: [422, refused],
    },
  ])('of $name', async ({ way: { verb, name, answer }, one = FORBIDDEN, all = FORBIDDEN }) => {
    const answers = ({ method, path }: UpstreamCall): Said => {
      const isOne = path.endsWith('/ci')
      if (method === 'GET') return [200, isOne ? held : listOf(held)]
      if (method === 'POST') return [201, { status: { allowed: true } }]
      return isOne ? one : all
    }
    const { body } = await answer(exchangeOf({ verb, name, answers }))
    expect((body as Buffer).toString()).toContain('uid-ci')
    expect((body as Buffer).toString()).not.toContain(SECRET)
  })
})
