import { describe, expect, test } from 'vitest'
import { nestedField } from '../../../../src/domain/json/field-path.ts'
import { NOT_STABLE } from '../../../../src/sync/objects/server-fields.ts'
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

describe('patches that do not settle', () => {
  const following = {
    path: 'metadata.annotations.seen',
    expression: '(context.hostObject?.metadata?.annotations?.seen ?? "") + "x"',
  }
  const object = endpoints({}, { labels: { app: 'a' }, annotations: { seen: '0' } })

  test('write nothing, and say so once (19.7)', async () => {
    const pair = syncedPair('endpoints', { patches: [following] })
    const stored = pair.virtual.put(object)
    for (let times = 0; times < 3; times += 1) await pair.reconcile(KEY)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.atVirtual()).toBe(stored)
    expect(pair.events.map(({ reason }) => reason)).toEqual(['PatchNotStable'])
    expect(pair.report.countByState()).toEqual({ unstable: 1 })
  })

  test('keep their verdict on the host object, once, and a restart believes it (19.7)', async () => {
    const before = await inStep('endpoints', object)
    const pair = syncedPair('endpoints', { patches: [following] })
    pair.virtual.put(before.atVirtual() ?? {})
    pair.host.put(before.atHost() ?? {})
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['patch unstable'] })
    expect(pair.counts).toContain('toHost')
    const verdict = nestedField(pair.atHost() ?? {}, ['metadata', 'annotations', NOT_STABLE])
    expect(verdict).toMatch(/^[0-9a-f]{64}$/)
    const evaluated = pair.sandbox.requests.length
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.sandbox.requests.length).toBe(evaluated)

    const restarted = syncedPair('endpoints', { patches: [following] })
    restarted.virtual.put(pair.atVirtual() ?? {})
    restarted.host.put(pair.atHost() ?? {})
    await restarted.settle()
    expect(restarted.writes()).toEqual(NO_WRITES)
    expect(restarted.sandbox.requests).toEqual([])
    expect(restarted.events.map(({ reason }) => reason)).toEqual(['PatchNotStable'])
  })

  test('keep at most ten verdicts a minute, whatever others change (19.7)', async () => {
    const before = await inStep('endpoints', object)
    const pair = syncedPair('endpoints', { patches: [following] })
    pair.virtual.put(before.atVirtual() ?? {})
    pair.host.put(before.atHost() ?? {})
    for (let n = 0; n < 12; n += 1) {
      pair.host.put(withField(['metadata', 'labels', 'x'], String(n))(pair.atHost()))
      await pair.settle()
    }
    expect(pair.writes().host).toHaveLength(10)
  })

  test.each([403, 422])(
    'say so, once, and that the host refuses to keep the verdict with %i (18.3, 19.7)',
    async (code) => {
      const before = await inStep('endpoints', object)
      const pair = syncedPair('endpoints', { patches: [following] })
      pair.virtual.put(before.atVirtual() ?? {})
      pair.host.put(before.atHost() ?? {})
      pair.host.refuse = () => {
        throw refusal(code, 'Refused')
      }
      await pair.settle()
      await pair.settle()
      expect(pair.events.map(({ reason }) => reason)).toEqual(['NotWritten', 'PatchNotStable'])
      expect(pair.report.countByState()).toEqual({ unstable: 1 })
      expect(pair.counts).not.toContain('toHost')
    },
  )

  test('lose their verdict when they settle (19.7)', async () => {
    const before = await inStep('endpoints', object)
    const pair = syncedPair('endpoints')
    pair.virtual.put(before.atVirtual() ?? {})
    pair.host.put(withField(['metadata', 'annotations', NOT_STABLE], 'x')(before.atHost()))
    await pair.settle()
    expect(pair.writes().host).toEqual(['replace update'])
    expect(
      nestedField(pair.atHost() ?? {}, ['metadata', 'annotations', NOT_STABLE]),
    ).toBeUndefined()
  })

  test('in both directions never write the virtual object (19.7)', async () => {
    const growing = {
      path: 'spec.ports[*].nodePort',
      expression: 'value + 1',
      reverseExpression: 'value + 1',
    }
    const service = webOf('services', { spec: { type: 'NodePort', ports: [{ port: 80 }] } })
    const before = await inStep('services', service)
    const pair = syncedPair('services', { patches: [growing] })
    const virtual = pair.virtual.put(before.atVirtual() ?? {})
    pair.host.put(before.atHost() ?? {})
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['patch unstable'] })
    expect(pair.atVirtual()).toBe(virtual)
    // Another user changes the object: it is examined again.
    pair.host.put(withField(['metadata', 'labels', 'x'], 'y')(pair.atHost()))
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['patch unstable'] })
    expect(pair.atVirtual()).toBe(virtual)
  })
})

