// What the manager does to the keys and tokens of claims, as far as their delivery sees it: they become Ready a moment after their
// creation, end at their time, and end with what they belong to.
import { CLAIM_LABEL, REVOKE_FINALIZER, TOKENS } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import { type Caps, lifetimeOf } from '../../../src/domain/accesskey/lifetime.ts'
import type { OwnedAccessKeyObject } from '../../../src/domain/accesskey/access-key.ts'
import { keyOfClaim } from '../../../src/domain/claim/claimed-key.ts'
import { formatSecond, parseTimestamp } from '../../../src/domain/time.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { statusEntry } from '../key-builder.ts'
import type { MemoryApiServer } from './memory-api-server.ts'
import type { SecretObject } from './server-side-apply.ts'

const KEYS = 'ownedaccesskeys'
/** From its creation until a key is Ready, and until a token is issued. */
const READY_AFTER_MS = 300

/** The manager. */
export class ImaginaryManager {
  readonly #server: MemoryApiServer
  readonly #clock: Clock
  readonly #caps: () => Caps
  /** When each key was first Ready, by its uid. */
  readonly readySinceMs = new Map<string, number>()
  readonly #seenMs = new Map<string, number>()
  /** Whether it does nothing. */
  isDown = false
  /** Reason of Ready of a key that is not good; null = it is good. */
  reasonOf: (key: SecretObject) => string | null = () => null

  constructor(server: MemoryApiServer, clock: Clock, caps: () => Caps) {
    this.#server = server
    this.#clock = clock
    this.#caps = caps
  }

  /** Does what is due. @returns when the next is, in epoch milliseconds; Infinity = nothing */
  act(): number {
    if (this.isDown) return Number.POSITIVE_INFINITY
    const ofKeys = this.#server.all(KEYS).map((key) => this.#actOn(KEYS, key, this.#endOf(key)))
    const ofTokens = this.#server
      .all(TOKENS.plural)
      .map((token) => this.#actOn(TOKENS.plural, token, this.#endOfToken(token)))
    return Math.min(...ofKeys, ...ofTokens, Number.POSITIVE_INFINITY)
  }

  #endOf(key: SecretObject): number {
    const view = keyOfClaim(key as OwnedAccessKeyObject, (text) => text)
    return lifetimeOf(view, this.#caps(), this.#clock.nowMs()).expiresMs ?? Number.POSITIVE_INFINITY
  }

  #endOfToken({ metadata, spec }: SecretObject): number {
    const owner = this.#server.all(KEYS).find((key) => isOwnedBy(metadata, key))
    const { ttl } = spec as { readonly ttl: number }
    const ownMs = (parseTimestamp(metadata.creationTimestamp) ?? 0) + ttl * 1000
    return owner === undefined ? 0 : Math.min(ownMs, this.#endOf(owner))
  }

  #actOn(plural: string, object: SecretObject, endMs: number): number {
    const { metadata } = object
    const nowMs = this.#clock.nowMs()
    if (metadata.deletionTimestamp !== undefined) {
      const finalizers = (metadata.finalizers ?? []).filter((one) => one !== REVOKE_FINALIZER)
      this.#server.put(plural, { ...object, metadata: { ...metadata, finalizers } })
      this.#server.remove(plural, object)
      return Number.POSITIVE_INFINITY
    }
    if (endMs <= nowMs) {
      this.#server.remove(plural, object)
      return nowMs
    }
    const seenMs = this.#seenMs.get(metadata.uid) ?? nowMs
    this.#seenMs.set(metadata.uid, seenMs)
    if (nowMs < seenMs + READY_AFTER_MS) return Math.min(seenMs + READY_AFTER_MS, endMs)
    this.#publish(plural, object, endMs)
    return endMs
  }

  #publish(plural: string, object: SecretObject, endMs: number): void {
    const { metadata } = object
    const isToken = plural === TOKENS.plural
    const { disabled } = object.spec as { readonly disabled?: boolean }
    const bad = disabled === true ? 'Disabled' : this.reasonOf(object)
    const reason = bad ?? (isToken ? 'Issued' : 'Active')
    if (reason === 'Active' && !this.readySinceMs.has(metadata.uid))
      this.readySinceMs.set(metadata.uid, this.#clock.nowMs())
    const conditions = [
      {
        type: 'Ready',
        status: bad === null ? 'True' : 'False',
        reason,
        message: `It is ${reason}.`,
        lastTransitionTime: '2026-11-21T10:00:00Z',
      },
    ]
    const status = {
      conditions,
      expirationTimestamp: formatSecond(endMs),
      ...(isToken && bad === null ? { token: tokenTextOf(metadata) } : {}),
    }
    if (JSON.stringify(status) === JSON.stringify(object.status)) return
    const others = (metadata.managedFields ?? []).filter((one) => one.subresource === undefined)
    const managedFields = [...others, statusEntry(status)]
    this.#server.put(plural, { ...object, status, metadata: { ...metadata, managedFields } })
  }
}

/** What a token has in clear. */
export const tokenTextOf = ({ uid }: Pick<ObjectMeta, 'uid'>): string => `tok_${uid}`

const isOwnedBy = ({ ownerReferences = [] }: ObjectMeta, { metadata }: SecretObject): boolean =>
  ownerReferences.some(({ uid }) => uid === metadata.uid)

/** The keys of a claim that are not being deleted. */
export const keysOf = (server: MemoryApiServer, claimUid: string): readonly SecretObject[] =>
  server
    .all(KEYS)
    .filter(
      ({ metadata }) =>
        metadata.labels?.[CLAIM_LABEL] === claimUid && metadata.deletionTimestamp === undefined,
    )
