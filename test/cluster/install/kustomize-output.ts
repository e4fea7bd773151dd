// The shipped manifests, as kustomize puts them together.
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Access } from '../../../tools/control-plane/access.ts'

/** An object of a manifest. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** The folder with the kustomizations. */
export const CONFIG = join(import.meta.dirname, '../../../config')

/** A kustomization of config/, such as `default`, as one YAML text. @throws Error when it builds none */
export async function buildKustomization(
  { kubectl }: Pick<Access, 'kubectl'>,
  name: string,
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(['kustomize', join(CONFIG, name)])
  if (code !== 0) throw new Error(`config/${name}: ${stderr.trim()}`)
  return stdout
}

/** The objects of a YAML text. */
export const objectsIn = (yaml: string): readonly Manifest[] =>
  parseAllDocuments(yaml).map((document) => document.toJS() as Manifest)

/** `Kind name`, which is enough to tell objects of config/ apart. */
export const titleOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`
