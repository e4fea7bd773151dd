import { describe, expect, test } from 'vitest'
import { CLAIM_LABEL, ROTATE_ANNOTATION } from '../../../../src/api/names.ts'
import {
  DeliveryWorld,
  deliveredWorld,
  expectDelivered,
} from '../../../support/delivery/delivery-world.ts'
import type { ServerCall, ServerFault } from '../../../support/delivery/memory-api-server.ts'
import { editSecret, foreignSecret } from '../../../support/delivery/secret-edits.ts'

const MINUTE = 60
/** The canary is in the answers of the API server that may quote a Secret. */
const QUOTA: ServerFault = { code: 403, reason: 'Forbidden', message: 'exceeded quota: canary' }
const isSecretWrite = ({ method, plural }: ServerCall): boolean =>
  plural === 'secrets' && method !== 'GET'
const messageOf = ({ claim }: DeliveryWorld): string | undefined =>
  claim?.status?.conditions?.[0]?.message
const keysMade = ({ server }: DeliveryWorld): number =>
  server.writes().filter(({ method, plural }) => method === 'POST' && plural === 'ownedaccesskeys')
    .length

describe('a Secret of others is never touched (28.4)', () => {
  test.each([
    { name: 'that stands', label: undefined },
    { name: 'of another claim', label: 'uid-other' },
  ])(
    'one $name: SecretTaken, no key is made, and it is delivered once it is gone',
    async ({ label }) => {
      const world = new DeliveryWorld()
      const theirs = world.server.put('secrets', foreignSecret(label))
      await world.run(60)
      expect(world.reason).toBe('SecretTaken')
      expect(world.secret).toEqual(theirs)
      expect(world.keys).toEqual([])
      world.server.remove('secrets', theirs)
      await world.run(30)
      expectDelivered(world)
    },
  )

  test.each([
    { name: 'the look and the trial', at: (call: ServerCall) => call.isDryRun },
    {
      name: 'the trial and the write',
      at: (call: ServerCall) =>
        call.method === 'POST' && call.plural === 'secrets' && !call.isDryRun,
    },
  ])('one that is made between $name: SecretTaken', async ({ at }) => {
    const world = new DeliveryWorld()
    world.server.faultOf = (call) => {
      if (at(call) && world.secret === undefined) world.server.put('secrets', foreignSecret())
      return null
    }
    await world.run(60)
    expect(world.reason).toBe('SecretTaken')
    expect(world.secret?.data).toEqual(foreignSecret().data)
    expect(world.broken).toEqual([])
  })

  test('one that is made while a quota keeps ours from being made: SecretTaken', async () => {
    const world = new DeliveryWorld()
    world.server.faultOf = ({ isDryRun }) =>
      isDryRun ? { code: 403, reason: 'Forbidden', message: 'exceeded quota' } : null
    await world.run(20)
    expect(world.reason).toBe('SecretRefused')
    world.server.put('secrets', foreignSecret())
    world.server.faultOf = () => null
    await world.run(60)
    expect(world.reason).toBe('SecretTaken')
  })
})

test.each([
  {
    name: 'whose Secret others have relabelled',
    hide: ({ server }: DeliveryWorld) =>
      editSecret(server, { metadata: { labels: { [CLAIM_LABEL]: 'uid-other' } } as never }),
  },
  {
    name: 'without the right to its Secret',
    hide: ({ server }: DeliveryWorld) => void (server.mayUseSecrets = () => false),
  },
])('the elder of a claim $name ends after the overlap (28.5)', async ({ hide }) => {
  const world = await deliveredWorld({ overlap: 600 })
  world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'leaked' } } })
  await world.run(MINUTE)
  const key = world.claim?.status?.key?.name
  expect(world.keys).toHaveLength(2)
  hide(world)
  world.lookAgain()
  await world.run(650)
  expect(world.keys.map(({ metadata }) => metadata.name)).toEqual([key])
  expect(world.claim?.status).toMatchObject({ key: { name: key } })
  expect(world.claim?.status?.previous).toBeUndefined()
})

describe('without the right to write Secrets (28.4)', () => {
  test.each([
    { name: 'none', may: () => false },
    { name: 'only to read', may: (verb: string) => ['get', 'list'].includes(verb) },
    { name: 'not to create', may: (verb: string) => verb !== 'create' },
  ])('$name: no key is made, and the status says how it is granted', async ({ may }) => {
    const world = new DeliveryWorld()
    world.server.mayUseSecrets = (_, verb) => may(verb)
    await world.run(MINUTE)
    expect(world.reason).toBe('DeliveryForbidden')
    expect(messageOf(world)).toContain(
      'kubectl create rolebinding platform-secret-delivery --namespace=shop --clusterrole=platform-secret-delivery --serviceaccount=platform-system:delivery',
    )
    expect(keysMade(world)).toBe(0)
    expect(world.events.map(({ reason }) => reason)).toEqual(['DeliveryForbidden'])
    world.server.mayUseSecrets = () => true
    await world.run(20)
    expectDelivered(world)
  })

  test('a right that is taken away ends nothing that works', async () => {
    const world = await deliveredWorld()
    world.server.mayUseSecrets = () => false
    world.lookAgain()
    await world.run(MINUTE)
    expect(world.reason).toBe('DeliveryForbidden')
    expect(world.fault).toBeNull()
    expect(world.claim?.status?.key).toBeDefined()
  })

  test('it is tried again every 15 s, and no status is written for that', async () => {
    const world = new DeliveryWorld()
    world.server.mayUseSecrets = () => false
    await world.run(MINUTE)
    const [writes, reads] = [world.server.writes().length, world.server.calls.length]
    await world.run(10 * MINUTE)
    expect(world.server.writes()).toHaveLength(writes)
    // A read of the Secret and the question whether it is allowed.
    expect(world.server.calls.length - reads).toBeLessThanOrEqual(40 * 2)
  })
})

