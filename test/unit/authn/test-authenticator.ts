// An authenticator on a manual clock, with a current or stale key index and an API server that a test can stop;
// and builders of the keys it knows.
import { ACCESS_KEYS, CREATED_ANNOTATION, type Resource } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { type Authenticator, createAuthenticator } from '../../../src/authn/authenticator.ts'
import { type KeyIndex, createKeyIndex } from '../../../src/authn/credential-index.ts'
import { withLivePeople } from '../../../src/authn/live-people.ts'
import { createLiveKeyReader } from '../../../src/authn/live-reader.ts'
import type { Caps } from '../../../src/domain/accesskey/lifetime.ts'
import type { People } from '../../../src/domain/people/people.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { type Moment, currentMoment } from '../../../src/runtime/clock.ts'
import type { Poller } from '../../../src/runtime/concurrency/poller.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { type ManualClock, manualClock } from '../../support/manual-clock.ts'
import { type Parts, keyObject } from '../../support/object-builder.ts'
import { NO_PEOPLE, peopleStores } from '../people/people-builder.ts'

/** The inputs of the authenticator; a test changes them. */
export interface Knowledge {
  caps: Caps | null
  /** Until when the watch is proven complete; null = unknown. */
  proven: Moment | null
  /** Whether settings and roles are current. */
  settings: boolean
  roles: boolean
  /** The version of the rules of scopes. */
  meaning: object
  /** The keys of the API server; null = it does not answer. */
  stored: readonly OwnedAccessKey[] | null
  /** The Users and Teams of the API server; null = it does not answer for them. */
  storedPeople: readonly KubeObject[] | null
  /** What reads wait for. */
  answered: Promise<void>
}

/** An authenticator, and its inputs. */
export interface TestAuthenticator {
  readonly clock: ManualClock
  readonly index: KeyIndex
  readonly reader: ReturnType<typeof withLivePeople>
  /** The Users and Teams of the index. */
  readonly stores: ReturnType<typeof peopleStores>
  readonly callers: Authenticator
  readonly now: Knowledge
  /** Names of the keys that were read. */
  readonly reads: string[]
  /** Kinds and names of the Users and Teams that were read. */
  readonly peopleReads: string[]
  /** Authenticates this secret: `ada until 60` in seconds after t0, or the reason of the refusal. */
  readonly outcome: (token: string) => Promise<string>
}

/** An authenticator with everything current; the API server has the keys of the index. */
export const createTestAuthenticator = (...keys: readonly OwnedAccessKey[]): TestAuthenticator =>
  testAuthenticatorAmong([], ...keys)

/** An authenticator of keys that act as these Users and Teams. */
export function testAuthenticatorAmong(
  people: readonly KubeObject[],
  ...keys: readonly OwnedAccessKey[]
): TestAuthenticator {
  const clock = manualClock(t0)
  const ofKind = (wanted: string) => people.filter(({ kind }) => kind === wanted)
  const stores = peopleStores(ofKind('User'), ofKind('Team'))
  const index = indexAmong(stores.people, ...keys)
  const now: Knowledge = {
    caps: { maxTtlSeconds: null, loginTtlSeconds: null },
    proven: currentMoment(clock),
    settings: true,
    roles: true,
    meaning: {},
    stored: keys,
    storedPeople: people,
    answered: Promise.resolve(),
  }
  const reads: string[] = []
  const peopleReads: string[] = []
  const client = {
    get: async ({ kind }: Resource, { name }: { readonly name: string }) => {
      const isKey = kind === ACCESS_KEYS.kind
      if (isKey) reads.push(name)
      else peopleReads.push(`${kind} ${name}`)
      await now.answered
      const stored = isKey ? now.stored : now.storedPeople
      if (stored === null) throw new Error('no connection')
      return stored.find((one) => one.kind === kind && one.metadata.name === name) ?? null
    },
  } as unknown as KubeClient
  const polled = (what: 'settings' | 'roles'): Poller => ({
    provenAt: () => null,
    isFresh: () => now[what],
    refreshed: async () => now[what],
  })
  const reader = withLivePeople(createLiveKeyReader(client, clock, index), client, clock)
  const callers = createAuthenticator({
    clock,
    index,
    reader,
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
  return { clock, index, stores, reader, callers, now, reads, peopleReads, outcome }
}

/** The secret of the key of that name. */
export const secretOf = (name: string): string => `pak_${name}_`.padEnd(40, 'x')

/** The key of that name, of user ada, with a secret of its own; created that many seconds after t0. */
export function key(
  name: string,
  spec: OwnedAccessKey['spec'] & object = {},
  { metadata, status }: Parts<OwnedAccessKey> = {},
  createdAfter = 0,
): OwnedAccessKey {
  return keyObject({
    metadata: { name, creationTimestamp: textAfter(createdAfter), ...metadata },
    spec: { user: 'ada', key: secretOf(name), ...spec },
    ...(status ? { status } : {}),
  })
}

/** Metadata of an object that the key of that name owns. */
export const ownedBy = (name: string, uid = `uid-${name}`): Parts<OwnedAccessKey> => ({
  metadata: {
    ownerReferences: [
      {
        apiVersion: 'management.platform.sh/v1',
        kind: 'OwnedAccessKey',
        name,
        uid,
        controller: true,
      },
    ],
  },
})

/** Metadata of a key first seen that many seconds after t0 (contract 2.8). */
export const firstSeen = (seconds: number): Parts<OwnedAccessKey> => ({
  metadata: { annotations: { [CREATED_ANNOTATION]: textAfter(seconds) } },
})

/** An index that has listed these keys, which act as people that have no User, and as teams that have no Team. */
export const indexOf = (...keys: readonly OwnedAccessKey[]): KeyIndex =>
  indexAmong(NO_PEOPLE, ...keys)

/** An index that has listed these keys, which act as these people and teams. */
export function indexAmong(people: People, ...keys: readonly OwnedAccessKey[]): KeyIndex {
  const index = createKeyIndex(new Uint8Array(32).fill(7), people)
  index.store.begin()
  for (const one of keys) index.store.put(one)
  index.store.end()
  return index
}
