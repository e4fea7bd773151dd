// How often secrets of apps may be tried, and people sent by them (contract 26.3). Each replica counts for itself.
import { hash } from 'node:crypto'
import { type CountedLimit, CountedLimits, type Limit } from '../attempts/counted-limits.ts'
import { networkOf } from '../password/attempt-limits.ts'

const MINUTE_MS = 60_000
/** Wrong secrets of one client from one address. */
const OF_CLIENT: Limit = { most: 10, withinMs: MINUTE_MS }
/** Wrong secrets from one address. */
const OF_ADDRESS: Limit = { most: 60, withinMs: MINUTE_MS }
/** Refresh tokens of one client, from one address, whose grant is not known. */
const OF_UNKNOWN: Limit = { most: 60, withinMs: MINUTE_MS }
/** Codes for one person and client. Each may become an object. */
const OF_PERSON: Limit = { most: 60, withinMs: MINUTE_MS }

/** Counts. */
export class AppLimits {
  readonly #failures = new CountedLimits()
  readonly #codes = new CountedLimits()
  readonly #unknown = new CountedLimits()

  /** The time until this client may be tried from this address, in milliseconds; 0 = now. @param nowMs of a monotonic counter */
  waitMs(clientId: string, address: string, nowMs: number): number {
    return this.#failures.waitMs(failureLimits(clientId, address), nowMs)
  }

  /** A secret of the client was wrong. @param nowMs of a monotonic counter */
  failed(clientId: string, address: string, nowMs: number): void {
    this.#failures.admit(failureLimits(clientId, address), nowMs)
  }

  /** Counts a refresh token of an unknown grant, if there is room. @param nowMs of a monotonic counter @returns whether there is */
  admitsUnknown(clientId: string, address: string, nowMs: number): boolean {
    const limit = { key: digestOf([networkOf(address), clientId]), limit: OF_UNKNOWN }
    return this.#unknown.admit([limit], nowMs) === 0
  }

  /** Counts a code, if there is room. @param nowMs of a monotonic counter @returns whether there is */
  admitsCode(userUid: string, clientId: string, nowMs: number): boolean {
    const limit = { key: digestOf([userUid, clientId]), limit: OF_PERSON }
    return this.#codes.admit([limit], nowMs) === 0
  }
}

function failureLimits(clientId: string, address: string): readonly CountedLimit[] {
  const network = networkOf(address)
  return [
    { key: `client ${digestOf([network, clientId])}`, limit: OF_CLIENT },
    { key: `address ${network}`, limit: OF_ADDRESS },
  ]
}

/** A counter takes the same room whatever the texts. */
const digestOf = (texts: readonly string[]): string =>
  hash('sha256', JSON.stringify(texts), 'base64')
