// The heartbeat key on an API server in memory, and gateways with connections that a test controls.
import { onTestFinished } from 'vitest'
import {
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_NAME,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { KEY_HEARTBEAT } from '../../../src/authn/heartbeat-key.ts'
import { createWatchHeartbeat } from '../../../src/authn/watch-heartbeat.ts'
import { StatusError } from '../../../src/kube/client/api-error.ts'
import type { KubeClient, NewObject, PatchOperation } from '../../../src/kube/client/client.ts'
import type { StoreSink } from '../../../src/kube/informer/store.ts'
import { type Clock, currentMoment, msBetween } from '../../../src/runtime/clock.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { keyObject } from '../../support/object-builder.ts'

/** The state of a gateway's connection to the API server; a test changes it. */
interface Connection {
  /** Events arrive so many milliseconds after they happened; null = never. */
  eventsAfterMs: number | null
  /** The watch lists again when the heartbeat asks for it. */
  listsAgain: boolean
  /** Requests fail. */
  isDown: boolean
  /** An admission policy refuses deletes. */
  refusesDeletes: boolean
}

/** A gateway with a heartbeat. */
interface Replica {
  readonly connection: Connection
  readonly heartbeat: ReturnType<typeof createWatchHeartbeat>
  /** Seconds since the moment up to which its watch is proven complete. */
  readonly age: () => number
  /** Milliseconds from each write of its own to the watch event. */
  readonly delivered: number[]
  /** How often it asked the watch to list again. */
  readonly relists: () => number
  /** How many gaps it reported. */
  readonly gaps: () => number
  /** A complete list, with which a new watch begins. */
  readonly list: () => void
  readonly sink: StoreSink
  readonly logged: () => readonly string[]
}

/** An API server that stores only the heartbeat key, and records the writes to it. */
class FakeHeartbeatServer {
  readonly #clock: ManualClock
  readonly #watchers: ((object: KubeObject, isGone: boolean) => void)[] = []
  /** Called after each delete, for a write of another client. */
  onDeleted: () => void = () => undefined
  #object: KubeObject | null = null
  #revision = 10
  #deleted = 0
  readonly writes: { readonly by: string; readonly what: 'create' | 'patch' | 'delete' }[] = []
  readonly refused: string[] = []

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  get object(): KubeObject | null {
    return this.#object
  }

  /**
   * Stores it as another client would; null deletes it.
   *
   * @param isWatched false = no watch event is sent, as after a restore of etcd
   */
  put(object: KubeObject | null, isWatched = true): void {
    this.#object = object
    if (object && isWatched) for (const send of this.#watchers) send(object, false)
  }

  /** Adds a gateway; its wall clock is that many milliseconds ahead. */
  replica(name: string, { aheadMs = 0, random = 0 } = {}): Replica {
    const clock: Clock = { ...this.#clock, nowMs: () => this.#clock.nowMs() + aheadMs }
    const connection: Connection = {
      eventsAfterMs: 5,
      listsAgain: true,
      isDown: false,
      refusesDeletes: false,
    }
    const delivered: number[] = []
    const { log, lines } = memoryLog()
    let relists = 0
    let gaps = 0
    const heartbeat = createWatchHeartbeat({
      object: KEY_HEARTBEAT,
      client: this.#client(name, connection),
      clock,
      log,
      random: () => random,
      onDelivered: (tookMs) => delivered.push(tookMs),
      onGap: () => {
        gaps += 1
      },
      relist: () => {
        relists += 1
        if (connection.listsAgain && connection.eventsAfterMs !== null)
          clock.schedule(connection.eventsAfterMs, list)
      },
    })
    const nothing = (): void => undefined
    const unusedSink = {
      begin: nothing,
      put: nothing,
      remove: nothing,
      sweep: () => false,
      end: nothing,
    }
    const sink = heartbeat.observe(unusedSink)
    this.#watchers.push((object, isGone) => {
      const deliver = () => (isGone ? sink.remove(object) : sink.put(object))
      if (connection.eventsAfterMs !== null) clock.schedule(connection.eventsAfterMs, deliver)
    })
    const list = (): void => {
      sink.begin()
      if (this.#object) sink.put(this.#object)
      sink.end()
    }
    return {
      connection,
      heartbeat,
      delivered,
      sink,
      list,
      relists: () => relists,
      gaps: () => gaps,
      age: () => msBetween(heartbeat.provenAt(), currentMoment(clock)) / 1000,
      logged: () => lines.map(({ level, sentence }) => `${level}: ${sentence}`),
    }
  }

  #client(by: string, connection: Connection): KubeClient {
    const unused = (): Promise<never> => Promise.reject(new Error('not used'))
    const answer = async (act: () => unknown): Promise<never> => {
      if (connection.isDown) throw new Error('no connection')
      return act() as never
    }
    return {
      get: () => answer(() => this.#object),
      create: (_, object) => answer(() => this.#create(by, object)),
      patch: (_, __, operations) => answer(() => this.#patch(by, operations)),
      list: unused,
      watch: unused,
      replace: unused,
      apply: unused,
      delete: (_, __, conditions) =>
        answer(() => {
          if (connection.refusesDeletes) throw this.#refusal(by, 403, 'Forbidden')
          return this.#delete(by, conditions)
        }),
    }
  }

  #create(by: string, { metadata, ...object }: NewObject): KubeObject {
    if (this.#object) throw this.#refusal(by, 409, 'AlreadyExists')
    this.writes.push({ by, what: 'create' })
    const uid = this.#deleted === 0 ? 'heartbeat' : `heartbeat-${this.#deleted}`
    const stored = { name: HEARTBEAT_NAME, uid, creationTimestamp: '', ...metadata }
    return this.#stored({ ...object, metadata: { ...stored, resourceVersion: '' } })
  }

  #patch(by: string, operations: readonly PatchOperation[]): KubeObject {
    const object = structuredClone(this.#object)
    if (!object) throw this.#refusal(by, 404, 'NotFound')
    const [test, ...rest] = operations
    if (test?.op !== 'test' || test.value !== object.metadata.resourceVersion)
      throw this.#refusal(by, 422, 'Invalid')
    for (const { op, path, value } of rest) {
      const names = path
        .split('/')
        .slice(1)
        .map((name) => name.replace('~1', '/'))
      const last = names.pop() ?? ''
      const parent = names.reduce(
        (at: unknown, name) => (at as Record<string, unknown>)[name],
        object,
      )
      if (op !== 'add' || parent === undefined) throw this.#refusal(by, 422, 'Invalid')
      ;(parent as Record<string, unknown>)[last] = value
    }
    this.writes.push({ by, what: 'patch' })
    return this.#stored(object)
  }

  #delete(
    by: string,
    { uid, resourceVersion }: Parameters<KubeClient['delete']>[2],
  ): KubeObject | null {
    const object = this.#object
    if (!object) return null
    if (object.metadata.uid !== uid || object.metadata.resourceVersion !== resourceVersion)
      throw this.#refusal(by, 409, 'Conflict')
    this.writes.push({ by, what: 'delete' })
    if (object.metadata.finalizers?.length) {
      const deletionTimestamp = '2026-11-21T10:00:00Z'
      return this.#stored({ ...object, metadata: { ...object.metadata, deletionTimestamp } })
    }
    this.#deleted += 1
    this.#object = null
    for (const send of this.#watchers) send(object, true)
    this.onDeleted()
    return null
  }

  #stored(object: KubeObject): KubeObject {
    this.#revision += 1
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#revision) },
    }
    this.put(stored)
    return stored
  }

  #refusal(by: string, code: number, reason: string): StatusError {
    this.refused.push(`${by} ${code}`)
    return new StatusError({
      code,
      reason,
      message: reason,
      retryAfterMs: null,
      isTestFailed: code === 422,
    })
  }
}

/** A server and these gateways; after `run` each of them lists and writes until the test is finished. */
export function startReplicas(
  ...replicas: readonly { readonly aheadMs?: number; readonly random?: number }[]
) {
  const clock = manualClock(t0)
  const api = new FakeHeartbeatServer(clock)
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const started = replicas.map((given, at) => api.replica(`r${at}`, given))
  const run = (): void => {
    for (const replica of started) {
      replica.list()
      void replica.heartbeat.keepWriting(abort.signal)
    }
  }
  return { clock, api, replicas: started as [Replica, Replica], run }
}

/** The heartbeat key as a watch event has it; `at` null = without its annotations. */
export const heartbeatObject = (
  resourceVersion: string,
  at: string | null,
  before = '',
  uid = 'heartbeat',
) =>
  keyObject({
    metadata: {
      name: HEARTBEAT_NAME,
      uid,
      resourceVersion,
      ...(at === null
        ? {}
        : { annotations: { [HEARTBEAT_ANNOTATION]: at, [HEARTBEAT_BEFORE_ANNOTATION]: before } }),
    },
    spec: { type: 'Reset', subject: 'heartbeat' },
  })

/** The stored heartbeat key with another spec, or with finalizers of others. */
export function heartbeatWithSpec(spec: object, finalizers: readonly string[] = []): KubeObject {
  const object = heartbeatObject('3', textAfter(-20))
  return { ...object, metadata: { ...object.metadata, finalizers }, spec }
}

/** The heartbeat key as a gateway of the previous version creates it. */
export const previousVersionHeartbeat = (): KubeObject =>
  heartbeatWithSpec({ subject: 'heartbeat', disabled: true })

/** The highest age of each replica in that time, sampled ten times a second. */
export async function highestAges(
  setup: ReturnType<typeof startReplicas>,
  forS: number,
): Promise<readonly number[]> {
  const ages = setup.replicas.map(() => 0)
  for (let at = 0; at < forS * 10; at += 1) {
    await setup.clock.advance(100)
    setup.replicas.forEach(({ age }, one) => (ages[one] = Math.max(ages[one] ?? 0, age())))
  }
  return ages
}
