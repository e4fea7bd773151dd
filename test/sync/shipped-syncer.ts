// The syncer with the shipped roles of config/syncer on two control planes of the file's own, and an object of each kind.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { CONFIG, buildKustomization } from '../cluster/install/installer.ts'
import { type OwnProcess, startServing } from '../support/command-process.ts'
import type { OwnControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'
import type { Pair } from '../support/sync-planes.ts'
import { ownSyncPlanes } from '../support/sync-world.ts'

/** Where the objects stand in single-namespace mode. */
export const HOST_NAMESPACE = 'vcluster-my-vc'
/** The account of the syncer on the host. */
export const HOST = { namespace: HOST_NAMESPACE, name: 'syncer' }
/** Its account in the virtual cluster. */
export const VIRTUAL = { namespace: 'platform-syncer', name: 'syncer' }
/** The kinds of the objects, as kubectl has them. */
export const KINDS = ['services', 'endpoints', 'secrets', 'configmaps'] as const
/** A bound for steps without a promised time, on a busy machine. */
export const BOUND = { withinMs: 30_000 }

/** Endpoints name a Secret and a ConfigMap; nothing else makes these two go to the host. */
export const REFERENCES = ['Secret', 'ConfigMap'].map((kind) => ({
  path: `metadata.annotations["example.com/${kind}"]`,
  reference: { apiVersion: 'v1', kind },
}))

const metadata = {
  name: 'database',
  namespace: 'shop',
  annotations: {
    'example.com/Secret': 'database',
    'example.com/ConfigMap': 'database',
    'example.com/number': '0',
    'example.com/both': 'virtual',
  },
}
const OBJECTS = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { type: 'LoadBalancer', ports: [{ name: 'sql', port: 5432 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata,
    subsets: [{ addresses: [{ ip: '203.0.113.7' }], ports: [{ name: 'sql', port: 5432 }] }],
  },
  { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { password: 'secret' } },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { mode: 'fast' } },
]
/** An object of each kind, `database` of namespace `shop`. */
export const ALL_OBJECTS = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: OBJECTS })
/** Their name in HOST_NAMESPACE. */
export const HOST_NAME = 'database-x-shop-x-my-vc'

/** Applies these manifests. */
export const apply = (plane: OwnControlPlane, input: string): Promise<string> =>
  mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input })

/** Waits until each kind has an object whose annotation has this value, or any value if none is given. */
export async function eachHas(
  plane: OwnControlPlane,
  [name, ...scope]: readonly [string, ...string[]],
  annotation: string,
  value?: string,
): Promise<void> {
  for (const kind of KINDS)
    await eventually(
      `${kind}/${name} has annotation ${annotation}`,
      async () => {
        const text = await mustKubectl(plane, ['get', kind, name, ...scope, '-o', 'json'])
        const { metadata: found } = JSON.parse(text) as { readonly metadata: Annotated }
        const is = found.annotations?.[annotation]
        return (value === undefined ? is !== undefined : is === value) || undefined
      },
      BOUND,
    )
}

interface Annotated {
  readonly annotations?: Readonly<Record<string, string>>
}

/** Both control planes and the syncer's configuration file. */
interface ShippedSyncer extends Pair<OwnControlPlane> {
  /** Writes the configuration file. */
  readonly configure: (content: object) => void
  /** Starts a syncer with the accounts of config/syncer; its caller stops it. */
  readonly start: () => Promise<OwnProcess>
}

/**
 * Starts both control planes, with the manifests of config/syncer and no component. Call it while the test file loads.
 *
 * @param hostFlags more flags of the host's API server
 */
export async function shippedSyncer(hostFlags: readonly string[] = []): Promise<ShippedSyncer> {
  const { host, virtual } = await ownSyncPlanes({ host: hostFlags })
  const home = mkdtempSync(join(tmpdir(), 'shipped-syncer-'))
  afterAll(() => rmSync(home, { recursive: true }))
  const config = join(home, 'vcluster.yaml')
  await mustKubectl(host, ['create', 'namespace', HOST_NAMESPACE])
  await mustKubectl(virtual, ['create', 'namespace', 'shop'])
  await apply(host, await buildKustomization(host, 'syncer/policy'))
  await apply(host, await buildKustomization(host, 'syncer'))
  await apply(virtual, await buildKustomization(virtual, 'syncer/virtual'))
  const service = ['create', 'service', 'clusterip', 'my-vc', '--tcp=443', '-n', HOST_NAMESPACE]
  await mustKubectl(host, service)
  return {
    host,
    virtual,
    configure: (content) => writeFileSync(config, JSON.stringify(content)),
    start: async () => {
      const [onHost, inVirtual] = await Promise.all([
        host.serviceAccountKubeconfig(HOST.namespace, HOST.name),
        virtual.serviceAccountKubeconfig(VIRTUAL.namespace, VIRTUAL.name),
      ])
      return startServing('syncer', {
        flags: [
          `--host-kubeconfig=${onHost}`,
          `--virtual-kubeconfig=${inVirtual}`,
          '--virtual-cluster=my-vc',
          '--service-name=my-vc',
          `--host-namespace=${HOST_NAMESPACE}`,
          `--config=${config}`,
        ],
      })
    },
  }
}

/** The path of the manifest of a component of config/syncer. */
export const componentRoles = (name: string): string =>
  join(CONFIG, `syncer/components/${name}/role.yaml`)

interface AuditedRequest {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource?: string
    readonly subresource?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

/** The requests of an account that were answered, with their codes. */
export function requestsOf({ auditLog }: OwnControlPlane, { namespace, name }: typeof HOST) {
  const user = `system:serviceaccount:${namespace}:${name}`
  return readFileSync(auditLog, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"${user}"`))
    .map((line) => JSON.parse(line) as AuditedRequest)
    .map(({ verb, objectRef = {}, responseStatus }) => {
      const { apiGroup = '', resource = '', subresource } = objectRef
      const what = subresource === undefined ? resource : `${resource}/${subresource}`
      return { code: responseStatus?.code ?? 0, right: `${verb} ${what}.${apiGroup}` }
    })
}

/** The rights that an account lacked. */
export const refusedTo = (plane: OwnControlPlane, account: typeof HOST): readonly string[] => [
  ...new Set(
    requestsOf(plane, account)
      .filter(({ code }) => code === 403)
      .map(({ right }) => right),
  ),
]
