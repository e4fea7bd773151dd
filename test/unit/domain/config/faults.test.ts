import { describe, expect, test } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import { asJson } from '../../../../src/domain/config/json.ts'
import { settled } from './world.ts'

interface Row {
  readonly name: string
  readonly spec: ConfigSettings
  readonly path: string
  readonly says: string
}

const rule = (fields: object): ConfigSettings => ({
  audit: { policy: { rules: [{ level: 'None', ...fields }] } },
})
const resources = (...names: readonly string[]) => rule({ resources: [{ resources: names }] })
const oneRule = 'audit.policy.rules[0]'
const names = `${oneRule}.resources[0].resources`
const ui = (uiSettings: object): ConfigSettings => ({ uiSettings })
const limits = (limit: string, request: string): ConfigSettings => ({
  imageBuilder: { resources: { limits: { cpu: limit }, requests: { cpu: request } } },
})
const header = (name: string) => ({ auth: { customHttpHeaders: { [name]: '$PLATFORM_CONFIG_A' } } })

const FAULTS: readonly Row[] = [
  {
    name: 'negative cap',
    spec: { auth: { accessKeyMaxTTLSeconds: -1 } },
    path: 'auth.accessKeyMaxTTLSeconds',
    says: 'negative (-1): write 0 or more',
  },
  {
    name: 'negative login lifetime',
    spec: { auth: { loginAccessKeyTTLSeconds: -5 } },
    path: 'auth.loginAccessKeyTTLSeconds',
    says: 'negative',
  },
  { name: 'negative age', spec: { audit: { maxAge: -1 } }, path: 'audit.maxAge', says: 'negative' },
  {
    name: 'negative backups',
    spec: { audit: { maxBackups: -1 } },
    path: 'audit.maxBackups',
    says: 'negative',
  },
  {
    name: 'negative size',
    spec: { audit: { maxSize: -1 } },
    path: 'audit.maxSize',
    says: 'negative',
  },
  {
    name: 'negative data store lifetime',
    spec: { audit: { dataStoreTTL: -1 } },
    path: 'audit.dataStoreTTL',
    says: 'negative',
  },
  {
    name: 'negative replicas',
    spec: { costControl: { cluster: { costEstimator: { replicas: -1 } } } },
    path: 'costControl.cluster.costEstimator.replicas',
    says: 'negative',
  },
  {
    name: 'negative price',
    spec: { costControl: { settings: { averageCPUPricePerNode: { price: -0.5 } } } },
    path: 'costControl.settings.averageCPUPricePerNode.price',
    says: 'negative',
  },
  {
    name: 'infinite price',
    spec: {
      costControl: { settings: { averageRAMPricePerNode: { price: Number.POSITIVE_INFINITY } } },
    },
    path: 'costControl.settings.averageRAMPricePerNode.price',
    says: 'finite',
  },

  {
    name: 'audit level above 4',
    spec: { audit: { level: 5 } },
    path: 'audit.level',
    says: 'write 1, 2, 3 or 4',
  },
  {
    name: 'audit level with a policy',
    spec: { audit: { level: 2, policy: { rules: [{ level: 'None' }] } } },
    path: 'audit.level',
    says: 'stands beside policy',
  },
  {
    name: 'audit enabled without path',
    spec: { audit: { enabled: true } },
    path: 'audit.path',
    says: 'is missing',
  },
  {
    name: 'audit path that leads out',
    spec: { audit: { path: '/var/log/../../etc' } },
    path: 'audit.path',
    says: 'leave out ..',
  },
  {
    name: 'rule without level',
    spec: { audit: { policy: { rules: [{ users: ['a'] }] } } },
    path: `${oneRule}.level`,
    says: 'is missing: write one of None, Metadata, Request, RequestResponse',
  },
  {
    name: 'rule with another level',
    spec: rule({ level: 'metadata' }),
    path: `${oneRule}.level`,
    says: 'is not a level',
  },
  {
    name: 'stage of a rule',
    spec: rule({ omitStages: ['Panic', 'Done'] }),
    path: `${oneRule}.omitStages[1]`,
    says: 'is not a stage',
  },
  {
    name: 'stage of the policy',
    spec: { audit: { policy: { omitStages: ['panic'] } } },
    path: 'audit.policy.omitStages[0]',
    says: 'RequestReceived, ResponseStarted, ResponseComplete, Panic',
  },
  {
    name: 'URL without a slash',
    spec: rule({ nonResourceURLs: ['*', 'healthz'] }),
    path: `${oneRule}.nonResourceURLs[1]`,
    says: 'does not start with /',
  },
  {
    name: 'URL with * inside',
    spec: rule({ nonResourceURLs: ['/api*/v1'] }),
    path: `${oneRule}.nonResourceURLs[0]`,
    says: 'has * inside',
  },
  {
    name: 'URLs beside resources',
    spec: rule({ nonResourceURLs: ['/a'], resources: [{ resources: ['pods'] }] }),
    path: `${oneRule}.nonResourceURLs`,
    says: 'stands beside',
  },
  {
    name: 'URLs beside namespaces',
    spec: rule({ nonResourceURLs: ['/a'], namespaces: ['a'] }),
    path: `${oneRule}.nonResourceURLs`,
    says: 'stands beside',
  },
  {
    name: 'group with a version',
    spec: rule({ resources: [{ group: 'apps/v1' }] }),
    path: `${oneRule}.resources[0].group`,
    says: 'without version',
  },
  {
    name: 'group in upper case',
    spec: rule({ resources: [{ group: 'Apps' }] }),
    path: `${oneRule}.resources[0].group`,
    says: 'lower case',
  },
  {
    name: 'resourceNames alone',
    spec: rule({ resources: [{ resourceNames: ['a'] }] }),
    path: `${oneRule}.resources[0].resourceNames`,
    says: 'needs resources',
  },
  {
    name: '* beside another',
    spec: resources('pods', '*'),
    path: `${names}[1]`,
    says: 'covers what resources[0] covers',
  },
  {
    name: 'pods/* beside pods/log',
    spec: resources('pods/*', 'pods/log'),
    path: `${names}[1]`,
    says: 'overlap',
  },
  {
    name: '*/status beside pods/*',
    spec: resources('*/status', 'pods/*'),
    path: `${names}[1]`,
    says: 'overlap',
  },
  {
    name: '*/status beside pods/status',
    spec: resources('pods/status', '*/status'),
    path: `${names}[1]`,
    says: 'overlap',
  },
  {
    name: 'part of a name as wildcard',
    spec: resources('po*'),
    path: `${names}[0]`,
    says: 'is not a resource',
  },
  {
    name: 'two steps below a resource',
    spec: resources('pods/a/b'),
    path: `${names}[0]`,
    says: 'is not a resource',
  },

  {
    name: 'SAML without trust',
    spec: { auth: { saml: { ssoURL: 'https://sso' } } },
    path: 'auth.saml',
    says: 'sets none of them: set exactly one of caData, ca, insecureSkipSignatureValidation',
  },
  {
    name: 'SAML with two',
    spec: { auth: { saml: { ca: 'a', caData: 'YQ==' } } },
    path: 'auth.saml',
    says: 'sets caData and ca',
  },
  {
    name: 'SAML with certificate and skip',
    spec: { auth: { saml: { ca: 'a', insecureSkipSignatureValidation: true } } },
    path: 'auth.saml',
    says: 'exactly one',
  },
  {
    name: 'SAML with skip false only',
    spec: { auth: { saml: { ssoURL: 'https://sso', insecureSkipSignatureValidation: false } } },
    path: 'auth.saml',
    says: 'sets none',
  },
  {
    name: 'SAML of a connector',
    spec: { auth: { connectors: [{ id: 'a', saml: { ssoURL: 'https://sso' } }] } },
    path: 'auth.connectors[0].saml',
    says: 'exactly one',
  },
  {
    name: 'SAML certificate that is no base64',
    spec: { auth: { saml: { caData: 'not base64' } } },
    path: 'auth.saml.caData',
    says: 'is not base64',
  },
  {
    name: 'idpA without administrator',
    spec: { auth: { idpA: { serviceAccountFilePath: '/f' } } },
    path: 'auth.idpA.adminEmail',
    says: 'is missing',
  },
  {
    name: 'idpA of a connector',
    spec: { auth: { connectors: [{ id: 'a', idpA: { serviceAccountFilePath: '/f' } }] } },
    path: 'auth.connectors[0].idpA.adminEmail',
    says: 'is missing',
  },
  {
    name: 'connector without id',
    spec: { auth: { connectors: [{ displayName: 'a' }] } },
    path: 'auth.connectors[0].id',
    says: 'is missing',
  },
  {
    name: 'connector with an empty id',
    spec: { auth: { connectors: [{ id: '' }] } },
    path: 'auth.connectors[0].id',
    says: 'is missing',
  },
  {
    name: 'connector id twice',
    spec: { auth: { connectors: [{ id: 'a' }, { id: 'b' }, { id: 'a' }] } },
    path: 'auth.connectors[2].id',
    says: 'the id of connectors[0] too',
  },
  {
    name: 'connector id that is no step of a URL',
    spec: { auth: { connectors: [{ id: 'a/b' }] } },
    path: 'auth.connectors[0].id',
    says: 'is not an id',
  },
  {
    name: 'open group in a filter',
    spec: { auth: { groupsFilters: ['^dev-', '('] } },
    path: 'auth.groupsFilters[1]',
    says: 'is not a regular expression',
  },
  {
    name: 'look-ahead in a filter',
    spec: { auth: { groupsFilters: ['(?=a)b'] } },
    path: 'auth.groupsFilters[0]',
    says: 'RE2',
  },
  {
    name: 'back reference in a filter',
    spec: { auth: { groupsFilters: ['(a)\\1'] } },
    path: 'auth.groupsFilters[0]',
    says: 'RE2',
  },
  {
    name: 'repetition bomb in a filter',
    spec: { auth: { groupsFilters: ['((a{100}){100}){100}'] } },
    path: 'auth.groupsFilters[0]',
    says: 'RE2',
  },
  {
    name: 'a filter that is too long',
    spec: { auth: { groupsFilters: ['a'.repeat(5000)] } },
    path: 'auth.groupsFilters[0]',
    says: 'longer than 4096',
  },
  {
    name: 'header name with a space',
    spec: header('X A'),
    path: 'auth.customHttpHeaders["X A"]',
    says: 'is not a header name',
  },
  {
    name: 'header name with a line break',
    spec: header('X-A\r\nX-B'),
    path: 'auth.customHttpHeaders["X-A\\r\\nX-B"]',
    says: 'is not a header name',
  },
  {
    name: 'header in two spellings',
    spec: {
      auth: { customHttpHeaders: { 'X-A': '$PLATFORM_CONFIG_A', 'x-a': '$PLATFORM_CONFIG_A' } },
    },
    path: 'auth.customHttpHeaders.x-a',
    says: 'another spelling',
  },

  {
    name: 'prefix without -',
    spec: { projectNamespacePrefix: 'team' },
    path: 'projectNamespacePrefix',
    says: 'ending in -',
  },
  {
    name: 'prefix of - alone',
    spec: { projectNamespacePrefix: '-' },
    path: 'projectNamespacePrefix',
    says: '2 to 62 characters',
  },
  {
    name: 'prefix that no label may begin with',
    spec: { projectNamespacePrefix: '-p-' },
    path: 'projectNamespacePrefix',
    says: 'beginning with a letter',
  },
  {
    name: 'prefix in upper case',
    spec: { projectNamespacePrefix: 'P-' },
    path: 'projectNamespacePrefix',
    says: 'lower-case',
  },
  {
    name: 'prefix that fills the name',
    spec: { projectNamespacePrefix: `${'a'.repeat(62)}-` },
    path: 'projectNamespacePrefix',
    says: '62',
  },
  {
    name: 'host with a scheme',
    spec: { platformHost: 'https://platform.example.com' },
    path: 'platformHost',
    says: 'without scheme',
  },
  {
    name: 'host with a path',
    spec: { platformHost: 'platform.example.com/a' },
    path: 'platformHost',
    says: 'is not a host',
  },
  {
    name: 'host with a bad port',
    spec: { platformHost: 'platform.example.com:99999' },
    path: 'platformHost',
    says: 'is not a host',
  },

  ...(['logoBackgroundColor', 'primaryColor', 'sidebarColor', 'accentColor'] as const).map(
    (name) => ({
      name,
      spec: ui({ [name]: 'red' }),
      path: `uiSettings.${name}`,
      says: 'is not a colour',
    }),
  ),
  {
    name: 'colour of five digits',
    spec: ui({ primaryColor: '#12345' }),
    path: 'uiSettings.primaryColor',
    says: '3, 4, 6 or 8',
  },
  ...(['logoURL', 'faviconURL', 'smallLogoURL'] as const).map((name) => ({
    name,
    spec: ui({ [name]: '/logo.png' }),
    path: `uiSettings.${name}`,
    says: 'is not a URL',
  })),
  {
    name: 'style sheet',
    spec: ui({ customCss: ['https://a/b.css', 'b.css'] }),
    path: 'uiSettings.customCss[1]',
    says: 'https://',
  },
  {
    name: 'empty script',
    spec: ui({ customJavaScript: [''] }),
    path: 'uiSettings.customJavaScript[0]',
    says: 'is empty',
  },
  {
    name: 'position',
    spec: ui({ navBarButtons: [{}, { position: 'Top' }] }),
    path: 'uiSettings.navBarButtons[1].position',
    says: 'TopStart, TopEnd, BottomStart, BottomEnd',
  },
  {
    name: 'script as a link',
    spec: ui({ navBarButtons: [{ link: 'javascript:alert(1)' }] }),
    path: 'uiSettings.navBarButtons[0].link',
    says: 'is not a link',
  },
  {
    name: 'icon',
    spec: ui({ navBarButtons: [{ icon: 'data:image/png;base64,AA' }] }),
    path: 'uiSettings.navBarButtons[0].icon',
    says: 'is not a URL',
  },
  {
    name: 'allowed URL',
    spec: ui({ externalURLs: { allow: ['gtm', 'https://a', 'intercom'] } }),
    path: 'uiSettings.externalURLs.allow[2]',
    says: 'neither a module nor a URL',
  },

  {
    name: 'issuer',
    spec: { auth: { oidc: { issuerUrl: 'issuer.example.com' } } },
    path: 'auth.oidc.issuerUrl',
    says: 'is not a URL',
  },
  {
    name: 'issuer without slashes',
    spec: { auth: { oidc: { issuerUrl: 'https:issuer.example.com' } } },
    path: 'auth.oidc.issuerUrl',
    says: 'is not a URL',
  },
  {
    name: 'callback with a space',
    spec: { auth: { sourceHostA: { redirectURI: 'https://a/b c' } } },
    path: 'auth.sourceHostA.redirectURI',
    says: 'is not a URL',
  },
  {
    name: 'address of a connector',
    spec: { auth: { connectors: [{ id: 'a', sourceHostB: { baseURL: 'ftp://a' } }] } },
    path: 'auth.connectors[0].sourceHostB.baseURL',
    says: 'is not a URL',
  },
  {
    name: 'host name with a scheme',
    spec: { auth: { sourceHostA: { hostName: 'https://git' } } },
    path: 'auth.sourceHostA.hostName',
    says: 'is not a host',
  },
  {
    name: 'redirect of a client',
    spec: { oidc: { clients: [{ redirectURIs: ['/callback'] }] } },
    path: 'oidc.clients[0].redirectURIs[0]',
    says: 'is not a redirect URI',
  },
  {
    name: 'repository',
    spec: { apps: { repositories: [{ url: 'charts' }] } },
    path: 'apps.repositories[0].url',
    says: 'oci://',
  },
  {
    name: 'icon of an app',
    spec: { apps: { predefinedApps: [{ iconUrl: 'icon' }] } },
    path: 'apps.predefinedApps[0].iconUrl',
    says: 'is not a URL',
  },
  {
    name: 'address of the store',
    spec: { secretStore: { address: 'store:8200' } },
    path: 'secretStore.address',
    says: 'is not a URL',
  },
  {
    name: 'interval without a unit',
    spec: { secretStore: { syncInterval: '60' } },
    path: 'secretStore.syncInterval',
    says: 'is not a duration',
  },
  {
    name: 'interval of 0',
    spec: { secretStore: { syncInterval: '0s' } },
    path: 'secretStore.syncInterval',
    says: 'longer than 0',
  },
  {
    name: 'interval below 0',
    spec: { secretStore: { syncInterval: '-1m' } },
    path: 'secretStore.syncInterval',
    says: 'longer than 0',
  },
  {
    name: 'interval in days',
    spec: { secretStore: { syncInterval: '1d' } },
    path: 'secretStore.syncInterval',
    says: "Go's syntax",
  },
  {
    name: 'retention without a unit',
    spec: { costControl: { global: { metrics: { retention: '30' } } } },
    path: 'costControl.global.metrics.retention',
    says: "Prometheus' syntax",
  },
  {
    name: 'retention of 0',
    spec: { costControl: { cluster: { metrics: { retention: '0d' } } } },
    path: 'costControl.cluster.metrics.retention',
    says: 'longer than 0',
  },
  {
    name: 'retention out of order',
    spec: { costControl: { cluster: { metrics: { retention: '1h1d' } } } },
    path: 'costControl.cluster.metrics.retention',
    says: 'is not a duration',
  },
  {
    name: 'storage size',
    spec: { costControl: { global: { metrics: { storage: { size: '20 GB' } } } } },
    path: 'costControl.global.metrics.storage.size',
    says: '20Gi',
  },
  {
    name: 'limit',
    spec: { imageBuilder: { resources: { limits: { cpu: 'one' } } } },
    path: 'imageBuilder.resources.limits.cpu',
    says: 'is not a quantity',
  },
  {
    name: 'request above its limit',
    spec: limits('500m', '1'),
    path: 'imageBuilder.resources.requests.cpu',
    says: 'above its limit',
  },
  {
    name: 'day',
    spec: { cloud: { maintenanceWindow: { dayOfWeek: 'Sun' } } },
    path: 'cloud.maintenanceWindow.dayOfWeek',
    says: 'Sunday',
  },
  {
    name: 'hour 24',
    spec: { cloud: { maintenanceWindow: { timeWindow: '22:00-24:00' } } },
    path: 'cloud.maintenanceWindow.timeWindow',
    says: 'HH:MM-HH:MM',
  },
  {
    name: 'one digit',
    spec: { cloud: { maintenanceWindow: { timeWindow: '9:00-10:00' } } },
    path: 'cloud.maintenanceWindow.timeWindow',
    says: 'HH:MM-HH:MM',
  },
]

