// The sources of settings: spec of Config, the Secret, fields of other managers, and environment variables.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Condition } from '../../../src/api/objects.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import {
  CONFIGS_PATH,
  IN_FORCE_PATH,
  RECORD_PATH,
  type SeenConfig,
  type SeenStatus,
  isReadyBy,
  readyOf,
  settingsOf,
} from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

const plane = await privateControlPlane()
const settings = settingsOf(plane)
const { raw } = plane
let operator: OwnOperator

beforeAll(async () => {
  operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    env: { PLATFORM_CONFIG_SECRET: 'from-the-environment', OTHER_SECRET: 'not-ours' },
  })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(() => operator?.stop())

const statusApply = { contentType: 'application/apply-patch+yaml' }
const applyStatusAsOther = (status: unknown): Promise<{ readonly code: number }> =>
  raw(
    'PATCH',
    `${IN_FORCE_PATH}/status?fieldManager=other&force=true`,
    {
      apiVersion: 'management.platform.sh/v1',
      kind: 'Config',
      metadata: { name: 'platform-manager-config' },
      status,
    },
    statusApply,
  )

describe('settings', () => {
  test('come from defaults in a Config that the manager creates (6.1, 6.4)', async () => {
    const { spec, status } = await settings.read()
    expect(spec).toEqual({})
    expect(status).toMatchObject({
      auth: { loginAccessKeyTTLSeconds: 1728000 },
      projectNamespacePrefix: 'p-',
      audit: { maxSize: 100 },
      secretStore: { syncInterval: '1m' },
      costControl: {
        global: { metrics: { retention: '1y' } },
        cluster: { metrics: { retention: '1y' } },
      },
    })
  })

  /** Sets and removes a cap; both take effect within two seconds. */
  async function capComesAndGoes(): Promise<void> {
    const isNone = ({ auth }: SeenStatus) => auth?.accessKeyMaxTTLSeconds === undefined
    await settings.declare({})
    await settings.settled('no cap is in force', isNone)
    await settings.declare({
      auth: { accessKeyMaxTTLSeconds: 86400, password: { disabled: true } },
    })
    await settings.settled(
      'the cap is in force',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === 86400,
      2000,
    )
    await settings.declare({ auth: { password: { disabled: true } } })
    const status = await settings.settled('the cap has left', isNone, 2000)
    expect(status.auth?.['password']).toEqual({ disabled: true })
  }

  // Retried, as a busy machine may stop for two seconds.
  test('in spec take effect within two seconds, and so does their removal (6.2, 6.6)', () =>
    capComesAndGoes().catch(capComesAndGoes).catch(capComesAndGoes))

  test('in spec override those in the Secret: maps are merged, lists replaced (6.2)', async () => {
    await settings.secret(
      'auth: {accessKeyMaxTTLSeconds: 600, groupsFilters: [secret], oidc: {issuerUrl: "https://idp.example", clientId: from-secret, clientSecret: s3cret}}',
    )
    await settings.declare({
      auth: {
        accessKeyMaxTTLSeconds: 900,
        groupsFilters: ['spec'],
        oidc: { clientId: 'from-spec' },
      },
    })
    const status = await settings.settled(
      'both are merged',
      // The two sources arrive by two watches, in any order.
      ({ auth }) =>
        auth?.accessKeyMaxTTLSeconds === 900 && JSON.stringify(auth).includes('idp.example'),
    )
    expect(status.auth).toMatchObject({
      groupsFilters: ['spec'],
      oidc: { issuerUrl: 'https://idp.example', clientId: 'from-spec', clientSecret: 'REDACTED' },
    })
  })

  test('in the Secret alone take effect, and their secrets are shown nowhere (6.2, 6.3)', async () => {
    await settings.secret(
      'auth: {accessKeyMaxTTLSeconds: 600, oidc: {issuerUrl: "https://idp.example", clientId: a, clientSecret: s3cret}}\ndatabase: {dataSource: "mysql://user:s3cret@db:3306/x"}',
    )
    await settings.declare({})
    const status = await settings.settled(
      'the Secret is in force',
      // The previous Secret had the same cap.
      ({ auth, database }) => auth?.accessKeyMaxTTLSeconds === 600 && database !== undefined,
    )
    expect(status['database']).toEqual({ dataSource: expect.stringContaining('REDACTED') })
    const record = await raw('GET', RECORD_PATH)
    const reported = [
      JSON.stringify(await settings.read()),
      JSON.stringify(record.body),
      operator.output().stdout,
      operator.output().stderr,
    ]
    expect(reported.filter((text) => text.includes('s3cret'))).toEqual([])
  })

  test('that another manager writes into status stay in force until a source sets them, then they are removed for good (6.2)', async () => {
    await settings.secret('{}')
    await settings.declare({})
    await settings.settled(
      'nothing is declared',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === undefined,
    )
    expect((await applyStatusAsOther({ auth: { accessKeyMaxTTLSeconds: 1234 } })).code).toBe(200)
    await settings.settled(
      'the foreign field is in force',
      (status) => status.auth?.accessKeyMaxTTLSeconds === 1234 && readyOf(status).status === 'True',
    )
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 500 } })
    await settings.settled('spec took it over', ({ auth }) => auth?.accessKeyMaxTTLSeconds === 500)
    await settings.declare({})
    await settings.settled(
      'the foreign value is removed',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === undefined,
    )
  })

  test.each([
    {
      name: 'from a variable with the prefix of the platform are accepted',
      value: '$PLATFORM_CONFIG_SECRET',
      fault: null,
    },
    {
      name: 'from a missing variable are a fault',
      value: '$PLATFORM_CONFIG_MISSING',
      fault: /clientSecret \(spec\).*PLATFORM_CONFIG_MISSING/,
    },
    {
      name: 'from a variable without the prefix are a fault',
      value: '$OTHER_SECRET',
      fault: /clientSecret \(spec\)/,
    },
    {
      name: 'with a literal secret are a fault',
      value: 'a-literal-canary',
      fault: /clientSecret \(spec\).*Secret/,
    },
  ])('$name (6.3)', async ({ value, fault }) => {
    await settings.declare({
      auth: { oidc: { issuerUrl: 'https://idp.example', clientId: 'a', clientSecret: value } },
    })
    const status = await settings.settled(
      'the settings are validated',
      (seen) => readyOf(seen).status === (fault === null ? 'True' : 'False'),
    )
    const text = JSON.stringify(status)
    expect(text).not.toContain('a-literal-canary')
    expect(text).not.toContain('from-the-environment')
    const shown = fault ? readyOf(status).message : JSON.stringify(status.auth?.['oidc'])
    expect(shown).toMatch(fault ?? /"clientSecret":"REDACTED"/)
  })

  test('with the value REDACTED count as absent (6.3)', async () => {
    await settings.declare({
      auth: { oidc: { issuerUrl: 'https://idp.example', clientId: 'b', clientSecret: 'REDACTED' } },
    })
    const status = await settings.settled('the settings are validated', ({ auth }) =>
      JSON.stringify(auth).includes('"clientId":"b"'),
    )
    expect(readyOf(status).status).toBe('True')
    expect(JSON.stringify(status)).not.toContain('REDACTED')
  })

  test('a status copied into spec gets no secret of a list from the Secret (6.3)', async () => {
    const secretOf = (id: string, secret: string) =>
      `{id: ${id}, idpB: {clientId: ${id}, clientSecret: ${secret}}}`
    await settings.declare({})
    await settings.secret(
      `auth: {connectors: [${secretOf('one', 'canary-1')}, ${secretOf('two', 'canary-2')}]}`,
    )
    const { auth } = await settings.settled('the connectors are in force', (seen) =>
      JSON.stringify(seen.auth ?? {}).includes('REDACTED'),
    )
    const connectors = auth?.['connectors'] as readonly { readonly id: string }[]
    await settings.declare({ auth: { connectors }, platformHost: 'copied.example' })
    const copied = await settings.settled('it is in force', isReadyBy('Applied'))
    expect(copied).toMatchObject({ auth: { connectors }, platformHost: 'copied.example' })
    const [first] = connectors
    await settings.declare({ auth: { connectors: [{ ...first, id: 'three' }] } })
    const refused = await settings.settled('it is invalid', isReadyBy('Invalid'))
    expect(readyOf(refused).message).toContain(
      'auth.connectors[0].idpB.clientSecret (spec): is REDACTED',
    )
    expect(refused.auth?.['connectors']).toEqual(connectors)
    expect(JSON.stringify([copied, refused])).not.toContain('canary')
    await settings.secret('{}')
    await settings.declare({})
    await settings.settled('it is mended', isReadyBy('Applied'))
    await settings.secret(null)
  })

  test('of a second Config are not in force, which its status reports (6.1, 4.3)', async () => {
    await settings.declare({})
    const created = await raw('POST', CONFIGS_PATH, {
      apiVersion: 'management.platform.sh/v1',
      kind: 'Config',
      metadata: { name: 'another' },
      spec: { auth: { accessKeyMaxTTLSeconds: 1 } },
    })
    expect(created.code).toBe(201)
    const other = await eventually(
      'the second Config has a status',
      async () => {
        const { body } = await raw<SeenConfig>('GET', `${CONFIGS_PATH}/another`)
        return body.status?.conditions && body.status
      },
      { withinMs: 20_000 },
    )
    expect(other.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'NotInForce' },
      { type: 'Stalled', status: 'True', reason: 'NotInForce' },
    ])
    expect(other.auth).toBeUndefined()
    expect((await settings.read()).status?.auth?.accessKeyMaxTTLSeconds).toBeUndefined()
  })

  test('without effect in this product are listed in one condition while they are set (6.7)', async () => {
    await settings.declare({
      auth: {
        oidc: { issuerUrl: 'https://idp.example', clientId: 'a' },
        idpB: { clientId: 'a' },
        customHttpHeaders: { 'X-A': 'a' },
      },
      costControl: { enabled: true },
      secretStore: { enabled: true },
    })
    const isReported = ({ type, status }: Condition) =>
      type === 'PartsNotServed' && status === 'True'
    const { conditions } = await settings.settled('the condition is there', (status) =>
      (status.conditions ?? []).some(isReported),
    )
    expect(conditions?.find(isReported)?.message).toBe(
      'Nothing in this product acts on these settings: costControl.enabled.',
    )
    await settings.declare({})
    await settings.settled('the condition has gone', (status) =>
      (status.conditions ?? []).every(({ type }) => type === 'Ready'),
    )
  })

  test('with an unknown field cause an event, not a fault (6.5, 4.5)', async () => {
    await settings.secret('auth: {longestTTL: 60}\nnonsense: 1')
    await eventually(
      'the events exist',
      async () => {
        const { stdout } = await plane.kubectl([
          'events',
          '--for',
          'config/platform-manager-config',
        ])
        return stdout.includes('longestTTL') &&
          stdout.includes('nonsense') &&
          stdout.includes('UnknownField')
          ? true
          : undefined
      },
      { withinMs: 40_000 },
    )
    expect(readyOf((await settings.read()).status ?? {}).status).toBe('True')
  })
})
