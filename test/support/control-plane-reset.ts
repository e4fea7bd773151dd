// Resets a control plane: deletes what a test file created, and restores what it changed or deleted. So
// test files can use one control plane in turn, without starting a new one for each.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteInEtcd } from './etcd-values.ts'
import { eventually } from './eventually.ts'
import { type Coordinates, policiesBind } from './installed-control-plane.ts'
import type { Raw } from './raw-client.ts'

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
}

interface StoredObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion?: string
    readonly finalizers?: readonly string[]
    readonly managedFields?: readonly ManagedFields[] | undefined
  }
}

interface ObjectList {
  /** Absent once the kind is deleted. */
  readonly items?: readonly StoredObject[]
}

interface Resource {
  /** URL path of the collection, across namespaces. */
  readonly path: string
  readonly plural: string
  readonly namespaced: boolean
}

/** Objects by the path of each. */
type State = Readonly<Record<string, StoredObject>>

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources: readonly {
        readonly resource: string
        readonly scope: 'Cluster' | 'Namespaced'
        readonly verbs: readonly string[]
      }[]
    }[]
  }[]
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const ADMISSION = '/apis/admissionregistration.k8s.io/'
const EVENTS = 'events'
/** What files leave by the hundred: Events, and objects of the product. */
const MANY = /^\/api\/v1\/namespaces\/[^/]+\/events\/|^\/apis\/management\.platform\.sh\//
const NAMESPACE = /^\/api\/v1\/namespaces\/([^/]+)$/
/** Objects that the servers maintain themselves, and second views of the same objects. */
const OF_SERVERS =
  /^\/apis\/(events\.k8s\.io|apiregistration\.k8s\.io|flowcontrol\.apiserver\.k8s\.io)\/|\/(componentstatuses|ipaddresses|servicecidrs)$/
const LEASE_OF_SERVERS = /\/namespaces\/kube-[^/]+\/leases\//
const AT_ONCE = 16
const REMOVED = { withinMs: 30_000 }

/** Records in the data folder the state that `reset` restores: all current objects. */
export async function recordState(
  { dataDir }: Pick<Coordinates, 'dataDir'>,
  raw: Raw,
): Promise<void> {
  await writeFile(fileOf(dataDir), JSON.stringify(await stateOf(raw)))
}

/**
 * Restores the recorded state, policies included. Nothing else may write meanwhile.
 *
 * @throws Error that names what can't be restored, or still exists after 30 s
 */
export async function reset(
  { dataDir, adminKubeconfig }: Pick<Coordinates, 'dataDir' | 'adminKubeconfig'>,
  raw: Raw,
): Promise<void> {
  const noted = JSON.parse(await readFile(fileOf(dataDir), 'utf8')) as State
  const now = await stateOf(raw)
  const isAdmission = (path: string): boolean => path.startsWith(ADMISSION)
  const extra = Object.keys(now).filter((path) => !(path in noted))
  // Policies and webhooks first: they might reject the rest.
  await mapEach(extra.filter(isAdmission), (path) => remove(raw, path))
  const changed = Object.keys(noted).filter(
    (path) =>
      contentOf(now[path]) !== contentOf(noted[path]) ||
      ownersOf(now[path]) !== ownersOf(noted[path]),
  )
  await mapEach(changed, (path) => putBack(raw, path, noted[path]))
  if ([...extra, ...changed].some(isAdmission)) await policiesAreRead(raw)
  if (changed.some(isAdmission)) await policiesBind({ adminKubeconfig })
  // Before its objects: in a terminating namespace no controller creates another one.
  await mapEach(extra.filter(isNamespace), (path) => raw('DELETE', path))
  const left = new Set(await withoutMany({ dataDir }, raw, extra, noted))
  await eventually(
    'what the last file left is gone',
    async () => {
      const removeAll = (paths: readonly string[]) =>
        mapEach(paths, async (path) => {
          if (await remove(raw, path)) left.delete(path)
        })
      await removeAll([...left].filter((path) => !isNamespace(path)))
      // Last: in a namespace that is gone, the API server lets nobody remove a finalizer.
      if ([...left].every(isNamespace)) await removeAll([...left])
      if (left.size > 0) throw new Error([...left].slice(0, 10).join(', '))
      return true
    },
    REMOVED,
  )
}