const environment = { PLATFORM_CONFIG_A: 'a' }

describe('one fault each', () => {
  test.each(FAULTS)('$name', ({ spec, path, says }) => {
    const expected = (source: string) => [{ path, source, message: expect.stringContaining(says) }]
    expect(settled({ spec, environment })).toMatchObject({ ok: false, faults: expected('spec') })
    expect(settled({ secret: spec, environment })).toMatchObject({ faults: expected('Secret') })
    expect(settled({ foreign: asJson(spec), environment })).toMatchObject({
      faults: expected('status'),
    })
  })
})

describe('no fault', () => {
  test.each<{ name: string; spec: ConfigSettings }>([
    {
      name: 'level 0 beside a policy',
      spec: { audit: { level: 0, policy: { rules: [{ level: 'None' }] } } },
    },
    { name: 'every level', spec: { audit: { level: 4 } } },
    { name: 'audit off without path', spec: { audit: { enabled: false } } },
    {
      name: 'a policy as in the documentation of Kubernetes',
      spec: {
        audit: {
          policy: {
            omitStages: ['RequestReceived'],
            rules: [
              { level: 'RequestResponse', resources: [{ group: '', resources: ['pods'] }] },
              { level: 'Metadata', resources: [{ resources: ['pods/log', 'pods/status'] }] },
              {
                level: 'None',
                resources: [{ resources: ['configmaps'], resourceNames: ['controller-leader'] }],
              },
              {
                level: 'None',
                userGroups: ['system:authenticated'],
                nonResourceURLs: ['/api*', '/version', '*'],
              },
              { level: 'Request', resources: [{}], namespaces: ['kube-system', ''] },
              { level: 'Metadata', resources: [{ group: 'extensions' }] },
            ],
          },
        },
      },
    },
    {
      name: 'wildcards that do not overlap',
      spec: resources('pods/*', 'pods', 'nodes/*', 'deployments/scale'),
    },
    { name: 'a name twice', spec: resources('pods', 'pods') },
    {
      name: 'SAML, each trust',
      spec: {
        auth: {
          saml: { ca: 'x' },
          connectors: [
            { id: 'a', saml: { caData: 'YQ==' } },
            { id: 'b', saml: { insecureSkipSignatureValidation: true, ca: '' } },
          ],
        },
      },
    },
    {
      name: 'idpA with administrator',
      spec: { auth: { idpA: { serviceAccountFilePath: '/f', adminEmail: 'a@b' } } },
    },
    {
      name: 'filters in Go syntax',
      spec: { auth: { groupsFilters: ['^(?:dev|ops)-', '(?i)admin', '\\pL+', '(?P<n>a)'] } },
    },
    {
      name: 'durations',
      spec: {
        secretStore: { syncInterval: '1h30m' },
        costControl: {
          global: { metrics: { retention: '1y6w' } },
          cluster: { metrics: { retention: '30d' } },
        },
      },
    },
    {
      name: 'quantities',
      spec: {
        ...limits('1500m', '1.5'),
        costControl: {
          global: {
            metrics: {
              resources: {
                limits: { memory: '1Gi', cpu: 2 },
                requests: { memory: '1e9', cpu: '1' },
              },
              storage: { size: '20Gi' },
            },
          },
        },
      },
    },
    {
      name: 'user interface',
      spec: ui({
        logoURL: 'https://a/b.png?c=d#e',
        primaryColor: '#FFF',
        accentColor: '#11223344',
        navBarButtons: [
          { position: 'TopStart', link: '/docs' },
          { link: 'mailto:a@b.c', icon: 'http://a/i.svg' },
        ],
        externalURLs: { allow: ['vcluster', 'https://*.example.com'] },
        customCss: ['https://cdn/pkg@1.2.3/a.css'],
      }),
    },
    {
      name: 'hosts',
      spec: {
        platformHost: 'platform.example.com:8443',
        auth: { sourceHostA: { hostName: '10.0.0.1' } },
      },
    },
    { name: 'prefixes', spec: { projectNamespacePrefix: 'team-a-' } },
    {
      name: 'window over midnight',
      spec: { cloud: { maintenanceWindow: { dayOfWeek: 'Sunday', timeWindow: '23:30-01:00' } } },
    },
    {
      name: 'charts in a registry',
      spec: { apps: { repositories: [{ url: 'oci://registry.example.com/charts' }] } },
    },
    {
      name: 'no dynamic provisioning',
      spec: { costControl: { global: { metrics: { storage: { storageClass: '' } } } } },
    },
    {
      name: 'redirects of clients',
      spec: {
        oidc: {
          clients: [{ redirectURIs: ['https://a/callback', 'com.example.app:/callback', '*'] }],
        },
      },
    },
  ])('$name', ({ spec }) => {
    expect(settled({ spec, environment })).toMatchObject({ ok: true })
  })
})

