// install.yaml and install-agent.yaml: what kustomize builds of config/ with the image of a release.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { ReleaseImage } from './image.ts'

/**
 * The manifests of a kustomization with the image.
 *
 * @param folder the path of the kustomization, such as `config/default`
 * @throws Error when kustomize fails
 */
export async function releaseManifests(
  kubectl: string,
  folder: string,
  { repository, digest }: ReleaseImage,
): Promise<string> {
  const overlay = await mkdtemp(join(tmpdir(), 'release-'))
  try {
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [relative(overlay, folder)],
      images: [{ name: 'management-operator', newName: repository, digest }],
    }
    await writeFile(join(overlay, 'kustomization.yaml'), stringify(kustomization))
    const args = ['kustomize', overlay]
    return (await promisify(execFile)(kubectl, args, { maxBuffer: 64 * 1024 * 1024 })).stdout
  } finally {
    await rm(overlay, { recursive: true })
  }
}
