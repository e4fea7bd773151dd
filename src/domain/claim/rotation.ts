// When the credential of a claim is replaced, and when its elder ends (contract 28.5).

/** Seconds: in a shorter lifetime a credential can't be replaced in time. */
const SHORTEST_LIFETIME = 120

/** Whether a lifetime in force is too short to make anything: condition LifetimeTooShort. */
export const isLifetimeTooShort = (lifetimeSeconds: number): boolean =>
  lifetimeSeconds < SHORTEST_LIFETIME

/** What decides when a credential is due. */
interface Due {
  /** Creation of the key, or of the token that is delivered, in epoch milliseconds. */
  readonly creationMs: number
  /** The lifetime in force: status.effectiveTTLSeconds of a key, from issue to end of a token. */
  readonly lifetimeSeconds: number
  /** null = two thirds of the lifetime. */
  readonly rotateAfterSeconds: number | null
  /** From 0 to below 1, as jitterOf gives it. */
  readonly jitter: number
}

/**
 * When a credential is due to be replaced, in epoch milliseconds, whole seconds after its creation. Never later than five
 * sixths of its lifetime; up to a tenth of the time earlier, so that claims of one moment are not replaced in one.
 */
export function dueMs({ creationMs, lifetimeSeconds, rotateAfterSeconds, jitter }: Due): number {
  const wanted = rotateAfterSeconds ?? (lifetimeSeconds * 2) / 3
  const seconds = Math.min(wanted, (lifetimeSeconds * 5) / 6)
  return creationMs + Math.floor(seconds * (1 - jitter / 10)) * 1000
}

/**
 * A number from 0 to below 1 that a claim has for all its life. Spread evenly, also over uids that resemble each other.
 */
export function jitterOf(uid: string): number {
  let hash = 0x811c9dc5
  for (const char of uid) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193)
  // The last characters of a text reach the high bits of such a hash only by mixing, as MurmurHash3 ends.
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

/** What decides when an elder ends. */
interface Elder {
  /** When its successor was delivered, in epoch milliseconds. */
  readonly deliveredMs: number
  /** Seconds that it goes on working; null = until its own end. */
  readonly overlapSeconds: number | null
  /** When it expires by itself, in epoch milliseconds. */
  readonly expiresMs: number
}

/** When an elder stops working, in epoch milliseconds: after the overlap, at the latest at its own end. */
export const elderEndMs = ({ deliveredMs, overlapSeconds, expiresMs }: Elder): number =>
  overlapSeconds === null ? expiresMs : Math.min(deliveredMs + overlapSeconds * 1000, expiresMs)