describe('all at once', () => {
  test('every fault is reported, each with its path and source', () => {
    const spec = {
      auth: {
        accessKeyMaxTTLSeconds: -1,
        oidc: { clientSecret: 'literal', issuerUrl: 'x' },
        saml: { ca: 'a', caData: '!' },
        idpA: { serviceAccountFilePath: '/f' },
        connectors: [{ id: 'a', saml: { ssoURL: 'https://s' } }, { id: 'a' }, {}],
        groupsFilters: ['(', 'ok', '['],
        customHttpHeaders: { 'X A': '$PLATFORM_CONFIG_A', 'X-B': '$PLATFORM_CONFIG_B' },
      },
      audit: {
        level: 7,
        policy: {
          omitStages: ['x'],
          rules: [{ nonResourceURLs: ['a'], resources: [{ group: 'A', resourceNames: ['b'] }] }],
        },
      },
      projectNamespacePrefix: '-',
      uiSettings: { primaryColor: 'red', logoURL: 'x', navBarButtons: [{ position: 'x' }] },
    }
    const secret = {
      platformHost: 5,
      audit: { enabled: true, level: 'x' },
      secretStore: { syncInterval: 'x', address: 'x' },
      cloud: { maintenanceWindow: { timeWindow: 'x', dayOfWeek: 'x' } },
      costControl: { global: { metrics: { retention: 'x' } } },
    }
    const foreign = { imageBuilder: { replicas: -1 } }
    const outcome = settled({ spec, secret, foreign, environment })
    const found = outcome.ok ? [] : outcome.faults.map(({ path, source }) => `${source}: ${path}`)
    expect(found.sort()).toEqual([
      'Secret: audit.level',
      'Secret: audit.path',
      'Secret: cloud.maintenanceWindow.dayOfWeek',
      'Secret: cloud.maintenanceWindow.timeWindow',
      'Secret: costControl.global.metrics.retention',
      'Secret: platformHost',
      'Secret: secretStore.address',
      'Secret: secretStore.syncInterval',
      'spec: audit.level',
      'spec: audit.level',
      'spec: audit.policy.omitStages[0]',
      'spec: audit.policy.rules[0].level',
      'spec: audit.policy.rules[0].nonResourceURLs',
      'spec: audit.policy.rules[0].nonResourceURLs[0]',
      'spec: audit.policy.rules[0].resources[0].group',
      'spec: audit.policy.rules[0].resources[0].resourceNames',
      'spec: auth.accessKeyMaxTTLSeconds',
      'spec: auth.connectors[0].saml',
      'spec: auth.connectors[1].id',
      'spec: auth.connectors[2].id',
      'spec: auth.customHttpHeaders.X-B',
      'spec: auth.customHttpHeaders["X A"]',
      'spec: auth.groupsFilters[0]',
      'spec: auth.groupsFilters[2]',
      'spec: auth.idpA.adminEmail',
      'spec: auth.oidc.clientSecret',
      'spec: auth.oidc.issuerUrl',
      'spec: auth.saml',
      'spec: auth.saml.caData',
      'spec: projectNamespacePrefix',
      'spec: uiSettings.logoURL',
      'spec: uiSettings.navBarButtons[0].position',
      'spec: uiSettings.primaryColor',
      'status: imageBuilder.replicas',
    ])
  })

  test('a value of the wrong type is one fault, and hides no other', () => {
    const secret = {
      auth: {
        groupsFilters: ['(', 5],
        connectors: ['a', { id: 'b' }, { id: 'b', oidc: 'x' }],
        saml: [],
      },
      audit: { policy: { rules: 'x' }, level: true, enabled: 'yes' },
      uiSettings: { navBarButtons: 'x', primaryColor: 7 },
      imageBuilder: { resources: { limits: 'x', requests: { cpu: [] } } },
      costControl: 'x',
    }
    const outcome = settled({ secret })
    const found = outcome.ok ? [] : outcome.faults.map(({ path }) => path)
    expect([...new Set(found)].sort()).toEqual([
      'audit.enabled',
      'audit.level',
      'audit.policy.rules',
      'auth.connectors[0]',
      'auth.connectors[2].id',
      'auth.connectors[2].oidc',
      'auth.groupsFilters[0]',
      'auth.groupsFilters[1]',
      'auth.saml',
      'costControl',
      'imageBuilder.resources.limits',
      'imageBuilder.resources.requests.cpu',
      'uiSettings.navBarButtons',
      'uiSettings.primaryColor',
    ])
  })

  test('while the Secret is unreadable, nothing of spec counts as missing', () => {
    const spec = {
      audit: { enabled: true },
      auth: { saml: { ssoURL: 'https://s' }, groupsFilters: ['('] },
    }
    const outcome = settled({ spec, unreadableSecret: 'has no key config' })
    expect(outcome).toMatchObject({
      ok: false,
      faults: [
        {
          path: '',
          source: 'Secret',
          message: expect.stringContaining('has no key config: write YAML'),
        },
        { path: 'auth.groupsFilters[0]', source: 'spec' },
      ],
    })
  })
})

test('a fault never quotes what was written', () => {
  const CANARY = 'cAnArY0123456789'
  const everyText = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(everyText)
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, everyText(inner)]),
      )
    return typeof value === 'string' ? `${CANARY} ${value} (` : value
  }
  for (const { name, spec } of FAULTS) {
    const isQuoted = JSON.stringify(settled({ secret: everyText(spec) })).includes(CANARY)
    expect({ name, isQuoted }).toEqual({ name, isQuoted: false })
  }
})
