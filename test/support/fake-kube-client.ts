// Clients of an API server that is not there: one records writes, one keeps objects in memory. And a list of revoked
// tokens that records requests.
import type { Resource } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import type { RevocationList } from '../../src/revocation/revocation-list.ts'
import { NOTHING_OVERDUE } from '../../src/domain/time.ts'
import { StatusError } from '../../src/kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../../src/kube/client/client.ts'

/** A recorded write. */
export interface RecordedRequest {
  readonly verb: 'apply' | 'patch' | 'delete'
  readonly kind: string
  /** The object, the operations or the preconditions. */
  readonly body: unknown
  /** The reason label of metrics. */
  readonly reason: string
  readonly name: string
  readonly subresource?: 'status'
}

/** The client's responses; by default no object exists, and an apply echoes. */
export type Answers = Partial<Pick<KubeClient, 'get' | 'apply' | 'patch' | 'delete'>>

/** A client that records each write, and then answers. */
export function recordingClient(answers: Answers = {}): {
  readonly client: KubeClient
  readonly asked: RecordedRequest[]
} {
  const asked: RecordedRequest[] = []
  const nothing = (): Promise<never> => Promise.resolve(null as never)
  const echo: KubeClient['apply'] = (_, object) => Promise.resolve(object as never)
  const { get = nothing, apply = echo, patch = nothing, delete: remove = nothing } = answers
  const remember = (
    verb: RecordedRequest['verb'],
    { kind }: Resource,
    name: string,
    body: unknown,
    reason: string,
    subresource?: 'status',
  ): void =>
    void asked.push({ verb, kind, name, body, reason, ...(subresource ? { subresource } : {}) })
  const client: KubeClient = {
    get,
    apply: (resource, body, reason, subresource) => {
      const { name } = body.metadata
      remember('apply', resource, name, body, reason, subresource)
      return apply(resource, body, reason, subresource)
    },
    patch: (resource, { name }, body, reason) => {
      remember('patch', resource, name, body, reason)
      return patch(resource, { name }, body, reason)
    },
    delete: (resource, { name }, body, reason) => {
      remember('delete', resource, name, body, reason)
      return remove(resource, { name }, body, reason)
    },
    list: notOffered,
    watch: notOffered,
    create: notOffered,
    replace: notOffered,
  }
  return { client, asked }
}

const notOffered = (): Promise<never> => Promise.reject(new Error('this client has no such verb'))

/** The API server's refusal. */
export const refused = (code: number, reason: string): StatusError =>
  new StatusError({ code, reason, message: reason, retryAfterMs: null, isTestFailed: code === 422 })

/** A list of revoked tokens whose records a test stores. */
export interface RecordedRevocations {
  readonly revocations: RevocationList
  /** Requested records, with the expiry of each. */
  readonly asked: Map<string, number>
  readonly stored: Set<string>
  /** Why the last write failed. */
  fault: string | null
  /** How long the missing ones have been requested. */
  askedForMs: number
}

/** An empty list without faults. */
export function recordedRevocations(): RecordedRevocations {
  const asked = new Map<string, number>()
  const stored = new Set<string>()
  const records: RecordedRevocations = {
    asked,
    stored,
    fault: null,
    askedForMs: 0,
    revocations: {
      has: (jti) => stored.has(jti),
      record: (jti, expiresMs) => void asked.set(jti, expiresMs),
      backlog: () => NOTHING_OVERDUE,
      countAt: () => stored.size,
      requestedForMs: (jti) => (asked.has(jti) && !stored.has(jti) ? records.askedForMs : null),
      fault: () => records.fault,
      subscribe: () => undefined,
      sweep: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    },
  }
  return records
}

// An API server in memory for tests on a manual clock: objects by name with
// resourceVersions and conflicts, nothing else. Its decisions are tested on a real one.

/** The objects, and clients whose requests a test can delay or fail. */
export interface MemoryApi {
  readonly objects: Map<string, KubeObject>
  /** A client of these objects, with its own connection. */
  client(line?: Line): KubeClient
}

/** Delays of a request and of its response; absent = none; throw to fail it. */
export interface Line {
  there?: (method: 'get' | 'create' | 'replace') => Promise<void>
  back?: () => Promise<void>
}

/** A delay that never ends. */
export const silence = (): Promise<void> => new Promise(() => undefined)

/** An API server without objects. */
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
      if (objects.has(name)) throw refused(409, 'AlreadyExists')
      return store(object, name)
    },
    replace: (object: KubeObject, name: string) => {
      const { resourceVersion } = object.metadata
      if (objects.get(name)?.metadata.resourceVersion !== resourceVersion)
        throw refused(409, 'Conflict')
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
      list: notOffered,
      watch: notOffered,
      apply: notOffered,
      patch: notOffered,
      delete: notOffered,
    }
  }
  return { objects, client }
}
