// An API server in memory, behind the connection of a real client: objects with resourceVersions, conflicts, field managers of
// labels, annotations and data, dry runs, reviews of access and garbage collection. Its rules are seen on a real one.
import type { Dispatcher } from 'undici'
import { type Resource, DELIVERY_FIELD_MANAGER } from '../../../src/api/names.ts'
import type { KubeObject, ObjectMeta } from '../../../src/api/objects.ts'
import { CircuitBreaker } from '../../../src/kube/client/circuit-breaker.ts'
import type { ClientDeps } from '../../../src/kube/client/request.ts'
import type { StoreSink } from '../../../src/kube/informer/store.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { formatSecond } from '../../../src/domain/time.ts'
import { type SecretObject, applied, created, patched } from './server-side-apply.ts'

/** A request, before it is answered. */
export interface ServerCall {
  readonly method: string
  readonly plural: string
  readonly namespace: string | undefined
  /** undefined = the collection. */
  readonly name: string | undefined
  readonly subresource: string | undefined
  readonly isDryRun: boolean
  readonly query: URLSearchParams
  readonly contentType: string
  readonly body: unknown
}

/** An error response; `unsent` and `lost` = none, before or after the server has acted. */
export type ServerFault =
  | { readonly code: number; readonly reason: string; readonly message?: string }
  | 'unsent'
  | 'lost'

/** Thrown for an error response. */
class Refusal extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message = reason) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

type Sink = Pick<StoreSink, 'begin' | 'put' | 'remove' | 'end'>

/** Whether the call changes what the server has. */
export const isWrite = ({ method, isDryRun, plural }: ServerCall): boolean =>
  method !== 'GET' && !isDryRun && plural !== 'selfsubjectaccessreviews'

/** The objects, and a connection to them. */
export class MemoryApiServer {
  readonly #objects = new Map<string, SecretObject>()
  readonly #sinks = new Map<string, Sink[]>()
  readonly #clock: Clock
  #revision = 0
  /** Every call so far. */
  readonly calls: ServerCall[] = []
  /** Decides about each call; null = it is answered. */
  faultOf: (call: ServerCall) => ServerFault | null = () => null
  /** Called after each call that was answered and has written. */
  wrote: (call: ServerCall) => void = () => undefined
  /** Whether the delivery process may do this to Secrets of the namespace. */
  mayUseSecrets: (namespace: string, verb: string) => boolean = () => true
  readonly deps: ClientDeps

  constructor(clock: Clock) {
    this.#clock = clock
    const request = async (options: {
      method: string
      path: string
      body?: unknown
      headers?: object
    }) => this.#respond(callOf(options))
    const pool = { request, compose: () => pool } as unknown as Dispatcher
    const open = { calls: pool, watches: pool, forwards: pool, headers: {}, origin: '', tls: {} }
    this.deps = {
      connection: {
        prefix: '',
        server: 'memory',
        breaker: new CircuitBreaker(clock),
        open: () => Promise.resolve(open as never),
        close: () => Promise.resolve(),
      },
      clock,
      observer: { responded: () => undefined, wrote: () => undefined },
      userAgent: `${DELIVERY_FIELD_MANAGER}/0`,
      fieldManager: DELIVERY_FIELD_MANAGER,
      mayWrite: () => undefined,
    }
  }

  /** Grows with each change. */
  get revision(): number {
    return this.#revision
  }

  /** The writes so far. */
  writes(): readonly ServerCall[] {
    return this.calls.filter(isWrite)
  }

  /** An object; undefined = it does not exist. */
  object(plural: string, name: string, namespace?: string): SecretObject | undefined {
    return this.#objects.get(idOf(plural, name, namespace))
  }