describe('an expression that fails', () => {
  const failing = { path: 'subsets[0].ports[0].port', expression: '(() => { throw 1 })()' }

  test('writes nothing, is reported once, and tried again after five minutes (19.8)', async () => {
    const pair = syncedPair('endpoints', { patches: [failing] })
    pair.virtual.put(endpoints())
    const atMs = pair.clock.nowMs() + 300_000
    for (let times = 0; times < 3; times += 1)
      expect(await pair.reconcile(KEY)).toEqual({ result: 'later', atMs })
    expect(pair.lines).toHaveLength(1)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.events).toMatchObject([
      {
        reason: 'PatchFailed',
        note: 'sync.toHost.endpoints.patches[0] at subsets[0].ports[0].port: it failed; nothing is written.',
      },
    ])
    expect(pair.report.countByState()).toEqual({ failed: 1 })
  })
})

test('a wildcard names no mark, of which an expression would fail (19.6, 19.8)', async () => {
  const pair = syncedPair('endpoints', {
    patches: [{ path: 'metadata.annotations.*', expression: 'JSON.parse(value).a' }],
  })
  pair.virtual.put(endpoints({}, { annotations: { settings: '{"a":"b"}' } }))
  await pair.settle()
  expect(nestedField(pair.atHost() ?? {}, ['metadata', 'annotations', 'settings'])).toBe('b')
  expect(pair.events).toEqual([])
})

describe('a refused address', () => {
  const refused = endpoints({ subsets: [{ addresses: [{ ip: '10.66.0.1' }] }] })

  test('creates nothing (18.2)', async () => {
    const pair = syncedPair('endpoints')
    pair.virtual.put(refused)
    await pair.settle()
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.events.map(({ reason }) => reason)).toEqual(['AddressRefused'])
    expect(pair.report.countByState()).toEqual({ refused: 1 })
  })

  test('leaves the host object as it was, and its labels still flow back (18.2, 18.5)', async () => {
    const pair = await inStep(
      'endpoints',
      endpoints({ subsets: SUBSETS }, { labels: { app: 'a' } }),
    )
    pair.host.put(withField(['metadata', 'labels', 'app'], 'host')(pair.atHost()))
    const host = pair.atHost()
    pair.virtual.put({ ...pair.atVirtual(), subsets: refused['subsets'] ?? [] })
    await pair.settle()
    expect(pair.atHost()).toBe(host)
    expect(pair.events.map(({ reason }) => reason)).toEqual(['AddressRefused'])
  })
})

describe('a Service', () => {
  const service = webOf('services', {
    spec: { type: 'LoadBalancer', ports: [{ name: 'a', port: 80 }] },
  })

  test('gets node ports and the status of its load balancer from the host, once (18.4, 18.5)', async () => {
    const pair = syncedPair('services')
    pair.virtual.put(service)
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: ['replace back-flow'], host: ['create create'] })
    expect(nestedField(pair.atVirtual() ?? {}, ['spec', 'ports', 0, 'nodePort'])).toBe(30_080)
    const loadBalancer = { ingress: [{ ip: '1.2.3.4' }] }
    pair.host.put(withField(['status', 'loadBalancer'], loadBalancer)(pair.atHost()))
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: ['patch back-flow'], host: [] })
    expect(nestedField(pair.atVirtual() ?? {}, ['status', 'loadBalancer'])).toEqual(loadBalancer)
    expect(pair.counts).not.toContain('NotWritten')
  })

  test('whose node ports the virtual cluster refuses stays in step otherwise (18.3)', async () => {
    const pair = syncedPair('services')
    pair.virtual.put(service)
    pair.virtual.refuse = () => {
      throw refusal(422, 'Invalid')
    }
    await pair.reconcile(KEY)
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ cause: { code: 422 } })
    pair.virtual.put(withField(['spec', 'sessionAffinity'], 'ClientIP')(pair.atVirtual()))
    await pair.clock.advance(1000)
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ cause: { code: 422 } })
    expect(nestedField(pair.atHost() ?? {}, ['spec', 'sessionAffinity'])).toBe('ClientIP')
    expect(pair.events.map(({ reason }) => reason)).toEqual(['NotWritten'])
  })
})

describe('an object that cannot be changed', () => {
  test('is not deleted and created again for ever by a patch that follows the host object (19.7)', async () => {
    const pair = syncedPair('secrets', {
      patches: [
        {
          path: 'data.id',
          expression: 'context.hostObject?.metadata?.uid.padStart(4, "0") ?? "none"',
        },
      ],
    })
    pair.virtual.put(webOf('secrets', { data: { id: 'eA==' }, immutable: true }))
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.report.countByState()).toEqual({ unstable: 1 })
  })
})

test('a value that the virtual cluster hands out again is removed once (18.5, 19.7)', async () => {
  const patches = [{ path: 'spec.ports[*].nodePort', reverseExpression: 'undefined' }]
  const pair = syncedPair('services', { patches })
  pair.virtual.put(webOf('services', { spec: { type: 'NodePort', ports: [{ port: 80 }] } }))
  await pair.settle()
  expect(pair.writes()).toEqual({ virtual: ['replace back-flow'], host: ['create create'] })
  await pair.settle()
  expect(pair.writes()).toEqual(NO_WRITES)
})
