// The expiry of an access key: a pure function of the object, the caps and the time, so that the operator and every
// gateway compute the same expiry independently.

/** The global limits in force, in seconds; null = none (contract 2.1, 2.2). */
export interface Caps {
  /** Config.status.auth.accessKeyMaxTTLSeconds: binds every key, also one without a ttl. */
  readonly maxTtlSeconds: number | null
  /** Config.status.auth.loginAccessKeyTTLSeconds: the lifetime of a Login key without a ttl. */
  readonly loginTtlSeconds: number | null
}

/** The fields of a key that determine its lifetime. Times are epoch milliseconds. */
export interface LifetimeFields {
  /** Seconds; 0 = the key has no lifetime of its own. */
  readonly ttl: number
  readonly type: string
  /** spec.ttlAfterLastActivity: the lifetime starts again at each use. */
  readonly slides: boolean
  readonly creationMs: number
  /** Annotation `created`: when the operator first saw the key (contract 2.8); null when it is missing or malformed. */
  readonly firstSeenMs: number | null
  /** status.lastActivity, the last recorded use; null when there is none. */
  readonly lastActivityMs: number | null
}

/** The lifetime of a key at one moment. Times are epoch milliseconds; null = never or none. */
export interface Lifetime {
  /** When the lifetime started, whatever the last use. */
  readonly startMs: number
  /** The key's own lifetime in seconds, before the cap. */
  readonly ownSeconds: number | null
  /** The lifetime after caps and defaults, in seconds. */
  readonly effectiveSeconds: number | null
  readonly expiresMs: number | null
  /** Whether the expiry would be later without the cap (condition LifetimeCapped). */
  readonly capped: boolean
  /** The last recorded use; null when there is none, or when it is too far in the future to count. */
  readonly activityMs: number | null
  /** Until when the last recorded use is ignored, because it is too far in the future; null = it counts (2.9). */
  readonly activityIgnoredUntilMs: number | null
}

/**
 * Tolerance for the clocks of gateways: a recorded use at most this far in the future counts (contract 2.9). The expiry
 * is computed from the recorded time, not from now, so that status does not change with every reconcile.
 */
const ACTIVITY_TOLERANCE_MS = 60_000

/** Computes the lifetime of a key at `nowMs` (contract 2.1 to 2.3, 2.8, 2.9). Never throws. */
export function lifetimeOf(key: LifetimeFields, caps: Caps, nowMs: number): Lifetime {
  const startMs = Math.min(key.creationMs, key.firstSeenMs ?? key.creationMs)
  const activityIgnoredUntilMs = ignoredUntilMs(key, nowMs)
  const activityMs = activityIgnoredUntilMs === null ? key.lastActivityMs : null
  const ownSeconds = ownTtl(key, caps)
  const effectiveSeconds = earliest(ownSeconds, caps.maxTtlSeconds)
  const baseMs = key.slides ? Math.max(startMs, activityMs ?? startMs) : startMs
  const uncappedMs = addSeconds(baseMs, ownSeconds)
  const capMs = addSeconds(startMs, caps.maxTtlSeconds)
  const expiresMs = earliest(addSeconds(baseMs, effectiveSeconds), capMs)
  const capped = expiresMs !== null && (uncappedMs === null || uncappedMs > expiresMs)
  return {
    startMs,
    ownSeconds,
    effectiveSeconds,
    expiresMs,
    capped,
    activityMs,
    activityIgnoredUntilMs,
  }
}

/** Whether a credential with this expiry still works: now is before it, without leeway (contract 2.6). */
export const isLive = (expiresMs: number | null, nowMs: number): boolean =>
  expiresMs === null || nowMs < expiresMs

function ignoredUntilMs({ lastActivityMs }: LifetimeFields, nowMs: number): number | null {
  if (lastActivityMs === null || lastActivityMs <= nowMs + ACTIVITY_TOLERANCE_MS) return null
  return lastActivityMs - ACTIVITY_TOLERANCE_MS
}

function ownTtl({ ttl, type }: LifetimeFields, caps: Caps): number | null {
  if (ttl > 0) return ttl
  return type === 'Login' ? caps.loginTtlSeconds : null
}

const addSeconds = (startMs: number, seconds: number | null): number | null =>
  seconds === null ? null : startMs + seconds * 1000

/** The smaller of two limits; null means no limit. */
export function earliest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
