// The deletion of all one's own keys, by one of them (contract 12.1, 13.4).
import { describe, expect, test } from 'vitest'
import { accessKeyOf } from '../../../../src/domain/access-key.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/access-key.ts'
import type { JsonMap } from '../../../../src/domain/config/json.ts'
import { removeAll } from '../../../../src/gateway/keys/remove.ts'
import type { UpstreamCall } from '../../../../src/kube/upstream.ts'
import { exchangeOf } from './exchanges.ts'
import { key, owner } from './keys.ts'

const named = (name: string, metadata: JsonMap = {}): JsonMap =>
  key({ metadata: { name, uid: `uid-${name}`, ...metadata } })

const ABOVE = named('above')
const OWNED = { ownerReferences: [owner('above')] }
const KEYS = [ABOVE, named('b'), named('ci', OWNED), named('d'), named('e')]

/** Deletes all; the key ends with itself, with the one that owns it, and when so many are deleted. */
async function removedUntil(most: number) {
  const removed: string[] = []
  const answers = ({ method, path }: UpstreamCall): readonly [number, JsonMap] => {
    const name = /keys\/([a-z]+)/.exec(path)?.[1]
    if (method === 'GET') return [200, { kind: 'OwnedAccessKeyList', metadata: {}, items: KEYS }]
    if (name === undefined) return [403, { kind: 'Status' }]
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
        const isOver =
          removed.length >= most || ['ci', 'above'].some((one) => removed.includes(one))
        if (isOver) throw new Error('the access key ended')
        return exchange.caller
      },
    },
    {},
    OWNED,
  )
  const ending = await removeAll(exchange).then(
    ({ status }) => status,
    (error: Error) => error.message,
  )
  return { removed, ending }
}

describe('all keys of a user, deleted with one of them', () => {
  test('are deleted, that one and those that own it at last', async () => {
    const { removed, ending } = await removedUntil(Number.POSITIVE_INFINITY)
    expect(removed).toEqual(['b', 'd', 'e', 'above', 'ci'])
    expect(ending).toBe(200)
  })

  test.each([0, 1, 3])('are deleted while it works: it ended after %i', async (most) => {
    const { removed, ending } = await removedUntil(most)
    expect(removed).toEqual(['b', 'd', 'e'].slice(0, most))
    expect(ending).toBe('the access key ended')
  })
})
