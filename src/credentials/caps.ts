import type { Config } from '../api/config.gen.ts'
import type { ConfigMap } from '../api/core.ts'
import { IN_FORCE_CONFIG_MAP } from '../api/group.ts'
import { capsInForce } from '../domain/config/caps.ts'
import type { Caps } from '../domain/lifetime.ts'
import type { Store, Whole } from '../kube/store.ts'
import type { Log } from '../runtime/log.ts'

/** Where the caps are read from. */
export interface CapsSources {
  readonly configs: Store<Whole<Config>>
  /** Holds ConfigMap `platform-config-in-force` only. */
  readonly records: Store<Whole<ConfigMap>>
  readonly configName: string
  readonly log: Log
}

/** The caps in force, followed as they change. */
export interface FollowedCaps {
  /** null until settings in force have been seen: nothing may be decided before (contract 8.2). */
  current(): Caps | null
  /** Calls back whenever the caps have changed, also the first time. */
  subscribe(listener: (caps: Caps) => void): void
}

/**
 * Follows the caps that bind every key and token (contract 2.2, 6.5). Settings that can't be read
 * change nothing: the caps known before stay, so that no fault lifts one.
 */
export function followCaps({ configs, records, configName, log }: CapsSources): FollowedCaps {
  const listeners: ((caps: Caps) => void)[] = []
  let current: Caps | null = null
  const read = (): void => {
    if (!configs.synced || !records.synced) return
    const config = configs.get(configName)
    const record = records.get(IN_FORCE_CONFIG_MAP)
    const reading = capsInForce(
      config ? { uid: config.uid, status: config.object.status } : null,
      record ? (record.object.data ?? {}) : null,
    )
    if (!reading.known) {
      // At the very first start this is the rule: the operator has yet to put any in force.
      const say = current === null ? log.debug : log.error
      say({ because: reading.because }, 'caps can not be read, those known before stay in force')
    } else if (!isSame(current, reading.caps)) {
      current = reading.caps
      log.info({ ...current, from: reading.from }, 'caps in force')
      for (const listener of listeners) listener(reading.caps)
    }
  }
  for (const store of [configs, records]) {
    store.subscribe(read)
    store.whenSynced(read)
  }
  return {
    current: () => current,
    subscribe: (listener) => {
      listeners.push(listener)
      if (current) listener(current)
    },
  }
}

const isSame = (a: Caps | null, b: Caps): boolean =>
  a?.maxTtlSeconds === b.maxTtlSeconds && a.loginTtlSeconds === b.loginTtlSeconds
