// An authenticator on a manual clock, with an index that is fresh or not, and an API server that answers or not.
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { type Authenticator, createAuthenticator } from '../../../src/authn/authenticator.ts'
import type { KeyIndex } from '../../../src/authn/credential-index.ts'
import { createLiveKeyReader } from '../../../src/authn/live-reader.ts'
import type { Caps } from '../../../src/domain/accesskey/lifetime.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { type Moment, currentMoment } from '../../../src/runtime/clock.ts'
import type { Poller } from '../../../src/runtime/concurrency/poller.ts'
import { t0 } from '../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { indexOf } from './key-builder.ts'

/** What the authenticator knows; a test changes it. */
export interface Knowledge {
  caps: Caps | null
  /** Up to when the watch is proven complete; null = unknown. */
  proven: Moment | null
  /** Whether settings and roles are fresh, or could be read. */
  settings: boolean
  roles: boolean
  /** The version of the rules of scopes. */
  meaning: object
  /** The keys of the API server; null = it does not answer. */
  stored: readonly OwnedAccessKey[] | null
}

/** An authenticator, and its inputs. */
export interface TestAuthenticator {
  readonly clock: ManualClock
  readonly index: KeyIndex
  readonly callers: Authenticator
  readonly now: Knowledge
  /** Names of the keys that were read. */
  readonly reads: string[]
  /** Authenticates this secret: `ada until 60` in seconds after t0, or the reason of the refusal. */
  readonly outcome: (token: string) => Promise<string>
}

/** All is fresh, and the API server has the keys of the index. */
export function createTestAuthenticator(...keys: readonly OwnedAccessKey[]): TestAuthenticator {
  const clock = manualClock(t0)
  const index = indexOf(...keys)
  const now: Knowledge = {
    caps: { maxTtlSeconds: null, loginTtlSeconds: null },
    proven: currentMoment(clock),
    settings: true,
    roles: true,
    meaning: {},
    stored: keys,
  }
  const reads: string[] = []
  const client = {
    get: async (_: unknown, { name }: { readonly name: string }) => {
      reads.push(name)
      if (now.stored === null) throw new Error('no connection')
      return now.stored.find(({ metadata }) => metadata.name === name) ?? null
    },
  } as unknown as KubeClient
  const polled = (what: 'settings' | 'roles'): Poller => ({
    provenAt: () => null,
    refreshed: async () => now[what],
  })
  const callers = createAuthenticator({
    clock,
    index,
    reader: createLiveKeyReader(client, clock, index),
    provenAt: () => now.proven,
    caps: () => now.caps,
    settings: polled('settings'),
    roles: polled('roles'),
    scopeRulesVersion: () => now.meaning,
  })
  const outcome = async (token: string): Promise<string> => {
    const found = await callers.authenticate(token)
    if (!found.ok) return found.because
    const { identity, expiresMs } = found.caller
    return expiresMs === null ? identity.user : `${identity.user} until ${(expiresMs - t0) / 1000}`
  }
  return { clock, index, callers, now, reads, outcome }
}
