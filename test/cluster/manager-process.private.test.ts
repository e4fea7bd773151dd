// The manager as a process: probes, metrics, logs, writes and shutdown.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { OwnedAccessKey } from '../../src/api/ownedaccesskey.gen.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { settingsOf } from '../support/config-client.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { type FaultProxy, type SeenRequest, isWrite, startProxy } from '../support/fault-proxy.ts'
import { valueOf } from '../support/metrics-page.ts'
import { newKey } from '../support/object-builder.ts'

const plane = await privateControlPlane()
const { admin } = plane
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  operator = await startOperator({
    kubeconfig,
    flags: ['--expired-retention=1s', '--log-level=debug', '--per-object-metrics'],
  })
  await createActivity()
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

const BOUND = { withinMs: 20_000 }

/** Creates activity: keys that expire, are adopted again and deleted; settings from both sources. */
async function createActivity(): Promise<void> {
  const settings = settingsOf(plane)
  await settings.secret('auth: {accessKeyMaxTTLSeconds: 86400}')
  await settings.declare({ projectNamespacePrefix: 'q-' })
  const short = await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ ttl: 1 }), 'test')
  const long = await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ ttl: 600 }), 'test')
  await eventually(
    'the short-lived key has expired and is deleted',
    async () => ((await admin.get(ACCESS_KEYS, short.metadata)) ? undefined : true),
    BOUND,
  )
  const adopted = await eventually(
    'the long-lived key is adopted',
    async () => {
      const key = await admin.get<OwnedAccessKey>(ACCESS_KEYS, long.metadata)
      return key?.metadata.finalizers ? key : undefined
    },
    BOUND,
  )
  const path = `/apis/management.platform.sh/v1/ownedaccesskeys/${adopted.metadata.name}`
  await plane.raw('PATCH', path, { metadata: { finalizers: null } })
  await eventually(
    'it is adopted again with the same spec.key',
    async () => {
      const key = await admin.get<OwnedAccessKey>(ACCESS_KEYS, long.metadata)
      return key?.metadata.finalizers && key.spec?.key === adopted.spec?.key ? true : undefined
    },
    BOUND,
  )
  await plane.raw('DELETE', path)
  await eventually(
    'the long-lived key is deleted',
    async () => ((await admin.get(ACCESS_KEYS, long.metadata)) ? undefined : true),
    BOUND,
  )
}

/** Whether the write has a precondition, so that it fails on a changed or recreated object (8.6). */
function isConditional({ method, body, path }: SeenRequest): boolean {
  if (path.includes('/events')) return true
  const sent = JSON.parse(body)
  if (Array.isArray(sent)) return sent[0]?.op === 'test'
  if (method === 'DELETE')
    return Boolean(sent.preconditions?.uid && sent.preconditions.resourceVersion)
  if (method === 'POST') return Boolean(sent.metadata?.name) && !sent.metadata.generateName
  return Boolean(sent.metadata?.uid && sent.metadata.resourceVersion)
}

