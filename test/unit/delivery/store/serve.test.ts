import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SECRET_STORE_STATUS_CONFIG_MAP } from '../../../../src/api/secret-store-names.ts'
import { serveStore } from '../../../../src/delivery/store/serve.ts'
import { type StoreSettings } from '../../../../src/domain/store/store-settings.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { eventuallyPasses } from '../../../support/eventually.ts'
import { serveOnLoopback } from '../../../support/loopback-server.ts'
import { NAMESPACE, StoreWorld, storeSettings } from '../../../support/store/store-world.ts'

const TOKEN = plantCanary('token of the store')
const WITHIN = { withinMs: 10_000 }

/** Serves these settings until the test ends. */
function served(world: StoreWorld, settings: StoreSettings | null, ca: string | null = null) {
  let current = settings
  let version = '7'
  const listeners: (() => void)[] = []
  const stopping = new AbortController()
  const lagging: (number | null)[] = []
  const running = serveStore({
    ...world.deps,
    places: { namespace: 'platform-system', signInNamespace: 'sign-in', maxClaimsPerNamespace: 1 },
    settings: {
      current: () => current,
      version: () => version,
      ca: () => ca,
      subscribe: (listener) => void listeners.push(listener),
    },
    namespace: 'platform-system',
    mount: 'secret',
    resolve: () => {
      throw new Error('an address needs no resolver')
    },
    random: () => 0.5,
    metrics: {
      compared: () => undefined,
      laggingSince: (atMs) => void lagging.push(atMs),
      tokenEnds: () => undefined,
    },
    signal: stopping.signal,
  })
  onTestFinished(() => {
    stopping.abort()
    return running
  })
  const change = (next: StoreSettings | null): void => {
    current = next
    for (const listener of listeners) listener()
  }
  const touch = (next: string): void => {
    version = next
  }
  return { change, touch, lagging }
}

/** The state in the ConfigMap; undefined = there is no ConfigMap. */
function reported(world: StoreWorld): Record<string, string> | undefined {
  const found = world.server.object('configmaps', SECRET_STORE_STATUS_CONFIG_MAP, 'platform-system')
  const text = found?.data?.['status']
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, string>)
}

const settingsAt = (address: string | null, parts: Partial<StoreSettings> = {}): StoreSettings => ({
  ...storeSettings(),
  address,
  token: TOKEN.secret,
  ...parts,
})

const says = (world: StoreWorld, reason: string): Promise<void> =>
  eventuallyPasses(reason, () => expect(reported(world)?.['reason']).toBe(reason), WITHIN)

/** Errors are shown with their stacks and all they have. */
const WHOLE = { depth: null, maxArrayLength: null, maxStringLength: null }

