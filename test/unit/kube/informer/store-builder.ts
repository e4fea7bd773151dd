// A store of Things that records its change notifications.
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

/** A store that holds these objects, and its changes since then, such as `a 1>2` or `b 1> listed`. */
export function storeWith(present: readonly KubeObject[] = []) {
  const store = new Store(project, { owner: ({ owner }) => owner })
  const changes: string[] = []
  store.subscribe(({ key, before, after, listed }: StoreChange<Thing>) => {
    const versions = `${before?.resourceVersion ?? ''}>${after?.resourceVersion ?? ''}`
    changes.push(`${key} ${versions}${listed ? ' listed' : ''}`)
  })
  const list = (...objects: readonly KubeObject[]): void => {
    store.begin()
    for (const object of objects) store.put(object)
    store.end()
  }
  if (present.length > 0) list(...present)
  changes.length = 0
  return {
    store,
    list,
    changes,
    objects: () => [...store.values()].map((item) => `${item.name}@${item.resourceVersion}`),
    namesOwnedBy: (owner: string) => store.by('owner', owner).map(({ name }) => name),
  }
}

export type ObservedStore = ReturnType<typeof storeWith>
