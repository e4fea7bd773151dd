// Secrets and ConfigMaps in memory as the API server keeps them: under one name once, with uids,
// creation times of its clock, and resourceVersions that every write must know.
import { type Resource, SECRETS } from '../../../../src/api/names.ts'
import type { ConfigMap, KubeObject, ObjectMeta, Secret } from '../../../../src/api/objects.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../../../src/kube/client/client.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'

/** Comes before or after a write; throws where the writer is to die there. */
export interface Line {
  there?: (write: string) => void
  back?: (write: string) => void
}

/** What a test says of an object; the rest stays as it was. */
export type Given = Partial<Omit<Secret & ConfigMap, 'metadata'>> & {
  readonly metadata?: Partial<ObjectMeta>
}

/** The objects, and who may write them. */
export interface Api {
  readonly secrets: ReadonlyMap<string, Secret>
  readonly maps: ReadonlyMap<string, ConfigMap>
  /** Puts an object there as somebody else; null takes it away. */
  readonly put: (resource: Resource, name: string, object: Given | null) => void
  /** @param writes takes each write done, such as `create Secret platform-signing-key-1` */
  readonly client: (line: Line, writes: string[]) => KubeClient
}

/** An empty one. */
export function apiWith(clock: Clock): Api {
  const secrets = new Map<string, Secret>()
  const maps = new Map<string, ConfigMap>()
  let revision = 0
  const mapOf = ({ kind }: Resource): Map<string, KubeObject> =>
    kind === SECRETS.kind ? secrets : maps
  const store = (resource: Resource, object: NewObject | KubeObject): KubeObject => {
    revision += 1
    const { name = '' } = object.metadata
    const creationTimestamp = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z/, 'Z')
    const namespace = 'platform-system'
    const given = { namespace, uid: `uid-${revision}`, creationTimestamp, ...object.metadata, name }
    const envelope = { apiVersion: 'v1', kind: resource.kind }
    const metadata = { ...given, resourceVersion: String(revision) }
    const stored = structuredClone({ ...envelope, ...object, metadata })
    mapOf(resource).set(name, stored)
    return stored
  }
  const expected = (resource: Resource, name: string, metadata: Partial<ObjectMeta>): void => {
    const there = mapOf(resource).get(name)?.metadata
    if (!there) throw failure(404, 'NotFound')
    const isSame = there.uid === metadata.uid && there.resourceVersion === metadata.resourceVersion
    if (!isSame) throw failure(409, 'Conflict')
  }
  const client = (line: Line, writes: string[]): KubeClient => {
    const write = async (
      verb: string,
      { kind }: Resource,
      name: string,
      act: () => KubeObject | null,
    ) => {
      const what = `${verb} ${kind} ${name}`
      line.there?.(what)
      const answer = act()
      writes.push(what)
      line.back?.(what)
      // The world decides the type, as the API server does.
      return structuredClone(answer) as never
    }
    return {
      get: (resource, { name }) =>
        Promise.resolve(structuredClone(mapOf(resource).get(name) ?? null) as never),
      create: (resource, object) =>
        write('create', resource, object.metadata.name ?? '', () => {
          if (mapOf(resource).has(object.metadata.name ?? '')) throw failure(409, 'AlreadyExists')
          return store(resource, object)
        }),
      replace: (resource, object) =>
        write('replace', resource, object.metadata.name, () => {
          expected(resource, object.metadata.name, object.metadata)
          return store(resource, object)
        }),
      delete: (resource, { name }, preconditions) =>
        write('delete', resource, name, () => {
          if (!mapOf(resource).has(name)) return null
          expected(resource, name, preconditions)
          mapOf(resource).delete(name)
          return null
        }),
      list: unsupported,
      watch: unsupported,
      apply: unsupported,
      patch: unsupported,
    }
  }
  return {
    secrets,
    maps,
    put: (resource, name, object) => {
      const before = mapOf(resource).get(name)
      mapOf(resource).delete(name)
      if (object === null) return
      const metadata = { ...before?.metadata, ...object.metadata, name }
      store(resource, { ...before, ...object, metadata } as KubeObject)
    },
    client,
  }
}

const unsupported = (): Promise<never> => Promise.reject(new Error('not in this world'))

const failure = (code: number, reason: string): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs: null, causes: 0 })
