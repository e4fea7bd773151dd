// A virtual cluster with its syncers for one test file: names of its own on both clusters, which are cleaned up at the
// end. A syncer syncs the whole virtual cluster, so files run one at a time.
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject } from 'vitest'
import { ENDPOINTS, LEASES, SERVICES } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { SYNCED_KINDS } from '../../src/sync/objects/synced-kinds.ts'
import { type HostPlace, hostNameOf } from '../../src/sync/objects/host-name.ts'
import { type AuditedWrite, type Mark, auditOf } from './audit-log.ts'
import { type OwnProcess, startServing } from './command-process.ts'
import {
  type OwnControlPlane,
  type TestControlPlane,
  ownedControlPlane,
  reachedControlPlane,
} from './control-plane.ts'
import { eventually } from './eventually.ts'
import { isIdle, metric } from './metrics-page.ts'
import { uniqueName } from './object-builder.ts'
import { sweepNamespace } from './sync-namespaces.ts'
import {
  type Pair,
  SYNCER_USER,
  type SyncCoordinates,
  bindSyncer,
  make,
  startSyncPlanes,
  withSyncers,
} from './sync-planes.ts'
import { type Ref, type SeenObject, SOON, type Side, createPair, sideOf } from './sync-side.ts'

/** A cluster of endpoint sync, as a test file sees it. */
export type SyncPlane = TestControlPlane &
  Pick<SyncCoordinates, 'syncerKubeconfig'> & {
    /** Whether other test files share it, so that each must remove its objects. */
    readonly isShared: boolean
  }

/** The clusters of project `sync`. Call it while the test file loads. */
export async function syncPlanes(): Promise<Pair<SyncPlane>> {
  const { virtual, host } = inject('syncPlanes')
  return {
    virtual: { ...virtual, ...(await reachedControlPlane(virtual)), isShared: true },
    host: { ...host, ...(await reachedControlPlane(host)), isShared: true },
  }
}

/**
 * Two clusters of the test file's own, to be broken. Call it while the test file loads, in project `sync-own`.
 *
 * @param flags more flags of their API servers
 */
export async function ownSyncPlanes(
  flags: Partial<Pair<readonly string[]>> = {},
): Promise<Pair<SyncPlane & OwnControlPlane>> {
  const planes = await startSyncPlanes(flags)
  const owned = {
    virtual: await ownedControlPlane(planes.virtual),
    host: await ownedControlPlane(planes.host),
  }
  const { virtual, host } = await withSyncers(planes)
  return {
    virtual: { ...virtual, ...owned.virtual, isShared: false },
    host: { ...host, ...owned.host, isShared: false },
  }
}

/** How to start a syncer. */
interface SyncerOptions {
  readonly flags?: readonly string[]
  /** In place of the kubeconfigs of the accounts, such as one that leads through a proxy. */
  readonly kubeconfigs?: Partial<Pair<string>>
  readonly until?: 'ready' | 'serving'
}

/** A running syncer. */
export interface Syncer extends OwnProcess {
  /** SIGKILL, and an end of its Lease, so that another one leads at once. */
  crash(): Promise<void>
}

/** Writes of the syncers in both clusters, without Events and Leases, such as `update endpoints a-x-b-x-c`. */
export type Writes = Pair<readonly string[]>

/** The virtual cluster of a test file. */
export interface SyncWorld {
  readonly virtualCluster: string
  readonly hostNamespace: string
  /** Path of the configuration file. */
  readonly configFile: string
  /** Both clusters for the admin. */
  readonly virtual: Side
  readonly host: Side
  /** The virtual cluster's own Service. */
  readonly ownService: Ref
  /** Creates a namespace in the virtual cluster, of this name or any, and deletes it at the end. */
  readonly namespace: (named?: string) => Promise<string>
  /** The namespace and name of the object on the host. */
  readonly hostRef: (virtual: Ref) => Ref
  /** Writes the configuration file; an object is what stands below `sync.toHost`. */
  readonly configure: (toHost: object | string) => Promise<void>
  /** As `configure` while the syncer runs; resolves when it has read the file. */
  readonly reconfigure: (syncer: Syncer, toHost: object) => Promise<void>
  /** Starts a syncer, and stops it at the end. Resolves when it is ready, which a standby is too. */
  readonly start: (options?: SyncerOptions) => Promise<Syncer>
  /** Waits until the syncer has done all that it can have learned of by now, from either cluster. */
  readonly caughtUp: (syncer: Syncer) => Promise<void>
  /** Starts to count. */
  readonly mark: () => Promise<Pair<Mark>>
  /** The writes of syncers since the mark, without the objects of `caughtUp`. */
  readonly writesSince: (mark: Pair<Mark>) => Promise<Writes>
}

