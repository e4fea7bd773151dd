// A comparator: an operator for access keys on the informer and the generated client of @kubernetes/client-node, as its
// documentation shows them. It does the same two writes to a new key as the product, and one at its end; it has no
// queue, no retry and no timers. `node bench/peers/client-node.ts <kubeconfig>` prints `ready` once it has listed.
import { readFileSync } from 'node:fs'
import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node'

/** An access key as JSON: client-node's own type of metadata is a class. */
interface Key {
  readonly metadata: {
    readonly name: string
    readonly generation: number
    readonly creationTimestamp: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly deletionTimestamp?: string
  }
  readonly spec?: { readonly user?: string }
}

const PLACE = { group: 'management.platform.sh', version: 'v1', plural: 'ownedaccesskeys' } as const
const PATH = `/apis/${PLACE.group}/${PLACE.version}/${PLACE.plural}`
const FINALIZER = 'management.platform.sh/revoke'
const CREATED = 'management.platform.sh/created'

const config = new KubeConfig()
const file = process.argv[2] ?? ''
config.loadFromFile(file)
// client-node ignores the field.
const tokenFile = /\btokenFile"?: "?([^"\s]+)/.exec(readFileSync(file, 'utf8'))?.[1]
const { clusters, contexts, users, currentContext } = config
config.loadFromOptions({
  clusters,
  contexts,
  currentContext,
  users: users.map((user) =>
    tokenFile === undefined ? user : { ...user, token: readFileSync(tokenFile, 'utf8').trim() },
  ),
})
const api = config.makeApiClient(CustomObjectsApi)

async function adopt(key: Key): Promise<void> {
  const name = key.metadata.name
  const metadata = {
    ...key.metadata,
    annotations: { ...key.metadata.annotations, [CREATED]: key.metadata.creationTimestamp },
    finalizers: [FINALIZER],
  }
  const body = (await api.replaceClusterCustomObject({
    ...PLACE,
    name,
    body: { ...key, metadata },
  })) as object
  const status = statusOf(key)
  await api.replaceClusterCustomObjectStatus({ ...PLACE, name, body: { ...body, status } })
}

function statusOf(key: Key): object {
  const generation = key.metadata.generation
  return {
    identity: `user:${key.spec?.user}`,
    observedGeneration: generation,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Active',
        message: 'The key works and never expires.',
        observedGeneration: generation,
        lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
      },
    ],
  }
}

async function release(key: Key): Promise<void> {
  const metadata = { ...key.metadata, finalizers: [] }
  const name = key.metadata.name
  await api.replaceClusterCustomObject({ ...PLACE, name, body: { ...key, metadata } })
}

function reconcile(object: KubernetesObject): void {
  const key = object as unknown as Key
  const isAdopted = key.metadata.finalizers?.includes(FINALIZER) === true
  const isDeleting = key.metadata.deletionTimestamp !== undefined
  const step = isDeleting && isAdopted ? release : !isDeleting && !isAdopted ? adopt : null
  step?.(key).catch((error: unknown) => console.error(String(error)))
}

const informer = makeInformer(config, PATH, async () => {
  const list = (await api.listClusterCustomObject(PLACE)) as { readonly items: KubernetesObject[] }
  return { ...list, apiVersion: `${PLACE.group}/${PLACE.version}`, kind: 'OwnedAccessKeyList' }
})
informer.on('add', reconcile)
informer.on('update', reconcile)
informer.on('error', (error: unknown) => {
  console.error(String(error))
  void informer.start()
})
await informer.start()
console.log('ready')
