// The delivery process between an API server and a store of secrets, both in memory, on a manual clock.
import { onTestFinished } from 'vitest'
import { DELIVERY_FIELD_MANAGER } from '../../../src/api/names.ts'
import {
  PUSH_FIELD_MANAGER,
  SECRET_STORE_LABEL,
  SECRET_STORE_PATH_ANNOTATION,
} from '../../../src/api/secret-store-names.ts'
import type { ListedSecret, SyncDeps, SyncRecord } from '../../../src/delivery/store/deps.ts'
import { syncInRounds } from '../../../src/delivery/store/rounds.ts'
import { restingOutcome, sync } from '../../../src/delivery/store/sync.ts'
import type { RoundResult, SyncOutcome } from '../../../src/domain/store/round-status.ts'
import type { StoreContent } from '../../../src/domain/store/secret-content.ts'
import { type StoreSettings, storeSettingsOf } from '../../../src/domain/store/store-settings.ts'
import { createClient } from '../../../src/kube/client/client.ts'
import type { ObjectEvent } from '../../../src/kube/event-recorder.ts'
import { MemoryApiServer } from '../delivery/memory-api-server.ts'
import { type SecretObject, applied, created, merged } from '../delivery/server-side-apply.ts'
import { t0 } from '../key-builder.ts'
import { manualClock } from '../manual-clock.ts'
import { memoryLog } from '../memory-log.ts'
import { MemoryStore } from './memory-store.ts'

/** The namespace of project `shop`. */
export const NAMESPACE = 'p-shop'

/** What a test says of a Secret. */
export interface SecretParts {
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly type?: string
  /** Texts. */
  readonly data?: StoreContent
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Texts in base64, as a Secret has them. */
export const encoded = (data: StoreContent): StoreContent =>
  Object.fromEntries(
    Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  )

/** Rounds that run. */
interface Rounds {
  /** How the Secrets ended, for each round. */
  readonly ended: (readonly SyncOutcome[])[]
  readonly results: RoundResult[]
  /** When each round ended, in milliseconds after the first one began. */
  readonly endedMs: number[]
  readonly stop: () => Promise<void>
}

/** Nothing is known. */
export const NEW_RECORD: SyncRecord = {
  inStep: null,
  fault: null,
  comparedVersion: '',
  namedMs: 0,
  failures: 0,
  told: '',
  retryMs: 0,
}

/** The settings of a store that is switched on. */
export const storeSettings = (syncInterval = '60s'): StoreSettings => {
  const settings = storeSettingsOf(
    {
      projectNamespacePrefix: 'p-',
      secretStore: { enabled: true, address: 'https://store', auth: { token: 't' }, syncInterval },
    },
    '',
  )
  if (settings === null) throw new Error('the store is switched off')
  return settings
}

/** API server, store and process. */
export class StoreWorld {
  readonly clock = manualClock(t0)
  readonly server = new MemoryApiServer(this.clock)
  readonly #ending = new AbortController()
  readonly store = new MemoryStore(this.clock, this.#ending.signal)
  readonly log = memoryLog('debug')
  readonly events: ObjectEvent[] = []
  /** Comparisons, such as `Pull unchanged`. */
  readonly compared: string[] = []
  #records = new Map<string, SyncRecord>()
  readonly deps: SyncDeps = {
    client: createClient(this.server.deps),
    pushClient: createClient({ ...this.server.deps, fieldManager: PUSH_FIELD_MANAGER }),
    clientDeps: this.server.deps,
    store: this.store,
    events: {
      record: (event) => void this.events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    observer: {
      compared: (direction, outcome) => void this.compared.push(`${direction} ${outcome}`),
    },
    clock: this.clock,
    log: this.log.log,
  }

  /** Makes or replaces a Secret with this label, as its author does. */
  secret(direction: 'Pull' | 'Push', parts: SecretParts = {}): SecretObject {
    const { name = 'app', namespace = NAMESPACE, labels = {}, annotations = {}, type, data } = parts
    const { uid = `uid-${namespace}-${name}` } = parts
    return this.server.put(
      'secrets',
      created(
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            name,
            namespace,
            uid,
            resourceVersion: '',
            creationTimestamp: '2026-11-21T10:00:00Z',
            labels: { [SECRET_STORE_LABEL]: direction, ...labels },
            annotations,
          },
          ...(type === undefined ? {} : { type }),
          ...(data === undefined ? {} : { data: encoded(data) }),
        },
        'kubectl-create',
      ),
    )
  }

  /** The Secret as it is stored. */
  found(name = 'app', namespace = NAMESPACE): SecretObject {
    const found = this.server.object('secrets', name, namespace)
    if (found === undefined) throw new Error('the Secret is gone')
    return found
  }

