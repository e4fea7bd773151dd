import { randomBytes } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { AuditSpool } from '../../../../src/audit/agent/spool.ts'
import { ids, SpoolFolder, startSender } from './sender-folder.ts'
import {
  backupsIn,
  bytesIn,
  platformAnswer,
  startAgent,
  type TestAgent,
  until,
} from './test-agent.ts'
import { status, TestPlatform } from './test-platform.ts'

const MIB = 1024 * 1024
/** More than the line that this test writes behind a look. */
const LINE_BYTES = 700
const SETTINGS: AuditSettings = { enabled: true, level: 2, maxSize: 1, maxBackups: 1, path: '-' }

/** About 40 kB that can't be compressed much. */
const random = () => ({ requestObject: randomBytes(20_000).toString('hex') })

/** Records events until one is not written, or as many as that. @returns the numbers of those that were written */
async function recordUntilFailed(
  agent: TestAgent,
  first: number,
  most: number,
): Promise<readonly number[]> {
  const written: number[] = []
  for (let number = first; number < first + most; number += 1) {
    if (!(await agent.record(number, random()))) break
    written.push(number)
  }
  return written
}

const withoutDoubles = (sent: readonly string[]): readonly string[] => [...new Set(sent)]

async function started(
  options: Partial<Parameters<typeof startAgent>[0]>,
  settings: AuditSettings = SETTINGS,
) {
  const platform = await TestPlatform.start(platformAnswer(settings, status(503)))
  const agent = await startAgent({ platform, limitBytes: 3 * MIB, ...options })
  await until('the settings are there', () => agent.applied.length === 2)
  const accept = (): void => {
    platform.answer = platformAnswer(settings, status(200))
  }
  return { platform, agent, accept }
}

describe('a full spool that refuses (23.1)', () => {
  test('fails the log before the limit, keeps all backups, and heals within 5 s once they are sent', async () => {
    const { platform, agent, accept } = await started({ whenFull: 'refuse' })
    const written = await recordUntilFailed(agent, 0, 200)
    expect(agent.isFailed()).toBe(true)
    expect(agent.reports).toContainEqual(
      expect.stringMatching(
        /^sink failed: the spool is full: \d+ bytes of 3145728 are not sent yet$/,
      ),
    )
    expect(bytesIn(agent.folder)).toBeLessThanOrEqual(3 * MIB)
    // Lines that are appended during a look at the files may count twice.
    expect(bytesIn(agent.folder)).toBeGreaterThan(2.8 * MIB)
    await until('it counts exactly', () => agent.agent.spool.unsentBytes === bytesIn(agent.folder))
    expect(backupsIn(agent.folder).length).toBeGreaterThan(1)
    accept()
    const isSent = (): boolean => agent.agent.spool.unsentBytes === 0
    await until('all is sent', isSent)
    const sentMs = agent.clock.monotonicMs()
    await until('it is healed', () => !agent.isFailed())
    expect(agent.clock.monotonicMs() - sentMs).toBeLessThan(5000)
    const next = written.length
    // The one that was refused is kept, and written now.
    expect(await agent.record(next + 1, random())).toBe(true)
    const sent = (): readonly string[] => withoutDoubles(platform.batches.flat())
    await until('the last one is sent', () => sent().includes(`id-${next + 1}`))
    expect(sent()).toEqual(ids(0, next + 2))
    expect(agent.counts).toEqual({ lost: 0, refused: 0, lostLines: 0 })
  })

  test('fails the log at the start of a process, before the first request', async () => {
    const { agent, platform, accept } = await started({ whenFull: 'refuse' })
    await recordUntilFailed(agent, 0, 200)
    await agent.stop(AbortSignal.abort())
    const again = await startAgent({ platform, limitBytes: 3 * MIB, folder: agent.folder })
    await until('it fails', () => again.isFailed())
    expect(await again.record(500)).toBe(false)
    accept()
    await until('it heals', () => !again.isFailed())
    expect(await again.record(501)).toBe(true)
  })

  test('lets sent backups go as the settings say', async () => {
    const { agent, accept } = await started({ whenFull: 'refuse' })
    await recordUntilFailed(agent, 0, 200)
    accept()
    await until('all is sent', () => agent.agent.spool.unsentBytes === 0 && !agent.isFailed())
    const before = backupsIn(agent.folder)
    const isRotated = (): boolean => backupsIn(agent.folder).some((name) => !before.includes(name))
    for (let number = 500; !isRotated(); number += 1) {
      expect(number).toBeLessThan(600)
      await agent.record(number, random())
      // A write that took long has failed the log, which refuses at once until it looks again.
      await until('it accepts events', () => !agent.isFailed())
    }
    await until('one backup is left', () => backupsIn(agent.folder).length === 1)
    expect(agent.counts).toEqual({ lost: 0, refused: 0, lostLines: 0 })
  })
})