describe('a refused Secret (28.7)', () => {
  test('a quota keeps the key from being made: the words of the API server are in the status', async () => {
    const world = new DeliveryWorld()
    world.server.faultOf = (call) => (isSecretWrite(call) ? QUOTA : null)
    await world.run(MINUTE)
    expect(world.reason).toBe('SecretRefused')
    expect(messageOf(world)).toBe('Secret deploy cannot be written: exceeded quota: canary.')
    expect(keysMade(world)).toBe(0)
    world.server.faultOf = () => null
    await world.run(20)
    expectDelivered(world)
  })

  test('of the write itself only code and reason are shown, as it has the credential; the key waits', async () => {
    const world = new DeliveryWorld()
    world.server.faultOf = (call) => (isSecretWrite(call) && !call.isDryRun ? QUOTA : null)
    await world.run(MINUTE)
    expect(messageOf(world)).toBe('Secret deploy cannot be written: 403 Forbidden.')
    expect(JSON.stringify([world.log.lines, world.events, world.claim])).not.toContain('canary')
    expect(keysMade(world)).toBe(1)
    world.server.faultOf = () => null
    await world.run(20)
    expectDelivered(world)
    expect(keysMade(world)).toBe(1)
  })

  test('a refused rotation says so, and the elder goes on', async () => {
    const world = await deliveredWorld({ overlap: 0 })
    await world.run(MINUTE)
    world.server.faultOf = (call) => (isSecretWrite(call) ? QUOTA : null)
    world.edit({ spec: { overlap: 0, secret: { data: { other: '$(KEY)' } } } })
    await world.run(MINUTE)
    expect(world.reason).toBe('SecretRefused')
    expect(world.fault).toBeNull()
    expect(world.events.map(({ reason }) => reason)).toEqual([
      'Delivered',
      'SecretRefused',
      'RotationFailed',
    ])
  })

  test('of a trial on a Secret that stands only code and reason are shown, as an answer may quote it (3.5)', async () => {
    const world = await deliveredWorld()
    world.server.faultOf = (call) => (isSecretWrite(call) && call.isDryRun ? QUOTA : null)
    world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
    await world.run(MINUTE)
    expect(messageOf(world)).toBe('Secret deploy cannot be written: 403 Forbidden.')
    expect(JSON.stringify([world.log.lines, world.events, world.claim])).not.toContain('canary')
  })

  test.each([429, 500, 503])(
    'no error that is logged has the words of answer %i to a write (3.5)',
    async (code) => {
      const world = await deliveredWorld()
      world.server.faultOf = (call) =>
        isSecretWrite(call) ? { code, reason: 'Busy', message: 'canary' } : null
      world.edit({ spec: { secret: { labels: { a: 'b' } } } })
      await world.run(MINUTE)
      world.edit({ metadata: { annotations: { [ROTATE_ANNOTATION]: 'now' } } })
      await world.run(MINUTE)
      expect(world.errors.map(({ message }) => message).join()).not.toContain('canary')
      expect(JSON.stringify([world.log.lines, world.events, world.claim])).not.toContain('canary')
    },
  )

  test('a change of spec is tried at once, whatever the back-off', async () => {
    const world = new DeliveryWorld()
    world.server.faultOf = (call) => (isSecretWrite(call) ? QUOTA : null)
    await world.run(MINUTE)
    world.server.faultOf = () => null
    world.edit({ spec: { secret: { labels: { a: 'b' } } } })
    await world.run(2)
    expect(world.reason).toBe('Delivered')
  })

  test('other faults of the API server are no state of the claim', async () => {
    const world = await deliveredWorld()
    world.server.faultOf = (call) =>
      isSecretWrite(call) ? { code: 503, reason: 'ServiceUnavailable' } : null
    world.edit({ spec: { secret: { labels: { a: 'b' } } } })
    await world.run(MINUTE)
    expect(world.reason).toBe('Delivered')
    expect(world.errors.length).toBeGreaterThan(0)
  })
})

describe('a claim without a place (28.4, 28.8)', () => {
  test.each(['kube-system', 'platform-system', 'platform-system-targets', 'sign-in'])(
    'in namespace %s: NamespaceRefused, and no request for its Secret',
    async (namespace) => {
      const world = new DeliveryWorld({ metadata: { namespace } })
      await world.run(MINUTE)
      expect(world.reason).toBe('NamespaceRefused')
      expect(world.server.calls.filter(({ plural }) => plural !== 'accesskeyclaims')).toEqual([])
    },
  )

  test.each(['platform-systems', 'kubernetes', 'shop'])(
    'in namespace %s it has one',
    async (namespace) => {
      const world = new DeliveryWorld({ metadata: { namespace } })
      await world.run(10)
      expect(world.reason).toBe('Delivered')
    },
  )
})
