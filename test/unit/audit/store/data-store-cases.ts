// What every data store does; each kind of database runs these cases.
import { expect, test } from 'vitest'
import type { DataStore } from '../../../../src/audit/store/data-store.ts'
import { MOST_PAGE_BYTES } from '../../../../src/audit/store/query-events.ts'
import type { EventPosition } from '../../../../src/domain/audit/continue-token.ts'
import type { AuditQuery } from '../../../../src/domain/audit/query.ts'
import {
  auditIDsOf,
  auditQuery,
  eventLine,
  eventLines,
  EVENTS_FROM_MS,
} from '../../../support/audit-store-events.ts'

const SOURCE = 'gateway-0'
const NEVER = new AbortController().signal

const batch = (lines: readonly (string | null)[], position = 'p') => ({
  source: SOURCE,
  lines,
  position,
})

/** All pages of a question; `between` runs behind each page. */
async function allPages(
  store: DataStore,
  query: AuditQuery,
  between: (page: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<readonly string[][]> {
  const pages: string[][] = []
  let after: EventPosition | null = null
  do {
    const { events, next } = await store.queryEvents({ ...query, after })
    pages.push([...events])
    after = next
    await between(pages.length)
  } while (after !== null)
  return pages
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at)

/** Fields of ten events: what is asked for stands in one of them, or two. */
const ASKED = [
  {},
  { user: { username: 'eve' } },
  { verb: 'delete' },
  {
    annotations: {
      'platform.sh/access-key': 'ci',
      'platform.sh/key-id': 'k9',
      'platform.sh/cluster': 'west',
    },
  },
  { annotations: { 'platform.sh/target': 'Management', 'platform.sh/project': 'p1' } },
  {
    objectRef: {
      resource: 'pods',
      subresource: 'log',
      namespace: 'shop',
      name: 'db',
      apiVersion: 'v1',
    },
  },
  { objectRef: { resource: 'deployments', apiGroup: 'apps', name: 'web', apiVersion: 'v1' } },
  { responseStatus: { metadata: {}, code: 403 } },
  { responseStatus: { metadata: {}, code: 499 }, stage: 'Panic' },
  {},
]

/** Questions to them, and the numbers of those that they find. */
const QUESTIONS: readonly {
  readonly filters: Readonly<Record<string, string>>
  readonly found: readonly number[]
}[] = [
  { filters: { user: 'eve' }, found: [1] },
  { filters: { user: 'Eve' }, found: [] },
  { filters: { verb: 'delete' }, found: [2] },
  { filters: { key: 'ci' }, found: [3] },
  { filters: { key: 'k9' }, found: [3] },
  { filters: { target: 'Management' }, found: [4] },
  { filters: { cluster: 'west' }, found: [3] },
  { filters: { project: 'p1' }, found: [4] },
  { filters: { namespace: 'shop' }, found: [5] },
  { filters: { namespace: '' }, found: [6] },
  { filters: { group: 'apps' }, found: [6] },
  { filters: { group: '' }, found: [5] },
  { filters: { resource: 'pods/log' }, found: [5] },
  { filters: { resource: 'pods' }, found: [] },
  { filters: { name: 'db' }, found: [5] },
  { filters: { code: '403' }, found: [7] },
  { filters: { code: '4xx' }, found: [8, 7] },
  { filters: { stage: 'Panic' }, found: [8] },
  { filters: { auditID: 'id-2' }, found: [2] },
  { filters: { source: 'gateway-0', limit: '2' }, found: [9, 8] },
  { filters: { since: '2026-11-28T12:00:07Z', until: '2026-11-28T12:00:09Z' }, found: [8, 7] },
  { filters: { since: '2026-11-28T12:00:05Z', user: 'zoe', code: '4xx' }, found: [8, 7] },
  { filters: { user: 'zoe', verb: 'delete', code: '403' }, found: [] },
]

/** Registers the cases. @param empty a store without events */
export function dataStoreCases(empty: () => Promise<DataStore>): void {
  test('events are stored with the position, once each (22.3)', async () => {
    const store = await empty()
    expect(await store.readPosition(SOURCE)).toBeNull()
    const lines = eventLines(0, 1000)
    const first = await store.writeEvents(batch(lines, 'one'))
    expect(first).toEqual({ stored: 1000, double: 0, refused: 0 })
    expect(await store.readPosition(SOURCE)).toBe('one')
    expect(await store.readPosition('gateway-1')).toBeNull()
    const more = [...lines.slice(990), eventLine(1000), eventLine(1000)]
    const again = await store.writeEvents(batch(more, 'two'))
    expect(again).toEqual({ stored: 1, double: 11, refused: 0 })
    expect(await store.readPosition(SOURCE)).toBe('two')
  })

  test('an event is told from another by source, auditID and stage, exactly (22.3)', async () => {
    const store = await empty()
    const long = 'a'.repeat(300)
    const lines = [
      eventLine(0, { auditID: 'x' }),
      eventLine(0, { auditID: 'X' }),
      eventLine(0, { auditID: 'x ' }),
      eventLine(0, { auditID: 'x', stage: 'ResponseStarted' }),
      eventLine(0, { auditID: 'x', annotations: { 'platform.sh/source': 'agent:east' } }),
      eventLine(0, { auditID: `${long}1` }),
      eventLine(0, { auditID: `${long}2` }),
    ]
    expect((await store.writeEvents(batch(lines))).stored).toBe(lines.length)
    expect((await store.writeEvents(batch(lines))).double).toBe(lines.length)
    const find = async (name: 'auditID' | 'source', text: string) =>
      (await store.queryEvents({ ...auditQuery(), exact: new Map([[name, text]]) })).events
    expect(await find('auditID', 'x ')).toEqual([lines[2]])
    expect(await find('auditID', `${long}2`)).toEqual([lines[6]])
    expect(await find('auditID', long)).toEqual([])
    expect(await find('source', 'agent:east')).toEqual([lines[4]])
  })

  test('a line that is no event, is torn or too long is refused and stops no other (22.3)', async () => {
    const store = await empty()
    const lines = [eventLine(0), '{"kind":"Event","apiV', null, '', 'null', '[]', eventLine(1)]
    expect(await store.writeEvents(batch(lines))).toEqual({ stored: 2, double: 0, refused: 5 })
  })

  test('texts that databases refuse or change are stored and found, and the event is as it was (22.3)', async () => {
    const store = await empty()
    const long = 'a'.repeat(300)
    const names = [
      'nul \0 text',
      'half \ud800 pair',
      'end ',
      'end',
      long,
      `${long}b`,
      `🙂'"\\%_$1 ? :x`,
    ]
    const lines = names.map((name, at) =>
      eventLine(at, { objectRef: { resource: 'pods', name, namespace: 'ns', apiVersion: 'v1' } }),
    )
    expect((await store.writeEvents(batch(lines))).stored).toBe(names.length)
    for (const [at, name] of names.entries()) {
      const exact = new Map([['name', name]] as const)
      const { events } = await store.queryEvents({ ...auditQuery(), exact })
      expect(events).toEqual([lines[at]])
    }
  })

  test('each question finds exactly what it means (22.4)', async () => {
    const store = await empty()
    const plain = { objectRef: undefined, annotations: {}, user: { username: 'zoe' } }
    const lines = ASKED.map((fields, at) => eventLine(at, { ...plain, ...fields }))
    await store.writeEvents(batch(lines))
    for (const { filters, found } of QUESTIONS) {
      const { events } = await store.queryEvents(auditQuery(filters))
      expect({ filters, found: auditIDsOf(events) }).toEqual({
        filters,
        found: found.map((number) => `id-${number}`),
      })
    }
  })

  test('pages have what was there at the first, each once, whatever is written meanwhile (22.4)', async () => {
    const store = await empty()
    // Ten events of each second, not in the order of their stages.
    const lines = numbers(250).map((at) => eventLine((at * 7) % 25, { auditID: `id-${at}` }))
    await store.writeEvents(batch(lines))
    const writeMore = (page: number) =>
      store.writeEvents(
        batch(numbers(25).map((at) => eventLine(at, { auditID: `new-${page}-${at}` }))),
      )
    const pages = await allPages(store, auditQuery({ limit: '30' }), writeMore)
    const ids = auditIDsOf(pages.flat())
    expect(ids.toSorted()).toEqual(auditIDsOf(lines).toSorted())
    expect(pages.map(({ length }) => length)).toEqual([30, 30, 30, 30, 30, 30, 30, 30, 10])
    const times = pages
      .flat()
      .map((event) => (JSON.parse(event) as { stageTimestamp: string }).stageTimestamp)
    expect(times).toEqual(times.toSorted().toReversed())
  })

  test('a page ends at 8 MiB and has one event at least; bodies count only where they are asked for (22.4)', async () => {
    const store = await empty()
    const body = 'x'.repeat(3 * 1024 * 1024)
    for (const at of numbers(4)) {
      const requestObject = { body: at === 1 ? body.repeat(3) : body }
      await store.writeEvents(batch([eventLine(at, { requestObject })]))
    }
    const pages = await allPages(store, auditQuery())
    expect(pages.map((page) => auditIDsOf(page))).toEqual([['id-3', 'id-2'], ['id-1'], ['id-0']])
    expect(pages[1]?.[0]?.length).toBeGreaterThan(MOST_PAGE_BYTES)
    const short = await allPages(store, auditQuery({ body: 'false' }))
    expect(short.map((page) => auditIDsOf(page))).toEqual([['id-3', 'id-2', 'id-1', 'id-0']])
    expect(short.flat().join('')).not.toContain('requestObject')
  })

  test('retention deletes by stage time, also more than a thousand, and no event that is younger (22.3)', async () => {
    const store = await empty()
    for (const first of [0, 1000, 2000]) await store.writeEvents(batch(eventLines(first, 1000)))
    expect(await store.deleteEventsBefore(EVENTS_FROM_MS + 2500 * 1000, NEVER)).toBe(2500)
    const left = (await allPages(store, auditQuery({ limit: '1000' }))).flat()
    expect(auditIDsOf(left).at(-1)).toBe('id-2500')
    expect(left).toHaveLength(500)
    expect(await store.readPosition(SOURCE)).toBe('p')
  })
}
