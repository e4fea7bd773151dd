// What Helm renders of the charts equals what kustomize builds of config/, for the defaults and for each value with an
// overlay or a component of its own; wrong values are refused with their path.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { AGENT, CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { AGENT_ROWS, PLATFORM_ROWS } from './chart-values.ts'
import { CONFIG, type Manifest, objectsIn, titleOf } from './installer.ts'

const [{ kubectl }, helm] = await Promise.all([
  ensureBinaries(console.log),
  programOrSkip(ensureHelm),
])
const root = mkdtempSync(join(tmpdir(), 'charts-'))
afterAll(() => rmSync(root, { recursive: true }))
for (const part of ['config', 'crds'])
  cpSync(join(CONFIG, '..', part), join(root, part), { recursive: true })

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = {
      ...process.env,
      HELM_CACHE_HOME: root,
      HELM_CONFIG_HOME: root,
      HELM_DATA_HOME: root,
    }
    execFile(program, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })

let overlays = 0

/** The objects of a kustomization of config/ that is changed so. */
async function kustomized(
  resources: readonly string[],
  change: object,
): Promise<readonly Manifest[]> {
  const folder = join(root, 'config/overlays', `test-${(overlays += 1)}`)
  mkdirSync(folder)
  const overlay = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: resources.map((name) => `../../${name}`),
    ...change,
  }
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay))
  const { code, stdout, stderr } = await run(kubectl, ['kustomize', folder])
  if (code !== 0) throw new Error(stderr)
  return objectsIn(stdout)
}

const template = (chart: string, values: object, ...flags: readonly string[]): Promise<Ended> => {
  const file = join(root, `values-${(overlays += 1)}.yaml`)
  writeFileSync(file, stringify(values))
  return run(helm, [
    'template',
    'test',
    join(CHARTS, chart),
    '--no-hooks',
    '--values',
    file,
    ...flags,
  ])
}

async function rendered(
  chart: string,
  values: object,
  ...flags: readonly string[]
): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await template(chart, values, ...flags)
  if (code !== 0) throw new Error(stderr)
  return objectsIn(stdout).filter((one) => one !== null)
}

/** The labels and the annotation that only Helm's objects have. */
const OF_HELM = ['app.kubernetes.io/managed-by', 'helm.sh/chart', 'helm.sh/resource-policy']

/** Kinds in no namespace of which kustomize does not know that: it writes the one of an overlay into them. */
const IN_NO_NAMESPACE = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'FlowSchema',
]

/** By title, without what only Helm writes. */
function comparable(objects: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const without = (map: Readonly<Record<string, string>> | undefined) => {
    const left = Object.entries(map ?? {}).filter(([name]) => !OF_HELM.includes(name))
    return left.length === 0 ? undefined : Object.fromEntries(left)
  }
  return Object.fromEntries(
    objects.map((one) => {
      const { labels, annotations, namespace, ...metadata } =
        one.metadata as Manifest['metadata'] & {
          readonly annotations?: Readonly<Record<string, string>>
        }
      const own = IN_NO_NAMESPACE.includes(one.kind) ? {} : { namespace }
      const plain = {
        ...metadata,
        ...own,
        labels: without(labels),
        annotations: without(annotations),
      }
      return [titleOf(one), { ...one, metadata: plain }]
    }),
  )
}

/** Labels by which components lack the version that every object of a release has in a chart. */
function withVersion(
  objects: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return JSON.parse(
    JSON.stringify(objects).replaceAll(/,?"app\.kubernetes\.io\/version":"[^"]*"/g, ''),
  ) as Readonly<Record<string, unknown>>
}

test.each(PLATFORM_ROWS)(
  'the chart of the platform renders what kustomize builds: $name (34.1)',
  async ({ values, overlay }) => {
    const expected = comparable(await kustomized(['default'], overlay))
    expect(withVersion(comparable(await rendered(PLATFORM, values)))).toEqual(withVersion(expected))
  },
)

