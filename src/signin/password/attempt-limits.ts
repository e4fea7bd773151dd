// How often passwords may be tried (contract 25.5). Each replica counts for itself.
import { hash } from 'node:crypto'
import { parseIpAddress, unmapped } from '../../domain/ip-address.ts'
import { type CountedLimit, CountedLimits, type Limit } from '../attempts/counted-limits.ts'

/** An attempt, as it is counted. */
export interface CountedAttempt {
  /** As the person typed it, of any length; whether a User has it plays no part. */
  readonly username: string
  /** Address of the client. */
  readonly address: string
  /** Whether that name signed in before in this browser. */
  readonly isKnown: boolean
}

/** Whether an attempt may be made. */
type AttemptVerdict =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'limited'; readonly retryAfterSeconds: number }

/** Counts attempts. */
interface AttemptLimits {
  /**
   * Counts the attempt if every limit has room for it. One that is limited is not counted: after the time that
   * the verdict names it is allowed, and a flood of refusals displaces no counter.
   *
   * @param nowMs of a monotonic counter
   */
  readonly admit: (attempt: CountedAttempt, nowMs: number) => AttemptVerdict
  /** The number of counters. */
  readonly size: () => number
}

const MINUTE_MS = 60_000
const OF_ADDRESS: Limit = { most: 25, withinMs: MINUTE_MS }
const OF_NAME_AT_ADDRESS: Limit = { most: 3, withinMs: MINUTE_MS }
const OF_NAME: Limit = { most: 30, withinMs: 60 * MINUTE_MS }
const OF_KNOWN_BROWSER: Limit = { most: 3, withinMs: MINUTE_MS }

/** Creates counters without attempts. */
export function createAttemptLimits(): AttemptLimits {
  const counters = new CountedLimits()
  return {
    admit: (attempt, nowMs) => {
      const waitMs = counters.admit(limitsOf(attempt), nowMs)
      return waitMs > 0
        ? { kind: 'limited', retryAfterSeconds: Math.ceil(waitMs / 1000) }
        : { kind: 'allowed' }
    },
    size: () => counters.size,
  }
}

/**
 * The limits of an attempt. A known browser has its own limit alone, so that no stranger uses up what the person
 * needs, not even behind the same address.
 */
function limitsOf({ username, address, isKnown }: CountedAttempt): readonly CountedLimit[] {
  const name = digestOf(username)
  if (isKnown) return [{ key: `known ${name}`, limit: OF_KNOWN_BROWSER }]
  const network = networkOf(address)
  return [
    { key: `address ${network}`, limit: OF_ADDRESS },
    { key: `name at address ${digestOf(`${network} ${name}`)}`, limit: OF_NAME_AT_ADDRESS },
    { key: `name ${name}`, limit: OF_NAME },
  ]
}

/** A counter takes the same room whatever the name, of which it holds nothing. */
const digestOf = (text: string): string => hash('sha256', text, 'base64')

/** Bits of an IPv6 address that a client may choose: one subscriber has them all. */
const HOST_BITS = 64n

/** The address of a client, for IPv6 its /64. All other texts count as one. */
export function networkOf(text: string): string {
  const parsed = parseIpAddress(text)
  if (parsed === null) return 'unknown'
  const { bits, value } = unmapped(parsed)
  return bits === 32 ? `${value}` : `${value >> HOST_BITS}/64`
}
