// An API server in memory for what needs a clock that a test moves: objects by name with
// resourceVersions and their conflicts, nothing else. Whatever the real one decides is tested there.
import type { KubeObject } from '../../src/api/objects.ts'
import { StatusError } from '../../src/kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../src/kube/client/client.ts'

/** The objects, and where a test may come between a request and its answer. */
export interface MemoryApi {
  readonly objects: Map<string, KubeObject>
  /** A client of these objects. Each has its own line, which a test may cut. */
  client(line?: Line): KubeClient
}

/** What a request waits for on its way there and back; absent = nothing. Throw for a failed one. */
export interface Line {
  there?: (method: 'get' | 'create' | 'replace') => Promise<void>
  back?: () => Promise<void>
}

/** A line on which nothing arrives any more. */
export const silence = (): Promise<void> => new Promise(() => undefined)

/** An empty one. */
export function memoryApi(): MemoryApi {
  const objects = new Map<string, KubeObject>()
  let revision = 0
  const store = (object: NewObject | KubeObject, name: string): KubeObject => {
    revision += 1
    const given = { uid: name, creationTimestamp: '', ...object.metadata }
    const stored = { ...object, metadata: { ...given, name, resourceVersion: String(revision) } }
    objects.set(name, stored)
    return stored
  }
  const verbs = {
    get: (name: string) => objects.get(name) ?? null,
    create: (object: NewObject, name: string) => {
      if (objects.has(name)) throw failure(409, 'AlreadyExists')
      return store(object, name)
    },
    replace: (object: KubeObject, name: string) => {
      const { resourceVersion } = object.metadata
      if (objects.get(name)?.metadata.resourceVersion !== resourceVersion)
        throw failure(409, 'Conflict')
      return store(object, name)
    },
  }
  const client = (line: Line = {}): KubeClient => {
    const call = async <T>(
      method: 'get' | 'create' | 'replace',
      act: () => unknown,
    ): Promise<T> => {
      await line.there?.(method)
      const answer = act()
      await line.back?.()
      return answer as T
    }
    return {
      get: (_, { name }) => call('get', () => verbs.get(name)),
      create: (_, object) => call('create', () => verbs.create(object, object.metadata.name ?? '')),
      replace: (_, object) => call('replace', () => verbs.replace(object, object.metadata.name)),
      list: unsupported,
      watch: unsupported,
      apply: unsupported,
      patch: unsupported,
      delete: unsupported,
    }
  }
  return { objects, client }
}

const failure = (code: number, reason: string): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs: null, causes: 0 })

const unsupported = (): Promise<never> => Promise.reject(new Error('not in memory'))
