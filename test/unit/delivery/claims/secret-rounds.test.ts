import { describe, expect, onTestFinished, test } from 'vitest'
import { watchSecrets } from '../../../../src/delivery/claims/secret-rounds.ts'
import { CLAIM_UID } from '../../../support/delivery/claim-facts.ts'
import {
  DeliveryWorld,
  deliveredWorld,
  expectDelivered,
} from '../../../support/delivery/delivery-world.ts'
import type { ServerCall } from '../../../support/delivery/memory-api-server.ts'
import { editSecret, foreignSecret } from '../../../support/delivery/secret-edits.ts'
import { claimObject } from '../../../support/object-builder.ts'

const isList = ({ method, plural, name }: ServerCall): boolean =>
  method === 'GET' && plural === 'secrets' && name === undefined

/** Begins rounds of this world's process. */
function watched(world: DeliveryWorld) {
  const ending = new AbortController()
  const enqueued: string[] = []
  const changed = (key: string): void => void enqueued.push(key)
  const ended = watchSecrets({
    ...world.process.deps,
    changed,
    log: world.log.log,
    signal: ending.signal,
  })
  onTestFinished(async () => {
    ending.abort()
    await ended
  })
  return { enqueued, lists: () => world.server.calls.filter(isList) }
}

/** Claims of these namespaces, beside the one of namespace shop. */
function addClaims(world: DeliveryWorld, namespaces: readonly string[]): void {
  for (const namespace of namespaces)
    world.server.put(
      'accesskeyclaims',
      claimObject({ metadata: { namespace, uid: `uid-${namespace}` } }),
    )
}

describe('rounds (28.4)', () => {
  test('list the Secrets with the label in each namespace that has claims, by metadata, every 30 s', async () => {
    const world = await deliveredWorld()
    addClaims(world, ['web'])
    const { lists } = watched(world)
    await world.clock.advance(0)
    expect(lists().map(({ namespace }) => namespace)).toEqual(['shop', 'web'])
    expect(lists()[0]?.query.get('labelSelector')).toBe('management.platform.sh/claim')
    await world.clock.advance(29_000)
    expect(lists()).toHaveLength(2)
    await world.clock.advance(1000)
    expect(lists()).toHaveLength(4)
  })

  test('enqueue no claim that does not count, however many there are in the namespace (28.8)', async () => {
    const world = await deliveredWorld()
    for (let at = 0; at < 150; at += 1) {
      const [name, creationTimestamp] = [`more-${at}`, '2030-01-01T00:00:00Z']
      const metadata = { name, uid: `uid-${1000 + at}`, creationTimestamp }
      world.server.put('accesskeyclaims', claimObject({ metadata }))
    }
    const { enqueued } = watched(world)
    await world.clock.advance(0)
    expect(enqueued).toEqual([])
    world.server.mayUseSecrets = () => false
    await world.clock.advance(30_000)
    expect(enqueued).toHaveLength(100)
    expect(enqueued).not.toContain('shop/more-99')
  })

  test('read so many Secrets with the label at most, and each that was not among them by itself', async () => {
    const world = await deliveredWorld()
    const foreign = foreignSecret('uid-other')
    const addForeign = (from: number, to: number): void => {
      for (let at = from; at < to; at += 1)
        world.server.put('secrets', {
          ...foreign,
          metadata: { ...foreign.metadata, name: `a-${at}`, uid: `uid-a-${at}` },
        })
    }
    addForeign(0, 450)
    const { enqueued, lists } = watched(world)
    await world.clock.advance(0)
    expect([lists().length, enqueued]).toEqual([23, []])
    addForeign(450, 2000)
    await world.clock.advance(30_000)
    expect([lists().length, enqueued]).toEqual([49, ['shop/deploy']])
    await world.run(10)
    expectDelivered(world)
    expect(world.delivered).toEqual(['first'])
  })

  test('ten lists a second at most, and a round takes longer in proportion', async () => {
    const world = new DeliveryWorld()
    addClaims(
      world,
      Array.from({ length: 399 }, (_, at) => `n${at}`),
    )
    const { lists } = watched(world)
    await world.clock.advance(0)
    expect(lists()).toHaveLength(10)
    for (let second = 1; second < 40; second += 1) {
      await world.clock.advance(1000)
      expect(lists()).toHaveLength((second + 1) * 10)
    }
    await world.clock.advance(1000)
    expect(lists()).toHaveLength(410)
  })

  test('namespaces of the platform and of Kubernetes are not listed', async () => {
    const world = await deliveredWorld()
    addClaims(world, ['kube-system', 'platform-system', 'platform-system-targets', 'sign-in'])
    const { lists } = watched(world)
    await world.clock.advance(60_000)
    expect(new Set(lists().map(({ namespace }) => namespace))).toEqual(new Set(['shop']))
  })

  test('a list that fails is tried again in the next round, and its Secrets stay as they were seen', async () => {
    const world = await deliveredWorld()
    world.server.faultOf = (call) => (isList(call) ? { code: 500, reason: 'InternalError' } : null)
    const { enqueued } = watched(world)
    await world.clock.advance(0)
    expect(enqueued).toEqual([])
    expect(world.log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { namespace: 'shop' } })
    world.server.faultOf = () => null
    if (world.secret) world.server.remove('secrets', world.secret)
    await world.clock.advance(30_000)
    expect(enqueued).toEqual(['shop/deploy'])
  })

  test('end with their signal', async () => {
    const world = await deliveredWorld()
    const ending = new AbortController()
    const ended = watchSecrets({
      ...world.process.deps,
      changed: () => undefined,
      log: world.log.log,
      signal: ending.signal,
    })
    await world.clock.advance(100)
    ending.abort()
    await ended
    const { length } = world.server.calls
    await world.clock.advance(60_000)
    expect(world.server.calls).toHaveLength(length)
  })
})