test.each(AGENT_ROWS)(
  'the chart of a connected cluster renders what kustomize builds: $name (34.1)',
  async ({ values, overlay }) => {
    const expected = comparable(await kustomized(['direct'], overlay))
    expect(withVersion(comparable(await rendered(AGENT, values)))).toEqual(withVersion(expected))
  },
)

describe('the chart of the platform', () => {
  test('has every object of a release with its version', async () => {
    const objects = await rendered(PLATFORM, {})
    const versions = new Set(
      objects.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/version']),
    )
    expect([...versions]).toEqual(['0.1.0'])
  })

  test('keeps the kinds, and no value takes that off (34.2)', async () => {
    const kinds = (await rendered(PLATFORM, {})).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    )
    expect(kinds.map(({ metadata }) => metadata)).toEqual(
      kinds.map(() =>
        expect.objectContaining({
          annotations: expect.objectContaining({ 'helm.sh/resource-policy': 'keep' }),
        }),
      ),
    )
    expect(kinds).toHaveLength(3)
    const { properties } = JSON.parse(
      readFileSync(join(CHARTS, PLATFORM, 'values.schema.json'), 'utf8'),
    ) as { readonly properties: { readonly crds: { readonly properties: object } } }
    expect(Object.keys(properties.crds.properties)).toEqual(['enabled'])
  })

  test('leaves the kinds out where they are applied by hand (34.2)', async () => {
    const objects = await rendered(PLATFORM, { crds: { enabled: false } })
    expect(objects.filter(({ kind }) => kind === 'CustomResourceDefinition')).toEqual([])
    expect(objects.length).toBeGreaterThan(50)
  })

  test('leaves the namespace out where it is that of the release, which Helm needs before', async () => {
    const objects = await rendered(PLATFORM, {}, '--namespace=platform-system')
    expect(objects.filter(({ kind }) => kind === 'Namespace')).toEqual([])
  })

  test.each([
    { version: '1.35.3', has: true },
    { version: '1.36.0-alpha.1', has: false },
    { version: '1.36.2', has: false },
  ])(
    'adds the older right by the version of the server: $version (34.1)',
    async ({ version, has }) => {
      const objects = await rendered(PLATFORM, {}, `--kube-version=${version}`)
      const legacy = objects.filter(({ metadata }) =>
        metadata.name.includes('legacy-impersonation'),
      )
      expect(legacy).toHaveLength(has ? 2 : 0)
    },
  )
})

describe('wrong values', () => {
  test('are refused all at once, each with its path (34.1)', async () => {
    const { code, stderr } = await template(PLATFORM, {
      gatway: { replicas: 3 },
      gateway: { replicas: 'two', service: { tpye: 'LoadBalancer' } },
      monitoring: { rules: { enabled: 'maybe' } },
      legacyImpersonation: 'sometimes',
      config: { auth: { accessKeyMaxTTLSecond: 60 } },
    })
    expect(code).not.toBe(0)
    for (const fault of [
      "at '': additional properties 'gatway' not allowed",
      "at '/gateway/replicas': got string, want integer",
      "at '/gateway/service': additional properties 'tpye' not allowed",
      "at '/monitoring/rules/enabled': got string, want boolean",
      "at '/legacyImpersonation': value must be one of 'auto', 'always', 'never'",
      "at '/config/auth': additional properties 'accessKeyMaxTTLSecond' not allowed",
    ])
      expect(stderr).toContain(fault)
  })

  test.each([
    { name: 'a client secret', config: { auth: { oidc: { clientSecret: 'canary-1' } } } },
    { name: 'a data source', config: { audit: { dataStoreEndpoint: 'mysql://a:canary-1@db' } } },
    { name: 'a URL with a password', config: { platformHost: 'https://a:canary-1@example.com' } },
  ])('$name in the Config is refused, and not shown (34.1)', async ({ config }) => {
    const { code, stdout, stderr } = await template(PLATFORM, { config })
    expect(code).not.toBe(0)
    expect(stderr).toContain("at '/config/")
    expect(stdout + stderr).not.toContain('canary-1')
  })
})
