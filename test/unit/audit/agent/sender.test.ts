import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EventSender, type SenderObserver } from '../../../../src/audit/agent/sender.ts'
import { AuditSpool } from '../../../../src/audit/agent/spool.ts'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { EVENTS_FROM_MS } from '../../../support/audit-store-events.ts'
import { tickingClock } from '../../../support/manual-clock.ts'
import { has, ids, inTurn, keyFile, SpoolFolder, started, startSender } from './sender-folder.ts'
import { status, TestPlatform } from './test-platform.ts'

/** Counts the turns of the event loop until the end of the test. */
function countTurns(): () => number {
  let turns = 0
  let turn = setImmediate(function next() {
    turns += 1
    turn = setImmediate(next)
  })
  onTestFinished(() => clearImmediate(turn))
  return () => turns
}

describe('events of an agent (23.1)', () => {
  test('go to the route of its cluster as an EventList, with its key', async () => {
    const { path, key } = keyFile()
    const folder = new SpoolFolder()
    folder.write(0, 2, { requestObject: { big: 1, exact: '1.10' } })
    const platform = await TestPlatform.start()
    const { until } = await startSender({ folder, platform, keyPath: path })
    await until('they are sent', () => platform.requests.length === 1)
    const [request] = platform.requests
    expect(request).toEqual({
      method: 'POST',
      url: '/kubernetes/management/agents/east/auditevents',
      authorization: `Bearer ${key}`,
      contentType: 'application/json',
      body: eventListOf(readFileSync(folder.file('audit.log'), 'utf8').trim().split('\n'), null),
    })
  })

  test('are sent from the oldest file on, compressed ones too, in order, and with what is written later', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 3)
    folder.rotate(1)
    folder.compress(1)
    folder.write(3, 2)
    folder.rotate(2)
    folder.write(5, 1)
    const { sent, until } = await started(status(200), folder)
    await until('all are sent', has(sent, 6))
    folder.write(6, 2)
    await until('the new ones are sent', has(sent, 8))
    expect(sent()).toEqual(ids(0, 8))
  })

  test('leave turns of the event loop to requests while they are read', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1000)
    const clock = tickingClock(EVENTS_FROM_MS, 10)
    const spool = new AuditSpool(folder.path, { limitBytes: 1e9, whenFull: 'refuse' })
    const turns = countTurns()
    const sent = Promise.withResolvers<number>()
    const sendEvents = (): Promise<number> => {
      sent.resolve(turns())
      return Promise.resolve(200)
    }
    const sender = new EventSender({
      central: { sendEvents },
      folder: folder.path,
      positionFile: folder.file('audit.position'),
      spool,
      clock,
      observer: {} as SenderObserver,
    })
    sender.apply('send')
    sender.start()
    onTestFinished(() => sender.end(AbortSignal.abort()))
    expect(await sent.promise).toBeGreaterThan(400)
  })

  test('come a thousand at a time at most, and three mebibytes of JSON', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2100)
    folder.write(2100, 5, { requestObject: '€'.repeat(400_000) })
    const { sent, platform, until } = await started(status(200), folder)
    await until('all are sent', has(sent, 2105))
    expect(sent()).toEqual(ids(0, 2105))
    expect(platform.batches.map(({ length }) => length)).toEqual([1000, 1000, 102, 1, 2])
    for (const { body } of platform.requests)
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(3 * 1024 * 1024)
  })

  test('go one batch at a time: the next one only when the one before is answered', async () => {
    const answers: (() => void)[] = []
    const folder = new SpoolFolder()
    folder.write(0, 3000)
    const { platform, clock, until } = await started(
      (_, response) => void answers.push(() => void response.end('{}')),
      folder,
    )
    for (const count of [1, 2, 3]) {
      await until('a batch is there', () => platform.requests.length === count)
      await clock.advance(5000)
      expect(platform.requests).toHaveLength(count)
      answers.shift()?.()
    }
    await until('the position is kept', () => folder.position().includes('"offset"'))
  })

  test('a line without an event, or with one that fits no batch, is skipped and counted', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    folder.append('not JSON\n\n{"kind":"Event"}\n[1]\n')
    folder.append(`${'x'.repeat(9_000_000)}\n`)
    folder.write(9, 1, { requestObject: 'x'.repeat(3 * 1024 * 1024) })
    folder.write(2, 1)
    const { sent, reports, until } = await started(status(200), folder)
    await until('the one behind is sent', has(sent, 3))
    await until('they are counted', () => reports.refused === 6)
    expect(sent()).toEqual(ids(0, 3))
    expect(reports.failures).toEqual([])
  })

  test('a spool of lines without events is skipped without a request', async () => {
    const folder = new SpoolFolder()
    folder.append('one\ntwo\n')
    const { platform, reports, until } = await started(status(200), folder)
    await until('they are counted', () => reports.refused === 2)
    expect(platform.requests).toEqual([])
  })
})