  /** All objects of a kind. */
  all(plural: string): readonly SecretObject[] {
    return [...this.#objects].flatMap(([id, object]) => (id.startsWith(`${plural} `) ? object : []))
  }

  /** Writes an object as others do, whatever is there. */
  put(plural: string, object: SecretObject): SecretObject {
    const { name, namespace } = object.metadata
    const before = this.object(plural, name, namespace)
    const isOther =
      before !== undefined && JSON.stringify(before.spec) !== JSON.stringify(object.spec)
    this.#revision += 1
    const stored: SecretObject = structuredClone({
      ...object,
      metadata: {
        ...object.metadata,
        resourceVersion: String(this.#revision),
        generation: (before?.metadata.generation ?? 0) + (before === undefined || isOther ? 1 : 0),
      },
    })
    this.#objects.set(idOf(plural, name, namespace), stored)
    this.#tell(plural, (sink) => sink.put(stored))
    return stored
  }

  /** Deletes an object: it stays while it has finalizers. */
  remove(plural: string, { metadata }: Pick<KubeObject, 'metadata'>): SecretObject | null {
    const object = this.object(plural, metadata.name, metadata.namespace)
    if (object === undefined) return null
    if ((object.metadata.finalizers ?? []).length > 0)
      return object.metadata.deletionTimestamp === undefined
        ? this.put(
            plural,
            withMeta(object, { deletionTimestamp: formatSecond(this.#clock.nowMs()) }),
          )
        : object
    this.#objects.delete(idOf(plural, object.metadata.name, object.metadata.namespace))
    this.#revision += 1
    const gone = withMeta(object, { resourceVersion: String(this.#revision) })
    this.#tell(plural, (sink) => sink.remove(gone))
    this.#collect(object.metadata.uid)
    return null
  }

  /** Tells a store of the objects of a kind, now and whenever one changes. */
  feed({ plural }: Resource, sink: Sink): void {
    this.#list(plural, sink)
    this.#sinks.set(plural, [...(this.#sinks.get(plural) ?? []), sink])
  }

  /** Tells all stores what they have not heard. */
  refresh(): void {
    for (const [plural, sinks] of this.#sinks) for (const sink of sinks) this.#list(plural, sink)
  }

  #list(plural: string, sink: Sink): void {
    sink.begin()
    for (const object of this.all(plural)) sink.put(object)
    sink.end()
  }

  #tell(plural: string, tell: (sink: Sink) => void): void {
    for (const sink of this.#sinks.get(plural) ?? []) tell(sink)
  }

  /** Deletes what the object has owned. */
  #collect(uid: string): void {
    for (const [id, object] of this.#objects)
      if (object.metadata.ownerReferences?.some((owner) => owner.uid === uid))
        this.remove(id.slice(0, id.indexOf(' ')), object)
  }

  #respond(call: ServerCall) {
    this.calls.push(call)
    const fault = this.faultOf(call)
    if (fault === 'unsent') throw noAnswer()
    try {
      if (fault !== null && fault !== 'lost')
        throw new Refusal(fault.code, fault.reason, fault.message)
      const answer = this.#answer(call)
      if (isWrite(call)) this.wrote(call)
      if (fault === 'lost') throw noAnswer()
      return response(200, answer)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, reason, message } = error
      return response(code, { kind: 'Status', reason, message })
    }
  }

  #answer(call: ServerCall): unknown {
    const { method, plural, name, namespace, body } = call
    if (plural === 'selfsubjectaccessreviews') {
      const { resourceAttributes: asked } = (
        body as { spec: { resourceAttributes: { namespace: string; verb: string } } }
      ).spec
      return { status: { allowed: this.mayUseSecrets(asked.namespace, asked.verb) } }
    }
    this.#authorize(call)
    if (method === 'GET' && name === undefined) return this.#listed(call)
    if (method === 'POST') return this.#create(call)
    const found = this.object(plural, name ?? '', namespace)
    if (method === 'PATCH' && call.contentType.includes('apply')) return this.#apply(call, found)
    if (found === undefined) throw new Refusal(404, 'NotFound')
    if (method === 'GET') return found
    if (method === 'DELETE') return this.#delete(call, found)
    const result = patched(found, body as never)
    if (result === null) throw new Refusal(422, 'Invalid')
    return this.#keep(call, result)
  }

  #authorize({ method, plural, namespace = '', name, query, contentType }: ServerCall): void {
    if (plural !== 'secrets') return
    const reads = name === undefined && query.has('limit') ? 'list' : 'get'
    const writes = method === 'POST' ? ['create'] : ['patch']
    const verbs = method === 'GET' ? [reads] : writes
    if (contentType.includes('apply') && this.object(plural, name ?? '', namespace) === undefined)
      verbs.push('create')
    if (verbs.some((verb) => !this.mayUseSecrets(namespace, verb)))
      throw new Refusal(403, 'Forbidden')
  }

  #listed({ plural, namespace, query }: ServerCall): object {
    const [label = '', value] = (query.get('labelSelector') ?? '').split('=')
    const items = this.all(plural).filter(({ metadata: { labels = {}, ...metadata } }) => {
      const isHere = namespace === undefined || metadata.namespace === namespace
      const isLabelled =
        value === undefined ? Object.hasOwn(labels, label) : labels[label] === value
      return isHere && (label === '' || isLabelled)
    })
    const from = Number(query.get('continue') ?? 0)
    const to = from + Number(query.get('limit') ?? Number.POSITIVE_INFINITY)
    const next = to < items.length ? { continue: String(to) } : {}
    const page = items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    const metadata = { resourceVersion: String(this.#revision), ...next }
    return { metadata, items: page.slice(from, to) }
  }

  #create(call: ServerCall): SecretObject {
    const { plural, namespace, body } = call
    const sent = created(body as SecretObject, this.deps.fieldManager)
    const { name } = sent.metadata
    if (this.object(plural, name, namespace)) throw new Refusal(409, 'AlreadyExists')
    const uid = `uid-${name}-${this.#revision + 1}`
    const creationTimestamp = formatSecond(this.#clock.nowMs())
    return this.#keep(call, withMeta(sent, { uid, creationTimestamp }))
  }

  #apply(call: ServerCall, found: SecretObject | undefined): SecretObject {
    const sent = call.body as SecretObject
    const { uid, resourceVersion } = sent.metadata
    if (found === undefined && uid === undefined) return this.#create(call)
    if (uid !== found?.metadata.uid || found === undefined) throw new Refusal(409, 'Conflict')
    if (resourceVersion !== found.metadata.resourceVersion) throw new Refusal(409, 'Conflict')
    const manager = call.query.get('fieldManager') ?? ''
    const result =
      call.subresource === 'status'
        ? { ...found, status: sent.status }
        : applied(found, sent, manager)
    return this.#keep(call, result)
  }

  #delete({ plural, body }: ServerCall, found: SecretObject): object {
    const { preconditions } = body as { preconditions: Partial<ObjectMeta> }
    const isOther = (['uid', 'resourceVersion'] as const).some(
      (field) =>
        preconditions[field] !== undefined && preconditions[field] !== found.metadata[field],
    )
    if (isOther) throw new Refusal(409, 'Conflict')
    return this.remove(plural, found) ?? { kind: 'Status' }
  }

  /** Stores what is not a dry run, and what is not the same as before. */
  #keep({ plural, isDryRun }: ServerCall, object: SecretObject): SecretObject {
    const { name, namespace } = object.metadata
    const before = this.object(plural, name, namespace)
    if (isDryRun || (before !== undefined && JSON.stringify(before) === JSON.stringify(object)))
      return object
    const stored = this.put(plural, object)
    const isOver =
      stored.metadata.deletionTimestamp !== undefined &&
      (stored.metadata.finalizers ?? []).length === 0
    if (isOver) this.remove(plural, stored)
    return stored
  }
}

const withMeta = (object: SecretObject, metadata: Partial<ObjectMeta>): SecretObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
})

