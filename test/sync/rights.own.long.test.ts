// The syncer with the rights of config/syncer, on two control planes: it does all its work with them, and needs each.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { NOT_STABLE } from '../../src/sync/objects/server-fields.ts'
import type { OwnControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'
import { buildKustomization, objectsIn } from '../cluster/install/installer.ts'
import {
  ALL_OBJECTS,
  BOUND,
  HOST,
  HOST_NAME,
  HOST_NAMESPACE,
  KINDS,
  REFERENCES,
  VIRTUAL,
  apply,
  componentRoles,
  eachHas,
  refusedTo,
  requestsOf,
  shippedSyncer,
} from './shipped-syncer.ts'

const { host, virtual, configure, start: startSyncer } = await shippedSyncer()

/** A patch whose result changes after each write. */
const GROWING = {
  path: 'metadata.annotations["example.com/number"]',
  expression:
    'String(Number(context.hostObject?.metadata.annotations["example.com/number"] ?? 0) + 1)',
}
const configOf = (patches: readonly object[]): object => ({
  sync: {
    toHost: {
      endpoints: { patches: [...REFERENCES, ...patches] },
      services: { patches },
      secrets: { patches },
      configMaps: { patches },
    },
  },
})
const ON_HOST = ['-n', HOST_NAMESPACE]
const IN_VIRTUAL = ['-n', 'shop']

async function annotateEach(
  plane: OwnControlPlane,
  [name, ...scope]: readonly [string, ...string[]],
  pair: string,
): Promise<void> {
  for (const kind of KINDS)
    await mustKubectl(plane, ['annotate', kind, name, ...scope, '--overwrite', pair])
}

test('the syncer does all its work with the rights of config/syncer (20)', async () => {
  configure(configOf([]))
  const syncer = await startSyncer()
  await using _ = syncer
  const hostObject = [HOST_NAME, ...ON_HOST] as const
  const virtualObject = ['database', ...IN_VIRTUAL] as const
  await apply(virtual, ALL_OBJECTS)
  await eachHas(host, hostObject, 'example.com/both', 'virtual')

  await annotateEach(host, hostObject, 'example.com/both=host')
  await eachHas(virtual, virtualObject, 'example.com/both', 'host')
  const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } } })
  const inStatus = ['--subresource=status', '--type=merge', '-p', status]
  await mustKubectl(host, ['patch', 'service', ...hostObject, ...inStatus])
  await eventually(
    'the status of the load balancer flows back',
    async () =>
      (await mustKubectl(virtual, ['get', 'svc', ...virtualObject, '-o', 'yaml'])).includes(
        '198.51.100.1',
      ) || undefined,
    BOUND,
  )
  await annotateEach(virtual, virtualObject, 'example.com/both=again')
  await eachHas(host, hostObject, 'example.com/both', 'again')

  configure(configOf([GROWING]))
  await eachHas(host, hostObject, NOT_STABLE)
  configure({ sync: 'none' })
  for (const [plane, reason] of [
    [host, 'ConfigInvalid'],
    [virtual, 'PatchNotStable'],
  ] as const)
    await eventually(
      `there is an Event ${reason}`,
      async () => (await mustKubectl(plane, ['get', 'events', '-A'])).includes(reason) || undefined,
      BOUND,
    )
  configure(configOf([]))
  for (const kind of KINDS.toReversed())
    await mustKubectl(virtual, ['delete', kind, ...virtualObject, '--ignore-not-found'])
  for (const kind of KINDS)
    await eventually(
      `${kind}/${HOST_NAME} is gone`,
      async () =>
        (await mustKubectl(host, ['get', kind, ...hostObject, '--ignore-not-found'])) === '' ||
        undefined,
      BOUND,
    )
  expect(await syncer.stop()).toEqual({ code: 0, signal: null })
  expect(refusedTo(host, HOST)).toEqual([])
  expect(refusedTo(virtual, VIRTUAL)).toEqual([])
})

interface Role {
  readonly rules: readonly Readonly<
    Record<'apiGroups' | 'resources' | 'verbs', readonly string[]>
  >[]
}

