import { describe } from 'vitest'
import type { ConfigSettings } from '../../../../../src/api/config.gen.ts'
import { type FaultRow, type SoundRow, testFaultsInEverySource } from '../settings-sources.ts'

const rule = (fields: object): ConfigSettings => ({
  audit: { policy: { rules: [{ level: 'None', ...fields }] } },
})
const resources = (...names: readonly string[]) => rule({ resources: [{ resources: names }] })
const oneRule = 'audit.policy.rules[0]'
const names = `${oneRule}.resources[0].resources`

// biome-ignore format: a table
const FAULTS: readonly FaultRow[] = [
  { name: 'negative age', spec: { audit: { maxAge: -1 } }, path: 'audit.maxAge', says: 'negative' },
  { name: 'negative backups', spec: { audit: { maxBackups: -1 } }, path: 'audit.maxBackups', says: 'negative' },
  { name: 'negative size', spec: { audit: { maxSize: -1 } }, path: 'audit.maxSize', says: 'negative' },
  { name: 'a data store of another scheme', spec: { audit: { dataStoreEndpoint: 'mongodb://db/audit' } }, path: 'audit.dataStoreEndpoint', says: 'is none of sqlite:///' },
  { name: 'a relative file', spec: { audit: { dataStoreEndpoint: 'sqlite://events.db' } }, path: 'audit.dataStoreEndpoint', says: 'names no absolute file' },
  { name: 'a server without database', spec: { audit: { dataStoreEndpoint: 'postgres://db' } }, path: 'audit.dataStoreEndpoint', says: 'has no user' },
  { name: 'negative data store lifetime', spec: { audit: { dataStoreTTL: -1 } }, path: 'audit.dataStoreTTL', says: 'negative' },
  { name: 'audit level above 4', spec: { audit: { level: 5 } }, path: 'audit.level', says: 'write 1, 2, 3 or 4' },
  { name: 'audit level with a policy', spec: { audit: { level: 2, policy: { rules: [{ level: 'None' }] } } },
    path: 'audit.level', says: 'stands beside policy' },
  { name: 'audit enabled without path', spec: { audit: { enabled: true } }, path: 'audit.path', says: 'is missing' },
  { name: 'audit path outside its directory', spec: { audit: { path: '/var/log/../../etc' } }, path: 'audit.path', says: 'leave out ..' },
  ...['logs', './logs', 'var/log/platform', '--', 'file:///var/log'].map((path) => ({
    name: `audit path ${path}`, spec: { audit: { path } }, path: 'audit.path',
    says: 'is neither an absolute path nor -: write a directory such as /var/log/platform, or - for standard output' })),
  { name: 'rule without level', spec: { audit: { policy: { rules: [{ users: ['a'] }] } } },
    path: `${oneRule}.level`, says: 'is missing: write one of None, Metadata, Request, RequestResponse' },
  { name: 'rule with another level', spec: rule({ level: 'metadata' }), path: `${oneRule}.level`, says: 'is not a level' },
  { name: 'unknown stage of a rule', spec: rule({ omitStages: ['Panic', 'Done'] }), path: `${oneRule}.omitStages[1]`, says: 'is not a stage' },
  { name: 'unknown stage of the policy', spec: { audit: { policy: { omitStages: ['panic'] } } },
    path: 'audit.policy.omitStages[0]', says: 'RequestReceived, ResponseStarted, ResponseComplete, Panic' },
  { name: 'unknown request target', spec: rule({ requestTargets: ['Cluster', 'cluster'] }),
    path: `${oneRule}.requestTargets[1]`, says: 'is not a kind of targets: write one of Management, Cluster' },
  { name: 'empty request target', spec: rule({ requestTargets: [''] }), path: `${oneRule}.requestTargets[0]`, says: 'is empty' },
  { name: 'URL without a slash', spec: rule({ nonResourceURLs: ['*', 'healthz'] }),
    path: `${oneRule}.nonResourceURLs[1]`, says: 'does not start with /' },
  { name: 'URL with * inside', spec: rule({ nonResourceURLs: ['/api*/v1'] }),
    path: `${oneRule}.nonResourceURLs[0]`, says: 'has * inside' },
  { name: 'URLs beside resources', spec: rule({ nonResourceURLs: ['/a'], resources: [{ resources: ['pods'] }] }),
    path: `${oneRule}.nonResourceURLs`, says: 'stands beside' },
  { name: 'URLs beside namespaces', spec: rule({ nonResourceURLs: ['/a'], namespaces: ['a'] }),
    path: `${oneRule}.nonResourceURLs`, says: 'stands beside' },
  { name: 'group with a version', spec: rule({ resources: [{ group: 'apps/v1' }] }),
    path: `${oneRule}.resources[0].group`, says: 'without version' },
  { name: 'group in upper case', spec: rule({ resources: [{ group: 'Apps' }] }),
    path: `${oneRule}.resources[0].group`, says: 'lower case' },
  { name: 'wildcard for a part of a group', spec: rule({ resources: [{ group: '*.k8s.io' }] }),
    path: `${oneRule}.resources[0].group`, says: 'or * for every group' },
  { name: 'resourceNames without resources', spec: rule({ resources: [{ resourceNames: ['a'] }] }),
    path: `${oneRule}.resources[0].resourceNames`, says: 'needs resources' },
  { name: '* beside another', spec: resources('pods', '*'), path: `${names}[1]`, says: 'covers what resources[0] covers' },
  { name: 'pods/* beside pods/log', spec: resources('pods/*', 'pods/log'), path: `${names}[1]`, says: 'overlap' },
  { name: '*/status beside pods/*', spec: resources('*/status', 'pods/*'), path: `${names}[1]`, says: 'overlap' },
  { name: '*/status beside pods/status', spec: resources('pods/status', '*/status'), path: `${names}[1]`, says: 'overlap' },
  { name: 'wildcard for a part of a name', spec: resources('po*'), path: `${names}[0]`, says: 'is not a resource' },
  { name: 'two segments below a resource', spec: resources('pods/a/b'), path: `${names}[0]`, says: 'is not a resource' },
]

