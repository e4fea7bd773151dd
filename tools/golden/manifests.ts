// The output of kustomize for config/, as text to review: test/golden has a file for each kustomization that is applied.
import { execFile } from 'node:child_process'
import { globSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { parse, parseAllDocuments, stringify } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const CONFIG = join(ROOT, 'config')
/** The folder of the golden files. */
export const GOLDEN = join(ROOT, 'test/golden')

/** Kustomizations that are applied on their own: parts of these are left out. */
export const GOLDEN_KUSTOMIZATIONS: readonly string[] = [
  'default',
  'target',
  'target-namespace',
  'sign-in',
  'direct/target-namespace',
  'syncer/policy',
  'syncer/virtual',
  ...readdirSync(join(CONFIG, 'overlays')).map((name) => `overlays/${name}`),
]

/** The name of the golden file of a kustomization, such as `overlays-direct.yaml`. */
export const goldenFile = (name: string): string => `${name.replaceAll('/', '-')}.yaml`

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
}

/**
 * The objects of a kustomization in their order, as YAML. The spec of a CRD is left out where it is as in crds/: 5,000
 * lines that are reviewed there.
 *
 * @param kubectl path of the program, of the pinned version: the order of objects may differ in another
 * @throws Error when kustomize fails
 */
export async function goldenText(kubectl: string, name: string): Promise<string> {
  const { stdout } = await promisify(execFile)(kubectl, ['kustomize', join(CONFIG, name)], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
  return objects.map(textOf).join('---\n')
}

function textOf(object: Manifest): string {
  const file = object.kind === 'CustomResourceDefinition' ? sourceOf(object) : undefined
  if (file === undefined) return stringify(object, { lineWidth: 0 })
  const { spec: _, ...rest } = object
  return `# spec: as in ${file}\n${stringify(rest, { lineWidth: 0 })}`
}

/** The file in crds/ with this spec; undefined when kustomize has changed it. */
const sourceOf = ({ spec }: Manifest): string | undefined =>
  globSync('crds/*.yaml', { cwd: ROOT }).find((path) =>
    isDeepStrictEqual((parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest).spec, spec),
  )
