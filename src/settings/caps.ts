import type { Caps } from '../domain/accesskey/lifetime.ts'
import { capsInForce } from '../domain/settings/effective-settings.ts'
import type { Log } from '../runtime/log.ts'
import { followSettings, type SettingsSources } from './follow.ts'

/** Options of followCaps. */
interface CapsSources extends SettingsSources {
  readonly log: Log
}

/** The caps in force, kept current by the watches of the settings. */
export interface FollowedCaps {
  /** The caps in force; null before the first settings in force arrive, when nothing may be decided (contract 8.2). */
  current(): Caps | null
  /** Calls back whenever the caps change, and immediately if there are caps. */
  subscribe(listener: (caps: Caps) => void): void
}

/**
 * Follows the caps on the lifetime of every key and token (contract 2.2, 6.5). While settings can't be read, the
 * earlier caps stay in force, so that no fault lifts a cap.
 */
export function followCaps({ log, ...sources }: CapsSources): FollowedCaps {
  const listeners: ((caps: Caps) => void)[] = []
  let current: Caps | null = null
  followSettings(sources, (observed) => {
    const reading = capsInForce(observed)
    if (!reading.known) {
      // Normal at the first start, before the operator has put settings in force.
      const logAt = current === null ? log.debug : log.error
      logAt({ because: reading.because }, 'caps cannot be read, the previous caps stay in force')
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
 * @throws Error before there are caps, because nothing may be decided without them
 */
export function knownCaps(caps: FollowedCaps): Caps {
  const current = caps.current()
  if (!current) throw new Error('settings in force have not been seen yet')
  return current
}

const isSame = (a: Caps | null, b: Caps): boolean =>
  a?.maxTtlSeconds === b.maxTtlSeconds && a.loginTtlSeconds === b.loginTtlSeconds