const idOf = (plural: string, name: string, namespace: string | undefined): string =>
  `${plural} ${namespace ?? ''}/${name}`

const noAnswer = (): Error =>
  Object.assign(new Error('the socket closed'), { code: 'UND_ERR_SOCKET' })

const response = (statusCode: number, body: unknown) => ({
  statusCode,
  headers: {},
  body: { text: () => Promise.resolve(JSON.stringify(body)), dump: () => Promise.resolve() },
})

function callOf({
  method,
  path,
  body,
  headers = {},
}: {
  method: string
  path: string
  body?: unknown
  headers?: object
}): ServerCall {
  const { pathname, searchParams } = new URL(path, 'https://memory')
  const rest = pathname
    .split('/')
    .slice(pathname.startsWith('/apis/') ? 4 : 3)
    .map(decodeURIComponent)
  const isInNamespace = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isInNamespace ? rest.splice(0, 2)[1] : undefined
  const [plural = '', name, subresource] = rest
  return {
    method,
    plural,
    namespace,
    name,
    subresource,
    isDryRun: searchParams.get('dryRun') === 'All',
    query: searchParams,
    contentType: (headers as { 'content-type'?: string })['content-type'] ?? '',
    body: body === undefined ? undefined : JSON.parse(body as string),
  }
}