describe('a full spool that drops (23.1)', () => {
  test('removes the oldest unsent backups, counts their events, and refuses nothing', async () => {
    const { platform, agent, accept } = await started({ whenFull: 'drop' })
    await recordUntilFailed(agent, 0, 10)
    // From what was read it knows how long lines are.
    await until('it fails', () => agent.reports.some((word) => word.startsWith('sending failed')))
    const written = await recordUntilFailed(agent, 10, 290)
    expect(written).toHaveLength(290)
    await until('it is within its limit', () => bytesIn(agent.folder) <= 3 * MIB)
    expect(bytesIn(agent.folder)).toBeGreaterThan(MIB)
    accept()
    const sent = (): readonly string[] => withoutDoubles(platform.batches.flat())
    await until('the last one is sent', () => sent().includes('id-299'))
    await until('it is idle', () => agent.agent.spool.unsentBytes === 0)
    expect(sent()).toEqual(sent().toSorted((a, b) => Number(a.slice(3)) - Number(b.slice(3))))
    const missing = 300 - sent().length
    expect(missing).toBeGreaterThan(100)
    expect(agent.counts.lost).toBeGreaterThan(missing * 0.8)
    expect(agent.counts.lost).toBeLessThan(missing * 1.2)
    expect(agent.reports.filter((word) => word.startsWith('sink failed'))).toEqual([])
  })

  test('drops nothing that compression makes room for', async () => {
    const { agent, platform, accept } = await started(
      { whenFull: 'drop' },
      { ...SETTINGS, compress: true },
    )
    const isCompressed = (): boolean =>
      backupsIn(agent.folder).every((name) => name.endsWith('.gz'))
    for (let number = 0; number < 300; number += 1) {
      expect(await agent.record(number, { requestObject: 'x'.repeat(40_000) })).toBe(true)
      // Writes that outrun the compression may lose backups.
      if (number % 20 === 0) await until('backups are compressed', isCompressed)
    }
    accept()
    await until('the last one is sent', () => platform.batches.flat().includes('id-299'))
    expect(withoutDoubles(platform.batches.flat())).toEqual(ids(0, 300))
    expect(agent.counts.lost).toBe(0)
  })
})

describe('a spool with disableAgentSyncBack (23.1)', () => {
  test('counts nothing as unsent: the limits of the settings hold alone', async () => {
    const { agent, platform } = await started(
      { whenFull: 'refuse' },
      { ...SETTINGS, disableAgentSyncBack: true },
    )
    const written = await recordUntilFailed(agent, 0, 300)
    expect(written).toHaveLength(300)
    expect(agent.agent.spool.unsentBytes).toBe(0)
    await until('one backup is left', () => backupsIn(agent.folder).length === 1)
    expect(platform.batches).toEqual([])
  })
})

describe('unsent bytes (23.3)', () => {
  test('are never fewer than there are, also while rotation changes the files', async () => {
    const folder = new SpoolFolder()
    const spool = new AuditSpool(folder.path, { limitBytes: 1, whenFull: 'refuse' })
    for (let round = 0; round < 200; round += 1) {
      folder.write(round, 1)
      const look = spool.unsentFiles()
      for (let turn = 0; turn < round % 40; turn += 1) await setImmediate()
      folder.rotate(round)
      folder.write(round, 1)
      await look
      expect(spool.unsentBytes).toBeGreaterThanOrEqual(bytesIn(folder.path) - LINE_BYTES)
    }
  })

  test('are those of files alone, whatever has the name of a backup', async () => {
    const folder = new SpoolFolder()
    folder.write(0, 10)
    symlinkSync('/etc/hostname', join(folder.path, folder.backup(1)))
    const platform = await TestPlatform.start(status(200))
    const sending = await startSender({ folder, platform })
    await sending.until('they are sent', () => platform.batches.flat().length === 10)
    await sending.until('none is unsent', () => sending.spool.unsentBytes === 0)
    expect(await sending.spool.unsentFiles()).toEqual([])
  })

  test('are those behind the position, in every file, compressed ones as on the disk', async () => {
    const folder = new SpoolFolder()
    const spool = new AuditSpool(folder.path, { limitBytes: 1, whenFull: 'refuse' })
    expect(await spool.unsentFiles()).toEqual([])
    folder.write(0, 1500)
    folder.rotate(1)
    folder.write(1500, 10)
    folder.rotate(2)
    folder.compress(2)
    folder.write(1510, 1)
    await spool.unsentFiles()
    expect(spool.unsentBytes).toBe(bytesIn(folder.path))
    const platform = await TestPlatform.start((request, response) =>
      status(platform.requests.length === 1 ? 200 : 503)(request, response),
    )
    const sending = await startSender({ folder, platform })
    await sending.until('the second one fails', () => sending.reports.failures.length === 1)
    const sentBytes = (JSON.parse(folder.position()) as { readonly offset: number }).offset
    expect(sentBytes).toBeGreaterThan(100_000)
    expect(sending.spool.unsentBytes).toBe(bytesIn(folder.path) - sentBytes)
    sending.spool.appended(77)
    expect(sending.spool.unsentBytes).toBe(bytesIn(folder.path) - sentBytes + 77)
    folder.compress(1)
    await sending.spool.unsentFiles()
    expect(sending.spool.unsentBytes).toBeLessThan(bytesIn(folder.path))
    sending.spool.count(false)
    expect(sending.spool.unsentBytes).toBe(0)
    expect(await sending.spool.unsentFiles()).toEqual([])
  })
})