// biome-ignore format: a table
const SOUND: readonly SoundRow[] = [
  { name: 'every request target', spec: rule({ requestTargets: [
      'Management', 'Cluster', 'VCluster', 'ProjectSpace', 'ProjectVCluster', 'ProjectVirtualCluster'] }) },
  { name: 'level 0 beside a policy', spec: { audit: { level: 0, policy: { rules: [{ level: 'None' }] } } } },
  { name: 'every level', spec: { audit: { level: 4 } } },
  { name: 'audit on standard output', spec: { audit: { enabled: true, path: '-' } } },
  { name: 'audit in a directory', spec: { audit: { enabled: true, path: '/var/log/platform' } } },
  { name: 'audit off without path', spec: { audit: { enabled: false } } },
  { name: 'a policy as in the documentation of Kubernetes',
    spec: { audit: { policy: { omitStages: ['RequestReceived'], rules: [
      { level: 'RequestResponse', resources: [{ group: '', resources: ['pods'] }] },
      { level: 'Metadata', resources: [{ resources: ['pods/log', 'pods/status'] }] },
      { level: 'None', resources: [{ resources: ['configmaps'], resourceNames: ['controller-leader'] }] },
      { level: 'None', userGroups: ['system:authenticated'], nonResourceURLs: ['/api*', '/version', '*'] },
      { level: 'Request', resources: [{}], namespaces: ['kube-system', ''] },
      { level: 'Metadata', resources: [{ group: 'extensions' }] },
    ] } } } },
  { name: 'every group', spec: rule({ resources: [{ group: '*' }] }) },
  { name: 'a resource of every group', spec: rule({ resources: [{ group: '*', resources: ['pods', 'pods/log'], resourceNames: ['a'] }] }) },
  { name: 'wildcards that do not overlap', spec: resources('pods/*', 'pods', 'nodes/*', 'deployments/scale') },
  { name: 'a repeated name', spec: resources('pods', 'pods') },
]

describe('settings of audit (6.5)', () => {
  testFaultsInEverySource(FAULTS, SOUND)
})
