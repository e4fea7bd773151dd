// Invalid settings: all faults are reported, and the cap stays in force whatever is deleted or damaged.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import {
  IN_FORCE_PATH,
  RECORD_PATH,
  isReadyBy,
  readyOf,
  settingsOf,
} from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

const plane = await privateControlPlane()
const { raw } = plane
const settings = settingsOf(plane)
const CAP = 86_400
let operator: OwnOperator

const start = async (): Promise<OwnOperator> =>
  startOperator({ kubeconfig: await plane.operatorKubeconfig() })

beforeAll(async () => {
  operator = await start()
  await settings.settled('defaults are in force', isReadyBy('Applied'))
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP } })
  await capHolds()
})
afterAll(() => operator?.stop())

async function capHolds(): Promise<void> {
  const status = await settings.settled(
    'the cap is in force',
    ({ auth }) => auth?.accessKeyMaxTTLSeconds === CAP,
  )
  expect(status.auth?.accessKeyMaxTTLSeconds).toBe(CAP)
}

/** Settings with one fault of each kind of contract 6.5. */
const FAULTY = {
  auth: {
    accessKeyMaxTTLSeconds: -1,
    loginAccessKeyTTLSeconds: -2,
    groupsFilters: ['^(a+)+$', '(?=x)'],
    customHttpHeaders: { 'Bad Header': '$PLATFORM_CONFIG_MISSING' },
    sourceHostA: { orgs: [{ teams: ['t'] }] },
    sourceHostB: { baseURL: 'https://b.example' },
    saml: { nameIDPolicyFormat: 'email', caData: 'eA==', insecureSkipSignatureValidation: true },
    idpA: { serviceAccountFilePath: '/sa.json' },
    idpB: { tenant: 'common' },
    oidc: { redirectURI: 'https://p.example/callback' },
    connectors: [
      { id: 'same', idpB: { clientId: 'a' } },
      { id: 'same', idpB: { clientId: 'a' }, idpA: { clientId: 'a' } },
      { displayName: 'nameless' },
      { id: 'login', idpB: { clientId: 'a' } },
      { id: 'needy', saml: { ca: 'a' } },
    ],
  },
  oidc: {
    clients: [
      { clientId: 'twice', redirectURIs: ['https://*.example'] },
      { name: 'b', clientId: 'twice' },
    ],
  },
  apps: { predefinedApps: [{ title: 'no chart' }] },
  imageBuilder: { resources: { claims: [{ request: 'r' }] } },
  devPodSubDomain: '*.example.com',
  audit: {
    enabled: true,
    path: 'logs',
    level: 7,
    policy: { rules: [{ level: 'Everything', verbs: ['get'], requestTargets: ['Host'] }] },
  },
  projectNamespacePrefix: 'p',
  secretStore: { syncInterval: 'one minute', auth: { tokenSecretRef: { key: 'k' } } },
  uiSettings: {
    primaryColor: 'red',
    logoURL: 'ftp://logo',
    navBarButtons: [{ position: 'Middle' }],
  },
}

const REPORTED = [
  'auth.accessKeyMaxTTLSeconds',
  'auth.loginAccessKeyTTLSeconds',
  'auth.groupsFilters[1]',
  'auth.customHttpHeaders["Bad Header"] (spec): is not a header name',
  'auth.customHttpHeaders["Bad Header"] (spec): names',
  'auth.saml (spec): sets caData and insecureSkipSignatureValidation',
  'auth.saml.ssoURL',
  'auth.saml.nameIDPolicyFormat',
  'auth.sourceHostA.clientId',
  'auth.sourceHostA.orgs[0].name',
  'auth.sourceHostB.clientId',
  'auth.idpA.adminEmail',
  'auth.idpA.clientId',
  'auth.idpB.clientId',
  'auth.oidc.issuerUrl',
  'auth.oidc.clientId',
  'auth.oidc.redirectURI',
  'auth.connectors[1].id',
  'auth.connectors[1] (spec): sets idpA and idpB',
  'auth.connectors[2].id',
  'auth.connectors[2] (spec): sets none of them',
  'auth.connectors[3].id',
  'auth.connectors[4].saml.ssoURL',
  'oidc.clients[0].redirectURIs[0]',
  'oidc.clients[0].name',
  'oidc.clients[1].clientId',
  'apps.predefinedApps[0].chart',
  'imageBuilder.resources.claims[0].name',
  'devPodSubDomain',
  'audit.level',
  'audit.path',
  'audit.policy.rules[0].level',
  'audit.policy.rules[0].requestTargets[0]',
  'projectNamespacePrefix',
  'secretStore.syncInterval',
  'secretStore.auth.tokenSecretRef.name',
  'uiSettings.primaryColor',
  'uiSettings.logoURL',
  'uiSettings.navBarButtons[0].position',
]