describe('an answer of the platform (23.2)', () => {
  test.each([201, 204, 302, 401, 403, 404, 429, 500, 503])(
    '%d: the same batch is sent again, and nothing is lost',
    async (code) => {
      const folder = new SpoolFolder()
      folder.write(0, 3)
      const { platform, reports, until } = await started(inTurn(status(code), status(code)), folder)
      await until('it is accepted', () => reports.healed === 1)
      expect(platform.batches).toEqual([ids(0, 3), ids(0, 3), ids(0, 3)])
      expect(reports).toMatchObject({ refused: 0, lost: 0, unwanted: 0 })
      expect(reports.failures).toEqual([
        `the platform answered ${code} when events were sent to it`,
      ])
    },
  )

  test.each([400, 413])(
    '%d: one bad event among good ones is found by halves, and it alone is dropped',
    async (code) => {
      const folder = new SpoolFolder()
      folder.write(0, 100)
      const { platform, reports, until } = await started((request, response) => {
        const isBad = request.body.includes('"id-37"')
        return status(isBad ? code : 200)(request, response)
      }, folder)
      const accepted = (): readonly string[] =>
        platform.batches.filter((batch) => !batch.includes('id-37')).flat()
      await until('all others are sent', has(accepted, 99))
      await until('it is counted', () => reports.refused === 1)
      expect(accepted()).toEqual(ids(0, 100).filter((id) => id !== 'id-37'))
      expect(platform.batches.slice(0, 3).map(({ length }) => length)).toEqual([100, 50, 25])
      expect(platform.requests.length).toBeLessThan(25)
      expect(reports).toMatchObject({ lost: 0, unwanted: 0, failures: [] })
      folder.write(100, 1)
      await until('it goes on', () => accepted().at(-1) === 'id-100')
    },
  )

  test('409: what is unsent is dropped, in every file, and what is recorded later is sent', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1500)
    folder.rotate(1)
    folder.write(1500, 5)
    folder.rotate(2)
    folder.write(1505, 5)
    const { platform, reports, spool, until } = await started(inTurn(status(409)), folder)
    await until('it is dropped', () => reports.unwanted === 1 && spool.unsentBytes === 0)
    expect(platform.requests).toHaveLength(1)
    folder.write(2000, 2)
    await until('it goes on', () => platform.requests.length === 2)
    expect(platform.batches[1]).toEqual(ids(2000, 2))
    expect(reports).toMatchObject({ lost: 0, refused: 0, unwanted: 1, failures: [] })
  })

  test('409 again and again is reported once, until the platform accepts events', async () => {
    const folder = new SpoolFolder()
    const { platform, reports, isIdle, until } = await started(
      inTurn(status(409), status(409), status(200), status(409)),
      folder,
    )
    for (const [round, unwanted] of [1, 1, 1, 2].entries()) {
      // The next event must not be dropped with this one.
      await until('it waits', isIdle)
      folder.write(round, 1)
      await until('it is answered', () => platform.requests.length === round + 1)
      await until('it waits', isIdle)
      expect(reports.unwanted).toBe(unwanted)
    }
  })
})
