// config/ against a real API server: each kustomization builds, passes strict validation and can be applied; samples
// become Ready with an operator.
import { execFile } from 'node:child_process'
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { ensureKubeconform } from '../../../tools/kubeconform/kubeconform.ts'
import { type OpenApi, schemaLocation, writeSchemas } from '../../../tools/kubeconform/schemas.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { CONFIG, buildKustomization, objectsIn, titleOf } from './installer.ts'

const RELEASE_LABELS = ['name', 'part-of', 'version'].map((label) => `app.kubernetes.io/${label}`)
const DRY_RUN = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-']

const plane = await privateControlPlane()
const kubeconform = await ensureKubeconform(console.log)
const folder = mkdtempSync(join(tmpdir(), 'manifests-'))
afterAll(() => rmSync(folder, { recursive: true }))
writeSchemas(folder, (await plane.raw<OpenApi>('GET', '/openapi/v2')).body)

/** All kustomizations that can be applied on their own, with all overlays. */
const kustomizations = [
  'base',
  'default',
  'samples',
  'target',
  'target-namespace',
  'sign-in',
  'syncer',
  'syncer/virtual',
  'syncer/policy',
  'direct',
  'direct/target-namespace',
  ...readdirSync(join(CONFIG, 'overlays')).map((name) => `overlays/${name}`),
]
const manifests = await Promise.all(
  kustomizations.map(async (name) => ({ name, yaml: await buildKustomization(plane, name) })),
)
const [base] = manifests
const COMPONENTS = 'syncer/components'
const DIRECT_COMPONENTS = ['claim', 'webhook', 'legacy-impersonation'].map(
  (name) => `direct/${name}`,
)
manifests.push(
  ...(await Promise.all(
    ['host', 'virtual'].map(async (side) => ({
      name: `${COMPONENTS}/${side}-*`,
      yaml: await buildWithComponents(
        side === 'host' ? 'syncer' : 'syncer/virtual',
        readdirSync(join(CONFIG, COMPONENTS))
          .filter((name) => name.startsWith(side))
          .map((name) => `${COMPONENTS}/${name}`),
      ),
    })),
  )),
  { name: 'direct/*', yaml: await buildWithComponents('direct', DIRECT_COMPONENTS) },
)
// A dry run makes no namespace: those of the syncer's virtual cluster and of a target are there before it.
await Promise.all(
  ['vcluster-my-vc', 'vcluster-shop-vc', 'platform-syncer', 'platform-gateway'].map((name) =>
    mustKubectl(plane, ['create', 'namespace', name]),
  ),
)

describe.each(manifests)('config/$name', ({ yaml }) => {
  test('passes a server-side dry run with strict validation', async () => {
    expect(await dryRun(yaml)).toMatchObject({ code: 0, stderr: '' })
  })

  test('conforms to the schemas of the server', async () => {
    expect(await conforms(yaml)).toEqual({ valid: objectsIn(yaml).length, faults: [] })
  })
})

test.each([
  {
    name: 'an unknown field',
    change: ['replicas: 2', 'replicaz: 2'],
    says: /replicaz/,
  },
  { name: 'a value of another type', change: ['replicas: 2', 'replicas: two'], says: /replicas/ },
  { name: 'an unknown field of our kinds', change: ['ttl: 28800', 'tll: 28800'], says: /tll/ },
])(
  'the dry run and kubeconform both detect $name',
  async ({ change: [from = '', to = ''], says }) => {
    const yaml = manifests.find((one) => one.yaml.includes(from))?.yaml.replace(from, to) ?? ''
    const { code, stderr } = await dryRun(yaml)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(says) })
    expect((await conforms(yaml)).faults).toEqual([expect.stringMatching(says)])
  },
)

test('all objects have the recommended labels, with the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(CONFIG, '../package.json'), 'utf8')) as {
    readonly version: string
  }
  const yaml = manifests.find(({ name }) => name === 'default')?.yaml ?? ''
  const labels = objectsIn(yaml).map((object) => ({
    title: titleOf(object),
    values: RELEASE_LABELS.map((label) => object.metadata.labels?.[label]),
  }))
  const values = ['management-operator', 'management-operator', version]
  expect(labels).toEqual(labels.map(({ title }) => ({ title, values })))
  expect(yaml.match(/image: .*/g)).toEqual(Array(3).fill(`image: management-operator:${version}`))
})