describe('invalid settings', () => {
  test('are all reported with path and source, and the last good settings stay in force (6.5, 4.3)', async () => {
    await settings.declare(FAULTY)
    const status = await settings.settled('the Config is invalid', isReadyBy('Invalid'))
    const { message } = readyOf(status)
    expect(REPORTED.filter((path) => !message.includes(path))).toEqual([])
    expect(message).not.toContain('auth.groupsFilters[0]')
    const [, stalled] = status.conditions ?? []
    expect(stalled).toMatchObject({ type: 'Stalled', status: 'True', reason: 'Invalid', message })
    expect(status.auth?.accessKeyMaxTTLSeconds).toBe(CAP)
    expect(await operator.metrics()).toMatch(/^platform_config_valid 0$/m)
    await eventually(
      'the event exists',
      async () => {
        const { stdout } = await plane.kubectl([
          'events',
          '--for',
          'config/platform-manager-config',
        ])
        return stdout.includes('InvalidConfig') || undefined
      },
      { withinMs: 40_000 },
    )
  })

  test('keep the last good settings in force over a restart, without a write (6.5)', async () => {
    const before = await settings.read()
    await operator.stop()
    operator = await start()
    await capHolds()
    expect((await settings.read()).metadata.resourceVersion).toBe(before.metadata.resourceVersion)
  })

  test('keep the last good settings in force when the Config is deleted, which the manager creates again (6.1, 6.5)', async () => {
    const { metadata } = await settings.read()
    expect((await raw('DELETE', IN_FORCE_PATH)).code).toBe(200)
    await eventually(
      'it is created again',
      async () => ((await settings.read()).metadata.uid === metadata.uid ? undefined : true),
      { withinMs: 20_000 },
    )
    await settings.settled('it is in force', isReadyBy('Applied'))
    await capHolds()
  })

  test('keep the last good settings in force when the Config is deleted without a running operator (6.5)', async () => {
    await operator.stop()
    expect((await raw('DELETE', IN_FORCE_PATH)).code).toBe(200)
    operator = await start()
    await capHolds()
  })

  test.each([
    { name: 'invalid YAML', text: 'auth: [' },
    { name: 'a value of the wrong type', text: 'auth: {accessKeyMaxTTLSeconds: "many"}' },
    { name: 'a string instead of an object', text: 'just a text' },
  ])('in a Secret with $name are reported without quoting it (6.5, 3.5)', async ({ text }) => {
    await settings.secret(text)
    const status = await eventually(
      'the Config is invalid',
      async () => {
        const { status: seen } = await settings.read()
        return seen && readyOf(seen).reason === 'Invalid' ? seen : undefined
      },
      { withinMs: 20_000 },
    )
    expect(readyOf(status).message).toContain('Secret')
    expect(readyOf(status).message).not.toMatch(/many|just a text/)
    expect(status.auth?.accessKeyMaxTTLSeconds).toBe(CAP)
    await settings.secret(null)
    await settings.settled('it is mended', isReadyBy('Applied'))
    await capHolds()
  })

  test('include a deleted Secret that has the cap, but not a Secret that was emptied first (6.5)', async () => {
    await settings.secret(`auth: {accessKeyMaxTTLSeconds: ${CAP}}`)
    await settings.declare({ platformHost: 'platform.example' })
    await settings.settled(
      'the Secret holds the cap',
      // The two sources arrive by two watches: there is no cap before the Secret arrives.
      (status) =>
        isReadyBy('Applied')(status) &&
        status['platformHost'] !== undefined &&
        status.auth?.accessKeyMaxTTLSeconds === CAP,
    )
    await settings.secret(null)
    await eventually(
      'its absence is a fault',
      async () => readyOf((await settings.read()).status ?? {}).reason === 'Invalid' || undefined,
      { withinMs: 20_000 },
    )
    await capHolds()
    await settings.secret('{}')
    await settings.settled(
      'the cap of the emptied Secret is no longer in force',
      ({ auth }) => auth?.accessKeyMaxTTLSeconds === undefined,
    )
    await settings.secret(null)
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP } })
    await capHolds()
  })

  test('do not change the record of the last good settings, which holds no secret (6.5)', async () => {
    const { body } = await raw<{ readonly data: { readonly config: string } }>('GET', RECORD_PATH)
    expect(JSON.parse(body.data.config)).toMatchObject({ auth: { accessKeyMaxTTLSeconds: CAP } })
  })
})

