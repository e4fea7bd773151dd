import { rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { serverPair } from '../../../support/certificate-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { has, ids, inTurn, keyFile, SpoolFolder, started, startSender } from './sender-folder.ts'
import { status, TestPlatform } from './test-platform.ts'

describe('a platform that does not answer (23.1)', () => {
  test('is tried after 0.5 s, 1 s and so on up to a minute, with one report, and gets everything', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 3)
    const { platform, reports, clock, until } = await started(status(503), folder)
    const times: number[] = []
    for (let asked = 1; asked <= 10; asked += 1) {
      await until('it is asked', () => platform.requests.length === asked)
      times.push(clock.monotonicMs())
    }
    const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0))
    const expected = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
    expect(pauses).toEqual(expected)
    expect(reports.failures).toHaveLength(1)
    folder.write(3, 2)
    platform.answer = status(200)
    await until('it is healed', () => reports.healed === 1, 10_000)
    await until('all are there', () => platform.batches.at(-1)?.includes('id-4') === true)
    expect(new Set(platform.batches.flat())).toEqual(new Set(ids(0, 5)))
  })

  test('gets a batch again when its answer, or the end of it, takes over 30 s', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const { platform, reports, clock, isAsking, until } = await started(
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
    await until('it is accepted', () => reports.healed === 1)
    expect(reports.failures).toEqual(['no answer within 30000 ms'])
    expect(platform.batches).toEqual([['id-0'], ['id-0'], ['id-0']])
  })

  test('answers without end are cut at their limit, and the batch is sent again', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    let written = 0
    const { reports, until } = await started(
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
    await until('it is accepted', () => reports.healed === 1)
    expect(reports.failures).toEqual(['the answer has more than 65536 bytes'])
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  test('cuts connections before, within and behind the head of its answer, and gets everything', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 2)
    const { platform, reports, until } = await started(
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
    await until('it is accepted', () => reports.healed === 1)
    expect(platform.batches.every((batch) => batch.join() === 'id-0,id-1')).toBe(true)
    expect(platform.batches.length).toBeGreaterThanOrEqual(4)
  })

  test('closes an idle connection without a failure', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const { platform, reports, sent, until } = await started(status(200), folder)
    await until('it is sent', has(sent, 1))
    platform.cut()
    folder.write(1, 1)
    await until('the next one is sent', has(sent, 2))
    expect(reports.failures).toEqual([])
  })

  test('with a certificate of another CA gets no event and no key', async () => {
    const { path, key } = keyFile()
    const folder = new SpoolFolder()
    folder.write(0, 1)
    const platform = await TestPlatform.start()
    const other = { url: platform.url, ca: serverPair('other').caPem }
    const { reports, until } = await startSender({ folder, platform: other, keyPath: path })
    await until('it fails', () => reports.failures.length === 1)
    expect(reports.failures[0]).toMatch(/certificate/)
    expect(reports.failures[0]).not.toContain(key)
    expect(platform.requests).toEqual([])
  })
})

describe('the access key of an agent (23.1)', () => {
  test('changes with its file, and a file without one stops nothing for good', async () => {
    const first = keyFile()
    const second = keyFile()
    const folder = new SpoolFolder()
    const platform = await TestPlatform.start()
    const { reports, until } = await startSender({ folder, platform, keyPath: first.path })
    folder.write(0, 1)
    await until('it is sent', () => platform.requests.length === 1)
    writeFileSync(first.path, second.key)
    folder.write(1, 1)
    await until('it is sent', () => platform.requests.length === 2)
    const faults = ['', 'two words', `${second.key}\nmore`, 'x'.repeat(5000), 'kéy']
    for (const text of faults) {
      writeFileSync(first.path, text)
      folder.write(2, 1)
      await until('it fails', () => reports.failures.length === reports.healed + 1)
      writeFileSync(first.path, second.key)
      await until('it heals', () => reports.failures.length === reports.healed)
    }
    rmSync(first.path)
    folder.write(3, 1)
    await until('it fails', () => reports.failures.length === reports.healed + 1)
    expect(platform.requests.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${first.key}`,
      ...platform.requests.slice(1).map(() => `Bearer ${second.key}`),
    ])
    for (const failure of reports.failures) {
      expect(failure).toMatch(/^the file with the access key (has another text|cannot be read)/)
      expect(failure).not.toContain(second.key.slice(4, 16))
    }
    expect(reports.failures.at(-1)).toBe(
      `the file with the access key cannot be read (ENOENT): ${first.path}`,
    )
  })
})
