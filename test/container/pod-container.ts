// The container of a pod as kubelet runs it: restrictions, environment, mounts, and the files of projected volumes.
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GenericContainer } from 'testcontainers'
import type { Raw } from '../support/raw-client.ts'
import { type Restrictions, restrictedContainer } from './docker-containers.ts'
import {
  type Container,
  type Pod,
  type Projection,
  type SecurityContext,
  fieldOf,
} from '../support/pod.ts'

/** Where pods reach the API server. */
export interface ApiServerAddress {
  readonly host: string
  readonly ip: string
  readonly port: number
}

/** The container of a pod as kubelet would run it; `folders` are those of its projected volumes, by name. */
export function containerOf(
  pod: Pod,
  folders: ReadonlyMap<string, string>,
  api: ApiServerAddress,
): GenericContainer {
  const [spec] = pod.spec.containers
  const container = restrictedContainer(spec.image, restrictionsOf(pod, spec))
    .withHostname(pod.metadata.name)
    .withEnvironment({
      KUBERNETES_SERVICE_HOST: api.host,
      KUBERNETES_SERVICE_PORT: String(api.port),
      ...Object.fromEntries((spec.env ?? []).map((one) => [one.name, valueOf(pod, one)])),
    })
    .withExtraHosts([{ host: api.host, ipAddress: api.ip }])
    .withExposedPorts(...(spec.ports ?? []).map(({ containerPort }) => containerPort))
    .withBindMounts(mountsOf(spec, folders))
    .withTmpFs(tmpFsOf(pod, folders))
  if (spec.command) container.withEntrypoint([...spec.command])
  return spec.args ? container.withCommand([...spec.args]) : container
}

const valueOf = (pod: Pod, { value, valueFrom }: NonNullable<Container['env']>[number]): string =>
  valueFrom ? fieldOf(pod, valueFrom) : (value ?? '')

function mountsOf({ volumeMounts = [] }: Container, folders: ReadonlyMap<string, string>) {
  return volumeMounts.flatMap(({ name, mountPath, readOnly = false }) => {
    const source = folders.get(name)
    const mode = readOnly ? ('ro' as const) : ('rw' as const)
    return source === undefined ? [] : [{ source, target: mountPath, mode }]
  })
}

/** The other volumes are emptyDirs: for all, or with `fsGroup` for the group alone, as a claim's volume is. */
function tmpFsOf({ spec }: Pod, folders: ReadonlyMap<string, string>) {
  const { fsGroup } = spec.securityContext ?? {}
  const options = fsGroup === undefined ? 'rw' : `rw,mode=2770,gid=${fsGroup}`
  const [{ volumeMounts = [] }] = spec.containers
  return Object.fromEntries(
    volumeMounts.flatMap(({ name, mountPath }) =>
      folders.has(name) ? [] : [[mountPath, options]],
    ),
  )
}

/** The container's security context overrides the pod's. @throws Error where kubelet would not start it */
function restrictionsOf({ spec }: Pod, { securityContext, resources }: Container): Restrictions {
  const how: SecurityContext = { ...spec.securityContext, ...securityContext }
  if (how.runAsNonRoot && how.runAsUser === 0) throw new Error('root, and runAsNonRoot')
  if (how.seccompProfile && how.seccompProfile.type !== 'RuntimeDefault')
    throw new Error(`this node has no seccomp profile ${how.seccompProfile.type}`)
  const { memory, cpu } = resources?.limits ?? {}
  return {
    user: how.runAsUser === undefined ? null : `${how.runAsUser}:${how.runAsGroup ?? 0}`,
    isReadOnly: how.readOnlyRootFilesystem ?? false,
    droppedCapabilities: how.capabilities?.drop ?? [],
    noNewPrivileges: how.allowPrivilegeEscalation === false,
    memoryBytes: memory === undefined ? null : quantity(memory),
    cpus: cpu === undefined ? null : quantity(cpu),
  }
}

const UNITS: Readonly<Record<string, number>> = { '': 1, m: 1e-3, Mi: 2 ** 20, Gi: 2 ** 30 }

function quantity(text: string): number {
  const [, number, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = UNITS[unit]
  if (factor === undefined) throw new Error(`this node does not support the quantity ${text}`)
  return Number(number) * factor
}

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
    // Readable to the container's user, whatever the umask.
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
