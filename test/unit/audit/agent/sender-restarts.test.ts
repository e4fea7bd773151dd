import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { numberedLines } from '../../../support/audit-event-builder.ts'
import { has, ids, inTurn, SpoolFolder, started, startSender } from './sender-folder.ts'
import { status, TestPlatform } from './test-platform.ts'

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
    const { sent, reports, until } = await started(status(200), folder)
    await until('the others are sent', has(sent, 6))
    expect(sent()).toEqual(ids(5, 6))
    expect(reports.lost).toBe(0)
  })

  test('goes on within a batch, behind what was accepted', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1500)
    const first = await started(inTurn(status(200), status(503)), folder)
    await first.until('the second failed', () => first.reports.failures.length === 1)
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

  test('a position that cannot be written is reported once, and stops no event', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    mkdirSync(folder.file('audit.position.new'))
    const { reports, sent, until } = await started(status(200), folder)
    for (const count of [1, 2, 3]) {
      await until('it is sent', has(sent, count))
      folder.write(count, 1)
    }
    expect(reports.positionFailures).toHaveLength(1)
    expect(reports.failures).toEqual([])
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
    const { platform, sender, spool, reports, sent, until } = await started(status(200), folder)
    folder.write(0, 2)
    await until('they are sent', has(sent, 2))
    platform.answer = status(503)
    folder.write(10, 3)
    folder.rotate(1)
    folder.write(20, 3)
    await until('it fails', () => reports.failures.length === 1)
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
    expect(reports).toMatchObject({ lost: 0, refused: 0, unwanted: 0 })
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

  test('holds for a directory without a current file, and counts no loss', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    folder.rotate(1)
    const platform = await TestPlatform.start()
    const first = await startSender({ folder, platform, syncBack: 'discard' })
    await first.until('they are passed over', () => folder.position().length > 0)
    await first.end()
    const { reports, spool, until } = await startSender({ folder, platform })
    expect(spool.unsentBytes).toBe(0)
    folder.write(2, 1)
    await until('the new one is sent', () => platform.requests.length === 1)
    expect(platform.batches).toEqual([['id-2']])
    expect(reports.lost).toBe(0)
  })

  test('holds back everything while it is unknown', async () => {
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
