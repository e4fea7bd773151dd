// The manifests by which docs/helm.md installs with Argo CD and Flux: against the CRDs of both, and what their values render.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { PLATFORM } from '../../../tools/charts/files.ts'
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts'
import { gitOpsCrds } from '../../../tools/gitops/crds.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { awaitNewCluster, mustKubectl } from '../../support/kubectl.ts'
import { prepareWith, programOrSkip } from '../../support/program-or-skip.ts'
import { chartRenderer } from './chart-renderer.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/helm.md'), 'utf8')

interface GitOpsManifest {
  readonly kind: string
  readonly spec: {
    readonly values?: object
    readonly source?: { readonly helm: { readonly valuesObject: object } }
  }
}

/** The manifests in a section of the page, as text. */
const yamlOf = (section: string): string =>
  new RegExp(`^## ${section}\n.*?^\`\`\`yaml\n(.*?)^\`\`\`$`, 'ms').exec(PAGE)?.[1] ?? ''

const manifestsOf = (section: string): readonly GitOpsManifest[] =>
  parseAllDocuments(yamlOf(section)).map((document) => document.toJSON() as GitOpsManifest)

const program = await programOrSkip(ensureHelm)
const helm = chartRenderer(program)
const plane = await startControlPlane({ log: console.log })
const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)
afterAll(async () => {
  helm.remove()
  await plane.stop()
})

function file(name: string, text: string): string {
  const path = join(helm.folder, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

prepareWith([program], async () => {
  await awaitNewCluster(kubectl)
  for (const crd of await gitOpsCrds()) await kubectl('apply', '--server-side', '-f', crd)
  await kubectl('wait', 'crd', '--all', '--for=condition=Established')
  for (const name of ['argocd', 'flux-system', 'platform-system'])
    await kubectl('create', 'namespace', name)
})

/** What the API server says of manifests, without storing them. */
const tried = (path: string): Promise<string> =>
  kubectl('apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', path)

const SECTIONS = [
  { section: 'Argo CD', kinds: ['Application'], field: 'targetRevision' },
  { section: 'Flux', kinds: ['OCIRepository', 'HelmRelease'], field: 'chartRef' },
]

describe.each(SECTIONS)('the manifests for $section', ({ section, kinds, field }) => {
  test('are what its CRDs accept, without an unknown field (34.1)', async () => {
    expect(manifestsOf(section).map(({ kind }) => kind)).toEqual(kinds)
    const applied = await tried(file(section, yamlOf(section)))
    expect(applied.trimEnd().split('\n')).toHaveLength(kinds.length)
  })

  test('would be refused with a mistyped field (34.1)', async () => {
    const mistyped = yamlOf(section).replace(field, `${field}s`)
    await expect(tried(file(`${section}-mistyped`, mistyped))).rejects.toThrow(`${field}s`)
  })
})

/** The flags of Helm that Argo CD renders a chart with; Flux has the namespace and the version of the server as well. */
async function flagsOfArgo(): Promise<readonly string[]> {
  const version = JSON.parse(await kubectl('version', '-o', 'json')) as {
    readonly serverVersion: { readonly gitVersion: string }
  }
  return [
    '--namespace=platform-system',
    `--kube-version=${version.serverVersion.gitVersion.replace(/^v/, '')}`,
    '--api-versions=monitoring.coreos.com/v1',
    '--include-crds',
  ]
}

const valuesOf = ({ spec }: GitOpsManifest): object | undefined =>
  spec.values ?? spec.source?.helm.valuesObject

describe('the values of the manifests', () => {
  test('render the same objects for Argo CD and Flux, with the issuer of the page (34.1)', async () => {
    const flags = await flagsOfArgo()
    const [argo, flux] = await Promise.all(
      SECTIONS.map(({ section }) => {
        const values = manifestsOf(section)
          .map(valuesOf)
          .find((found) => found !== undefined)
        return helm.objects(PLATFORM, values ?? {}, ...flags)
      }),
    )
    expect(argo?.length).toBeGreaterThan(50)
    expect(argo).toEqual(flux)
    const text = JSON.stringify(argo)
    expect(text).toContain('--issuer-url=https://platform.example.com/oidc')
    expect(text).toContain('"image":"registry.example.com/platform/management-operator:')
    expect(text).not.toContain('legacy-impersonation')
  })

  test('give objects that a second apply by Argo CD and a diff leave alone (34.1)', async () => {
    const [application] = manifestsOf('Argo CD')
    const values = (application && valuesOf(application)) ?? {}
    const objects = await helm.objects(PLATFORM, values, ...(await flagsOfArgo()))
    const path = file('rendered', objects.map((object) => stringify(object)).join('---\n'))
    const flags = ['--server-side', '--field-manager=argocd-controller', '-f', path]
    await kubectl('apply', ...flags)
    const generations = () => kubectl('get', '-f', path, '-o', GENERATIONS)
    const before = await generations()
    await kubectl('apply', ...flags)
    expect(await generations()).toBe(before)
    expect(before.trimEnd().split('\n')).toHaveLength(objects.length)
    expect(await kubectl('diff', ...flags)).toBe('')
  })
})

const GENERATIONS =
  'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\\n"}{end}'