const isNamespace = (path: string): boolean => NAMESPACE.test(path)

const fileOf = (dataDir: string): string => join(dataDir, 'state.json')

async function stateOf(raw: Raw): Promise<State> {
  const lists = await mapEach(await resources(raw), async (resource) => {
    const { code, body } = await eventually(
      `a list of ${resource.path}`,
      async () => {
        const answer = await raw<ObjectList>('GET', resource.path)
        // A kind whose storage the API server is still setting up.
        return answer.code === 429 ? undefined : answer
      },
      REMOVED,
    )
    // A kind that is being deleted, or was deleted just now.
    if (code === 404) return []
    if (code !== 200) throw new Error(`list of ${resource.path}: ${code} ${JSON.stringify(body)}`)
    return (body.items ?? []).map((object): [string, StoredObject] => [
      pathOf(resource, object),
      object,
    ])
  })
  return Object.fromEntries(lists.flat().filter(([path]) => !LEASE_OF_SERVERS.test(path)))
}

async function resources(raw: Raw): Promise<readonly Resource[]> {
  const found: Resource[] = []
  for (const root of ['/api', '/apis']) {
    const { body } = await raw<Discovery>('GET', root, undefined, {
      headers: { accept: AGGREGATED },
    })
    for (const { metadata, versions } of body.items) {
      const [preferred] = versions
      const prefix = [root, metadata.name, preferred?.version].filter(Boolean).join('/')
      for (const { resource: plural, scope, verbs } of preferred?.resources ?? []) {
        const path = `${prefix}/${plural}`
        if (!verbs.includes('list') || !verbs.includes('delete') || OF_SERVERS.test(path)) continue
        found.push({ path, plural, namespaced: scope === 'Namespaced' })
      }
    }
  }
  return found
}

function pathOf({ path, plural, namespaced }: Resource, { metadata }: StoredObject): string {
  const at = path.slice(0, -plural.length)
  const name = encodeURIComponent(metadata.name)
  return namespaced ? `${at}namespaces/${metadata.namespace}/${plural}/${name}` : `${path}/${name}`
}

/** The fields that a reset restores, without the fields that the server itself writes. */
function contentOf(object: StoredObject | undefined): string | undefined {
  if (object === undefined) return undefined
  const { metadata, ...rest } = object
  const { name, namespace } = metadata
  const own = {
    ...metadata,
    name,
    namespace,
    uid: undefined,
    resourceVersion: undefined,
    generation: undefined,
    creationTimestamp: undefined,
    managedFields: undefined,
  }
  return JSON.stringify({ ...rest, status: undefined, metadata: own })
}

/** The field managers, without those of subresources: a later apply would conflict with another manager. */
const ownersOf = (object: StoredObject | undefined): string =>
  JSON.stringify(
    (object?.metadata.managedFields ?? [])
      .filter(({ subresource }) => subresource === undefined)
      .map(({ manager, operation }) => `${operation} ${manager}`)
      .toSorted(),
  )

async function putBack(raw: Raw, path: string, object: StoredObject | undefined): Promise<void> {
  const wanted = JSON.parse(contentOf(object) ?? 'null') as StoredObject
  const { code, body } = await raw<StoredObject>('GET', path)
  const answer =
    code === 404
      ? await raw<StoredObject>('POST', collectionOf(path), wanted)
      : await replaced(raw, path, wanted, body.metadata.resourceVersion)
  // The server keeps the managedFields of a request only when nothing else changes.
  const { metadata } = answer.body
  const { managedFields } = object?.metadata ?? {}
  const owned =
    answer.code < 300
      ? await replaced(
          raw,
          path,
          { ...wanted, metadata: { ...wanted.metadata, managedFields } },
          metadata.resourceVersion,
        )
      : answer
  if (owned.code >= 300) {
    throw new Error(`${path} is not put back: ${owned.code} ${JSON.stringify(owned.body)}`)
  }
}

