// What Helm renders of the charts equals what kustomize builds of config/, for the defaults and for each value with an
// overlay or a component of its own; wrong values are refused with their path.
import { afterAll, describe, expect, test } from 'vitest'
import { AGENT, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { differences, unkeptKinds } from './chart-checks.ts'
import { chartRenderer, overlaid } from './chart-renderer.ts'
import { AGENT_ROWS, PLATFORM_ROWS } from './chart-values.ts'
import { schemaOf, unsaidOfSeveral } from './chart-wrong-values.ts'
import { objectsIn, titleOf } from './installer.ts'

const [{ kubectl }, helm] = await Promise.all([
  ensureBinaries(console.log),
  programOrSkip(ensureHelm),
])
const charts = chartRenderer(helm)
afterAll(() => charts.remove())

test.each(PLATFORM_ROWS)(
  'the chart of the platform renders what kustomize builds: $name (34.1)',
  async ({ values, overlay }) => {
    const built = await overlaid(kubectl, 'default', overlay)
    expect(differences(built, await charts.objects(PLATFORM, values))).toEqual([])
  },
)

test.each(AGENT_ROWS)(
  'the chart of a connected cluster renders what kustomize builds: $name (34.1)',
  async ({ values, overlay }) => {
    const built = await overlaid(kubectl, 'direct', overlay)
    expect(differences(built, await charts.objects(AGENT, values))).toEqual([])
  },
)

describe('the chart of the platform', () => {
  test('has every object of a release with its version', async () => {
    const objects = await charts.objects(PLATFORM, {})
    const versions = new Set(
      objects.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/version']),
    )
    expect([...versions]).toEqual(['0.1.0'])
  })

  test('keeps the kinds, and no value takes that off (34.2)', async () => {
    const objects = await charts.objects(PLATFORM, {})
    expect(objects.filter(({ kind }) => kind === 'CustomResourceDefinition')).toHaveLength(6)
    expect(unkeptKinds(objects)).toEqual([])
    expect(Object.keys(schemaOf(PLATFORM).properties?.['crds']?.properties ?? {})).toEqual([
      'enabled',
    ])
  })

  test('leaves the kinds out where they are applied by hand (34.2)', async () => {
    const objects = await charts.objects(PLATFORM, { crds: { enabled: false } })
    expect(objects.filter(({ kind }) => kind === 'CustomResourceDefinition')).toEqual([])
    expect(objects.length).toBeGreaterThan(50)
  })

  test('leaves the namespace out where it is that of the release, which Helm needs before', async () => {
    const objects = await charts.objects(PLATFORM, {}, '--namespace=platform-system')
    expect(objects.filter(({ kind }) => kind === 'Namespace')).toEqual([])
  })

  test.each([
    { version: '1.35.3', has: true },
    { version: '1.36.0-alpha.1', has: false },
    { version: '1.36.2', has: false },
  ])(
    'adds the older right by the version of the server: $version (34.1)',
    async ({ version, has }) => {
      const objects = await charts.objects(PLATFORM, {}, `--kube-version=${version}`)
      const legacy = objects.filter(({ metadata }) =>
        metadata.name.includes('legacy-impersonation'),
      )
      expect(legacy).toHaveLength(has ? 2 : 0)
    },
  )
})

const WORD = '12321'
const ON = { enabled: true }
const WITH_COLON = 'https://platform.example.com/oidc:'

test.each([
  {
    chart: PLATFORM,
    values: {
      namespace: WORD,
      imagePullSecrets: [{ name: WORD }],
      issuerURL: WITH_COLON,
      manager: { priorityClassName: WORD },
      gateway: {
        tls: { mode: 'certManager', secretName: WORD, issuerRef: { name: WORD } },
        audit: { ...ON, storageClassName: WORD, size: WORD },
        service: { type: 'LoadBalancer', loadBalancerClass: WORD },
        ingress: { ...ON, className: WORD, hosts: ['a.example.com'], tlsSecretName: WORD },
      },
      monitoring: { serviceMonitor: ON, dashboard: ON },
    },
  },
  {
    chart: AGENT,
    values: {
      namespace: WORD,
      issuerURL: WITH_COLON,
      direct: {
        priorityClassName: WORD,
        persistence: { ...ON, storageClassName: WORD },
        audit: { ...ON, storageClassName: WORD, size: WORD, secretName: WORD },
      },
      webhook: { ...ON, secretName: WORD },
    },
  },
])('strings of $chart stay strings where YAML reads something else (34.1)', async (one) => {
  const objects = await charts.objects(one.chart, one.values)
  const numbers = objects.filter((object) => /[:[,]12321\b/.test(JSON.stringify(object)))
  expect(numbers.map(titleOf)).toEqual([])
  expect(JSON.stringify(objects)).toContain(`"--issuer-url=${WITH_COLON}"`)
})

test('a label of monitoring takes the place of one of the chart: twice it is no YAML (34.1)', async () => {
  const labels = { 'app.kubernetes.io/part-of': 'observability', grafana_dashboard: '2' }
  const parts = ['serviceMonitor', 'podMonitor', 'rules', 'dashboard']
  const monitoring = Object.fromEntries(parts.map((part) => [part, { ...ON, labels }]))
  const { stdout } = await charts.template(PLATFORM, { monitoring })
  const labelled = objectsIn(stdout).filter(
    (one) => one?.metadata.labels?.['grafana_dashboard'] === '2',
  )
  expect(labelled).toHaveLength(parts.length)
  for (const { metadata } of labelled)
    expect(metadata.labels).toMatchObject({ ...labels, 'app.kubernetes.io/version': '0.1.0' })
})

describe('wrong values', () => {
  test.each([
    { flag: 'networkPolicy.enabled', says: "at '/networkPolicy': missing property 'enabled'" },
    { flag: 'crds', says: "at '': missing property 'crds'" },
    { flag: 'manager.replicas', says: "at '/manager': missing property 'replicas'" },
    { flag: 'gateway.tls.mode', says: "at '/gateway/tls': missing property 'mode'" },
    { flag: 'namespace', says: "at '': missing property 'namespace'" },
  ])('$flag=null is refused, which would take the default away (34.1)', async ({ flag, says }) => {
    const { code, stderr } = await charts.template(PLATFORM, {}, '--set', `${flag}=null`)
    expect(code).not.toBe(0)
    expect(stderr).toContain(says)
  })

  test('gateway.resources=null leaves requests and limits out (34.1)', async () => {
    const objects = await charts.objects(PLATFORM, {}, '--set', 'gateway.resources=null')
    const gateway = objects.find((one) => titleOf(one).startsWith('Deployment gateway'))
    expect(JSON.stringify(gateway)).not.toContain('"resources"')
  })

  test.each([
    {
      name: 'an Ingress without a host',
      values: { gateway: { ingress: ON } },
      says: "at '/gateway/ingress/hosts': minItems",
    },
    {
      name: 'an HTTPRoute without a Gateway',
      values: { gateway: { httpRoute: ON } },
      says: "at '/gateway/httpRoute/parentRefs': minItems",
    },
    {
      name: 'a Certificate without an issuer',
      values: { gateway: { tls: { mode: 'certManager' } } },
      says: "at '/gateway/tls/issuerRef/name': minLength",
    },
    {
      name: 'a class of load balancers without one',
      values: { gateway: { service: { loadBalancerClass: 'example.com/lb' } } },
      says: "at '/gateway/service/loadBalancerClass': value must be ''",
    },
    {
      name: 'a range without its length',
      values: { gateway: { service: { type: 'LoadBalancer', loadBalancerSourceRanges: ['::1'] } } },
      says: "at '/gateway/service/loadBalancerSourceRanges/0': '::1' does not match pattern",
    },
    {
      name: 'fewer pods at most than at least',
      values: { gateway: { autoscaling: { ...ON, minReplicas: 11 } } },
      says: "at '/gateway/autoscaling': minReplicas is greater than maxReplicas",
    },
    {
      name: 'a size that is no quantity',
      values: { gateway: { audit: { ...ON, size: '20 GB' } } },
      says: "at '/gateway/audit/size': '20 GB' does not match pattern",
    },
    {
      name: 'a path of the audit log without a volume',
      values: { config: { audit: { enabled: true, path: '/var/log/audit', level: 2 } } },
      says: "at '/config/audit/path': no volume for it",
    },
    {
      name: 'an image with a tag in its name',
      values: { image: { repository: 'registry.example.com/mo:1.2.3' } },
      says: "at '/image/repository': ",
    },
  ])('$name, which an API server or a node refuses, is refused (34.1)', async (one) => {
    const { code, stderr } = await charts.template(PLATFORM, one.values)
    expect(code).not.toBe(0)
    expect(stderr).toContain(one.says)
  })

  test('are refused all at once, each with its path (34.1)', async () => {
    expect(await unsaidOfSeveral(charts)).toEqual([])
  })

  test.each([
    { name: 'a client secret', config: { auth: { oidc: { clientSecret: 'canary-1' } } } },
    { name: 'a data source', config: { audit: { dataStoreEndpoint: 'mysql://a:canary-1@db' } } },
    { name: 'a URL with a password', config: { platformHost: 'https://a:canary-1@example.com' } },
  ])('$name in the Config is refused, and not shown (34.1)', async ({ config }) => {
    const { code, stdout, stderr } = await charts.template(PLATFORM, { config })
    expect(code).not.toBe(0)
    expect(stderr).toContain("at '/config/")
    expect(stdout + stderr).not.toContain('canary-1')
  })

  test.each([
    { url: 'http://platform.example.com', says: 'does not match pattern' },
    { url: 'https://platform.example.com/oidc', says: 'does not match pattern' },
    { url: 'https://a:canary-1@example.com', says: "'not' failed" },
  ])('the platform of an audit log is no $url, and no password is shown (23.1)', async (one) => {
    const values = { direct: { audit: { ...ON, centralURL: one.url } } }
    const { code, stdout, stderr } = await charts.template(AGENT, values)
    expect(code).not.toBe(0)
    expect(stderr).toContain("at '/direct/audit/centralURL'")
    expect(stderr).toContain(one.says)
    expect(stdout + stderr).not.toContain('canary-1')
  })

  test('standard output takes the audit log without a volume (22.5)', async () => {
    const config = { audit: { enabled: true, path: '-', level: 2 } }
    const { code } = await charts.template(PLATFORM, { config })
    expect(code).toBe(0)
  })

  test.each([PLATFORM, AGENT])(
    'an issuer of %s with a password is refused, and not shown (34.1)',
    async (chart) => {
      const values = { issuerURL: 'https://a:canary-1@example.com' }
      const { code, stdout, stderr } = await charts.template(chart, values)
      expect(code).not.toBe(0)
      expect(stderr).toContain("at '/issuerURL': 'not' failed")
      expect(stdout + stderr).not.toContain('canary-1')
    },
  )
})