/** The rights that roles grant. */
const rightsOf = (roles: readonly Role[]): readonly string[] =>
  roles.flatMap(({ rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      verbs.flatMap((verb) =>
        resources.flatMap((resource) => apiGroups.map((group) => `${verb} ${resource}.${group}`)),
      ),
    ),
  )

/** The rights that an account had and used. */
const usedBy = (plane: OwnControlPlane, account: typeof HOST): ReadonlySet<string> =>
  new Set(
    requestsOf(plane, account)
      .filter(({ code }) => code !== 403)
      .map(({ right }) => right),
  )

/** An admission policy checks this right, which leaves no line in the audit log; a test below shows it. */
const CONFINE = 'confine tokensecrets.management.platform.sh'

/** Lists are for API servers without WatchList; a watch shows all that a get does (docs/endpoint-sync.md). */
const isSpare = (right: string, granted: readonly string[]): boolean =>
  /^(get|list) /.test(right) && granted.includes(right.replace(/^\w+/, 'watch'))

test.each([
  { side: 'host', plane: host, account: HOST, kustomization: 'syncer' },
  { side: 'virtual', plane: virtual, account: VIRTUAL, kustomization: 'syncer/virtual' },
])('it needs each right of the $side (20)', async ({ plane, account, kustomization }) => {
  const roles = objectsIn(await buildKustomization(plane, kustomization))
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .map((role) => role as unknown as Role)
  const granted = rightsOf(roles).filter((right) => right !== CONFINE)
  const used = usedBy(plane, account)
  expect(granted.filter((right) => !used.has(right) && !isSpare(right, granted))).toEqual([])
})

test('multi-namespace mode needs the components for it, and no more (17.5, 20)', async () => {
  const components = ['host-namespaces', 'host-namespaces-deletion']
  for (const name of components) await mustKubectl(host, ['apply', '-f', componentRoles(name)])
  await mustKubectl(virtual, ['apply', '-f', componentRoles('virtual-namespaces')])
  await mustKubectl(host, ['create', 'namespace', 'team-host'])
  await mustKubectl(virtual, ['create', 'namespace', 'team'])
  const namespaces = { enabled: true, mappings: { byName: { team: 'team-host' } } }
  configure({ sync: { toHost: { endpoints: { patches: REFERENCES }, namespaces } } })
  await using syncer = await startSyncer()
  const inHost = 'my-vc-x-shop'
  await apply(virtual, ALL_OBJECTS)
  await eachHas(host, ['database', '-n', inHost], 'example.com/both', 'virtual')
  await mustKubectl(virtual, ['delete', 'namespace', 'shop'])
  await eventually(
    'the host namespace is gone',
    async () =>
      (await mustKubectl(host, ['get', 'namespace', inHost, '--ignore-not-found'])) === '' ||
      undefined,
    { withinMs: 60_000 },
  )
  await syncer.stop()
  for (const name of components) await mustKubectl(host, ['delete', '-f', componentRoles(name)])
  expect(refusedTo(host, HOST)).toEqual([])
  expect(refusedTo(virtual, VIRTUAL)).toEqual([])
  const used = usedBy(host, HOST)
  const roles = components.flatMap((name) => objectsIn(readFileSync(componentRoles(name), 'utf8')))
  const onNamespaces = rightsOf(
    roles.filter(({ kind }) => kind === 'ClusterRole').map((role) => role as unknown as Role),
  ).filter((right) => right.endsWith(' namespaces.'))
  expect(onNamespaces.filter((right) => !used.has(right))).toEqual([])
})

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/endpoint-sync.md'), 'utf8')

/** The patch of the Role that names Secrets, as the page has it, for this virtual cluster. */
function documentedRole(): string {
  const [, block = ''] = /```yaml\n(patches:\n- target: \{kind: Role[^]*?)```/.exec(PAGE) ?? []
  const { patches } = parse(block) as { readonly patches: readonly { readonly patch: string }[] }
  return JSON.stringify(parse(patches[0]?.patch ?? '')).replaceAll('shop-vc', 'my-vc')
}

test('rights on Secrets can be limited to names that are known beforehand, as the page says (20)', async () => {
  const patch = ['--type=json', '-p', documentedRole()]
  await mustKubectl(host, ['patch', 'role', 'syncer', ...ON_HOST, ...patch])
  await mustKubectl(virtual, ['create', 'namespace', 'shop'])
  configure(configOf([]))
  const syncer = await startSyncer()
  await apply(virtual, ALL_OBJECTS)
  await eachHas(host, [HOST_NAME, ...ON_HOST], 'example.com/both', 'virtual')
  await syncer.stop()
  expect(refusedTo(host, HOST)).toEqual([])
  const kubeconfig = await host.serviceAccountKubeconfig(HOST.namespace, HOST.name)
  const watch = async (selector: string): Promise<string> => {
    const query = `watch=true&timeoutSeconds=1${selector}`
    const path = `/api/v1/namespaces/${HOST_NAMESPACE}/secrets?${query}`
    return (await host.kubectl(['get', '--raw', path], { kubeconfig })).stderr
  }
  await eventually(
    'a watch of all Secrets is refused',
    async () => (await watch('')).includes('Forbidden') || undefined,
    BOUND,
  )
  expect(await watch('&fieldSelector=metadata.name%3Dother')).toContain('Forbidden')
  expect(await watch(`&fieldSelector=metadata.name%3D${HOST_NAME}`)).toBe('')
})

test.each([
  { side: 'host', plane: host, account: HOST, code: 403 },
  { side: 'virtual cluster', plane: virtual, account: VIRTUAL, code: 403 },
])(
  'its account on the $side makes no Secret with a token (5.5)',
  async ({ plane, account, code }) => {
    const { namespace, name } = account
    const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
    const metadata = {
      name: 'stolen',
      annotations: { 'kubernetes.io/service-account.name': 'default' },
    }
    const secret = { metadata, type: 'kubernetes.io/service-account-token' }
    const path = `/api/v1/namespaces/${namespace}/secrets?dryRun=All`
    const answer = await plane.raw<{ readonly message: string }>('POST', path, secret, {
      kubeconfig,
    })
    expect(answer.code).toBe(code)
  },
)
