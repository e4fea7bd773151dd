import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { numberedLines } from '../../../support/audit-event-builder.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { ids, keyFile, SpoolFolder, startSender } from './sender-folder.ts'
import { type PlatformAnswer, status, TestPlatform } from './test-platform.ts'

/** A folder, a platform, and a sender between the two. */
async function started(answer: PlatformAnswer = status(200), folder = new SpoolFolder()) {
  const platform = await TestPlatform.start(answer)
  const sending = await startSender({ folder, platform })
  const sent = (): readonly string[] => platform.batches.flat()
  return { folder, platform, sent, ...sending }
}

/** Answers with these, one after the other, and then with 200. */
const inTurn = (...answers: readonly PlatformAnswer[]): PlatformAnswer => {
  const left = [...answers]
  return (request, response) => (left.shift() ?? status(200))(request, response)
}

const has =
  (sent: () => readonly string[], count: number): (() => boolean) =>
  () =>
    sent().length >= count

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

  test('a line that is no event is passed over, and counted', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    folder.append('not JSON\n\n{"kind":"Event"}\n[1]\n')
    folder.append(`${'x'.repeat(9_000_000)}\n`)
    folder.write(2, 1)
    const { sent, told, until } = await started(status(200), folder)
    await until('the one behind is sent', has(sent, 3))
    await until('they are counted', () => told.refused === 5)
    expect(sent()).toEqual(ids(0, 3))
    expect(told.failures).toEqual([])
  })

  test('a spool of lines alone that are no events is passed over without a request', async () => {
    const folder = new SpoolFolder()
    folder.append('one\ntwo\n')
    const { platform, told, until } = await started(status(200), folder)
    await until('they are counted', () => told.refused === 2)
    expect(platform.requests).toEqual([])
  })
})

describe('an answer of the platform (23.2)', () => {
  test.each([201, 204, 302, 401, 403, 404, 429, 500, 503])(
    '%d: the same batch is sent again, and nothing is lost',
    async (code) => {
      const folder = new SpoolFolder()
      folder.write(0, 3)
      const { platform, told, until } = await started(inTurn(status(code), status(code)), folder)
      await until('it is accepted', () => told.healed === 1)
      expect(platform.batches).toEqual([ids(0, 3), ids(0, 3), ids(0, 3)])
      expect(told).toMatchObject({ refused: 0, lost: 0, unwanted: 0 })
      expect(told.failures).toEqual([`the platform answered ${code} when events were sent to it`])
    },
  )

  test.each([400, 413])(
    '%d: one bad event among good ones is found by halves, and it alone is dropped',
    async (code) => {
      const folder = new SpoolFolder()
      folder.write(0, 100)
      const { platform, told, until } = await started((request, response) => {
        const isBad = request.body.includes('"id-37"')
        return status(isBad ? code : 200)(request, response)
      }, folder)
      const accepted = (): readonly string[] =>
        platform.batches.filter((batch) => !batch.includes('id-37')).flat()
      await until('all others are sent', has(accepted, 99))
      await until('it is counted', () => told.refused === 1)
      expect(accepted()).toEqual(ids(0, 100).filter((id) => id !== 'id-37'))
      expect(platform.batches.slice(0, 3).map(({ length }) => length)).toEqual([100, 50, 25])
      expect(platform.requests.length).toBeLessThan(25)
      expect(told).toMatchObject({ lost: 0, unwanted: 0, failures: [] })
      folder.write(100, 1)
      await until('it goes on', () => accepted().at(-1) === 'id-100')
    },
  )

  test('409: what is unsent is dropped, in every file, and what is recorded later is sent', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1500)
    folder.rotate(1)
    folder.write(1500, 5)
    const { platform, told, spool, until } = await started(inTurn(status(409)), folder)
    await until('it is dropped', () => told.unwanted === 1 && spool.unsentBytes === 0)
    expect(platform.requests).toHaveLength(1)
    folder.write(2000, 2)
    await until('it goes on', () => platform.requests.length === 2)
    expect(platform.batches[1]).toEqual(ids(2000, 2))
    expect(told).toMatchObject({ lost: 0, refused: 0, unwanted: 1, failures: [] })
  })

  test('409 again and again is told once, until events are taken', async () => {
    const folder = new SpoolFolder()
    const { platform, told, isIdle, until } = await started(
      inTurn(status(409), status(409), status(200), status(409)),
      folder,
    )
    for (const [round, unwanted] of [1, 1, 1, 2].entries()) {
      // What is written while the rest is dropped is dropped with it.
      await until('it waits', isIdle)
      folder.write(round, 1)
      await until('it is answered', () => platform.requests.length === round + 1)
      await until('it is told', () => told.unwanted === unwanted)
    }
  })
})

