import { describe, expect, test } from 'vitest'
import { nestedField, nestedMap, setNestedField } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { refusal } from '../memory-cluster.ts'
import {
  KEY,
  NO_WRITES,
  SUBSETS,
  endpoints,
  inStep,
  withField,
  syncedPair,
  webOf,
} from '../synced-pair.ts'

describe('a refused write', () => {
  test.each([
    { code: 422, reason: 'Invalid' },
    { code: 403, reason: 'Forbidden' },
    { code: 400, reason: 'BadRequest' },
    { code: 404, reason: 'NotFound' },
  ])('$code of a create is reported once, and thrown (18.3)', async ({ code, reason }) => {
    const pair = syncedPair('endpoints')
    pair.virtual.put(endpoints())
    pair.host.refuse = () => {
      throw refusal(code, reason, `POST endpoints: ${code} ${reason}`)
    }
    for (let times = 0; times < 3; times += 1)
      await expect(pair.reconcile(KEY)).rejects.toMatchObject({ cause: { code } })
    expect(pair.events).toMatchObject([
      {
        reason: 'NotWritten',
        note: `The host refuses the object: POST endpoints: ${code} ${reason}.`,
      },
    ])
    expect(pair.counts).toEqual(['NotWritten', 'NotWritten', 'NotWritten'])
    expect(pair.report.countByState()).toEqual({ 'not-written': 1 })
    pair.host.refuse = () => undefined
    await pair.settle()
    expect(pair.report.countByState()).toEqual({ synced: 1 })
  })

  test.each([429, 503, 504])('%i says nothing about the object (18.3)', async (code) => {
    const pair = syncedPair('endpoints')
    pair.virtual.put(endpoints())
    pair.host.refuse = () => {
      throw refusal(code, '')
    }
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code })
    expect(pair.events).toEqual([])
  })

  test('of a delete is reported on the virtual object (18.3)', async () => {
    const pair = await inStep()
    pair.world.isWanted = false
    pair.host.refuse = () => {
      throw refusal(403, 'Forbidden')
    }
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ cause: { code: 403 } })
    expect(pair.events).toMatchObject([{ reason: 'NotWritten', regarding: { name: 'web' } }])
  })

  test('of the virtual cluster keeps nothing from the host, and flows back later (18.3, 18.5)', async () => {
    const pair = await inStep('endpoints', endpoints({ subsets: [] }, { labels: { app: 'a' } }))
    pair.host.put(withField(['metadata', 'labels', 'app'], 'host')(pair.atHost()))
    pair.host.put(setNestedField(pair.atHost() ?? {}, ['subsets'], SUBSETS))
    pair.virtual.refuse = () => {
      throw refusal(422, 'Invalid')
    }
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ cause: { code: 422 } })
    expect(pair.writes()).toEqual({ virtual: [], host: ['replace update'] })
    expect(pair.atHost()).toMatchObject({ subsets: [], metadata: { labels: { app: 'host' } } })
    expect(pair.events).toMatchObject([
      { note: 'The virtual cluster refuses the object: Invalid.' },
    ])
    pair.virtual.refuse = () => undefined
    await pair.settle()
    expect(nestedField(pair.atVirtual() ?? {}, ['metadata', 'labels', 'app'])).toBe('host')
  })

  test.each<{ name: string; pair: () => ReturnType<typeof syncedPair> }>([
    { name: 'of a Secret', pair: () => syncedPair('secrets') },
    {
      name: 'of an object whose patches read the configuration',
      pair: () =>
        syncedPair('endpoints', {
          patches: [{ path: 'subsets', expression: 'context.virtualCluster.config.a ?? value' }],
        }),
    },
  ])('$name shows no message (19.8)', async ({ pair: made }) => {
    const pair = made()
    pair.virtual.put(webOf(pair.world.settings.kind === 'Secret' ? 'secrets' : 'endpoints'))
    pair.host.refuse = () => {
      throw refusal(403, 'Forbidden', 'the policy does not like "hunter2"')
    }
    // The controller logs what is thrown.
    await expect(pair.reconcile(KEY)).rejects.toThrow(
      /^write of the \w+ to the host: 403 Forbidden$/,
    )
    expect(pair.events).toMatchObject([{ note: 'The host refuses the object: 403 Forbidden.' }])
    expect(JSON.stringify(pair.lines)).not.toContain('hunter2')
  })

  test.each([409, 429, 503])(
    'of a Secret shows no message with code %i either, which a webhook can answer (19.8)',
    async (code) => {
      const pair = syncedPair('secrets')
      pair.virtual.put(webOf('secrets'))
      pair.host.refuse = () => {
        throw refusal(code, 'Odd', 'the webhook does not like "hunter2"')
      }
      const message = `write of the Secret to the host: ${code} Odd`
      await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code, message })
    },
  )

  test('of the delete of a host object whose Secret is gone shows no message (19.8)', async () => {
    const pair = await inStep('secrets', webOf('secrets'))
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    pair.host.refuse = () => {
      throw refusal(403, 'Forbidden', 'the policy does not like "hunter2"')
    }
    await expect(pair.reconcile(KEY)).rejects.toThrow(
      /^write of the Secret to the host: 403 Forbidden$/,
    )
  })
})

