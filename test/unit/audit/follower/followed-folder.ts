// A directory with files of an audit log, new for each test, and a follower of it.
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished } from 'vitest'
import { freeBackupName } from '../../../../src/audit/files/backups.ts'
import { AuditFollower, type StoreResult } from '../../../../src/audit/follower/follower.ts'
import { eventLines, EVENTS_FROM_MS } from '../../../support/audit-store-events.ts'
import { eventually } from '../../../support/eventually.ts'
import type { MemoryAuditStore } from '../../../support/memory-audit-store.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'

/** The directory of the test. */
let directory = ''

/** To be called before each test. */
export function makeDirectory(): void {
  const made = mkdtempSync(join(tmpdir(), 'audit-follower-'))
  directory = made
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
}

/** The path of a file of the log; of its directory for an empty name. */
export const path = (name: string): string => join(directory, name)
/** Lines of events, from this number on. */
export const text = (first: number, count: number): string =>
  eventLines(first, count)
    .map((line) => `${line}\n`)
    .join('')
/** Appends these lines. */
export const write = (first: number, count: number, name = 'audit.log'): void =>
  appendFileSync(path(name), text(first, count))
/** The name of a backup. */
export const backup = (number: number): string => freeBackupName([], EVENTS_FROM_MS + number)
/** Makes the present file this backup. */
export const rotate = (number: number): void => renameSync(path('audit.log'), path(backup(number)))
/** Compresses this backup. */
export function compress(number: number): void {
  writeFileSync(path(`${backup(number)}.gz`), gzipSync(readFileSync(path(backup(number)))))
  rmSync(path(backup(number)))
}

interface Following {
  readonly follower: AuditFollower
  readonly counts: Map<StoreResult, number>
  readonly failures: unknown[]
  readonly healed: () => number
  readonly end: () => Promise<void>
}

/** A clock that stands when the events begin. */
export const clockNow = () => manualClock(EVENTS_FROM_MS)

/** Follows until the test ends. */
export function follow(store: MemoryAuditStore, clock = clockNow()): Following {
  const counts = new Map<StoreResult, number>()
  const failures: unknown[] = []
  let healed = 0
  const follower = new AuditFollower({
    store,
    directory,
    source: 'gateway-0',
    clock,
    observer: {
      counted: (result, count) => counts.set(result, (counts.get(result) ?? 0) + count),
      failed: (cause) => failures.push(cause),
      healed: () => {
        healed += 1
      },
    },
  })
  const stop = new AbortController()
  const running = follower.run(stop.signal)
  const end = async (): Promise<void> => {
    stop.abort()
    await running
  }
  onTestFinished(end)
  return { follower, counts, failures, healed: () => healed, end }
}

/** The ids of these events. */
export const ids = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `id-${first + at}`)

/** Moves the clock by polls until the probe says so. */
export const pollUntil = (
  what: string,
  clock: ManualClock,
  probe: () => boolean,
  stepMs = 500,
): Promise<true> =>
  eventually(
    what,
    async () => {
      if (probe()) return true
      await clock.advance(stepMs)
      return undefined
    },
    { withinMs: 20_000 },
  )

/** Moves the clock until the store has as many lines, and compares them. */
export async function untilStored(
  store: MemoryAuditStore,
  clock: ManualClock,
  expected: readonly string[],
): Promise<void> {
  await pollUntil(
    `${expected.length} lines are stored`,
    clock,
    () => store.lines.length >= expected.length,
  )
  expect(store.ids).toEqual(expected)
}
