// A store of secrets in memory, as the KV engine behaves: versions, check-and-set, deleted and destroyed versions, custom metadata,
// and entries of version 1. It counts calls, and answers some of them with a fault.
import type { StoreClient } from '../../../src/delivery/store/client.ts'
import { SecretStoreError } from '../../../src/delivery/store/store-error.ts'
import type { StoreContent } from '../../../src/domain/store/secret-content.ts'
import { type Clock, sleep } from '../../../src/runtime/clock.ts'

/** A call, before it is answered. */
export interface EntryCall {
  readonly method: keyof StoreClient
  /** Empty = the token's. */
  readonly path: string
}

/** How a call fails; `lost` = the answer of a call that was carried out. */
export type EntryFault = 'unreachable' | 'denied' | 'refused' | 'lost'

/** An entry of version 2. */
interface Entry {
  /** The first one is version 1. */
  versions: {
    readonly content: StoreContent
    readonly createdTime: string
    state: 'live' | 'deleted' | 'destroyed'
  }[]
  custom: Readonly<Record<string, string>>
}

const WRITES: ReadonlySet<string> = new Set(['writeData', 'writeCustomMetadata'])

/** What the store says of a fault; never a value or the token. */
const MESSAGES = {
  unreachable: 'the store answered 503',
  denied: 'the store answered 403',
  refused: 'the store refused the write: 400',
} as const

/** The entries, and calls to them. */
export class MemoryStore implements StoreClient {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #entries = new Map<string, Entry>()
  /** Versions that were ever created: no two have the same time. */
  #created = 0
  /** Entries of version 1 of the engine, by path. */
  readonly version1 = new Map<string, StoreContent>()
  /** Every call so far. */
  readonly calls: EntryCall[] = []
  /** Decides about each call, which is the n-th, from 1; null = it is carried out. */
  faultOf: (call: EntryCall, nth: number) => EntryFault | null = () => null
  /** Called before each call is carried out. */
  before: (call: EntryCall) => void = () => undefined
  /** Called after each write that was carried out; what it throws ends the caller. */
  wrote: (call: EntryCall) => void = () => undefined
  /** How long each call takes, in milliseconds. */
  tookMs = 0
  /** Calls at the same time: now, and the most so far. */
  active = 0
  most = 0

  constructor(clock: Clock, signal: AbortSignal = new AbortController().signal) {
    this.#clock = clock
    this.#signal = signal
  }

  /** The writes so far. */
  writes(): readonly EntryCall[] {
    return this.calls.filter(({ method }) => WRITES.has(method))
  }

  /** The live content; undefined = there is none. */
  content(path: string): StoreContent | undefined {
    const last = this.#entries.get(path)?.versions.at(-1)
    return last?.state === 'live' ? last.content : undefined
  }

  /** Number of the current version; 0 = none. */
  version(path: string): number {
    return this.#entries.get(path)?.versions.length ?? 0
  }

  /** When the current version was created; empty = there is none. */
  createdTime(path: string): string {
    return this.#entries.get(path)?.versions.at(-1)?.createdTime ?? ''
  }

  /** The custom metadata; undefined = there is no entry. */
  custom(path: string): Readonly<Record<string, string>> | undefined {
    return this.#entries.get(path)?.custom
  }

  /** All paths with an entry. */
  paths(): readonly string[] {
    return [...this.#entries.keys()]
  }

  /** Writes a version as others do, whatever is there. */
  put(path: string, content: StoreContent): void {
    this.#created += 1
    const createdTime = `2026-11-21T10:00:00.${this.#created}Z`
    this.#entry(path).versions.push({ content, createdTime, state: 'live' })
  }

  /** Sets the custom metadata as others do. */
  describe(path: string, custom: Readonly<Record<string, string>>): void {
    this.#entry(path).custom = custom
  }

  /** Deletes or destroys the current version. */
  end(path: string, state: 'deleted' | 'destroyed'): void {
    const last = this.#entry(path).versions.at(-1)
    if (last) last.state = state
  }

  /** Deletes the entry with all its versions. */
  remove(path: string): void {
    this.#entries.delete(path)
  }

  /** Forgets the newest versions, as a restored backup does. */
  rollBack(path: string, versions: number, custom: Readonly<Record<string, string>>): void {
    const entry = this.#entry(path)
    entry.versions = entry.versions.slice(0, versions)
    entry.custom = custom
  }

  readonly readMetadata: StoreClient['readMetadata'] = (path) =>
    this.#answer('readMetadata', path, () => {
      const entry = this.#entries.get(path)
      if (entry === undefined) return null
      const { versions, custom } = entry
      const { state = 'none', createdTime = '' } = versions.at(-1) ?? {}
      return {
        currentVersion: versions.length,
        createdTime,
        state,
        customMetadata: { ...custom },
      }
    })

  readonly readData: StoreClient['readData'] = (path, engine) =>
    this.#answer('readData', path, () => {
      const content = engine === 1 ? this.version1.get(path) : this.content(path)
      const version = engine === 1 ? null : this.version(path)
      const createdTime = engine === 1 ? '' : this.createdTime(path)
      return content === undefined ? null : { version, createdTime, content: { ...content } }
    })

  readonly writeData: StoreClient['writeData'] = (path, content, cas) =>
    this.#answer('writeData', path, () => {
      if (this.version(path) !== cas) return 'conflict'
      this.put(path, { ...content })
      return { version: cas + 1, createdTime: this.createdTime(path) }
    })

  readonly writeCustomMetadata: StoreClient['writeCustomMetadata'] = (path, custom) =>
    this.#answer('writeCustomMetadata', path, () => this.describe(path, { ...custom }))

  readonly lookupToken: StoreClient['lookupToken'] = () =>
    this.#answer('lookupToken', '', () => FOREVER)

  readonly renewToken: StoreClient['renewToken'] = () =>
    this.#answer('renewToken', '', () => FOREVER)

  #entry(path: string): Entry {
    const entry = this.#entries.get(path) ?? { versions: [], custom: {} }
    this.#entries.set(path, entry)
    return entry
  }

  async #answer<Found>(method: keyof StoreClient, path: string, act: () => Found): Promise<Found> {
    const call = { method, path }
    this.calls.push(call)
    const fault = this.faultOf(call, this.calls.length)
    this.active += 1
    this.most = Math.max(this.most, this.active)
    try {
      await sleep(this.#clock, this.tookMs, this.#signal)
    } finally {
      this.active -= 1
    }
    if (fault !== null && fault !== 'lost') throw new SecretStoreError(fault, MESSAGES[fault], null)
    this.before(call)
    const answer = act()
    if (WRITES.has(method) && answer !== 'conflict') this.wrote(call)
    if (fault === 'lost') throw new SecretStoreError('unreachable', 'no answer of the store', null)
    return answer
  }
}

const FOREVER = { ttlSeconds: 0, isRenewable: false, creationTtlSeconds: 0 }
