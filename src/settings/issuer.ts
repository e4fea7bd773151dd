import { platformHostInForce } from '../domain/settings/effective-settings.ts'
import { issuerOfHost } from '../domain/token/token-claims.ts'
import type { Log } from '../runtime/log.ts'
import { followSettings, type SettingsSources } from './follow.ts'

/** Options of followIssuer. */
interface IssuerSources extends SettingsSources {
  /** `--issuer-url`; null = from the settings in force. */
  readonly flag: string | null
  readonly log: Log
}

/** The issuer of tokens in this process (contract 7.2). */
export interface FollowedIssuer {
  /** The issuer in use; null until settings in force name a platformHost, if there is no flag. */
  current(): string | null
  /**
   * The issuer from a platformHost that changed since; it takes effect at the next start, because existing tokens name
   * the current issuer. null = platformHost is unchanged.
   */
  next(): string | null
  /** Calls back whenever `current` or `next` changes, and immediately if there is an issuer. */
  subscribe(listener: () => void): void
}

/**
 * Follows the issuer of tokens: the flag, else `https://<platformHost>/oidc` from the first settings in force that name
 * a host (contract 7.2). The issuer stays the same for the life of the process, even if platformHost is removed.
 */
export function followIssuer({ flag, log, ...sources }: IssuerSources): FollowedIssuer {
  const listeners: (() => void)[] = []
  let current = flag
  let next: string | null = null
  const adopt = (issuer: string | null): void => {
    if (issuer === null) return
    const previousNext = next
    if (current === null) {
      current = issuer
      log.info({ issuer }, 'issuer of tokens, from platformHost')
    } else {
      next = issuer === current ? null : issuer
      if (next === previousNext) return
      if (next)
        log.warn({ issuer: current, next }, 'platformHost has changed, the next start uses it')
    }
    for (const listener of listeners) listener()
  }
  if (flag === null) {
    followSettings(sources, (observed) => {
      const host = platformHostInForce(observed)
      adopt(host === null ? null : issuerOfHost(host))
    })
  }
  return {
    current: () => current,
    next: () => next,
    subscribe: (listener) => {
      listeners.push(listener)
      if (current !== null) listener()
    },
  }
}