test.each([
  { of: 'a syncer', command: 'syncer' },
  { of: 'a direct endpoint', command: 'direct' },
])('no object of $of is deleted with the platform', ({ command }) => {
  const yamls = manifests.filter(({ name }) => name.includes(command)).map(({ yaml }) => yaml)
  const partOf = yamls
    .flatMap(objectsIn)
    .map(({ metadata }) => metadata.labels?.['app.kubernetes.io/part-of'])
  expect(partOf.length).toBeGreaterThan(20)
  expect(partOf).not.toContain('management-operator')
})

test('config/default adds only workloads to config/base', () => {
  const inBase = objectsIn(base?.yaml ?? '').map(titleOf)
  const inDefault = objectsIn(manifests[1]?.yaml ?? '')
  expect(inDefault.map(titleOf)).toEqual(expect.arrayContaining(inBase))
  const added = inDefault.filter((object) => !inBase.includes(titleOf(object)))
  expect([...new Set(added.map(({ kind }) => kind))].toSorted()).toEqual([
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ])
  expect(added.every(({ metadata }) => metadata.namespace === 'platform-system')).toBe(true)
})

test('all files of kustomizations begin with a comment', () => {
  const files = readdirSync(CONFIG, { recursive: true, encoding: 'utf8' })
  const silent = files
    .filter((file) => file.endsWith('.yaml'))
    .filter((file) => !readFileSync(join(CONFIG, file), 'utf8').startsWith('# '))
  expect(silent).toEqual([])
})

/** Samples that are applied by themselves, as they make namespaces and grant rights. */
const APART = ['claims.yaml', 'secret-store.yaml']

test('the samples can be applied together, and the operator reconciles each', async () => {
  const kubeconfig = await plane.operatorKubeconfig()
  await using operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
  expect(operator.pid).toBeGreaterThan(0)
  const samples = join(CONFIG, 'samples')
  const applied = await plane.kubectl(['apply', '--server-side', '-k', samples])
  expect(applied).toMatchObject({ code: 0 })
  const names = objectsIn(await buildKustomization(plane, 'samples')).map(({ kind, metadata }) => ({
    kind,
    name: metadata.name,
  }))
  expect(new Set(names.map(({ kind }) => kind)).size, 'a sample of each kind').toBe(5)
  const others = ['kustomization.yaml', ...APART]
  const yamls = readdirSync(samples).filter(
    (file) => file.endsWith('.yaml') && !others.includes(file),
  )
  const documents = yamls.flatMap((file) => objectsIn(readFileSync(join(samples, file), 'utf8')))
  expect(names, 'every sample is listed').toHaveLength(documents.length)
  for (const { kind, name } of names) {
    const ready = ['--for=condition=Ready', '--timeout=30s']
    expect(await plane.kubectl(['wait', `${kind}/${name}`, ...ready])).toMatchObject({ code: 0 })
  }
})

/** A kustomization of config/ with components of it. */
async function buildWithComponents(
  resource: string,
  components: readonly string[],
): Promise<string> {
  const overlay = realpathSync(mkdtempSync(join(folder, 'overlay-')))
  const toConfig = relative(overlay, CONFIG)
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [join(toConfig, resource)],
    components: components.map((name) => join(toConfig, name)),
  }
  writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization))
  return mustKubectl(plane, ['kustomize', overlay])
}

const dryRun = (input: string) => plane.kubectl(DRY_RUN, { input })

/** The number of valid objects, and the errors of the others. */
async function conforms(yaml: string): Promise<{
  readonly valid: number
  readonly faults: readonly string[]
}> {
  const file = join(mkdtempSync(join(folder, 'one-')), 'all.yaml')
  writeFileSync(file, yaml)
  const args = ['-strict', '-output=json', '-verbose', '-schema-location', schemaLocation(folder)]
  const ran = promisify(execFile)(kubeconform, [...args, file]).catch(
    (error: { readonly stdout: string }) => error,
  )
  const { resources } = JSON.parse((await ran).stdout) as {
    readonly resources: readonly { readonly status: string; readonly msg: string }[]
  }
  const bad = resources.filter(({ status }) => status !== 'statusValid')
  return { valid: resources.length - bad.length, faults: bad.map(({ msg }) => msg) }
}
