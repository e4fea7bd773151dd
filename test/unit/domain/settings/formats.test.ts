import { describe } from 'vitest'
import type { ConfigSettings } from '../../../../src/api/config.gen.ts'
import { type FaultRow, type SoundRow, testFaultsInEverySource } from './settings-sources.ts'

const ui = (uiSettings: object): ConfigSettings => ({ uiSettings })
const limits = (limit: string, request: string): ConfigSettings => ({
  imageBuilder: { resources: { limits: { cpu: limit }, requests: { cpu: request } } },
})

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: 'negative replicas', spec: { costControl: { cluster: { costEstimator: { replicas: -1 } } } },
    path: 'costControl.cluster.costEstimator.replicas', says: 'negative' },
  { name: 'negative price', spec: { costControl: { settings: { averageCPUPricePerNode: { price: -0.5 } } } },
    path: 'costControl.settings.averageCPUPricePerNode.price', says: 'negative' },
  { name: 'infinite price', spec: { costControl: { settings: { averageRAMPricePerNode: { price: Number.POSITIVE_INFINITY } } } },
    path: 'costControl.settings.averageRAMPricePerNode.price', says: 'finite' },
  { name: 'prefix without -', spec: { projectNamespacePrefix: 'team' }, path: 'projectNamespacePrefix', says: 'ending in -' },
  { name: 'prefix of - alone', spec: { projectNamespacePrefix: '-' }, path: 'projectNamespacePrefix', says: '2 to 62 characters' },
  { name: 'prefix that is invalid at the start of a label', spec: { projectNamespacePrefix: '-p-' },
    path: 'projectNamespacePrefix', says: 'beginning with a letter' },
  { name: 'prefix in upper case', spec: { projectNamespacePrefix: 'P-' }, path: 'projectNamespacePrefix', says: 'lower-case' },
  { name: 'prefix as long as a name', spec: { projectNamespacePrefix: `${'a'.repeat(62)}-` },
    path: 'projectNamespacePrefix', says: '62' },
  ...['workspace.example.com', '*.example.com', '*.workspace.', '*.workspace.Example', 'https://*.workspace.a'].map((devPodSubDomain) => ({
    name: `domain ${devPodSubDomain}`, spec: { devPodSubDomain }, path: 'devPodSubDomain', says: 'is not a domain of workspaces' })),
  { name: 'host with a scheme', spec: { platformHost: 'https://platform.example.com' }, path: 'platformHost', says: 'without scheme' },
  { name: 'host with a path', spec: { platformHost: 'platform.example.com/a' }, path: 'platformHost', says: 'is not a host' },
  { name: 'host with a bad port', spec: { platformHost: 'platform.example.com:99999' }, path: 'platformHost', says: 'is not a host' },
  ...(['logoBackgroundColor', 'primaryColor', 'sidebarColor', 'accentColor'] as const).map((name) => ({ name, spec: ui({ [name]: 'red' }),
    path: `uiSettings.${name}`, says: 'is not a colour' })),
  { name: 'colour of five digits', spec: ui({ primaryColor: '#12345' }), path: 'uiSettings.primaryColor', says: '3, 4, 6 or 8' },
  ...(['logoURL', 'faviconURL', 'smallLogoURL'] as const).map((name) => ({ name, spec: ui({ [name]: '/logo.png' }),
    path: `uiSettings.${name}`, says: 'is not a URL' })),
  { name: 'style sheet', spec: ui({ customCss: ['https://a/b.css', 'b.css'] }), path: 'uiSettings.customCss[1]', says: 'https://' },
  { name: 'empty script', spec: ui({ customJavaScript: [''] }), path: 'uiSettings.customJavaScript[0]', says: 'is empty' },
  { name: 'unknown position', spec: ui({ navBarButtons: [{}, { position: 'Top' }] }),
    path: 'uiSettings.navBarButtons[1].position', says: 'TopStart, TopEnd, BottomStart, BottomEnd' },
  { name: 'protocol-relative link to another host', spec: ui({ navBarButtons: [{ link: '//evil.example.com' }] }),
    path: 'uiSettings.navBarButtons[0].link', says: 'is not a link' },
  { name: 'script as a link', spec: ui({ navBarButtons: [{ link: 'javascript:alert(1)' }] }),
    path: 'uiSettings.navBarButtons[0].link', says: 'is not a link' },
  { name: 'icon', spec: ui({ navBarButtons: [{ icon: 'data:image/png;base64,AA' }] }),
    path: 'uiSettings.navBarButtons[0].icon', says: 'is not a URL' },
  { name: 'allowed URL', spec: ui({ externalURLs: { allow: ['gtm', 'https://a', 'intercom'] } }),
    path: 'uiSettings.externalURLs.allow[2]', says: 'neither a module nor a URL' },
  { name: 'redirect of a client', spec: { oidc: { clients: [{ name: 'n', redirectURIs: ['/callback'] }] } },
    path: 'oidc.clients[0].redirectURIs[0]', says: 'is not a redirect URI' },
  { name: 'repository', spec: { apps: { repositories: [{ url: 'charts' }] } }, path: 'apps.repositories[0].url', says: 'oci://' },
  { name: 'icon of an app', spec: { apps: { predefinedApps: [{ chart: 'r/c', iconUrl: 'icon' }] } },
    path: 'apps.predefinedApps[0].iconUrl', says: 'is not a URL' },
  { name: 'address of the store', spec: { secretStore: { address: 'store:8200' } }, path: 'secretStore.address', says: 'is not a URL' },
  { name: 'interval without a unit', spec: { secretStore: { syncInterval: '60' } },
    path: 'secretStore.syncInterval', says: 'is not a duration' },
  { name: 'interval of 0', spec: { secretStore: { syncInterval: '0s' } }, path: 'secretStore.syncInterval', says: 'longer than 0' },
  { name: 'interval below 0', spec: { secretStore: { syncInterval: '-1m' } }, path: 'secretStore.syncInterval', says: 'longer than 0' },
  { name: 'interval in days', spec: { secretStore: { syncInterval: '1d' } }, path: 'secretStore.syncInterval', says: "Go's syntax" },
  { name: 'retention without a unit', spec: { costControl: { global: { metrics: { retention: '30' } } } },
    path: 'costControl.global.metrics.retention', says: "Prometheus' syntax" },
  { name: 'retention of 0', spec: { costControl: { cluster: { metrics: { retention: '0d' } } } },
    path: 'costControl.cluster.metrics.retention', says: 'longer than 0' },
  { name: 'retention out of order', spec: { costControl: { cluster: { metrics: { retention: '1h1d' } } } },
    path: 'costControl.cluster.metrics.retention', says: 'is not a duration' },
  { name: 'storage size', spec: { costControl: { global: { metrics: { storage: { size: '20 GB' } } } } },
    path: 'costControl.global.metrics.storage.size', says: '20Gi' },
  { name: 'limit', spec: { imageBuilder: { resources: { limits: { cpu: 'one' } } } },
    path: 'imageBuilder.resources.limits.cpu', says: 'is not a quantity' },
  { name: 'request above its limit', spec: limits('500m', '1'), path: 'imageBuilder.resources.requests.cpu', says: 'above its limit' },
  { name: 'unknown day', spec: { cloud: { maintenanceWindow: { dayOfWeek: 'Sun' } } },
    path: 'cloud.maintenanceWindow.dayOfWeek', says: 'Sunday' },
  { name: 'hour 24', spec: { cloud: { maintenanceWindow: { timeWindow: '22:00-24:00' } } },
    path: 'cloud.maintenanceWindow.timeWindow', says: 'HH:MM-HH:MM' },
  { name: 'one digit', spec: { cloud: { maintenanceWindow: { timeWindow: '9:00-10:00' } } },
    path: 'cloud.maintenanceWindow.timeWindow', says: 'HH:MM-HH:MM' },
]

