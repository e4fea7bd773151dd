import { expect, test } from 'vitest'
import { SECRET_STORE_LABEL } from '../../../../src/api/secret-store-names.ts'
import { labelledSecrets } from '../../../../src/delivery/store/listed-secrets.ts'
import { NAMESPACE, StoreWorld } from '../../../support/store/store-world.ts'

test('a listed Secret keeps only the labels and annotations that say what it asks for', async () => {
  const world = new StoreWorld()
  const many = Object.fromEntries(
    Array.from({ length: 2000 }, (_, at) => [`${SECRET_STORE_LABEL}-x${at}`, 'x']),
  )
  world.secret('Pull', { annotations: many, labels: many })
  const places = {
    namespace: 'platform-system',
    signInNamespace: 'sign-in',
    maxClaimsPerNamespace: 1,
  }
  const signal = new AbortController().signal
  const found = await labelledSecrets(NAMESPACE, null, { ...world.deps, places, signal })
  expect(found?.map(({ labels, annotations }) => [labels, annotations])).toEqual([
    [{ [SECRET_STORE_LABEL]: 'Pull' }, {}],
  ])
})

test('a page has few Secrets: each may have more than a megabyte of labels (36.5)', async () => {
  const world = new StoreWorld()
  world.namespace(NAMESPACE)
  world.secret('Pull')
  const limits: (string | null)[] = []
  world.server.faultOf = ({ plural, query }) => {
    if (plural === 'secrets' && query.has('limit')) limits.push(query.get('limit'))
    return null
  }
  world.rounds()
  await world.clock.advance(0)
  expect(limits).toEqual(['40'])
})
