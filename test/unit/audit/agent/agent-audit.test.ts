import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { gunzipSync } from 'node:zlib'
import { findCanaries } from '../../../support/canary.ts'
import { temporaryFolder } from '../files/sink-folder.ts'
import { ids, keyFile } from './sender-folder.ts'
import { hastyClock, platformAnswer, startAgent, until } from './test-agent.ts'
import { status, TestPlatform } from './test-platform.ts'

const LEVEL_2: AuditSettings = { enabled: true, level: 2, maxSize: 1, path: '-' }

/** The content of every file below a folder, by name. */
const contentsOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const content = readFileSync(join(parentPath, name))
        return [name, (name.endsWith('.gz') ? gunzipSync(content) : content).toString('latin1')]
      }),
  )

describe('an agent (23.1)', () => {
  test('records by the settings of the platform, and sends what it records', async () => {
    const platform = await TestPlatform.start(platformAnswer(LEVEL_2, status(200)))
    const { applied, folder, record } = await startAgent({ platform })
    await until('the settings are there', () => applied.length === 2)
    expect(applied[0]).toMatchObject({ policy: { rules: [{ level: 'Metadata' }] }, path: folder })
    expect(applied[1]).toEqual({ ...LEVEL_2, path: folder })
    for (let number = 0; number < 5; number += 1) expect(await record(number)).toBe(true)
    await until('they are sent', () => platform.batches.flat().length === 5)
    expect(platform.batches.flat()).toEqual(ids(0, 5))
    platform.answer = platformAnswer({}, status(409))
    await until('it is off', () => applied.length === 3)
    expect(await record(6)).toBe(false)
  })

  test('sends every event once and in order, with rotation and compression under load', async () => {
    const settings = { ...LEVEL_2, compress: true, maxBackups: 1 }
    const platform = await TestPlatform.start(platformAnswer(settings, status(200)))
    const { applied, counts, record, reports } = await startAgent({ platform })
    await until('the settings are there', () => applied.length === 2)
    const fields = { requestObject: 'x'.repeat(5000) }
    for (let number = 0; number < 2000; number += 50)
      await Promise.all(Array.from({ length: 50 }, (_, at) => record(number + at, fields)))
    await until('all are sent', () => platform.batches.flat().length >= 2000)
    expect(platform.batches.flat()).toEqual(ids(0, 2000))
    expect(counts).toEqual({ lost: 0, refused: 0, lostLines: 0 })
    expect(reports).toEqual([])
  })

  test('goes on while the platform is away for minutes, restarts meanwhile, and sends everything then', async () => {
    const stateDir = temporaryFolder()
    const folder = temporaryFolder()
    const platform = await TestPlatform.start(platformAnswer(LEVEL_2, status(200)))
    const first = await startAgent({ platform, folder, stateDir })
    await until('the settings are there', () => first.applied.length === 2)
    await first.record(0)
    await until('it is sent', () => platform.batches.length === 1)
    platform.answer = (_, response) => response.destroy()
    // Requests end at once; the recorder has its own clock.
    const clock = hastyClock(300)
    await first.stop(AbortSignal.abort())
    const second = await startAgent({ platform, folder, stateDir, clock })
    expect(second.applied).toEqual([{ ...LEVEL_2, path: folder }])
    const fromMs = clock.monotonicMs()
    let number = 1
    while (clock.monotonicMs() - fromMs < 5 * 60_000)
      expect(await second.record((number += 1) - 1)).toBe(true)
    expect(second.reports.filter((word) => word.startsWith('sending failed'))).toHaveLength(1)
    expect(second.reports.filter((word) => word.startsWith('settings failed'))).toHaveLength(1)
    await second.stop(AbortSignal.abort())
    platform.answer = platformAnswer(LEVEL_2, status(200))
    const third = await startAgent({ platform, folder, stateDir })
    const sent = (): ReadonlySet<string> => new Set(platform.batches.flat())
    await until('all are sent', () => sent().size === number)
    expect([...sent()]).toEqual(ids(0, number))
    expect(third.counts).toEqual({ lost: 0, refused: 0, lostLines: 0 })
  })

  test('sends its last events before it ends, when its process stops', async () => {
    const platform = await TestPlatform.start(platformAnswer(LEVEL_2, status(200)))
    const { applied, record, stop } = await startAgent({ platform })
    await until('the settings are there', () => applied.length === 2)
    await Promise.all(ids(0, 20).map((_, number) => record(number)))
    await stop()
    expect(platform.batches.flat()).toEqual(ids(0, 20))
  })

  test('ends in time while the platform does not answer', async () => {
    const platform = await TestPlatform.start(platformAnswer(LEVEL_2, () => undefined))
    const { applied, record, stop } = await startAgent({ platform })
    await until('the settings are there', () => applied.length === 2)
    await record(0)
    await until('it is asked', () => platform.batches.length === 1)
    const fromMs = performance.now()
    await stop(AbortSignal.timeout(200))
    expect(performance.now() - fromMs).toBeLessThan(1000)
  })

  test('leaves its access key in no file and no report', async () => {
    const stateDir = temporaryFolder()
    const { path, key } = keyFile()
    const platform = await TestPlatform.start(platformAnswer(LEVEL_2, status(200)))
    const options = { platform, stateDir, keyPath: path }
    const { folder, applied, record, reports } = await startAgent(options)
    await until('the settings are there', () => applied.length === 2)
    const echo = ({ authorization }: { readonly authorization: string }): string =>
      `{"kind":"Status","message":"${authorization}"}`
    await record(0)
    await until('it is sent', () => platform.batches.length === 1)
    platform.answer = (request, response) => response.writeHead(400).end(echo(request))
    await record(1)
    await until('both fail', () => platform.batches.length === 2 && reports.length === 1)
    platform.answer = (request, response) => response.end(echo(request))
    await record(2)
    await until('it is sent', () => platform.batches.length === 3)
    expect(platform.requests.every(({ authorization }) => authorization === `Bearer ${key}`)).toBe(
      true,
    )
    await until('its position is written', () => !('audit.position.new' in contentsOf(folder)))
    const sinks = { ...contentsOf(folder), ...contentsOf(stateDir), reports: reports.join('\n') }
    expect(Object.keys(sinks).toSorted()).toEqual([
      'audit-settings.json',
      'audit.lock',
      'audit.log',
      'audit.position',
      'reports',
    ])
    expect(findCanaries(sinks, [{ label: 'key', secret: key.slice(4) }])).toEqual([])
  })
})