const replaced = (raw: Raw, path: string, object: StoredObject, resourceVersion = '') =>
  raw<StoredObject>('PUT', path, { ...object, metadata: { ...object.metadata, resourceVersion } })

/**
 * Deletes whole collections of Events and of the product's kinds in etcd: by the API server each object would be three
 * requests, as they have finalizers and policies. Returns the other objects.
 */
async function withoutMany(
  { dataDir }: Pick<Coordinates, 'dataDir'>,
  raw: Raw,
  extra: readonly string[],
  noted: State,
): Promise<readonly string[]> {
  const collections = new Set(extra.filter((path) => MANY.test(path)).map(collectionOf))
  for (const path of Object.keys(noted)) collections.delete(collectionOf(path))
  await deleteInEtcd({ dataDir }, [...collections].map(etcdPrefixOf))
  await eventually(
    'the API server has read the deletions',
    async () => {
      const lists = await mapEach([...collections], (path) => raw<ObjectList>('GET', path))
      return lists.every(({ body }) => (body.items ?? []).length === 0) || undefined
    },
    REMOVED,
  )
  return extra.filter((path) => !collections.has(collectionOf(path)))
}

const collectionOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))

/** Where the API server stores a collection of Events or of the product's kinds. */
function etcdPrefixOf(collection: string): string {
  const [plural, second, third] = collection.split('/').toReversed()
  if (plural === EVENTS) return `/registry/events/${second}/`
  const group = collection.split('/')[2]
  return third === 'namespaces'
    ? `/registry/${group}/${plural}/${second}/`
    : `/registry/${group}/${plural}/`
}

/** Deletes an object with its finalizers, and finalizes a namespace. Returns whether it is gone. */
async function remove(raw: Raw, path: string): Promise<boolean> {
  const { code, body } = await raw<Partial<StoredObject>>('DELETE', `${path}?gracePeriodSeconds=0`)
  if (code === 404) return true
  if (body.metadata?.finalizers?.length) await raw('PATCH', path, WITHOUT_FINALIZERS)
  const name = NAMESPACE.exec(path)?.[1]
  if (name !== undefined) {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
    await raw('PUT', `${path}/finalize`, { ...namespace, spec: { finalizers: [] } })
  }
  // The response of an immediate deletion is a Status, or the former object.
  return (await raw('GET', path)).code === 404
}

const WITHOUT_FINALIZERS = { metadata: { finalizers: null } }

/**
 * Waits until the server has read the current policies: it reads all at once, so it has when it enforces
 * one created now.
 */
async function policiesAreRead(raw: Raw): Promise<void> {
  const name = 'reset.test'
  const policies = `${ADMISSION}v1/validatingadmissionpolicies`
  const bindings = `${ADMISSION}v1/validatingadmissionpolicybindings`
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
  const matchConstraints = { resourceRules: [{ ...rule, operations: ['CREATE'] }] }
  const expression = `object.metadata.name != '${name}'`
  await raw('POST', policies, {
    metadata: { name },
    spec: { matchConstraints, validations: [{ expression }] },
  })
  await raw('POST', bindings, {
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  })
  const configMap = { metadata: { name } }
  await eventually(
    'the policies are read',
    async () => {
      const { code } = await raw(
        'POST',
        '/api/v1/namespaces/default/configmaps?dryRun=All',
        configMap,
      )
      return code === 422 || undefined
    },
    REMOVED,
  )
  for (const kind of [bindings, policies]) await raw('DELETE', `${kind}/${name}`)
}

/** A few at a time, in order. */
async function mapEach<T, R>(all: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < all.length; at += AT_ONCE) {
    results.push(...(await Promise.all(all.slice(at, at + AT_ONCE).map(act))))
  }
  return results
}
