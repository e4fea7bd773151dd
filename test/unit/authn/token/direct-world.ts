// A direct endpoint's authenticator over a local issuer, with one clock for both that only the test moves.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { PollObserver } from '../../../../src/authn/token/issuer-poller.ts'
import {
  type StartedTokenAuthenticator,
  startTokenAuthenticator,
} from '../../../../src/authn/token/setup.ts'
import type { Members } from '../../../direct/forged-tokens.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { type LoggedLine, memoryLog } from '../../../support/memory-log.ts'
import {
  type AtEnd,
  CLUSTER,
  newTestKey,
  newToken,
  startTestIssuer,
  type TestIssuer,
  type TestKey,
} from './test-issuer.ts'

type TokenIssuerOptions = Parameters<typeof startTokenAuthenticator>[0]

/** When the clocks start. */
export const START_MS = Date.parse('2026-11-21T10:00:00Z')

/** Poll interval of the authenticators here: no other timer has this length. */
export const POLL_MS = 4000

/** Their outage bound. */
export const MAX_STALENESS_MS = 3_600_000

/** An authenticator with what it observed. */
export interface TestDirect extends StartedTokenAuthenticator {
  readonly lines: readonly LoggedLine[]
  /** What its subscriber was called with. */
  readonly notified: readonly (string | null)[]
  readonly counts: Readonly<Record<string, number>>
  /** The reason for which the token is refused; null = it is accepted. */
  readonly because: (token: string) => Promise<string | null>
  /** Moves the clock by an interval, and waits until the poll has ended. */
  readonly poll: (ms?: number) => Promise<void>
  /** Resolves when no poll runs. */
  readonly idle: () => Promise<void>
  readonly stop: () => void
}

/** Issuer, key and clock of a test. */
export interface DirectWorld {
  readonly clock: ManualClock
  readonly key: TestKey
  readonly platform: TestIssuer
  /** A sound token of now. */
  readonly token: (claims?: Members) => { readonly token: string; readonly jti: string }
  /** Moves both clocks on as one step: nothing fires on the way. */
  readonly leap: (ms: number) => void
  /** Starts an authenticator, and waits for its first poll. */
  readonly start: (options?: Partial<TokenIssuerOptions>) => Promise<TestDirect>
}

/**
 * A world whose platform and direct endpoint start with the same time.
 *
 * @param atEnd stops it with the test, or with the file
 */
export async function directWorld(atEnd: AtEnd = onTestFinished): Promise<DirectWorld> {
  const clock = manualClock(START_MS)
  const key = newTestKey()
  // The platform's clock is right, whatever the own one shows.
  const platform = await startTestIssuer(key, () => START_MS + clock.monotonicMs(), atEnd)
  return {
    clock,
    key,
    platform,
    token: (claims) => newToken(key, platform.issuer, START_MS + clock.monotonicMs(), claims),
    leap: (ms) => {
      clock.setNow(clock.nowMs() + ms)
      clock.setMonotonic(clock.monotonicMs() + ms)
    },
    start: (options = {}) => startDirect(platform, clock, options, atEnd),
  }
}

async function startDirect(
  { issuer, caPem }: TestIssuer,
  clock: ManualClock,
  options: Partial<TokenIssuerOptions>,
  atEnd: AtEnd,
): Promise<TestDirect> {
  const { pollIntervalMs = POLL_MS } = options
  const abort = new AbortController()
  let started: StartedTokenAuthenticator | null = null
  // The last write ends before the state directory goes.
  atEnd(async () => {
    abort.abort()
    await started?.stateSettled()
  })
  const { log, lines } = memoryLog()
  const counts: Record<string, number> = {}
  const count = (name: string): void => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  let polls = 0
  let isPolling = true
  let waiting: (() => void)[] = []
  /** Sees the pause after each poll. */
  const watchedClock = {
    ...clock,
    schedule: (delayMs: number, callback: () => void) => {
      if (delayMs !== pollIntervalMs) return clock.schedule(delayMs, callback)
      polls += 1
      isPolling = false
      for (const resume of waiting) resume()
      waiting = []
      return clock.schedule(delayMs, () => {
        isPolling = true
        callback()
      })
    },
  }
  const idle = async (): Promise<void> => {
    if (isPolling) await new Promise<void>((resolve) => waiting.push(resolve))
  }
  started = await startTokenAuthenticator({
    issuer,
    cluster: CLUSTER,
    ca: caPem,
    stateDir: null,
    instance: 'direct-0',
    maxStalenessMs: MAX_STALENESS_MS,
    pollIntervalMs,
    clock: watchedClock,
    log,
    observer: {
      polled: (document: string, result: Parameters<PollObserver['polled']>[1]) => {
        count(`${document} ${result}`)
      },
      revocationsRefused: () => count('revocations refused'),
      keyRefused: () => count('key refused'),
      stateKept: (isKept) => count(isKept ? 'state kept' : 'state not kept'),
    },
    signal: abort.signal,
    ...options,
  })
  const notified: (string | null)[] = []
  started.subscribe((jti) => notified.push(jti))
  await idle()
  return {
    ...started,
    lines,
    notified,
    counts,
    because: async (token) => {
      const result = await started.authenticate(token)
      return result.ok ? null : result.because
    },
    poll: async (ms = pollIntervalMs) => {
      await idle()
      const before = polls
      await clock.advance(ms)
      await idle()
      if (polls === before) throw new Error(`no poll within ${ms} ms`)
    },
    idle,
    stop: () => abort.abort(),
  }
}

/** An empty state directory, which goes with the test. */
export async function stateDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'direct-state-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
