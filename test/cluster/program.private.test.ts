// The manager as a program: its probes, metrics, logs, writes and its end.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { OwnedAccessKey } from '../../src/api/ownedaccesskey.gen.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { settingsOf } from '../support/config-client.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { type SeenRequest, isWrite } from '../support/fault-proxy-rules.ts'
import { type FaultProxy, startProxy } from '../support/fault-proxy.ts'
import { valueOf } from '../support/metrics-text.ts'
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
  await liveALittle()
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

const BOUND = { withinMs: 20_000 }

/** Keys that are generated, expire, go, are re-adopted and deleted; settings from both sources. */
async function liveALittle(): Promise<void> {
  const settings = settingsOf(plane)
  await settings.secret('auth: {accessKeyMaxTTLSeconds: 86400}')
  await settings.declare({ projectNamespacePrefix: 'q-' })
  const short = await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ ttl: 1 }), 'test')
  const long = await admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ ttl: 600 }), 'test')
  await eventually(
    'the short one has expired and is gone',
    async () => ((await admin.get(ACCESS_KEYS, short.metadata)) ? undefined : true),
    BOUND,
  )
  const adopted = await eventually(
    'the long one is adopted',
    async () => {
      const key = await admin.get<OwnedAccessKey>(ACCESS_KEYS, long.metadata)
      return key?.metadata.finalizers ? key : undefined
    },
    BOUND,
  )
  const path = `/apis/management.platform.sh/v1/ownedaccesskeys/${adopted.metadata.name}`
  await plane.raw('PATCH', path, { metadata: { finalizers: null } })
  await eventually(
    'it is adopted again, with its key',
    async () => {
      const key = await admin.get<OwnedAccessKey>(ACCESS_KEYS, long.metadata)
      return key?.metadata.finalizers && key.spec?.key === adopted.spec?.key ? true : undefined
    },
    BOUND,
  )
  await plane.raw('DELETE', path)
  await eventually(
    'it is gone',
    async () => ((await admin.get(ACCESS_KEYS, long.metadata)) ? undefined : true),
    BOUND,
  )
}

/** Whether the write would fail on an object that has changed or is another one by now (8.6). */
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
  test('no write is unconditional (8.6)', () => {
    const writes = proxy.requests.filter((request) => isWrite(request))
    expect(new Set(writes.map(({ method }) => method))).toEqual(
      new Set(['POST', 'PATCH', 'DELETE']),
    )
    expect(writes.filter((write) => !isConditional(write))).toEqual([])
  })

  test('only the first apply of a key sends one, and no status write has lastActivity (3.1, 3.4)', () => {
    const bodies = proxy.requests.filter(
      (request) => isWrite(request) && request.path.includes('/ownedaccesskeys/'),
    )
    const withKey = bodies.filter(({ body }) => body.includes('"key":"pak_'))
    expect(withKey).toHaveLength(3)
    expect(bodies.filter(({ body }) => body.includes('lastActivity'))).toEqual([])
  })

  test('it is healthy and ready, and says why (8.2)', async () => {
    expect(await operator.health('/healthz')).toEqual({ code: 200, body: 'ok\n' })
    const { body } = await operator.health('/readyz?verbose')
    expect(body).toBe(
      '[+]not-stopping ok\n[+]crds-served ok\n[+]stores-synced ok\n[+]settings-seen ok\n[+]signing-key-loaded ok\nreadyz check passed\n',
    )
  })

  test('the metrics tell what happened (8.4)', async () => {
    await eventuallyPasses(
      'the operator has seen the last key go',
      async () =>
        expect(await operator.metrics()).toMatch(/^platform_access_keys\{state="active"\} 0$/m),
      BOUND,
    )
    const metrics = await operator.metrics()
    const is = (series: string): number => valueOf(metrics, series)
    expect(is('platform_access_key_expirations_total')).toBe(1)
    expect(is('platform_expiration_lag_seconds_count')).toBe(1)
    // How late it may be is shown in keys/lifetimes.test.ts, which can try again on a machine that stops.
    const isInTime = is('platform_expiration_lag_seconds_sum') <= 1
    expect(is('platform_expiration_lag_seconds_bucket{le="1"}')).toBe(isInTime ? 1 : 0)
    expect(is('platform_api_writes_total{kind="OwnedAccessKey",reason="expired"}')).toBe(1)
    expect(is('platform_api_writes_total{kind="OwnedAccessKey",reason="adopt"}')).toBe(3)
    expect(is('platform_config_valid')).toBe(1)
    expect(is('leader_election_master_status{name="management-operator"}')).toBe(1)
    expect(
      is('controller_runtime_reconcile_total{controller="ownedaccesskey",result="error"}'),
    ).toBe(0)
    // An answer that is read seconds late looks like so much skew.
    expect(Math.abs(is('platform_clock_skew_seconds'))).toBeLessThan(10)
  })

  test('asked for, the end of each key is a metric (8.4)', async () => {
    const { metadata } = await admin.create<OwnedAccessKey>(
      ACCESS_KEYS,
      newKey({ ttl: 600 }),
      'test',
    )
    const endsAt = Date.parse(metadata.creationTimestamp) / 1000 + 600
    const series = `platform_access_key_expiration_timestamp_seconds{name="${metadata.name}"} ${endsAt}`
    await eventually(
      'the series is there',
      async () => (await operator.metrics()).includes(series) || undefined,
      BOUND,
    )
  })

  test('each log line is a sentence with fields, and nothing is on standard error (8.5)', () => {
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

  test('it has no more rights than it used (8.1)', async () => {
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

  test('SIGTERM ends it with exit code 0, in order (8.3)', async () => {
    const exit = await operator.stop()
    expect(exit).toEqual({ code: 0, signal: null })
    const last = operator
      .logs()
      .slice(-2)
      .map(({ msg }) => msg)
    expect(last).toEqual(['stopping', 'stopped'])
  })

  test('it starts and stops while there is no API server, healthy and not ready (8.2, 8.3)', async () => {
    await using nowhere = await startProxy(plane)
    nowhere.on(() => true, { kind: 'destroy' })
    const kubeconfig = await nowhere.kubeconfig(await plane.operatorKubeconfig())
    await using lonely = await startOperator({ kubeconfig, until: 'serving' })
    expect((await lonely.health('/healthz')).code).toBe(200)
    const { code, body } = await lonely.health('/readyz')
    expect({ code, body }).toEqual({
      code: 500,
      body: expect.stringContaining(
        '[-]stores-synced failed: keys, tokens, configs, secrets, signingSecrets, configMaps not listed yet',
      ),
    })
    expect(await lonely.stop()).toEqual({ code: 0, signal: null })
  })

  test('an address that is taken ends it with a reason (8.1)', async () => {
    await using first = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
    const port = first.logs().find(({ msg }) => msg === 'serving metrics')?.['port']
    const second = startOperator({
      kubeconfig: await plane.operatorKubeconfig(),
      flags: [`--metrics-bind-address=127.0.0.1:${Number(port)}`],
    })
    await expect(second).rejects.toThrow(/EADDRINUSE/)
  })
})