/** The writes of a syncer that is at rest. */
export const NO_WRITES: Writes = { virtual: [], host: [] }

const FENCE = 'fence'

/** The names of a virtual cluster, and its configuration file. */
type WorldNames = Pick<
  SyncWorld,
  'virtualCluster' | 'hostNamespace' | 'ownService' | 'configFile' | 'hostRef'
>

/**
 * A virtual cluster with a name, a host namespace and an own Service of its own. Call it while the test file loads.
 *
 * @param toHost the configuration below `sync.toHost` to begin with
 */
export async function syncWorld(planes: Pair<SyncPlane>, toHost: object = {}): Promise<SyncWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'sync-world-'))
  const names = worldNames(join(folder, 'vcluster.yaml'))
  const { hostNamespace, ownService, configFile } = names
  const [virtual, host] = [sideOf(planes.virtual.raw), sideOf(planes.host.raw)]
  const namespaces: string[] = []
  const syncers: OwnProcess[] = []
  await createNamespace(planes.host, hostNamespace)
  await bindSyncer(planes.host.raw, hostNamespace)
  await host.create(SERVICES, ownService, { spec: { ports: [{ name: 'https', port: 443 }] } })
  const configure: SyncWorld['configure'] = (below) => writeConfig(configFile, below)
  await configure(toHost)
  afterAll(async () => {
    await Promise.all(syncers.map((syncer) => syncer.stop()))
    const { virtual: inVirtual, host: onHost } = planes
    await Promise.all([
      ...(onHost.isShared ? [sweepNamespace(onHost.raw, hostNamespace)] : []),
      ...(inVirtual.isShared ? namespaces.map((one) => sweepNamespace(inVirtual.raw, one)) : []),
    ])
    await rm(folder, { recursive: true })
  })
  const namespace = async (name = uniqueName('ns')): Promise<string> => {
    await createNamespace(planes.virtual, name)
    namespaces.push(name)
    return name
  }
  const sides = { ...names, virtual, host, namespace }
  return {
    ...sides,
    configure,
    reconfigure: async (syncer, below) => {
      const before = timesRead(syncer)
      await configure(below)
      await eventually('it is read', () => timesRead(syncer) > before || undefined, SOON)
    },
    start: async (options = {}) => {
      const syncer = await startSyncer(planes, names, options)
      syncers.push(syncer)
      return syncer
    },
    caughtUp: fencesOf(sides),
    ...auditsOf(planes),
  }
}

function worldNames(configFile: string): WorldNames {
  const virtualCluster = uniqueName('vc')
  const hostNamespace = uniqueName('host')
  const place: HostPlace = { virtualCluster, hostNamespace, namespaces: null }
  return {
    virtualCluster,
    hostNamespace,
    ownService: { namespace: hostNamespace, name: virtualCluster },
    configFile,
    hostRef: (ref) => hostNameOf(ref, place),
  }
}

/** The syncer never reads a half of it. */
async function writeConfig(path: string, below: object | string): Promise<void> {
  const text = typeof below === 'string' ? below : JSON.stringify({ sync: { toHost: below } })
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

async function startSyncer(
  { virtual, host }: Pair<SyncPlane>,
  { virtualCluster, hostNamespace, ownService, configFile }: WorldNames,
  { flags = [], kubeconfigs = {}, until }: SyncerOptions,
): Promise<Syncer> {
  const running = await startServing('syncer', {
    ...(until === undefined ? {} : { until }),
    flags: [
      `--virtual-kubeconfig=${kubeconfigs.virtual ?? virtual.syncerKubeconfig}`,
      `--host-kubeconfig=${kubeconfigs.host ?? host.syncerKubeconfig}`,
      `--virtual-cluster=${virtualCluster}`,
      `--host-namespace=${hostNamespace}`,
      `--service-name=${ownService.name}`,
      `--config=${configFile}`,
      ...flags,
    ],
  })
  const crash = async (): Promise<void> => {
    running.kill('SIGKILL')
    await running.exited
    const lease = { namespace: hostNamespace, name: `syncer-${virtualCluster}` }
    await host.raw('DELETE', pathOf(LEASES, lease))
  }
  return { ...running, crash }
}

function fencesOf(
  world: Pick<SyncWorld, 'virtual' | 'host' | 'hostRef' | 'namespace'>,
): SyncWorld['caughtUp'] {
  const namespaceOfAll = once(() => world.namespace())
  const pass = async (syncer: Syncer): Promise<void> => {
    await passFence(world, { namespace: await namespaceOfAll(), name: uniqueName(FENCE) })
    await atRest(syncer)
  }
  const passes = new Map<Syncer, () => Promise<void>>()
  return (syncer) => {
    const shared = passes.get(syncer) ?? sharedRuns(() => pass(syncer))
    passes.set(syncer, shared)
    return shared()
  }
}

/** Runs one after the other. Calls that come during one share the next, which begins after each of them. */
function sharedRuns(run: () => Promise<void>): () => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | null = null
  return () => {
    next ??= last.then(() => {
      next = null
      return run()
    })
    last = next.catch(() => undefined)
    return next
  }
}

