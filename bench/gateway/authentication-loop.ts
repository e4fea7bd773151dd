// Measures the authentication of known keys, in a process of its own: argv is the number of keys in the index and of
// rounds. Prints as JSON the microseconds of CPU that one authentication took in each round, and two SHA-256 of a key beside it:
// what the machine needs for the digests alone.
import { hash } from 'node:crypto'
import { createAuthenticator } from '../../src/authn/authenticator.ts'
import { createKeyIndex } from '../../src/authn/credential-index.ts'
import { createLiveKeyReader } from '../../src/authn/live-reader.ts'
import {
  FRESH_FOR_MS,
  READ_TIMEOUT_MS,
  RENEW_AFTER_MS,
  REUSE_READS_FOR_MS,
} from '../../src/authn/staleness.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import {
  createTeamStore,
  createUserStore,
  parseTeam,
  parseUser,
  peopleIn,
} from '../../src/people/people-index.ts'
import { currentMoment, systemClock } from '../../src/runtime/clock.ts'
import { startPoller } from '../../src/runtime/concurrency/poller.ts'
import { memoryLog } from '../../test/support/memory-log.ts'
import { keyObject } from '../../test/support/object-builder.ts'
import { type Figures, interleaved } from '../measure/rounds.ts'

const TIMES = 20_000
/** Step between keys of the index; it shares no divisor with the size, so neighbours don't follow each other. */
const STEP = 7919

const secretOf = (at: number): string => `pak_${at}_`.padEnd(52, 'x')

function indexOf(keys: number) {
  const stores = { users: createUserStore(parseUser), teams: createTeamStore(parseTeam) }
  const index = createKeyIndex(crypto.getRandomValues(new Uint8Array(32)), peopleIn(stores))
  index.store.begin()
  for (let at = 0; at < keys; at += 1)
    index.store.put(
      keyObject({
        metadata: { name: `key-${at}` },
        spec: { user: `user-${at}`, key: secretOf(at) },
      }),
    )
  index.store.end()
  return index
}

/** The authenticator as the gateway creates it, with an index, settings and roles that are fresh. */
function authenticatorOf(keys: number, signal: AbortSignal) {
  const clock = systemClock()
  const index = indexOf(keys)
  const polled = (what: string) =>
    startPoller({
      name: what,
      clock,
      signal,
      log: memoryLog().log,
      read: () => Promise.resolve(),
      everyMs: RENEW_AFTER_MS,
      freshForMs: FRESH_FOR_MS,
      reuseForMs: REUSE_READS_FOR_MS,
      timeoutMs: READ_TIMEOUT_MS,
    })
  const client = { get: () => Promise.reject(new Error('nothing is read')) }
  const version = {}
  return createAuthenticator({
    clock,
    index,
    reader: createLiveKeyReader(client as unknown as KubeClient, clock, index),
    provenAt: () => currentMoment(clock),
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    settings: polled('settings'),
    roles: polled('roles'),
    scopeRulesVersion: () => version,
  })
}

async function main(keys: number, rounds: number): Promise<void> {
  const stop = new AbortController()
  const { authenticate } = authenticatorOf(keys, stop.signal)
  const authenticateAll = async (): Promise<void> => {
    for (let count = 0; count < TIMES; count += 1) {
      const result = await authenticate(secretOf((count * STEP) % keys))
      if (!result.ok) throw new Error(`a known key is refused: ${result.because}`)
    }
  }
  const measure = async (name: 'authentication' | 'digests'): Promise<Figures> => ({
    us: await cpuUsEach(name === 'authentication' ? authenticateAll : twoDigests),
  })
  // The first round is not counted: Node compiles what runs often.
  const { authentication, digests } = await interleaved(
    ['authentication', 'digests'],
    rounds + 1,
    measure,
    () => undefined,
  )
  stop.abort()
  const both = authentication.map(({ us }, round) => [us, digests[round]?.['us']])
  console.log(JSON.stringify(both.slice(1)))
}

/** Two digests of as many secrets, each a new string as in the authentication, in the encoding that the index uses. */
function twoDigests(): void {
  for (let count = 0; count < TIMES; count += 1) {
    const secret = secretOf(count)
    hash('sha256', secret, 'binary')
    hash('sha256', secret, 'binary')
  }
}

/** Microseconds of CPU time for each of the times that `run` does it. */
async function cpuUsEach(run: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / TIMES
}

await main(Number(process.argv[2]), Number(process.argv[3]))
