// The delivery process around one claim, on a manual clock: an API server in memory, the manager that makes keys work, and after
// each write the promises of contract 28.3.
import { hash } from 'node:crypto'
import { expect } from 'vitest'
import type { AccessKeyClaim } from '../../../src/api/accesskeyclaim.gen.ts'
import { ACCESS_KEY_CLAIMS, ACCESS_KEYS, TOKENS } from '../../../src/api/names.ts'
import { ClaimMemory } from '../../../src/delivery/claims/claim-memory.ts'
import type { ClaimDeps } from '../../../src/delivery/claims/deps.ts'
import { KeySlots } from '../../../src/delivery/claims/key-slots.ts'
import { reconcile } from '../../../src/delivery/claims/reconcile.ts'
import { createClaimStores } from '../../../src/delivery/claims/stores.ts'
import type { RotationCause } from '../../../src/domain/claim/replacement.ts'
import { UNKNOWN_SECRET } from '../../../src/domain/claim/secret-view.ts'
import type { Caps } from '../../../src/domain/accesskey/lifetime.ts'
import { NoResponseError, StatusError } from '../../../src/kube/client/api-error.ts'
import { createClient } from '../../../src/kube/client/client.ts'
import type { ObjectEvent } from '../../../src/kube/event-recorder.ts'
import type { StoreSink } from '../../../src/kube/informer/store.ts'
import { t0 } from '../key-builder.ts'
import { type ManualClock, manualClock } from '../manual-clock.ts'
import { memoryLog } from '../memory-log.ts'
import { type Parts, claimObject } from '../object-builder.ts'
import { reconcileContext } from '../reconcile-context.ts'
import { CLAIM_UID } from './claim-facts.ts'
import { ImaginaryManager, keysOf, tokenTextOf } from './imaginary-manager.ts'
import { MemoryApiServer, type ServerCall } from './memory-api-server.ts'
import type { SecretObject } from './server-side-apply.ts'

/** One reconcile after the other without the clock moving on: more are a loop. */
const MOST_RECONCILES_AT_ONCE = 40
const RETRY_AFTER_MS = 1000

/** One delivery process: what it remembers ends with it. */
export interface DeliveryProcess {
  readonly deps: ClaimDeps
  /** Whether its stores hear of no change. */
  isStale: boolean
}

/** A store that hears of changes, unless the process is stale. */
const sinkOf = (store: StoreSink, isStale: () => boolean): StoreSink => ({
  begin: () => store.begin(),
  put: (object) => (isStale() ? undefined : store.put(object)),
  remove: (object) => (isStale() ? undefined : store.remove(object)),
  sweep: () => store.sweep(),
  end: () => store.end(),
})

/** The world around a claim. */
export class DeliveryWorld {
  readonly clock: ManualClock = manualClock(t0)
  readonly server = new MemoryApiServer(this.clock)
  caps: Caps = { maxTtlSeconds: null, loginTtlSeconds: null }
  readonly manager = new ImaginaryManager(this.server, this.clock, () => this.caps)
  origin: string | null = 'https://gateway.example.com'
  readonly log = memoryLog('debug')
  readonly events: ObjectEvent[] = []
  readonly delivered: RotationCause[] = []
  /** Errors of reconciles, which the work queue would retry. */
  readonly errors: Error[] = []
  /** Broken promises of contract 28.3. */
  readonly broken: string[] = []
  readonly namespace: string
  process: DeliveryProcess

  constructor(parts: Parts<AccessKeyClaim> = {}) {
    this.namespace = parts.metadata?.namespace ?? 'shop'
    this.server.put(ACCESS_KEY_CLAIMS.plural, claimObject(parts))
    this.process = this.start()
    this.server.wrote = (call) => this.#check(call)
  }

  /** Starts another process on the same cluster, with stores of its own. */
  start(): DeliveryProcess {
    const stores = createClaimStores()
    const isStale = (): boolean => process.isStale
    const deps: ClaimDeps = {
      client: createClient(this.server.deps),
      clientDeps: this.server.deps,
      stores,
      memory: new ClaimMemory(),
      slots: new KeySlots(10),
      gateway: {
        server: (target) =>
          this.origin === null ? null : { url: `${this.origin}/kubernetes/${target}`, ca: null },
        subscribe: () => undefined,
      },
      caps: () => this.caps,
      places: {
        namespace: 'platform-system',
        signInNamespace: 'sign-in',
        maxClaimsPerNamespace: 100,
      },
      events: {
        record: (event) => void this.events.push(event),
        flush: () => Promise.resolve(),
        stop: () => undefined,
      },
      observer: { delivered: (cause) => void this.delivered.push(cause) },
      clock: this.clock,
    }
    const process: DeliveryProcess = { deps, isStale: false }
    this.server.feed(ACCESS_KEY_CLAIMS, sinkOf(stores.claims, isStale))
    this.server.feed(ACCESS_KEYS, sinkOf(stores.keys, isStale))
    this.server.feed(TOKENS, sinkOf(stores.tokens, isStale))
    return process
  }

