// Questions to the audit log, answered from a data store of the test (contract 22.4).
import { describe, expect, test } from 'vitest'
import type { EventsPage } from '../../../../src/audit/store/query-events.ts'
import { StoreError } from '../../../../src/audit/store/store-error.ts'
import { eventPageOf } from '../../../../src/domain/audit/event-list.ts'
import type { AuditQuery } from '../../../../src/domain/audit/query.ts'
import { EventQueries, type QueriedStore } from '../../../../src/gateway/audit/event-queries.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const EVENT = '{"auditID":"a-1","n":1.10}'
const LAST_PAGE: EventsPage = { events: [EVENT], next: null }
const MORE = { events: [EVENT], next: { stageTimeMs: 5, id: 7, snapshotId: 9, store: '' } }

/** The questions that a store of this replica got, and their answers. */
function queriesTo(
  replica: string,
  page: (query: AuditQuery) => Promise<EventsPage> = () => Promise.resolve(LAST_PAGE),
) {
  const asked: AuditQuery[] = []
  const store: QueriedStore = {
    replica,
    queryEvents: (query) => {
      asked.push(query)
      return page(query)
    },
  }
  const queries = new EventQueries({ store: () => store, clock: manualClock(10_000) })
  return { asked, queries }
}

async function bodyOf({ body }: Answer): Promise<string> {
  if (Buffer.isBuffer(body)) return body.toString()
  const pieces: Buffer[] = []
  for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test('a question is answered with an EventList, numbers as they were (22.4)', async () => {
  const { asked, queries } = queriesTo('')
  const answer = await queries.answer([
    ['since', '5s'],
    ['limit', '3'],
  ])
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
  expect(answer.headers['warning']).toBeUndefined()
  expect(eventPageOf(await bodyOf(answer))).toEqual({ events: [EVENT], continue: null })
  expect(asked).toMatchObject([{ interval: { sinceMs: 5000, untilMs: null }, limit: 3 }])
})

test('the token of a page leads to the next one, of the same interval (22.4)', async () => {
  const { asked, queries } = queriesTo('', () => Promise.resolve(MORE))
  const page = eventPageOf(await bodyOf(await queries.answer([['since', '5s']])))
  await queries.answer([
    ['since', '5s'],
    ['continue', page?.continue ?? ''],
  ])
  expect(asked[1]).toMatchObject({ interval: { sinceMs: 5000 }, after: MORE.next })
})

test('an answer says whose events it has, and a token is of that replica, where each replica has a store (22.4)', async () => {
  const { queries } = queriesTo('gateway-0', () => Promise.resolve(MORE))
  const answer = await queries.answer([])
  expect(answer.headers['warning']).toContain('gateway-0 alone')
  const token = eventPageOf(await bodyOf(answer))?.continue ?? ''
  const { asked, queries: others } = queriesTo('gateway-1')
  const refused = await others.answer([['continue', token]])
  expect(refused).toMatchObject({ status: 400, refusal: 'queryOfOtherReplica' })
  expect(await bodyOf(refused)).toContain('gateway-1')
  expect(asked).toEqual([])
})

describe('a question that is not answered (22.4)', () => {
  // biome-ignore format: a table
  test.each<{ name: string; parameters: readonly (readonly [string, string])[]; failure: StoreError | null; status: number; refusal: string }>([
    { name: 'an unknown filter', parameters: [['usr', 'ada']], failure: null, status: 400, refusal: 'queryMalformed' },
    { name: 'a repeated filter', parameters: [['user', 'a'], ['user', 'b']], failure: null, status: 400, refusal: 'queryMalformed' },
    { name: 'a store that is away', parameters: [], failure: new StoreError('unavailable', 'x'), status: 503, refusal: 'dataStoreUnavailable' },
    { name: 'a newer schema', parameters: [], failure: new StoreError('newer', 'x'), status: 503, refusal: 'dataStoreUnavailable' },
    { name: 'a question that takes too long', parameters: [], failure: new StoreError('timeout', 'x'), status: 503, refusal: 'queryTooLong' },
  ])('$name', async ({ parameters, failure, status, refusal }) => {
    const { queries } = queriesTo('', () =>
      failure === null ? Promise.resolve(LAST_PAGE) : Promise.reject(failure),
    )
    expect(await queries.answer(parameters)).toMatchObject({ status, refusal })
  })

  test('without a data store', async () => {
    const queries = new EventQueries({ store: () => null, clock: manualClock(0) })
    const answer = await queries.answer([])
    expect(answer).toMatchObject({ status: 404, refusal: 'noDataStore' })
    expect(await bodyOf(answer)).toContain('set audit.dataStoreEndpoint')
  })
})

test('four questions are answered at a time, each until its answer is delivered or given up (22.4)', async () => {
  const { queries } = queriesTo('')
  const answers = await Promise.all([1, 2, 3, 4].map(() => queries.answer([])))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const refused = await queries.answer([])
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  const [read, left] = answers
  if (read === undefined || left === undefined) throw new Error('no answers')
  await bodyOf(read)
  expect((await queries.answer([])).status).toBe(200)
  expect((await queries.answer([])).status).toBe(429)
  if (!Buffer.isBuffer(left.body)) left.body.destroy()
  await new Promise(setImmediate)
  expect((await queries.answer([])).status).toBe(200)
})

test('a question that fails leaves its place (22.4)', async () => {
  let isAway = true
  const { queries } = queriesTo('', () =>
    isAway ? Promise.reject(new StoreError('unavailable', 'x')) : Promise.resolve(LAST_PAGE),
  )
  for (let at = 0; at < 8; at += 1) expect((await queries.answer([])).status).toBe(503)
  isAway = false
  expect((await queries.answer([])).status).toBe(200)
})