describe('a health check node port', () => {
  const service = webOf('services', {
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 31_999,
      ports: [{ port: 80 }],
    },
  })
  const portOf = (object: JsonMap | null) =>
    nestedField(object ?? {}, ['spec', 'healthCheckNodePort'])
  test.each([
    {
      name: 'a wrong one',
      error: refusal(422, 'Invalid', '422 Invalid: spec.healthCheckNodePort FieldValueInvalid'),
    },
    {
      name: 'one that is taken',
      error: refusal(500, 'InternalError', 'POST services: 500 InternalError'),
    },
  ])('that the host refuses is left to the host: $name (18.4)', async ({ error }) => {
    const pair = syncedPair('services')
    pair.virtual.put(service)
    pair.host.refuse = (_, object) => {
      if (portOf(object) === 31_999) throw error
    }
    await pair.settle()
    expect(pair.atHost()).not.toBeNull()
    expect(portOf(pair.atHost())).toBeUndefined()
    expect(portOf(pair.atVirtual())).toBe(31_999)
    expect(pair.events).toEqual([])
  })

  test.each([
    { name: 'the host takes it', error: null, is: 31_999 },
    {
      name: 'another field is wrong',
      error: refusal(422, 'Invalid', '422 Invalid: spec.ports'),
      is: undefined,
    },
  ])('is asked for: $name (18.4)', async ({ error, is }) => {
    const pair = syncedPair('services')
    pair.virtual.put(service)
    pair.host.refuse = () => {
      if (error) throw error
    }
    await pair.settle().catch(() => undefined)
    expect(portOf(pair.atHost())).toBe(is)
  })
})

describe('a change that the API server does not accept', () => {
  test('deletes the host object first, and creates it again when it is gone (18.3)', async () => {
    const secret = webOf('secrets', { type: 'Opaque', data: { a: 'eA==' } })
    const pair = await inStep('secrets', secret)
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    const uid = nestedField(pair.atHost() ?? {}, [
      'metadata',
      'annotations',
      'vcluster.platform.sh/object-uid',
    ])
    pair.virtual.put({
      ...secret,
      type: 'kubernetes.io/tls',
      metadata: { ...nestedMap(secret, ['metadata']) },
    })
    // The same virtual object, as far as the marks say.
    const marked = setNestedField(
      pair.atHost() ?? {},
      ['metadata', 'annotations', 'vcluster.platform.sh/object-uid'],
      nestedField(pair.atVirtual() ?? {}, ['metadata', 'uid']),
    )
    expect(uid).toBeDefined()
    pair.host.put(marked)
    pair.host.lags = true
    await pair.reconcile(KEY)
    expect(pair.writes().host).toEqual(['delete delete'])
    expect(pair.report.countByState()).toEqual({ waiting: 1 })
    pair.host.deliver()
    pair.host.lags = false
    await pair.settle()
    expect(pair.writes().host).toEqual(['create create'])
    expect(pair.atHost()?.['type']).toBe('kubernetes.io/tls')
  })

  test('is written once where the API server normalises it (19.7)', async () => {
    const pair = await inStep(
      'services',
      webOf('services', { spec: { ports: [{ port: 80 }], x: 'y' } }),
    )
    const real = pair.host.client.replace.bind(pair.host.client)
    const stored = pair.atHost()
    // The API server drops the field each time, and answers with the object as it was.
    pair.host.put(setNestedField(stored ?? {}, ['spec', 'x'], undefined))
    pair.host.client.replace = ((resource: never, object: JsonMap, reason: string) =>
      real(resource, setNestedField(object, ['spec', 'x'], undefined) as never, reason)) as never
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['replace update'] })
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
  })
})