function once<T>(first: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => (made ??= first())
}

function auditsOf(planes: Pair<SyncPlane>): Pick<SyncWorld, 'mark' | 'writesSince'> {
  const [virtual, host] = [auditOf(planes.virtual), auditOf(planes.host)]
  const bySyncers = { user: SYNCER_USER }
  return {
    mark: async () => ({ virtual: await virtual.mark(), host: await host.mark() }),
    writesSince: async (mark) => ({
      virtual: namesOf(await virtual.writesSince(mark.virtual, bySyncers)),
      host: namesOf(await host.writesSince(mark.host, bySyncers)),
    }),
  }
}

const timesRead = (syncer: Syncer): number =>
  syncer.logs().filter(({ msg }) => msg === 'the configuration has changed').length

const createNamespace = ({ raw }: TestControlPlane, name: string): Promise<void> =>
  make(raw, '/api/v1/namespaces', { metadata: { name } })

const namesOf = (writes: readonly AuditedWrite[]): readonly string[] =>
  writes
    .filter(
      ({ resource, name }) => !/^(?:leases|events)$/.test(resource) && !name.startsWith(FENCE),
    )
    .map(({ verb, resource, subresource, name }) =>
      [verb, [resource, subresource].filter(Boolean).join('/'), name].filter(Boolean).join(' '),
    )

/**
 * A Service and Endpoints go to the host, and are created again there after a user has deleted them. What happened in
 * either cluster before is known to the syncer then: events of a kind come in order.
 */
async function passFence(
  { virtual, host, hostRef }: Pick<SyncWorld, 'virtual' | 'host' | 'hostRef'>,
  ref: Ref,
): Promise<void> {
  await createPair(virtual, ref, '10.9.9.9')
  const onHost = hostRef(ref)
  // In this order: with a Service its Endpoints go, too, by the host's controller.
  for (const resource of [ENDPOINTS, SERVICES]) {
    const { metadata } = await host.shows(resource, onHost, {})
    await host.remove(resource, onHost)
    await host.until(
      resource,
      onHost,
      'is created again',
      (now) => now.metadata.uid !== metadata.uid,
    )
  }
}

/** Waits until no key is reconciled, or waits to be. Those that wait for their back-off are none of them. */
const atRest = (syncer: Syncer): Promise<true> =>
  eventually(
    'the syncer is at rest',
    async () =>
      (await isIdle(syncer, ...[...SYNCED_KINDS, 'imports'].map(controllerOf))) || undefined,
    SOON,
  )

const controllerOf = (kind: string): string => `sync-${kind.toLowerCase()}`

/** Waits until this syncer leads. */
export const leads = (syncer: Syncer): Promise<true> =>
  eventually(
    'the syncer leads',
    async () => (await metric(syncer, 'leader_election_master_status')) === 1 || undefined,
    SOON,
  )

/** Asserts that the object is as it was, byte for byte: nothing has written it. */
export async function expectUntouched(
  side: Side,
  resource: Parameters<Side['get']>[0],
  before: SeenObject,
): Promise<void> {
  expect(await side.get(resource, before.metadata)).toEqual(before)
}

/** Asserts that all that syncers have written in the virtual cluster since is fields that flow back. */
export async function expectOnlyFlows(
  world: Pick<SyncWorld, 'writesSince'>,
  since: Pair<Mark>,
): Promise<void> {
  const { virtual } = await world.writesSince(since)
  expect(virtual.filter((write) => !/^(?:update \w+|patch services\/status) /.test(write))).toEqual(
    [],
  )
}