/** One character of each kind that a parser of YAML refuses or folds, in one text. */
const ODD_TEXT = 'a\u007fb\u0080c\u0085d\u2028e\u2029f\ufeffg\ufffeh\uffffi😀'

test('a text with odd characters is stored as it is, and the cap beside it is in force (6.5)', async () => {
  await settings.declare({
    auth: { accessKeyMaxTTLSeconds: CAP - 1, customHttpHeaders: {} },
    uiSettings: { legalTemplate: ODD_TEXT },
    costControl: { settings: { averageCPUPricePerNode: { ['k'.repeat(3000)]: 1 } } },
  })
  const status = await settings.settled('the settings are in force', isReadyBy('Applied'))
  expect(status.auth?.accessKeyMaxTTLSeconds).toBe(CAP - 1)
  expect(status['uiSettings']).toMatchObject({ legalTemplate: ODD_TEXT })
  const record = await raw<{ readonly data: { readonly config: string } }>('GET', RECORD_PATH)
  expect(JSON.parse(record.body.data.config)).toMatchObject({
    auth: { accessKeyMaxTTLSeconds: CAP - 1 },
    uiSettings: { legalTemplate: ODD_TEXT },
  })
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP } })
  await capHolds()
})

test('a cap with a typo, or of another type, in the Secret is a fault, and the cap before stays (6.5)', async () => {
  await settings.declare({})
  await settings.secret(`auth: {accessKeyMaxTTLSeconds: ${CAP}}`)
  await capHolds()
  for (const text of [
    `auth: {accessKeyMaxTTLSecond: ${CAP}}`,
    `Auth: {accessKeyMaxTTLSeconds: ${CAP}}`,
    'auth: no',
    'auth: {accessKeyMaxTTLSeconds: no}',
    'auth: {accessKeyMaxTTLSeconds: ""}',
  ]) {
    await settings.secret(text)
    const status = await settings.settled(text, isReadyBy('Invalid'))
    expect({ text, cap: status.auth?.accessKeyMaxTTLSeconds }).toEqual({ text, cap: CAP })
    await settings.secret(`auth: {accessKeyMaxTTLSeconds: ${CAP}}`)
    await settings.settled('the Secret is sound again', isReadyBy('Applied'))
  }
})

test('a refused record is Ready False NotWritten with the words of the server (6.5)', async () => {
  // 1 MiB is the bound of a ConfigMap, and less than that of a Config.
  const long = 'x'.repeat(1_048_576)
  await settings.declare({
    auth: { accessKeyMaxTTLSeconds: 1 },
    uiSettings: { legalTemplate: long },
  })
  const status = await settings.settled('the write is refused', isReadyBy('NotWritten'))
  expect(readyOf(status).message).toMatch(/ConfigMap platform-config-in-force.*1048576/)
  expect(status.auth?.accessKeyMaxTTLSeconds).toBe(CAP)
  await settings.declare({})
  await capHolds()
})

test('a Config that was deleted keeps its cap when it gets an unrelated setting (6.5)', async () => {
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: CAP } })
  await settings.secret(null)
  await capHolds()
  await raw('DELETE', IN_FORCE_PATH)
  await eventually(
    'it is created anew',
    async () => (await raw('GET', IN_FORCE_PATH)).code === 200 || undefined,
    { withinMs: 20_000 },
  )
  await settings.settled('the new one is in force', isReadyBy('Applied'))
  await settings.declare({ platformHost: 'p.example.com' })
  await settings.settled('it is in force', ({ platformHost }) => platformHost === 'p.example.com')
  await capHolds()
  type Events = { readonly items: readonly { readonly reason: string; readonly note: string }[] }
  const events = await eventually(
    'the Event',
    async () => {
      const { body } = await raw<Events>('GET', '/apis/events.k8s.io/v1/namespaces/default/events')
      const found = body.items.filter(({ reason }) => reason === 'SettingsKept')
      return found.length > 0 ? found : undefined
    },
    { withinMs: 40_000 },
  )
  expect(events.map(({ note }) => note).join()).toContain('auth.accessKeyMaxTTLSeconds')
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: 0 } })
  await settings.settled('0 lifts the cap', ({ auth }) => !auth?.accessKeyMaxTTLSeconds)
})
