// The files of the charts that come from config/, as kustomize builds them: kinds, policies, roles and accounts, alerts and
// the dashboard. The templates beside them put the namespace and the labels of a release in.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments, stringify } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const CONFIG = join(ROOT, 'config')

/** The folder of the charts. */
export const CHARTS = join(ROOT, 'charts')
/** The chart of the platform, by its name. */
export const PLATFORM = 'management-operator'
/** The chart of a connected cluster, by its name. */
export const AGENT = 'management-operator-agent'

/** Templates of the platform's chart that the other one has, too. */
const SHARED = ['_shared.tpl', 'extra.yaml'].map((name) => `templates/${name}`)

/** Kinds that a chart writes by its own templates, as values change them. */
const TEMPLATED = new Set([
  'Namespace',
  'Deployment',
  'Service',
  'PodDisruptionBudget',
  'NetworkPolicy',
])

interface Manifest {
  readonly kind: string
  readonly spec?: unknown
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
}

/**
 * The generated files of both charts: path within `charts/` -> content.
 *
 * @param kubectl path of the program, of the pinned version: the order of objects may differ in another
 * @throws Error when kustomize fails
 */
export async function chartFiles(kubectl: string): Promise<ReadonlyMap<string, string>> {
  const [platform, signIn, agent, target] = await Promise.all(
    ['base', 'sign-in', 'direct', 'target'].map((name) => kustomized(kubectl, name)),
  )
  const [kinds, base] = [isKind, isNoKind].map((is) => (platform ?? []).filter(is))
  return new Map([
    [`${PLATFORM}/files/kinds.yaml`, textOf((kinds ?? []).map(kept))],
    [`${PLATFORM}/files/base.yaml`, textOf(base ?? [])],
    [`${PLATFORM}/files/sign-in.yaml`, textOf(signIn ?? [])],
    ...copies(PLATFORM, 'components/legacy-impersonation', 'components/prometheus'),
    [
      `${PLATFORM}/files/delivery-everywhere.yaml`,
      textOf(manifestsIn(sourceOf('components/delivery-everywhere/secret-delivery.yaml'))),
    ],
    [`${PLATFORM}/files/dashboard.json`, sourceOf('components/prometheus/dashboard.json')],
    [`${AGENT}/files/base.yaml`, textOf(agent ?? [])],
    [`${AGENT}/files/target.yaml`, textOf(target ?? [])],
    ...copies(AGENT, 'direct/legacy-impersonation', 'components/prometheus-direct'),
    ...SHARED.map((path): [string, string] => [
      `${AGENT}/${path}`,
      readFileSync(join(CHARTS, PLATFORM, path), 'utf8'),
    ]),
  ])
}

/** The objects of a kustomization that no template writes. */
async function kustomized(kubectl: string, name: string): Promise<readonly Manifest[]> {
  const args = ['kustomize', join(CONFIG, name)]
  const { stdout } = await promisify(execFile)(kubectl, args, { maxBuffer: 64 * 1024 * 1024 })
  return manifestsIn(stdout).filter(({ kind }) => name === 'target' || !TEMPLATED.has(kind))
}

const copies = (chart: string, legacy: string, prometheus: string): [string, string][] => [
  [
    `${chart}/files/legacy-impersonation.yaml`,
    textOf(manifestsIn(sourceOf(`${legacy}/impersonation.yaml`))),
  ],
  [
    `${chart}/files/prometheus-rule-spec.yaml`,
    specsOf(manifestsIn(sourceOf(`${prometheus}/prometheus-rule.yaml`))),
  ],
]

const isKind = ({ kind }: Manifest): boolean => kind === 'CustomResourceDefinition'
const isNoKind = (one: Manifest): boolean => !isKind(one)

const manifestsIn = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest)

const textOf = (all: readonly unknown[]): string =>
  all.map((one) => stringify(one, { lineWidth: 0 })).join('---\n')

/** The specs alone: the templates have metadata, with labels of the values. */
const specsOf = (manifests: readonly Manifest[]): string =>
  textOf(manifests.map(({ spec }) => ({ spec })))

const sourceOf = (path: string): string => readFileSync(join(CONFIG, path), 'utf8')

/** A kind that no uninstall, rollback or typo deletes: with it Kubernetes would delete all its objects. */
const kept = ({ metadata, ...rest }: Manifest): Manifest => ({
  ...rest,
  metadata: {
    ...metadata,
    annotations: { ...metadata.annotations, 'helm.sh/resource-policy': 'keep' },
  },
})
