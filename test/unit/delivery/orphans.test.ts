import { describe, expect, onTestFinished, test } from 'vitest'
import { CLAIM_LABEL } from '../../../src/api/names.ts'
import { deleteOrphans } from '../../../src/delivery/orphans.ts'
import { type DeliveryWorld, deliveredWorld } from '../../support/delivery/delivery-world.ts'
import type { ServerCall } from '../../support/delivery/memory-api-server.ts'
import { keyObject } from '../../support/object-builder.ts'

const KEYS = 'ownedaccesskeys'
const isDelete = ({ method }: ServerCall): boolean => method === 'DELETE'

/** Begins to look for orphans of this world's process. */
function watched({ process: { deps }, log }: DeliveryWorld): void {
  const ending = new AbortController()
  const { client, stores, clock } = deps
  const ended = deleteOrphans({ client, stores, clock, log: log.log, signal: ending.signal })
  onTestFinished(async () => {
    ending.abort()
    await ended
  })
}

/** A key whose claim has this uid. */
const addKey = (world: DeliveryWorld, name: string, claimUid: string): void =>
  void world.server.put(
    KEYS,
    keyObject({ metadata: { name, labels: { [CLAIM_LABEL]: claimUid } } }),
  )

const names = (world: DeliveryWorld): readonly string[] =>
  world.server
    .all(KEYS)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name)

describe('keys whose claim is gone (28.3)', () => {
  test('are deleted at the start, and every minute', async () => {
    const world = await deliveredWorld()
    const [own = ''] = names(world)
    addKey(world, 'orphan', 'uid-gone')
    watched(world)
    await world.clock.advance(0)
    expect(names(world)).toEqual([own])
    addKey(world, 'later', 'uid-gone')
    await world.clock.advance(59_000)
    expect(names(world)).toEqual([own, 'later'])
    await world.clock.advance(1000)
    expect(names(world)).toEqual([own])
    expect(
      world.log.lines.filter(({ sentence }) => sentence.includes('without its claim')),
    ).toHaveLength(2)
  })

  test('the API server says whether a claim is gone: a watch that is behind ends no key in use', async () => {
    const world = await deliveredWorld()
    const { claims } = world.process.deps.stores
    if (world.claim) claims.remove(world.claim)
    expect([...claims.values()]).toEqual([])
    watched(world)
    await world.clock.advance(180_000)
    expect(names(world)).toHaveLength(1)
    expect(world.server.calls.filter(isDelete)).toEqual([])
  })

  test('nothing is asked while every key has its claim', async () => {
    const world = await deliveredWorld()
    const { length } = world.server.calls
    watched(world)
    await world.clock.advance(180_000)
    expect(world.server.calls).toHaveLength(length)
  })

  test('a key that has changed since is looked at again a minute later', async () => {
    const world = await deliveredWorld()
    addKey(world, 'orphan', 'uid-gone')
    world.server.faultOf = (call) => (isDelete(call) ? { code: 409, reason: 'Conflict' } : null)
    watched(world)
    await world.clock.advance(0)
    expect(world.log.lines.at(-1)).toMatchObject({ level: 'warn' })
    world.server.faultOf = () => null
    await world.clock.advance(60_000)
    expect(names(world)).toHaveLength(1)
  })

  test('a delete names the uid and the version of the key (8.6)', async () => {
    const world = await deliveredWorld()
    addKey(world, 'orphan', 'uid-gone')
    const { uid, resourceVersion } = world.server.object(KEYS, 'orphan')?.metadata ?? {}
    watched(world)
    await world.clock.advance(0)
    expect(world.server.calls.find(isDelete)?.body).toMatchObject({
      preconditions: { uid, resourceVersion },
    })
  })
})