describe('what makes a claim look at its Secret again (28.4)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly change: (world: DeliveryWorld) => unknown; readonly looks: boolean }>([
    { name: 'nothing', change: () => undefined, looks: false },
    { name: 'it was deleted', change: (world) => world.secret && world.server.remove('secrets', world.secret), looks: true },
    { name: 'its data changed', change: (world) => editSecret(world.server, { data: { key: 'eA==' } }), looks: true },
    { name: 'others have added to it', change: (world) => editSecret(world.server, { data: { theirs: 'eA==' } }), looks: true },
    { name: 'its label is gone', change: (world) => world.secret && world.server.put('secrets', { ...world.secret, metadata: { ...world.secret.metadata, labels: {} } }), looks: true },
    { name: 'another has taken its place', change: (world) => world.secret && (world.server.remove('secrets', world.secret), world.server.put('secrets', foreignSecret(CLAIM_UID))), looks: true },
    { name: 'a Secret beside it changed', change: (world) => world.server.put('secrets', { ...foreignSecret('uid-other'), metadata: { ...foreignSecret('uid-other').metadata, name: 'other' } }), looks: false },
  ])('$name: $looks', async ({ change, looks }) => {
    const world = await deliveredWorld()
    change(world)
    const { enqueued } = watched(world)
    await world.clock.advance(0)
    expect(enqueued).toEqual(looks ? ['shop/deploy'] : [])
  })

  test('a Secret that is known to be missing is not looked at: what keeps it from being made has its own pace', async () => {
    const world = new DeliveryWorld()
    world.server.faultOf = ({ isDryRun }) => (isDryRun ? { code: 422, reason: 'Invalid' } : null)
    await world.run(10)
    const { enqueued } = watched(world)
    await world.clock.advance(0)
    expect(enqueued).toEqual([])
  })
})

describe('a right that is taken away and given back (28.4)', () => {
  test('all claims of the namespace say so, once, and are delivered again', async () => {
    const world = await deliveredWorld()
    const { enqueued } = watched(world)
    world.server.mayUseSecrets = () => false
    await world.clock.advance(30_000)
    expect(enqueued).toEqual(['shop/deploy'])
    expect(world.process.deps.memory.of({ uid: CLAIM_UID }).fault).toMatchObject({
      reason: 'DeliveryForbidden',
    })
    await world.reconcile()
    expect(world.reason).toBe('DeliveryForbidden')
    await world.clock.advance(30_000)
    expect(enqueued).toEqual(['shop/deploy'])
    world.server.mayUseSecrets = () => true
    await world.clock.advance(30_000)
    expect(enqueued).toEqual(['shop/deploy', 'shop/deploy'])
    await world.run(5)
    expect(world.reason).toBe('Delivered')
    expect(world.delivered).toEqual(['first'])
  })
})
