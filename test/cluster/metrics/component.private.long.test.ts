// config/components/prometheus on a control plane with the CRDs of the Prometheus Operator.
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { prometheusOperatorCrds } from '../../../tools/prometheus/operator-crds.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { alerts, dashboard, monitoringFile } from '../../support/monitoring.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CONFIG = join(ROOT, 'config')
const plane = await privateControlPlane()
const overlay = realpathSync(mkdtempSync(join(tmpdir(), 'overlay-')))
afterAll(() => rmSync(overlay, { recursive: true }))

const NAMESPACED = ['-n', 'platform-system'] as const

const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

async function read<Kind>(...what: readonly string[]): Promise<Kind> {
  return JSON.parse(await kubectl('get', ...what, ...NAMESPACED, '-o', 'json')) as Kind
}

beforeAll(async () => {
  for (const file of await prometheusOperatorCrds())
    await kubectl('apply', '--server-side', '-f', file)
  await kubectl('wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s')
  writeOverlay({})
})

/** Writes the overlay with further fields of a user. */
function writeOverlay(more: object): void {
  const toConfig = relative(overlay, CONFIG)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [join(toConfig, 'default')],
    components: [join(toConfig, 'components/prometheus')],
    ...more,
  }
  writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization))
}

const APPLY = ['apply', '--server-side', '--validate=strict', '-k', overlay] as const

test('the component passes strict validation, and a second apply changes nothing (8.4)', async () => {
  await kubectl(...APPLY)
  const objects = [
    'servicemonitor/management-operator',
    'prometheusrule/management-operator',
    'configmap/management-operator-dashboard',
  ]
  const output = ['-o', 'jsonpath={.items[*].metadata.resourceVersion}']
  const versions = () => kubectl('get', ...objects, ...NAMESPACED, ...output)
  const first = await versions()
  expect(first.split(' ')).toHaveLength(3)
  await kubectl(...APPLY)
  expect(await versions()).toBe(first)
})

interface Monitor {
  readonly spec: {
    readonly selector: {
      readonly matchLabels: Readonly<Record<string, string>>
      readonly matchExpressions?: readonly {
        key: string
        operator: 'In'
        values: readonly string[]
      }[]
    }
    readonly endpoints: readonly { readonly port: string }[]
  }
}

test('the ServiceMonitor selects only the metrics ports of manager, gateway and delivery process', async () => {
  expect(await scrapedBy('management-operator')).toEqual([
    'delivery-metrics',
    'gateway-metrics',
    'manager-metrics',
  ])
})

test('the component of direct endpoints passes strict validation, and selects only their metrics port (8.4, 9.2)', async () => {
  const toConfig = relative(overlay, CONFIG)
  writeOverlay({
    resources: [join(toConfig, 'direct')],
    components: [join(toConfig, 'components/prometheus-direct')],
  })
  await kubectl(...APPLY)
  expect(await scrapedBy('direct')).toEqual(['direct-metrics'])
  const { spec } = await read<{ spec: unknown }>('prometheusrule', 'management-operator-direct')
  const { groups } = parse(monitoringFile('rules.yml')) as { readonly groups: readonly unknown[] }
  expect(spec).toEqual({ groups: groups.slice(1) })
})

/** The Services of the namespace with a port that the ServiceMonitor selects. */
async function scrapedBy(monitor: string): Promise<readonly string[]> {
  const { spec } = await read<Monitor>('servicemonitor', monitor)
  const { matchLabels, matchExpressions = [] } = spec.selector
  const selector = [
    ...Object.entries(matchLabels).map(([label, value]) => `${label}=${value}`),
    ...matchExpressions.map(({ key, values }) => `${key} in (${values.join(', ')})`),
  ].join(',')
  const ports = spec.endpoints.map(({ port }) => port)
  const { items } = await read<{
    readonly items: readonly {
      metadata: { name: string }
      spec: { ports: readonly { name: string }[] }
    }[]
  }>('services', '-l', selector)
  const scraped = items.flatMap((service) =>
    service.spec.ports.filter(({ name }) => ports.includes(name)).map(() => service.metadata.name),
  )
  return scraped.toSorted()
}

test('the stored PrometheusRule equals the rules in their file', async () => {
  const { spec } = await read<{ spec: unknown }>('prometheusrule', 'management-operator')
  expect(spec).toEqual(parse(monitoringFile('rules.yml')))
})

test('the dashboard has the label that the sidecar of Grafana selects', async () => {
  const { items } = await read<{ items: readonly { data: Readonly<Record<string, string>> }[] }>(
    'configmaps',
    '-l',
    'grafana_dashboard',
  )
  const [data] = items.map((configMap) => configMap.data)
  expect(items).toHaveLength(1)
  expect(JSON.parse(data?.['management-operator.json'] ?? '')).toEqual(dashboard())
})

test('the patch of docs/operating.md makes each runbook_url a link', async () => {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8')
  const [, block = ''] = /^```yaml\n(replacements:\n[^]*?)^```$/m.exec(page) ?? []
  const { replacements } = parse(block) as { replacements: readonly { sourceValue: string }[] }
  writeOverlay({ replacements })
  const built = await kubectl('kustomize', overlay)
  const links = [...built.matchAll(/^ +runbook_url: (.*)$/gm)].map(([, link]) => link)
  const url = replacements[0]?.sourceValue
  expect(url).toMatch(/^https:.*\/docs\/troubleshooting\.md$/)
  expect(links).toEqual(alerts().map(({ alert }) => `${url}#${alert.toLowerCase()}`))
})
