import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Raw } from '../support/raw-client.ts'
import { type Pod, type Projection, fieldOf } from './pod.ts'

/**
 * Writes the files of a pod's projected volumes below a folder, as kubelet does: a token of its
 * ServiceAccount that is bound to the pod, keys of ConfigMaps, fields of the pod.
 *
 * @returns the folder of each volume, by name
 */
export async function writeVolumes(
  call: Raw,
  pod: Pod,
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  const folders = new Map<string, string>()
  for (const { name, projected } of pod.spec.volumes ?? []) {
    if (projected === undefined) continue
    const target = join(folder, name)
    await mkdir(target)
    for (const source of projected.sources) {
      for (const [path, content] of Object.entries(await filesOf(call, pod, source)))
        await writeFile(join(target, path), content)
    }
    // Readable to the container's user, whatever our umask.
    await chmod(target, 0o755)
    folders.set(name, target)
  }
  return folders
}

type Files = Readonly<Record<string, string>>

async function filesOf(call: Raw, pod: Pod, source: Projection): Promise<Files> {
  const { serviceAccountToken, configMap, downwardAPI } = source
  const items = downwardAPI?.items ?? []
  return {
    ...(serviceAccountToken
      ? { [serviceAccountToken.path]: await tokenOf(call, pod, serviceAccountToken) }
      : {}),
    ...(configMap ? await keysOf(call, pod, configMap) : {}),
    ...Object.fromEntries(items.map((item) => [item.path, fieldOf(pod, item)])),
  }
}

async function tokenOf(
  call: Raw,
  { metadata, spec }: Pod,
  { audience, expirationSeconds }: NonNullable<Projection['serviceAccountToken']>,
): Promise<string> {
  const { name, namespace, uid } = metadata
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${spec.serviceAccountName}/token`
  const { code, body } = await call<{ readonly status: { readonly token: string } }>('POST', path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: audience === undefined ? [] : [audience],
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    },
  })
  if (code !== 201) throw new Error(`no token for ${namespace}/${spec.serviceAccountName}: ${code}`)
  return body.status.token
}

async function keysOf(
  call: Raw,
  { metadata }: Pod,
  { name, items }: NonNullable<Projection['configMap']>,
): Promise<Files> {
  const path = `/api/v1/namespaces/${metadata.namespace}/configmaps/${name}`
  const { body } = await call<{ readonly data?: Files }>('GET', path)
  return Object.fromEntries(
    items.map(({ key, path: file }) => {
      const value = body.data?.[key]
      if (value === undefined) throw new Error(`ConfigMap ${name} has no ${key} (yet)`)
      return [file, value]
    }),
  )
}
