import type { Caps } from '../domain/accesskey/lifetime.ts'
import { capsInForce } from '../domain/settings/in-force.ts'
import type { Log } from '../runtime/log.ts'
import { type SettingsSources, followSettings } from './follow.ts'

/** Where the caps come from. */
interface CapsSources extends SettingsSources {
  readonly log: Log
}

/** The caps in force, kept current by the watches of the settings. */
export interface FollowedCaps {
  /** null until the first settings in force have arrived: nothing may be decided before (contract 8.2). */
  current(): Caps | null
  /** Calls back whenever the caps change, and at once where they are known. */
  subscribe(listener: (caps: Caps) => void): void
}

/**
 * Follows the caps on the lifetime of every key and token (contract 2.2, 6.5). Settings that can't be read change
 * nothing: the earlier caps stay in force, so that no fault lifts one.
 */
export function followCaps({ log, ...sources }: CapsSources): FollowedCaps {
  const listeners: ((caps: Caps) => void)[] = []
  let current: Caps | null = null
  followSettings(sources, (observed) => {
    const reading = capsInForce(observed)
    if (!reading.known) {
      // Normal at the first start: the operator has put none in force yet.
      const logAt = current === null ? log.debug : log.error
      logAt({ because: reading.because }, 'caps can not be read, those known before stay in force')
    } else if (!isSame(current, reading.caps)) {
      current = reading.caps
      log.info({ ...current, from: reading.from }, 'caps in force')
      for (const listener of listeners) listener(reading.caps)
    }
  })
  return {
    current: () => current,
    subscribe: (listener) => {
      listeners.push(listener)
      if (current) listener(current)
    },
  }
}

/**
 * The caps in force.
 *
 * @throws Error before settings in force are known: nothing may be decided without them
 */
export function knownCaps(caps: FollowedCaps): Caps {
  const current = caps.current()
  if (!current) throw new Error('settings in force have not been seen yet')
  return current
}

const isSame = (a: Caps | null, b: Caps): boolean =>
  a?.maxTtlSeconds === b.maxTtlSeconds && a.loginTtlSeconds === b.loginTtlSeconds