describe('a platform that does not answer (23.1)', () => {
  test('is tried after 0.5 s, 1 s and so on up to a minute, told once, and gets everything', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 3)
    const { platform, told, clock, until } = await started(status(503), folder)
    const times: number[] = []
    for (let asked = 1; asked <= 10; asked += 1) {
      await until('it is asked', () => platform.requests.length === asked)
      times.push(clock.monotonicMs())
    }
    const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0))
    const expected = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
    expect(pauses).toEqual(expected)
    expect(told.failures).toHaveLength(1)
    folder.write(3, 2)
    platform.answer = status(200)
    await until('it is healed', () => told.healed === 1, 10_000)
    await until('all are there', () => platform.batches.at(-1)?.includes('id-4') === true)
    expect(new Set(platform.batches.flat())).toEqual(new Set(ids(0, 5)))
  })

  test('within 30 s, or not to the end of its answer, is tried again', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const { platform, told, clock, isAsking, until } = await started(
      inTurn(
        () => undefined,
        (_, response) => response.writeHead(200).write('{'),
      ),
      folder,
    )
    for (const round of [1, 2]) {
      await until('it is asked', () => platform.requests.length === round)
      await clock.advance(29_999)
      expect(isAsking()).toBe(true)
      await clock.advance(1)
      await eventually('it gives up', () => (isAsking() ? undefined : true), { withinMs: 5000 })
    }
    await until('it is accepted', () => told.healed === 1)
    expect(told.failures).toEqual(['no answer within 30000 ms'])
    expect(platform.batches).toEqual([['id-0'], ['id-0'], ['id-0']])
  })

  test('answers without end are cut at their limit, and the batch is sent again', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    let written = 0
    const { told, until } = await started(
      inTurn((_, response) => {
        response.writeHead(200)
        const pour = (): void => {
          while (!response.destroyed && response.write('x'.repeat(16_384))) written += 16_384
        }
        response.on('drain', pour)
        pour()
      }),
      folder,
    )
    await until('it is accepted', () => told.healed === 1)
    expect(told.failures).toEqual(['the answer has more than 65536 bytes'])
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  test('cuts connections before, within and behind the head of its answer, and gets everything', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    const { platform, told, until } = await started(
      inTurn(
        (_, response) => response.destroy(),
        (_, response) => response.socket?.end('HTTP/1.1 20'),
        (_, response) => {
          response.writeHead(200, { 'content-length': 100 }).write('{')
          setImmediate(() => response.destroy())
        },
      ),
      folder,
    )
    await until('it is accepted', () => told.healed === 1)
    expect(platform.batches.every((batch) => batch.join() === 'id-0,id-1')).toBe(true)
    expect(platform.batches.length).toBeGreaterThanOrEqual(4)
  })

  test('closes an idle connection, which is no failure', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const { platform, told, sent, until } = await started(status(200), folder)
    await until('it is sent', has(sent, 1))
    platform.cut()
    folder.write(1, 1)
    await until('the next one is sent', has(sent, 2))
    expect(told.failures).toEqual([])
  })

  test('with a certificate of another CA gets no event and no key', async () => {
    const { path, key } = keyFile()
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const platform = await TestPlatform.start()
    const other = { url: platform.url, ca: serverPair('other').caPem }
    const { told, until } = await startSender({ folder, platform: other, keyPath: path })
    await until('it fails', () => told.failures.length === 1)
    expect(told.failures[0]).toMatch(/certificate/)
    expect(told.failures[0]).not.toContain(key)
    expect(platform.requests).toEqual([])
  })
})