describe('the store is served by its settings (36.1)', () => {
  test('switched off: no ConfigMap, no list, no lag', async () => {
    const world = new StoreWorld()
    const { lagging } = served(world, null)
    await world.clock.advance(600_000)
    expect(reported(world)).toBeUndefined()
    expect(world.server.writes()).toEqual([])
    expect(world.server.calls.every(({ plural }) => plural === 'configmaps')).toBe(true)
    expect(lagging).toEqual([null])
  })

  test('what is missing is said at once, each change after that, and off at the end', async () => {
    const world = new StoreWorld()
    const { change, lagging } = served(world, settingsAt(null))
    await says(world, 'AddressMissing')
    change(settingsAt('http://127.0.0.1:1', { token: null }))
    await says(world, 'TokenMissing')
    expect(lagging.at(-1)).toBe(world.clock.nowMs())
    change(settingsAt('http://127.0.0.1:1'))
    await says(world, 'Unreachable')
    change(null)
    await eventuallyPasses('off', () => expect(reported(world)).toEqual({}), WITHIN)
    expect(lagging.at(-1)).toBeNull()
  })

  test('what is missing stays said, of the version of the settings that counts', async () => {
    const world = new StoreWorld()
    const { touch } = served(world, settingsAt(null))
    await says(world, 'AddressMissing')
    expect(reported(world)?.['settingsVersion']).toBe('7')
    touch('8')
    await world.clock.advance(60_000)
    expect(reported(world)).toMatchObject({ reason: 'AddressMissing', settingsVersion: '8' })
  })

  test('without the file of the authority no store is trusted, and none is asked', async () => {
    const world = new StoreWorld()
    served(world, settingsAt('https://127.0.0.1:1'), '')
    await says(world, 'Unreachable')
    expect(reported(world)?.['message']).toContain('--secret-store-ca-file')
    expect(world.server.calls.every(({ plural }) => plural === 'configmaps')).toBe(true)
  })

  test('a report that cannot be written is written later', async () => {
    const world = new StoreWorld()
    let fails = 2
    world.server.faultOf = ({ method }) => {
      if (method !== 'PATCH' || fails === 0) return null
      fails -= 1
      return { code: 500, reason: 'InternalError' }
    }
    served(world, settingsAt(null))
    await world.clock.advance(0)
    expect(reported(world)).toBeUndefined()
    await world.clock.advance(10_000)
    expect(reported(world)?.['reason']).toBe('AddressMissing')
  })

  test('a report that is refused for good stops no round', async () => {
    const world = new StoreWorld()
    world.namespace(NAMESPACE)
    world.server.faultOf = ({ method, plural }) =>
      method === 'PATCH' && plural === 'configmaps' ? { code: 403, reason: 'Forbidden' } : null
    served(world, settingsAt('http://127.0.0.1:1'))
    const rounds = () => world.server.calls.filter(({ plural }) => plural === 'namespaces').length
    await eventuallyPasses(
      'a third round',
      async () => {
        await world.clock.advance(10_000)
        expect(rounds()).toBeGreaterThanOrEqual(3)
      },
      WITHIN,
    )
    world.server.faultOf = () => null
    await eventuallyPasses(
      'the report',
      async () => {
        await world.clock.advance(5000)
        expect(reported(world)?.['reason']).toBe('Unreachable')
      },
      WITHIN,
    )
  })

  test('a state that is as it was is not written again', async () => {
    const world = new StoreWorld()
    const { change } = served(world, settingsAt(null))
    await says(world, 'AddressMissing')
    const writes = world.server.writes().length
    for (let at = 0; at < 3; at += 1) {
      change(settingsAt(null))
      await world.clock.advance(60_000)
    }
    expect(world.server.writes()).toHaveLength(writes)
  })
})

describe('a store that denies the token (36.1, 36.5)', { tags: ['no-retry'] }, () => {
  test('Denied, no Secret changes, and neither token nor answer is in log, Event or report', async () => {
    const world = new StoreWorld()
    world.namespace(NAMESPACE)
    world.secret('Pull', { data: { own: 'x' } })
    const tokens = new Set<string>()
    const words = plantCanary('words of the store')
    const { origin } = await serveOnLoopback((request, response) => {
      tokens.add(String(request.headers['x-vault-token']))
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ errors: [`permission denied ${words.secret} ${TOKEN.secret}`] }),
      )
    }, onTestFinished)
    const { change, lagging } = served(world, settingsAt(origin))
    await says(world, 'Denied')
    expect(lagging.at(-1)).toBe(world.clock.nowMs())
    expect(world.data()).toEqual({ own: 'x' })
    change(settingsAt(origin, { token: 'other' }))
    await eventuallyPasses('the next token', () => expect(tokens.has('other')).toBe(true), WITHIN)
    expect(tokens.has(TOKEN.secret)).toBe(true)
    const sinks = {
      log: inspect(world.log.lines, WHOLE),
      events: JSON.stringify(world.events),
      objects: JSON.stringify([world.server.all('configmaps'), world.server.all('secrets')]),
    }
    expect(findCanaries(sinks, [TOKEN, words])).toEqual([])
  })
})
