// A store of things, and what it says of them.
import type { KubeObject } from '../../../../src/api/objects.ts'
import { type CachedObject, type StoreChange, Store } from '../../../../src/kube/informer/store.ts'

interface Thing extends CachedObject {
  readonly owner: string | null
}

const project = ({ metadata, spec }: KubeObject): Thing => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  owner: (spec as { readonly owner?: string } | undefined)?.owner ?? null,
})

/** `thing('a', 5)` is a@5, cluster-scoped; another uid, owner or namespace where it matters. */
export const thing = (
  name: string,
  version: number,
  { uid = `${name}-uid`, owner = '', namespace = '' } = {},
): KubeObject => ({
  apiVersion: 'g/v1',
  kind: 'Thing',
  metadata: {
    name,
    ...(namespace === '' ? {} : { namespace }),
    uid,
    resourceVersion: String(version),
    creationTimestamp: '',
  },
  ...(owner === '' ? {} : { spec: { owner } }),
})

/** A store with what it said since it was last asked, such as `a 1>2` or, of a listing, `-b 1> *`. */
export function stage(present: readonly KubeObject[] = []) {
  const store = new Store(project, { owner: ({ owner }) => owner })
  const told: string[] = []
  store.subscribe(({ key, before, after, listed }: StoreChange<Thing>) => {
    const versions = `${before?.resourceVersion ?? ''}>${after?.resourceVersion ?? ''}`
    told.push(`${key} ${versions}${listed ? ' listed' : ''}`)
  })
  const list = (...objects: readonly KubeObject[]): void => {
    store.begin()
    for (const object of objects) store.put(object)
    store.end()
  }
  if (present.length > 0) list(...present)
  told.length = 0
  return {
    store,
    list,
    told,
    world: () => [...store.values()].map((item) => `${item.name}@${item.resourceVersion}`),
    owned: (owner: string) => store.by('owner', owner).map(({ name }) => name),
  }
}

export type Stage = ReturnType<typeof stage>