describe('the pace of writes', () => {
  const versionAt = (host: JsonMap | null) => nestedField(host ?? {}, ['metadata', 'labels', 'n'])
  /** A user on the host undoes each write, and the syncer answers. */
  const undo = async (pair: Awaited<ReturnType<typeof inStep>>, times: number) => {
    for (let n = 0; n < times; n += 1) {
      pair.host.put(setNestedField(pair.atHost() ?? {}, ['subsets'], []))
      await pair.settle()
    }
  }
  const change = (pair: Awaited<ReturnType<typeof inStep>>, n: number) =>
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['metadata', 'labels'], { n: `${n}` }))

  test('delays the eleventh answer of a minute, and writes the newest state then (19.7)', async () => {
    const pair = await inStep()
    await undo(pair, 10)
    expect(pair.writes().host).toHaveLength(10)
    pair.host.put(setNestedField(pair.atHost() ?? {}, ['subsets'], []))
    const nowMs = pair.clock.nowMs()
    expect(await pair.reconcile(KEY)).toEqual({ result: 'later', atMs: nowMs + 60_000 })
    await pair.reconcile(KEY)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.report.countByState()).toEqual({ delayed: 1 })
    expect(pair.events).toMatchObject([{ reason: 'WritesDelayed', regarding: { name: 'web' } }])
    await pair.clock.advance(60_000)
    await pair.settle()
    expect(pair.writes().host).toEqual(['replace update'])
    expect(pair.report.countByState()).toEqual({ synced: 1 })
    await undo(pair, 11).catch(() => undefined)
    await pair.reconcile(KEY)
    expect(pair.events).toHaveLength(1)
  })

  test('holds back no change of the tenant, however often a user undoes it on the host (19.7)', async () => {
    const pair = await inStep()
    await undo(pair, 10)
    pair.host.put(setNestedField(pair.atHost() ?? {}, ['subsets'], []))
    expect(await pair.reconcile(KEY)).toMatchObject({ result: 'later' })
    pair.writes()
    await pair.clock.advance(1000)
    change(pair, 1)
    await pair.reconcile(KEY)
    expect(pair.writes().host).toEqual(['replace update'])
    expect(versionAt(pair.atHost())).toBe('1')
  })

  test('a tenant that changes an object each second has each change on the host a second later (19.7)', async () => {
    const pair = await inStep()
    for (let n = 0; n < 90; n += 1) {
      await pair.clock.advance(1000)
      change(pair, n)
      await pair.reconcile(KEY)
      expect(versionAt(pair.atHost())).toBe(`${n}`)
    }
    expect(pair.writes().host).toHaveLength(90)
    expect(pair.events).toEqual([])
  })

  test('changes within a second are written together (19.7)', async () => {
    const pair = await inStep()
    await pair.clock.advance(1000)
    for (let n = 0; n < 10; n += 1) {
      change(pair, n)
      await pair.reconcile(KEY)
    }
    expect(versionAt(pair.atHost())).toBe('0')
    expect(pair.report.countByState()).toEqual({ synced: 1 })
    await pair.clock.advance(1000)
    await pair.reconcile(KEY)
    expect(pair.writes().host).toHaveLength(2)
    expect(versionAt(pair.atHost())).toBe('9')
  })

  test('holds for the virtual object as well: the host is at once, who undoes it is not (19.7)', async () => {
    const pair = await inStep('endpoints', endpoints(undefined, { annotations: { note: 'n' } }))
    const note = (object: JsonMap | null) =>
      nestedField(object ?? {}, ['metadata', 'annotations', 'note'])
    for (let n = 0; n < 30; n += 1) {
      await pair.clock.advance(1000)
      pair.host.put(withField(['metadata', 'annotations', 'note'], `${n}`)(pair.atHost()))
      await pair.settle()
      expect(note(pair.atVirtual())).toBe(`${n}`)
    }
    expect(pair.writes().virtual).toHaveLength(30)
    expect(pair.events).toEqual([])
  })
})