  /** The process dies, and another starts on what is there. */
  crash(): void {
    this.process = this.start()
  }

  /** One reconcile. @returns when the next is due, in epoch milliseconds; Infinity = after a change */
  async reconcile({ deps }: DeliveryProcess = this.process): Promise<number> {
    try {
      const outcome = await reconcile(
        `${this.namespace}/deploy`,
        deps,
        reconcileContext(this.log.log),
      )
      return outcome.result === 'done' ? Number.POSITIVE_INFINITY : outcome.atMs
    } catch (error) {
      if (!(error instanceof StatusError || error instanceof NoResponseError)) throw error
      this.errors.push(error)
      return this.clock.nowMs() + RETRY_AFTER_MS
    }
  }

  /** Reconciles whenever something has changed or is due, for so many seconds. */
  async run(seconds: number): Promise<void> {
    const untilMs = this.clock.nowMs() + seconds * 1000
    let atOnce = 0
    for (;;) {
      const managerMs = this.manager.act()
      const { revision } = this.server
      const wakeMs = await this.reconcile()
      atOnce += 1
      if (atOnce > MOST_RECONCILES_AT_ONCE) throw new Error('reconciles go round in a loop')
      const nowMs = this.clock.nowMs()
      if (this.server.revision !== revision || wakeMs <= nowMs) continue
      const nextMs = Math.min(wakeMs, managerMs, untilMs)
      if (nextMs > nowMs) atOnce = 0
      this.clock.setNow(nextMs)
      if (nextMs >= untilMs) return
    }
  }

  /** Looks at the Secret at the next reconcile, as after a round that has found it changed. */
  lookAgain(): void {
    this.process.deps.memory.of({ uid: CLAIM_UID }).secret = UNKNOWN_SECRET
  }

  get claim(): AccessKeyClaim | undefined {
    return this.server.object(ACCESS_KEY_CLAIMS.plural, 'deploy', this.namespace) as
      | AccessKeyClaim
      | undefined
  }

  get secret(): SecretObject | undefined {
    return this.server.object('secrets', 'deploy', this.namespace)
  }

  /** Keys of the claim that are not being deleted. */
  get keys(): readonly SecretObject[] {
    return keysOf(this.server, CLAIM_UID)
  }

  /** Changes the claim, as its author does. */
  edit({ metadata = {}, spec }: Parts<AccessKeyClaim>): void {
    const { claim } = this
    if (claim === undefined) throw new Error('the claim is gone')
    const changed = { ...claim, ...(spec ? { spec } : {}) }
    this.server.put(ACCESS_KEY_CLAIMS.plural, {
      ...changed,
      metadata: { ...claim.metadata, ...metadata },
    })
  }

  /** Reason of condition Ready; undefined = no status. */
  get reason(): string | undefined {
    return this.claim?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason
  }

  /** Why what is in the Secret does not work; null = it works. */
  get fault(): string | null {
    const data = this.secret?.data
    if (data === undefined) return 'there is no Secret'
    const texts = Object.values(data).map((text) => Buffer.from(text, 'base64').toString())
    const credential = texts.map((text) => /pak_\w+|tok_[-\w]+/.exec(text)?.[0]).find(Boolean)
    if (credential === undefined) return 'it has no credential'
    const token = this.server
      .all(TOKENS.plural)
      .find(({ metadata }) => tokenTextOf(metadata) === credential)
    const digest = `sha256:${hash('sha256', credential)}`
    const key = this.keys.find(({ metadata, spec }) =>
      token === undefined
        ? (spec as { readonly key: string }).key === digest
        : token.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid),
    )
    if (key === undefined) return 'its key does not exist'
    if (token?.metadata.deletionTimestamp !== undefined) return 'its token is being deleted'
    const readyMs = this.manager.readySinceMs.get(key.metadata.uid)
    if (readyMs === undefined || this.clock.nowMs() < readyMs + 1000)
      return 'its key does not work yet'
    return null
  }

  #check(call: ServerCall): void {
    const text = JSON.stringify(call.body)
    if (call.plural === 'secrets' && this.fault !== null)
      this.broken.push(`Secret written: ${this.fault}`)
    if (text.includes('stringData')) this.broken.push('stringData was written')
    if (call.plural !== 'secrets' && /pak_|tok_/.test(text))
      this.broken.push(`plaintext in ${call.plural}`)
    if (this.keys.length > 3) this.broken.push(`${this.keys.length} keys`)
  }
}

/** The world ten seconds after a claim with this spec was made: delivered. */
export async function deliveredWorld(spec: object = {}): Promise<DeliveryWorld> {
  const world = new DeliveryWorld({ spec })
  await world.run(10)
  expect(world.reason).toBe('Delivered')
  return world
}

/** What is in the Secret works, no promise was broken, and nothing is left over but so many keys. */
export function expectDelivered(world: DeliveryWorld, keys = 1): void {
  expect(world.broken).toEqual([])
  expect(world.fault).toBeNull()
  expect(world.reason).toBe('Delivered')
  expect(world.keys).toHaveLength(keys)
}