// biome-ignore format: a table
const SOUND: readonly SoundRow[] = [
  { name: 'domain of workspaces', spec: { devPodSubDomain: '*.workspace.example.com' } },
  { name: 'durations',
    spec: { secretStore: { syncInterval: '1h30m' },
      costControl: { global: { metrics: { retention: '1y6w' } }, cluster: { metrics: { retention: '30d' } } } } },
  { name: 'quantities',
    spec: { ...limits('1500m', '1.5'), costControl: { global: { metrics: {
       resources: { limits: { memory: '1Gi', cpu: 2 }, requests: { memory: '1e9', cpu: '1' } }, storage: { size: '20Gi' } } } } } },
  { name: 'user interface',
    spec: ui({ logoURL: 'https://a/b.png?c=d#e', primaryColor: '#FFF', accentColor: '#11223344',
      navBarButtons: [{ position: 'TopStart', link: '/docs' }, { link: 'mailto:a@b.c', icon: 'http://a/i.svg' }],
      externalURLs: { allow: ['vcluster', 'https://*.example.com'] }, customCss: ['https://cdn/pkg@1.2.3/a.css'] }) },
  { name: 'hosts', spec: { platformHost: 'platform.example.com:8443', auth: { sourceHostA: { clientId: 'c', hostName: '10.0.0.1' } } } },
  { name: 'prefixes', spec: { projectNamespacePrefix: 'team-a-' } },
  { name: 'window over midnight', spec: { cloud: { maintenanceWindow: { dayOfWeek: 'Sunday', timeWindow: '23:30-01:00' } } } },
  { name: 'charts in a registry', spec: { apps: { repositories: [{ url: 'oci://registry.example.com/charts' }] } } },
  { name: 'no dynamic provisioning', spec: { costControl: { global: { metrics: { storage: { storageClass: '' } } } } } },
  { name: 'redirects of clients',
    spec: { oidc: { wildcardRedirect: true, clients: [{ name: 'n', redirectURIs: ['https://a/callback', 'com.example.app:/callback', '*'] }] } } },
]

describe('values of settings (6.5)', () => {
  testFaultsInEverySource(FAULTS, SOUND)
})
