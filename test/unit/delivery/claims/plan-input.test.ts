import { expect, test } from 'vitest'
import { factsOf } from '../../../../src/delivery/claims/plan-input.ts'
import { type Claim, claimOf } from '../../../../src/domain/claim/claim.ts'
import { DeliveryWorld } from '../../../support/delivery/delivery-world.ts'
import { claimObject } from '../../../support/object-builder.ts'

const withData = (generation: number, entry: string): Claim =>
  claimOf(
    claimObject({
      metadata: { generation },
      spec: { secret: { data: { a: `${entry}$(SERVER)$(KEY)` } } },
    }),
  )

test('the templates of a claim are looked at once for each spec and address of the gateway (28.8)', () => {
  const world = new DeliveryWorld()
  const seen = (claim: Claim) => {
    const { template, dataBytes } = factsOf(claim, world.process.deps)
    return { template, dataBytes }
  }
  const first = seen(withData(1, 'a'))
  // What could not be in one cluster: another spec of the same generation.
  expect(seen(withData(1, 'longer'))).toEqual(first)
  const second = seen(withData(2, 'longer'))
  expect(second.dataBytes).toBe(first.dataBytes + 'longer'.length - 1)
  expect(second.template).not.toBe(first.template)
  world.origin = 'https://other.example.com'
  expect(seen(withData(2, 'longer')).template).not.toBe(second.template)
})

test('a claim whose entries would not fit into a Secret is refused, and no key is made (28.4)', async () => {
  const data = Object.fromEntries(
    Array.from({ length: 16 }, (_, at) => [`e${at}`, '$(KEY)'.repeat(1200)]),
  )
  const world = new DeliveryWorld({ spec: { secret: { data } } })
  await world.run(60)
  expect(world.claim?.status?.conditions?.[0]).toMatchObject({
    reason: 'SecretRefused',
    message: expect.stringContaining('would be 1228800 bytes') as string,
  })
  expect(world.keys).toEqual([])
})
