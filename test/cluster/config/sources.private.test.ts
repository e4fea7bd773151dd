// Where settings come from, on a real control plane with an operator of its own environment.
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
const asSomebody = (status: unknown): Promise<{ readonly code: number }> =>
  raw(
    'PATCH',
    `${IN_FORCE_PATH}/status?fieldManager=somebody&force=true`,
    {
      apiVersion: 'management.platform.sh/v1',
      kind: 'Config',
      metadata: { name: 'platform-manager-config' },
      status,
    },
    statusApply,
  )

describe('sources', () => {
  test('an empty Config is created, with the defaults in its status (6.1, 6.4)', async () => {
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

  /** A cap comes into force and leaves, each within two seconds; what was declared beside it stays. */
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

  // A machine that stops for two seconds has nothing in force within them: then it may be tried again.
  test('a change of spec is in force within two seconds, and leaves with it (6.2, 6.6)', () =>
    capComesAndGoes().catch(capComesAndGoes).catch(capComesAndGoes))

  test('spec wins over the Secret, maps merge, lists replace (6.2)', async () => {
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
      // Two watches bring the two sources, in any order.
      ({ auth }) =>
        auth?.accessKeyMaxTTLSeconds === 900 && JSON.stringify(auth).includes('idp.example'),
    )
    expect(status.auth).toMatchObject({
      groupsFilters: ['spec'],
      oidc: { issuerUrl: 'https://idp.example', clientId: 'from-spec', clientSecret: 'REDACTED' },
    })
  })

  test('a change of the Secret alone is in force, and its secret is nowhere (6.2, 6.3)', async () => {
    await settings.secret(
      'auth: {accessKeyMaxTTLSeconds: 600, oidc: {issuerUrl: "https://idp.example", clientId: a, clientSecret: s3cret}}\ndatabase: {dataSource: "mysql://user:s3cret@db:3306/x"}',
    )
    await settings.declare({})
    const status = await settings.settled(
      'the Secret is in force',
      // The one before it had the same cap.
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

  test("another manager's field stays in force until a source takes it over, then it is gone for good (6.2)", async () => {
    await settings.secret('{}')
    await settings.declare({})
    await settings.settled(
      'nothing is declared',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === undefined,
    )
    expect((await asSomebody({ auth: { accessKeyMaxTTLSeconds: 1234 } })).code).toBe(200)
    await settings.settled(
      'their field is in force',
      (status) => status.auth?.accessKeyMaxTTLSeconds === 1234 && readyOf(status).status === 'True',
    )
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 500 } })
    await settings.settled('spec took it over', ({ auth }) => auth?.accessKeyMaxTTLSeconds === 500)
    await settings.declare({})
    await settings.settled(
      'their value is gone',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === undefined,
    )
  })

  test.each([
    { name: 'a variable of the platform is taken', value: '$PLATFORM_CONFIG_SECRET', fault: null },
    {
      name: 'a missing variable is a fault',
      value: '$PLATFORM_CONFIG_MISSING',
      fault: /clientSecret \(spec\).*PLATFORM_CONFIG_MISSING/,
    },
    {
      name: 'a variable of another name is a fault',
      value: '$OTHER_SECRET',
      fault: /clientSecret \(spec\)/,
    },
    {
      name: 'a literal is a fault',
      value: 'a-literal-canary',
      fault: /clientSecret \(spec\).*Secret/,
    },
  ])('$name (6.3)', async ({ value, fault }) => {
    await settings.declare({
      auth: { oidc: { issuerUrl: 'https://idp.example', clientId: 'a', clientSecret: value } },
    })
    const status = await settings.settled(
      'it is judged',
      (seen) => readyOf(seen).status === (fault === null ? 'True' : 'False'),
    )
    const text = JSON.stringify(status)
    expect(text).not.toContain('a-literal-canary')
    expect(text).not.toContain('from-the-environment')
    const shown = fault ? readyOf(status).message : JSON.stringify(status.auth?.['oidc'])
    expect(shown).toMatch(fault ?? /"clientSecret":"REDACTED"/)
  })

  test('REDACTED is no value: it counts as absent (6.3)', async () => {
    await settings.declare({
      auth: { oidc: { issuerUrl: 'https://idp.example', clientId: 'b', clientSecret: 'REDACTED' } },
    })
    const status = await settings.settled('it is judged', ({ auth }) =>
      JSON.stringify(auth).includes('"clientId":"b"'),
    )
    expect(readyOf(status).status).toBe('True')
    expect(JSON.stringify(status)).not.toContain('REDACTED')
  })

  test('a status copied into spec takes no secret of a list from the Secret, or is a fault (6.3)', async () => {
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

  test('the status of a second Config says that it is not in force (6.1, 4.3)', async () => {
    await settings.declare({})
    const created = await raw('POST', CONFIGS_PATH, {
      apiVersion: 'management.platform.sh/v1',
      kind: 'Config',
      metadata: { name: 'another' },
      spec: { auth: { accessKeyMaxTTLSeconds: 1 } },
    })
    expect(created.code).toBe(201)
    const other = await eventually(
      'it is reported',
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

  test('what is switched on and not built is named in one condition, which goes with it (6.7)', async () => {
    await settings.declare({
      audit: { enabled: true, path: '/var/log/platform' },
      auth: { oidc: { issuerUrl: 'https://idp.example', clientId: 'a' } },
      secretStore: { enabled: true },
    })
    const isTold = ({ type, status }: Condition) => type === 'PartsNotServed' && status === 'True'
    const { conditions } = await settings.settled('the condition is there', (status) =>
      (status.conditions ?? []).some(isTold),
    )
    expect(conditions?.find(isTold)?.message).toBe(
      'Nothing in this product acts on these settings: auth.oidc, audit.enabled, secretStore.enabled.',
    )
    await settings.declare({})
    await settings.settled('the condition has gone', (status) =>
      (status.conditions ?? []).every(({ type }) => type === 'Ready'),
    )
  })

  test('an unknown field is an event, no fault (6.5, 4.5)', async () => {
    await settings.secret('auth: {acessKeyMaxTTLSeconds: 60}\nnonsense: 1')
    await eventually(
      'the events are there',
      async () => {
        const { stdout } = await plane.kubectl([
          'events',
          '--for',
          'config/platform-manager-config',
        ])
        return stdout.includes('acessKeyMaxTTLSeconds') &&
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
