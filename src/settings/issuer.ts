import { platformHostInForce } from '../domain/settings/in-force.ts'
import { issuerOfHost } from '../domain/token/token-claims.ts'
import type { Log } from '../runtime/log.ts'
import { type SettingsSources, followSettings } from './follow.ts'

/** Where the issuer comes from. */
interface IssuerSources extends SettingsSources {
  /** `--issuer-url`; null = from the settings in force. */
  readonly flag: string | null
  readonly log: Log
}

/** The issuer of tokens in this process (contract 7.2). */
export interface FollowedIssuer {
  /** null until settings in force name a platformHost, where the flag is absent. */
  current(): string | null
  /**
   * The issuer from a platformHost that changed meanwhile. It takes effect at the next start, because tokens in
   * use name the current one. null = it is unchanged.
   */
  next(): string | null
  /** Calls back whenever one of the two changes, and at once where an issuer is known. */
  subscribe(listener: () => void): void
}

/**
 * Follows the issuer of tokens: the flag, else `https://<platformHost>/oidc` of the first settings in force
 * that name a host (contract 7.2). It stays for the life of the process, also when platformHost is removed.
 */
export function followIssuer({ flag, log, ...sources }: IssuerSources): FollowedIssuer {
  const listeners: (() => void)[] = []
  let current = flag
  let next: string | null = null
  const adopt = (issuer: string | null): void => {
    if (issuer === null) return
    const before = next
    if (current === null) {
      current = issuer
      log.info({ issuer }, 'issuer of tokens, from platformHost')
    } else {
      next = issuer === current ? null : issuer
      if (next === before) return
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