  /** The data of the Secret as texts. */
  data(name = 'app', namespace = NAMESPACE): StoreContent {
    return Object.fromEntries(
      Object.entries(this.found(name, namespace).data ?? {}).map(([key, text]) => [
        key,
        Buffer.from(text, 'base64').toString(),
      ]),
    )
  }

  /** Edits the Secret as its author does. */
  edit({ data, annotations, labels }: SecretParts, name = 'app'): void {
    const before = this.found(name)
    const metadata = { ...(annotations ? { annotations } : {}), ...(labels ? { labels } : {}) }
    const edit = { ...(data ? { data: encoded(data) } : {}), metadata: metadata as never }
    this.server.put('secrets', merged(before, edit, 'kubectl-edit'))
  }

  /** Takes an annotation or label away, as its author does. */
  takeAway(key: string, map: 'annotations' | 'labels' = 'annotations'): void {
    const found = this.found()
    const { [key]: _, ...rest } = found.metadata[map] ?? {}
    this.server.put('secrets', { ...found, metadata: { ...found.metadata, [map]: rest } })
  }

  /** Writes the data as the controller of claims does. */
  deliver(data: StoreContent): void {
    const found = this.found()
    const { name, namespace, uid } = found.metadata
    const metadata = { name, namespace, uid } as SecretObject['metadata']
    const sent = { apiVersion: 'v1', kind: 'Secret', metadata, data: encoded(data) }
    this.server.put('secrets', applied(found, sent, DELIVERY_FIELD_MANAGER))
  }

  /** What is remembered of the Secret. */
  record(name = 'app', namespace = NAMESPACE): SyncRecord {
    const { uid } = this.found(name, namespace).metadata
    const record = this.#records.get(uid) ?? { ...NEW_RECORD }
    this.#records.set(uid, record)
    return record
  }

  /** The process ends, and another starts. */
  restart(): void {
    this.#records = new Map()
  }

  /** The Secret as a list shows it now. */
  listed(name = 'app', namespace = NAMESPACE): ListedSecret {
    return { ...this.found(name, namespace).metadata, namespace }
  }

  /** Syncs one Secret. @param listed as a list has shown it */
  async sync(name = 'app', listed = this.listed(name)): Promise<SyncOutcome | null> {
    const record = this.record(name)
    const resting = restingOutcome(listed, record, this.clock.nowMs())
    return resting ?? (await sync(listed, 'shop', record, this.deps))
  }

  /** Runs an act. @returns its result with the writes that it has caused on both sides */
  async counting<Result>(act: () => Promise<Result>) {
    const [server, store] = [this.server.writes().length, this.store.writes().length]
    const result = await act()
    return {
      result,
      writes: {
        server: this.server.writes().length - server,
        store: this.store.writes().length - store,
      },
    }
  }

  /** Makes a namespace. */
  namespace(name: string): void {
    const metadata = { name, uid: `uid-${name}`, resourceVersion: '', creationTimestamp: '' }
    this.server.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata })
  }

  /** Starts rounds, which end with the test. */
  rounds(parts: Partial<Parameters<typeof syncInRounds>[0]> = {}): Rounds {
    const stopping = new AbortController()
    const ended: (readonly SyncOutcome[])[] = []
    const results: RoundResult[] = []
    const endedMs: number[] = []
    const startMs = this.clock.monotonicMs()
    const running = syncInRounds({
      ...this.deps,
      places: {
        namespace: 'platform-system',
        signInNamespace: 'sign-in',
        maxClaimsPerNamespace: 1,
      },
      settings: storeSettings(),
      random: () => 0.5,
      ended: (result) => {
        ended.push(result.outcomes)
        results.push(result)
        endedMs.push(this.clock.monotonicMs() - startMs)
        return Promise.resolve()
      },
      signal: stopping.signal,
      ...parts,
    })
    const stop = (): Promise<void> => {
      stopping.abort()
      return running
    }
    onTestFinished(() => {
      this.#ending.abort()
      return stop()
    })
    return { ended, results, endedMs, stop }
  }
}

/** A world with a Secret that is pulled from this entry; null = there is no entry. */
export function pullWorld(content: StoreContent | null, parts: SecretParts = {}): StoreWorld {
  const world = new StoreWorld()
  world.secret('Pull', parts)
  if (content !== null) world.store.put('shop/app', content)
  return world
}

/** A world with a Secret with these data that is pushed. */
export function pushWorld(data: StoreContent, parts: SecretParts = {}): StoreWorld {
  const world = new StoreWorld()
  world.secret('Push', { data, ...parts })
  return world
}

/** Another path for the Secret. */
export const atPath = (path: string) => ({ annotations: { [SECRET_STORE_PATH_ANNOTATION]: path } })