describe('the manager', () => {
  test('sends every write with a precondition (8.6)', () => {
    const writes = proxy.requests.filter(isWrite)
    expect(new Set(writes.map(({ method }) => method))).toEqual(
      new Set(['POST', 'PATCH', 'DELETE']),
    )
    expect(writes.filter((write) => !isConditional(write))).toEqual([])
  })

  test('sends spec.key only in the first apply of a key, and lastActivity in no status write (3.1, 3.4)', () => {
    const bodies = proxy.requests.filter(
      (request) => isWrite(request) && request.path.includes('/ownedaccesskeys/'),
    )
    const withKey = bodies.filter(({ body }) => body.includes('"key":"pak_'))
    expect(withKey).toHaveLength(3)
    expect(bodies.filter(({ body }) => body.includes('lastActivity'))).toEqual([])
  })

  test('is healthy and ready, with all checks in the verbose output (8.2)', async () => {
    expect(await operator.health('/healthz')).toEqual({ code: 200, body: 'ok\n' })
    const { body } = await operator.health('/readyz?verbose')
    expect(body).toBe(
      '[+]not-stopping ok\n[+]crds-served ok\n[+]stores-synced ok\n[+]settings-seen ok\n[+]signing-key-loaded ok\nreadyz check passed\n',
    )
  })

  test('counts its activity in metrics (8.4)', async () => {
    await eventuallyPasses(
      'the store of the operator has no key left',
      async () =>
        expect(await operator.metrics()).toMatch(/^platform_access_keys\{state="active"\} 0$/m),
      BOUND,
    )
    const metrics = await operator.metrics()
    const is = (series: string): number => valueOf(metrics, series)
    expect(is('platform_access_key_expirations_total')).toBe(1)
    expect(is('platform_expiration_lag_seconds_count')).toBe(1)
    // keys/lifetimes.test.ts checks the lag, with retries for a busy machine.
    const isInTime = is('platform_expiration_lag_seconds_sum') <= 1
    expect(is('platform_expiration_lag_seconds_bucket{le="1"}')).toBe(isInTime ? 1 : 0)
    expect(is('platform_api_writes_total{kind="OwnedAccessKey",reason="expired"}')).toBe(1)
    expect(is('platform_api_writes_total{kind="OwnedAccessKey",reason="adopt"}')).toBe(3)
    expect(is('platform_config_valid')).toBe(1)
    expect(is('leader_election_master_status{name="management-operator"}')).toBe(1)
    expect(
      is('controller_runtime_reconcile_total{controller="ownedaccesskey",result="error"}'),
    ).toBe(0)
    // A response that is read late looks like clock skew.
    expect(Math.abs(is('platform_clock_skew_seconds'))).toBeLessThan(10)
  })

  test('has a metric with the expiry of each key when the flag is set (8.4)', async () => {
    const { metadata } = await admin.create<OwnedAccessKey>(
      ACCESS_KEYS,
      newKey({ ttl: 600 }),
      'test',
    )
    const endsAt = Date.parse(metadata.creationTimestamp) / 1000 + 600
    const series = `platform_access_key_expiration_timestamp_seconds{name="${metadata.name}"} ${endsAt}`
    await eventually(
      'the series exists',
      async () => (await operator.metrics()).includes(series) || undefined,
      BOUND,
    )
  })

  test('logs constant sentences with fields, and writes nothing to standard error (8.5)', () => {
    expect(operator.output().stderr).toBe('')
    const lines = operator.logs()
    expect(lines.length).toBeGreaterThan(10)
    for (const { level, time, msg } of lines) {
      expect([level, time, msg]).toEqual([
        expect.stringMatching(/^(debug|info|warn|error)$/),
        expect.stringMatching(/Z$/),
        expect.stringMatching(/^[a-z]/),
      ])
    }
    expect(lines.find(({ msg }) => msg === 'access key expired')).toMatchObject({
      controller: 'ownedaccesskey',
      object: {
        name: expect.any(String),
        uid: expect.any(String),
        resourceVersion: expect.any(String),
      },
    })
  })

  test('has only the rights that it uses (8.1)', async () => {
    const kubeconfig = await plane.operatorKubeconfig()
    const may = async (...args: readonly string[]): Promise<string> =>
      (await plane.kubectl(['auth', 'can-i', ...args], { kubeconfig })).stdout.trim()
    expect(await may('update', 'secrets', '-n', 'platform-system')).toBe('no')
    expect(await may('get', 'secrets', '-n', 'kube-system')).toBe('no')
    expect(await may('list', 'secrets', '-n', 'kube-system')).toBe('no')
    expect(await may('create', 'ownedaccesskeys')).toBe('no')
    expect(await may('update', 'ownedaccesskeys')).toBe('no')
    expect(await may('create', 'directclusterendpointtokens')).toBe('no')
    expect(await may('delete', 'configs')).toBe('no')
  })

  test('shuts down in order on SIGTERM, with exit code 0 (8.3)', async () => {
    const exit = await operator.stop()
    expect(exit).toEqual({ code: 0, signal: null })
    const last = operator
      .logs()
      .slice(-2)
      .map(({ msg }) => msg)
    expect(last).toEqual(['stopping', 'stopped'])
  })

  test('starts and stops without an API server, healthy but not ready (8.2, 8.3)', async () => {
    await using nowhere = await startProxy(plane)
    nowhere.on(() => true, { kind: 'destroy' })
    const kubeconfig = await nowhere.kubeconfig(await plane.operatorKubeconfig())
    await using lonely = await startOperator({ kubeconfig, until: 'serving' })
    expect((await lonely.health('/healthz')).code).toBe(200)
    const { code, body } = await lonely.health('/readyz')
    expect({ code, body }).toEqual({
      code: 500,
      body: expect.stringContaining(
        '[-]stores-synced failed: configs, secrets, secretSettings, deliverySettings, signingSecrets, configMaps, tokens, keys, users, teams not listed yet',
      ),
    })
    expect(await lonely.stop()).toEqual({ code: 0, signal: null })
  })

  test('exits with a message when its address is in use (8.1)', async () => {
    await using first = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    const port = first.logs().find(({ msg }) => msg === 'serving metrics')?.['port']
    const second = startOperator({
      kubeconfig: await plane.operatorKubeconfig(),
      flags: [`--metrics-bind-address=127.0.0.1:${Number(port)}`],
    })
    await expect(second).rejects.toThrow(/EADDRINUSE/)
  })
})
