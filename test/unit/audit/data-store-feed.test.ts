// The data store in use, by settings that change, over SQLite in files (contract 22.3).
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DataStoreFeed, feedSettingsOf } from '../../../src/audit/data-store-feed.ts'
import type { StoreEndpoint } from '../../../src/domain/settings/store-endpoint.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { auditIDsOf, auditQuery, eventLines } from '../../support/audit-store-events.ts'
import { eventually } from '../../support/eventually.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-feed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

const directory = (name: string): string => join(folder, name)
const database = (name: string): StoreEndpoint => ({ kind: 'sqlite', file: join(folder, name) })
function write(first: number, count: number, name: string): void {
  mkdirSync(directory(name), { recursive: true })
  const lines = eventLines(first, count).map((line) => `${line}\n`)
  appendFileSync(join(directory(name), 'audit.log'), lines.join(''))
}

function newFeed() {
  const failures: unknown[] = []
  const feed = new DataStoreFeed({
    source: 'gateway-0',
    clock: systemClock(),
    observer: {
      counted: () => undefined,
      failed: (cause) => failures.push(cause),
      healed: () => undefined,
      retentionFailed: (cause) => failures.push(cause),
    },
  })
  onTestFinished(() => feed.end())
  return { feed, failures }
}

/** The IDs of the events in the store, once it has as many. */
async function stored(feed: DataStoreFeed, count: number): Promise<readonly string[]> {
  const held = async () => {
    const page = await feed.current?.store.queryEvents(auditQuery({ limit: '1000' }))
    const found = auditIDsOf(page?.events ?? []).toSorted()
    return found.length < count ? undefined : found
  }
  return eventually(`the store has ${count} events`, held, { withinMs: 20_000 })
}

const ids = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `id-${first + at}`)

test('a store that is set later begins with the oldest file, and another one with all of them (22.3)', async () => {
  const { feed, failures } = newFeed()
  feed.apply(null)
  expect(feed.current).toBeNull()
  write(0, 3, 'log')
  feed.apply({ endpoint: database('a'), directory: directory('log'), ttlHours: 0 })
  expect(await stored(feed, 3)).toEqual(ids(0, 3))
  write(3, 2, 'log')
  feed.apply({ endpoint: database('b'), directory: directory('log'), ttlHours: 0 })
  expect(await stored(feed, 5)).toEqual(ids(0, 5))
  expect(failures).toEqual([])
})

test('the store takes what the directory before has, where the path changes (22.1, 22.3)', async () => {
  const { feed } = newFeed()
  write(0, 2, 'one')
  feed.apply({ endpoint: database('a'), directory: directory('one'), ttlHours: 0 })
  expect(await stored(feed, 2)).toEqual(ids(0, 2))
  write(2, 2, 'one')
  feed.apply({ endpoint: database('a'), directory: directory('two'), ttlHours: 0 })
  write(4, 2, 'two')
  expect(await stored(feed, 6)).toEqual(ids(0, 6))
})

test('a store that is switched off takes what was written before, and none of what comes later (22.3)', async () => {
  const { feed } = newFeed()
  const settings = { endpoint: database('a'), directory: directory('log'), ttlHours: 0 }
  write(0, 2, 'log')
  feed.apply(settings)
  feed.apply(null)
  expect(feed.current).toBeNull()
  feed.apply(settings)
  expect(await stored(feed, 2)).toEqual(ids(0, 2))
})

test('a store that cannot be used says so once, and is filled once it can (22.3)', async () => {
  const { feed, failures } = newFeed()
  mkdirSync(join(folder, 'a'))
  write(0, 2, 'log')
  feed.apply({ endpoint: database('a'), directory: directory('log'), ttlHours: 0 })
  await eventually('the failure is said', () => failures[0], { withinMs: 10_000 })
  expect(String(failures[0])).not.toContain(folder)
  rmSync(join(folder, 'a'), { recursive: true })
  expect(await stored(feed, 2)).toEqual(ids(0, 2))
  expect(failures).toHaveLength(1)
})

describe('a data store (22.3)', () => {
  const audit = { enabled: true, path: '/var/log/audit', level: 1, dataStoreTTL: 24 }
  const endpoint = 'sqlite:///var/lib/events.db'

  test('is used where there are files, events and an endpoint', () => {
    expect(feedSettingsOf({ audit, endpoint, subdirectory: 'g0' })).toEqual({
      endpoint: { kind: 'sqlite', file: '/var/lib/events.db' },
      directory: '/var/log/audit/g0',
      ttlHours: 24,
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'an audit log that is off', given: { audit: { ...audit, enabled: false }, endpoint } },
    { name: 'a policy that records nothing', given: { audit: { ...audit, level: undefined }, endpoint } },
    { name: 'standard output', given: { audit: { ...audit, path: '-' }, endpoint } },
    { name: 'no endpoint', given: { audit, endpoint: '' } },
    { name: 'an endpoint that is none', given: { audit, endpoint: 'REDACTED' } },
  ])('is not used with $name', ({ given: { audit: { level, ...rest }, endpoint: text } }) => {
    const settings = level === undefined ? rest : { ...rest, level }
    expect(feedSettingsOf({ audit: settings, endpoint: text, subdirectory: null })).toBeNull()
    expect(existsSync('/var/lib/events.db')).toBe(false)
  })
})
