// An API server in memory for the tests of signing in: objects of any kind with resourceVersions, conflicts and preconditions, and
// stores that hear of changes until a test makes them stale. Its rules of admission are tested on a real one.
import { expect } from 'vitest'
import type { Resource } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { KubeClient, PatchOperation } from '../../../src/kube/client/client.ts'
import type { StoreSink } from '../../../src/kube/informer/store.ts'
import { refused } from '../fake-kube-client.ts'

type Verb = 'get' | 'create' | 'replace' | 'patch' | 'delete'

/** A call, before it is answered. */
export interface MemoryCall {
  readonly verb: Verb
  readonly kind: string
  readonly name: string
}

type Sink = Pick<StoreSink, 'begin' | 'put' | 'remove' | 'end'>

/** The objects, and a client of them. */
export class MemoryCluster {
  readonly #objects = new Map<string, KubeObject>()
  readonly #sinks: { readonly kind: string; readonly sink: Sink }[] = []
  #revision = 0
  /** Every call so far, such as `create OwnedAccessKey login-a`. */
  readonly calls: string[] = []
  /** Runs before each call; throws to fail it. */
  before: (call: MemoryCall) => Promise<void> | void = () => undefined
  /** Whether stores hear of no change. */
  isStale = false
  readonly client: KubeClient

  constructor() {
    const call = async <T>(verb: Verb, { kind }: Resource, name: string, act: () => unknown) => {
      this.calls.push(`${verb} ${kind} ${name}`)
      await this.before({ verb, kind, name })
      return act() as T
    }
    this.client = {
      get: (resource, { name }) =>
        call('get', resource, name, () => this.object(resource.kind, name) ?? null),
      create: (resource, object) => {
        const name = object.metadata.name ?? ''
        return call('create', resource, name, () => {
          if (this.object(resource.kind, name)) throw refused(409, 'AlreadyExists')
          return this.put({ ...object, kind: resource.kind } as KubeObject)
        })
      },
      replace: (resource, object) =>
        call('replace', resource, object.metadata.name, () => {
          const { name, resourceVersion } = object.metadata
          const stored = this.#existing(resource.kind, name)
          if (stored.metadata.resourceVersion !== resourceVersion) throw refused(409, 'Conflict')
          return this.put({ ...object, kind: resource.kind })
        }),
      patch: (resource, { name }, operations) =>
        call('patch', resource, name, () =>
          this.put(patched(this.#existing(resource.kind, name), operations)),
        ),
      delete: (resource, { name }, { uid, resourceVersion }) =>
        call('delete', resource, name, () => {
          const { metadata } = this.object(resource.kind, name) ?? {}
          if (metadata === undefined) return null
          const isOther =
            (uid ?? metadata.uid) !== metadata.uid ||
            (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
          if (isOther) throw refused(409, 'Conflict')
          this.remove(resource.kind, name)
          return null
        }),
      list: notOffered,
      watch: notOffered,
      apply: notOffered,
    }
  }

  /** An object; undefined = it does not exist. */
  object(kind: string, name: string): KubeObject | undefined {
    return this.#objects.get(`${kind} ${name}`)
  }

  /** All objects of a kind. */
  all(kind: string): readonly KubeObject[] {
    return [...this.#objects.values()].filter((object) => object.kind === kind)
  }

  /** Writes an object, whatever is there. */
  put(object: Pick<KubeObject, 'kind' | 'metadata'> & object): KubeObject {
    this.#revision += 1
    const { name } = object.metadata
    const metadata = {
      ...object.metadata,
      uid: object.metadata.uid ?? `uid-${name}-${this.#revision}`,
      resourceVersion: String(this.#revision),
    }
    const stored = structuredClone({ apiVersion: 'v1', ...object, metadata }) as KubeObject
    this.#objects.set(`${object.kind} ${name}`, stored)
    this.#tell(object.kind, (sink) => sink.put(stored))
    return structuredClone(stored)
  }

  /** Removes an object, if it is there. */
  remove(kind: string, name: string): void {
    const object = this.object(kind, name)
    if (object === undefined) return
    this.#objects.delete(`${kind} ${name}`)
    this.#tell(kind, (sink) => sink.remove(object))
  }

  /** Tells a store of the objects of a kind, now and whenever one changes. */
  feed(kind: string, sink: Sink): void {
    sink.begin()
    for (const object of this.all(kind)) sink.put(object)
    sink.end()
    this.#sinks.push({ kind, sink })
  }

  #tell(kind: string, tell: (sink: Sink) => void): void {
    if (this.isStale) return
    for (const { kind: fed, sink } of this.#sinks) if (fed === kind) tell(sink)
  }

  #existing(kind: string, name: string): KubeObject {
    const object = this.object(kind, name)
    if (object === undefined) throw refused(404, 'NotFound')
    return object
  }
}

const notOffered = (): Promise<never> => Promise.reject(new Error('this client has no such verb'))

/** The object after a JSON patch of `test` and `add`. */
function patched(object: KubeObject, operations: readonly PatchOperation[]): KubeObject {
  const copy = structuredClone(object)
  for (const { op, path, value } of operations) {
    const names = path
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/'))
    const last = names.pop() ?? ''
    const parent = names.reduce<Record<string, unknown>>(
      (one, name) => one[name] as Record<string, unknown>,
      copy as never,
    )
    if (op === 'test' && parent[last] !== value) throw refused(422, 'Invalid')
    expect(['test', 'add']).toContain(op)
    if (op === 'add') parent[last] = structuredClone(value)
  }
  return copy
}