describe('the access key of an agent (23.1)', () => {
  test('is read anew when its file is replaced, and a file without one stops nothing for good', async () => {
    const first = keyFile()
    const second = keyFile()
    const folder = new SpoolFolder()
    const platform = await TestPlatform.start()
    const { told, until } = await startSender({ folder, platform, keyPath: first.path })
    folder.write(0, 1)
    await until('it is sent', () => platform.requests.length === 1)
    writeFileSync(first.path, second.key)
    folder.write(1, 1)
    await until('it is sent', () => platform.requests.length === 2)
    const faults = ['', 'two words', `${second.key}\nmore`, 'x'.repeat(5000), 'kéy']
    for (const text of faults) {
      writeFileSync(first.path, text)
      folder.write(2, 1)
      await until('it fails', () => told.failures.length === told.healed + 1)
      writeFileSync(first.path, second.key)
      await until('it heals', () => told.failures.length === told.healed)
    }
    rmSync(first.path)
    folder.write(3, 1)
    await until('it fails', () => told.failures.length === told.healed + 1)
    expect(platform.requests.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${first.key}`,
      ...platform.requests.slice(1).map(() => `Bearer ${second.key}`),
    ])
    for (const failure of told.failures) {
      expect(failure).toMatch(/^the file with the access key (has another text|cannot be read)/)
      expect(failure).not.toContain(second.key.slice(4, 16))
    }
    expect(told.failures.at(-1)).toBe(
      `the file with the access key cannot be read (ENOENT): ${first.path}`,
    )
  })
})

describe('a restarted sender (23.1)', () => {
  test.each([
    { name: 'under its name', move: () => undefined },
    { name: 'as a backup', move: (folder: SpoolFolder) => folder.rotate(7) },
    {
      name: 'compressed',
      move: (folder: SpoolFolder) => {
        folder.rotate(7)
        folder.compress(7)
      },
    },
  ])('goes on in its file $name, and sends nothing twice', async ({ move }) => {
    const folder = new SpoolFolder()
    folder.write(0, 5)
    const first = await started(status(200), folder)
    await first.until('they are sent', has(first.sent, 5))
    await first.until('it is idle', () => first.spool.unsentBytes === 0)
    await first.end()
    folder.write(5, 5)
    move(folder)
    folder.write(10, 1)
    const { sent, told, until } = await started(status(200), folder)
    await until('the others are sent', has(sent, 6))
    expect(sent()).toEqual(ids(5, 6))
    expect(told.lost).toBe(0)
  })

  test('goes on within a batch, behind what was accepted', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1500)
    const first = await started(inTurn(status(200), status(503)), folder)
    await first.until('the second failed', () => first.told.failures.length === 1)
    await first.end()
    const { sent, until } = await started(status(200), folder)
    await until('the others are sent', has(sent, 500))
    expect(sent()).toEqual(ids(1000, 500))
  })

  test.each(['', '{', '{"head":1}', 'x'.repeat(5000)])(
    'with the damaged position %j sends everything again',
    async (text) => {
      const folder = new SpoolFolder()
      folder.write(0, 3)
      writeFileSync(folder.file('audit.position'), text)
      const { sent, until } = await started(status(200), folder)
      await until('all are sent', has(sent, 3))
      expect(sent()).toEqual(ids(0, 3))
    },
  )

  test('a position that cannot be kept is told once, and stops no event', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    mkdirSync(folder.file('audit.position.new'))
    const { told, sent, until } = await started(status(200), folder)
    for (const count of [1, 2, 3]) {
      await until('it is sent', has(sent, count))
      folder.write(count, 1)
    }
    expect(told.positionFailures).toHaveLength(1)
    expect(told.failures).toEqual([])
    rmSync(folder.file('audit.position.new'), { recursive: true })
    await until('it is kept', () => folder.position().length > 0)
    await until('the last one is sent', has(sent, 4))
    expect(sent()).toEqual(ids(0, 4))
  })

  test('writes its position only where that has changed', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 3)
    const { clock, sent, until } = await started(status(200), folder)
    await until('they are sent', has(sent, 3))
    await until('the position is kept', () => folder.position().length > 0)
    const { mtimeMs } = statSync(folder.file('audit.position'))
    const fromMs = clock.monotonicMs()
    await until('a minute has passed', () => clock.monotonicMs() - fromMs >= 60_000)
    expect(statSync(folder.file('audit.position')).mtimeMs).toBe(mtimeMs)
  })

  test('sends the last events before it ends, as long as that succeeds', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2500)
    const platform = await TestPlatform.start()
    const { sender } = await startSender({ folder, platform, syncBack: 'hold' })
    sender.apply('send')
    await sender.end(new AbortController().signal)
    expect(platform.batches.flat()).toEqual(ids(0, 2500))
  })
})

describe('disableAgentSyncBack (23.1)', () => {
  test('sends nothing, and what was unsent is never sent later', async () => {
    const folder = new SpoolFolder()
    const { platform, sender, spool, told, sent, until } = await started(status(200), folder)
    folder.write(0, 2)
    await until('they are sent', has(sent, 2))
    platform.answer = status(503)
    folder.write(10, 3)
    folder.rotate(1)
    folder.write(20, 3)
    await until('it fails', () => told.failures.length === 1)
    const asked = platform.requests.length
    sender.apply('discard')
    platform.answer = status(200)
    const end = Buffer.byteLength(numberedLines(20, 3))
    await until('they are passed over', () => folder.position().includes(`"offset":${end},`))
    expect(spool.unsentBytes).toBe(0)
    folder.write(30, 3)
    sender.apply('send')
    await until('it is at the end', () => !folder.position().includes(`"offset":${end},`))
    folder.write(40, 2)
    await until('the new ones are sent', () => platform.requests.length > asked)
    expect(platform.batches.slice(asked).flat()).toEqual(ids(40, 2))
    expect(told).toMatchObject({ lost: 0, refused: 0, unwanted: 0 })
  })

  test('holds over a restart: what was recorded meanwhile stays unsent', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    const platform = await TestPlatform.start()
    const first = await startSender({ folder, platform, syncBack: 'discard' })
    await first.until('they are passed over', () => folder.position().length > 0)
    await first.end()
    const { until } = await startSender({ folder, platform })
    folder.write(2, 1)
    await until('the new one is sent', () => platform.requests.length === 1)
    expect(platform.batches).toEqual([['id-2']])
  })

  test('holds for files that have no line yet, which are no loss', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    folder.rotate(1)
    const platform = await TestPlatform.start()
    const first = await startSender({ folder, platform, syncBack: 'discard' })
    await first.until('they are passed over', () => folder.position().length > 0)
    await first.end()
    const { told, spool, until } = await startSender({ folder, platform })
    expect(spool.unsentBytes).toBe(0)
    folder.write(2, 1)
    await until('the new one is sent', () => platform.requests.length === 1)
    expect(platform.batches).toEqual([['id-2']])
    expect(told.lost).toBe(0)
  })

  test('nothing is sent until it is known', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    const platform = await TestPlatform.start()
    const { sender, spool, clock, until } = await startSender({
      folder,
      platform,
      syncBack: 'hold',
    })
    await until('a minute has passed', () => clock.monotonicMs() >= 60_000)
    expect(platform.requests).toEqual([])
    await until('it counts as unsent', () => spool.unsentBytes > 0)
    sender.apply('send')
    await until('they are sent', () => platform.requests.length === 1)
  })
})
