// The heartbeat key on an API server in memory, and gateways that hear of it as a test lets them.
import { onTestFinished } from 'vitest'
import {
  HEARTBEAT_ANNOTATION,
  HEARTBEAT_BEFORE_ANNOTATION,
  HEARTBEAT_KEY,
} from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { currentMoment, msBetween } from '../../../src/runtime/moment.ts'
import { Heartbeat } from '../../../src/authn/watch-heartbeat.ts'
import { StatusError } from '../../../src/kube/client/api-error.ts'
import type {
  KubeClient,
  NewObject,
  PatchOperation,
  Preconditions,
} from '../../../src/kube/client/client.ts'
import type { StoreSink } from '../../../src/kube/informer/store.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { t0, textAfter } from '../../support/access-key.ts'
import { type ManualClock, manualClock } from '../../support/clock.ts'
import { rememberingLog } from '../../support/log.ts'
import { keyObject } from '../../support/objects.ts'

/** How a gateway's line to the API server is; a test changes it. */
export interface Line {
  /** Events are told so many milliseconds after they happened; null = never. */
  eventsAfterMs: number | null
  /** A watch that is doubted lists anew. */
  listsAnew: boolean
  /** Requests fail. */
  isDown: boolean
  /** Somebody else's policy refuses deletes. */
  refusesDeletes: boolean
}

/** A gateway that beats and hears. */
export interface Replica {
  readonly line: Line
  readonly heartbeat: Heartbeat
  /** Of what it knows, in seconds. */
  readonly age: () => number
  readonly returned: number[]
  readonly doubts: () => number
  /** A listing, as a watch that is opened anew begins with. */
  readonly list: () => void
  readonly sink: StoreSink
  readonly logged: () => readonly string[]
}

/** The API server, with what was written to the key. */
export class Heartland {
  readonly #clock: ManualClock
  readonly #tell: ((object: KubeObject, isGone: boolean) => void)[] = []
  /** What another does as soon as one was deleted. */
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

  /** As somebody else would write it, or an etcd that was restored would have it; null deletes it. */
  put(object: KubeObject | null, isTold = true): void {
    this.#object = object
    if (object && isTold) for (const tell of this.#tell) tell(object, false)
  }

  /** A gateway that has listed, of which the wall clock differs by so much. */
  replica(name: string, { aheadMs = 0, random = 0 } = {}): Replica {
    const clock: Clock = { ...this.#clock, nowMs: () => this.#clock.nowMs() + aheadMs }
    const line: Line = { eventsAfterMs: 5, listsAnew: true, isDown: false, refusesDeletes: false }
    const returned: number[] = []
    const { log, lines } = rememberingLog()
    let doubts = 0
    const heartbeat = new Heartbeat({
      client: this.#client(name, line),
      clock,
      log,
      random: () => random,
      returned: (tookMs) => returned.push(tookMs),
      doubt: () => {
        doubts += 1
        if (line.listsAnew && line.eventsAfterMs !== null) clock.schedule(line.eventsAfterMs, list)
      },
    })
    const nothing = (): void => undefined
    const told = { begin: nothing, put: nothing, remove: nothing, sweep: () => false, end: nothing }
    const sink = heartbeat.through(told)
    this.#tell.push((object, isGone) => {
      const hear = () => (isGone ? sink.remove(object) : sink.put(object))
      if (line.eventsAfterMs !== null) clock.schedule(line.eventsAfterMs, hear)
    })
    const list = (): void => {
      sink.begin()
      if (this.#object) sink.put(this.#object)
      sink.end()
    }
    return {
      line,
      heartbeat,
      returned,
      sink,
      list,
      doubts: () => doubts,
      age: () => msBetween(heartbeat.provenAt(), currentMoment(clock)) / 1000,
      logged: () => lines.map(({ level, sentence }) => `${level}: ${sentence}`),
    }
  }

  #client(by: string, line: Line): KubeClient {
    const unused = (): Promise<never> => Promise.reject(new Error('not used'))
    const answer = async (act: () => unknown): Promise<never> => {
      if (line.isDown) throw new Error('no connection')
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
          if (line.refusesDeletes) throw this.#refusal(by, 403, 'Forbidden')
          return this.#delete(by, conditions)
        }),
    }
  }

  #create(by: string, { metadata, ...object }: NewObject): KubeObject {
    if (this.#object) throw this.#refusal(by, 409, 'AlreadyExists')
    this.writes.push({ by, what: 'create' })
    const uid = this.#deleted === 0 ? 'heartbeat' : `heartbeat-${this.#deleted}`
    const stored = { name: HEARTBEAT_KEY, uid, creationTimestamp: '', ...metadata }
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

  #delete(by: string, { uid, resourceVersion }: Preconditions): KubeObject | null {
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
    for (const tell of this.#tell) tell(object, true)
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
    return new StatusError({ code, reason, message: reason, retryAfterMs: null, causes: 0 })
  }
}

/** A world in which these gateways beat until the test is finished. */
export function start(
  ...replicas: readonly { readonly aheadMs?: number; readonly random?: number }[]
) {
  const clock = manualClock(t0)
  const api = new Heartland(clock)
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const started = replicas.map((given, at) => api.replica(`r${at}`, given))
  const beat = (): void => {
    for (const replica of started) {
      replica.list()
      void replica.heartbeat.keepBeating(abort.signal)
    }
  }
  return { clock, api, replicas: started as [Replica, Replica], beat }
}

/** The heartbeat key as a watch tells it; null = without its annotations. */
export const heartbeat = (
  resourceVersion: string,
  at: string | null,
  before = '',
  uid = 'heartbeat',
) =>
  keyObject({
    metadata: {
      name: HEARTBEAT_KEY,
      uid,
      resourceVersion,
      ...(at === null
        ? {}
        : { annotations: { [HEARTBEAT_ANNOTATION]: at, [HEARTBEAT_BEFORE_ANNOTATION]: before } }),
    },
    spec: { type: 'Reset', subject: 'heartbeat' },
  })

/** The heartbeat key with another spec, or held by somebody's finalizer, as it is stored. */
export function otherHeartbeat(spec: object, finalizers: readonly string[] = []): KubeObject {
  const object = heartbeat('3', textAfter(-20))
  return { ...object, metadata: { ...object.metadata, finalizers }, spec }
}

/** As a gateway of the version before makes it. */
export const olderHeartbeat = (): KubeObject =>
  otherHeartbeat({ subject: 'heartbeat', disabled: true })

/** The oldest that it ever was, looked at ten times a second. */
export async function oldest(
  world: ReturnType<typeof start>,
  forS: number,
): Promise<readonly number[]> {
  const ages = world.replicas.map(() => 0)
  for (let at = 0; at < forS * 10; at += 1) {
    await world.clock.advance(100)
    world.replicas.forEach(({ age }, one) => (ages[one] = Math.max(ages[one] ?? 0, age())))
  }
  return ages
}
