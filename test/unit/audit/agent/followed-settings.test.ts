import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import type { AgentSettings } from '../../../../src/audit/agent/agent-settings.ts'
import { SettingsFollower } from '../../../../src/audit/agent/followed-settings.ts'
import type { SettingsInForce } from '../../../../src/domain/settings/effective-settings.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../files/sink-folder.ts'

const PATH = '/var/log/agent'
const LEVEL_2: AuditSettings = { enabled: true, level: 2, maxSize: 7 }

/** Settings of the platform with these for audit. */
const inForce = (audit: AuditSettings): SettingsInForce => ({
  known: true,
  settings: {
    audit: { path: '/var/log/gateway', dataStoreEndpoint: 'sqlite:///x', ...audit },
  } as never,
  from: 'status',
})

/** Follows the answers that a test sets, until the test ends. */
async function follow(file: string | null, answer: () => SettingsInForce) {
  const clock = manualClock(0)
  const reports: string[] = []
  const heard: AgentSettings[] = []
  let current = answer
  let reads = 0
  const followed = new SettingsFollower({
    central: {
      readSettings: () => {
        reads += 1
        try {
          return Promise.resolve(current())
        } catch (error) {
          return Promise.reject(error)
        }
      },
    },
    path: PATH,
    file,
    clock,
    observer: {
      settingsFailed: (cause) => void reports.push((cause as Error).message),
      settingsHealed: () => void reports.push('healed'),
    },
  })
  const first = await followed.load()
  const stopping = new AbortController()
  const start = (): void => void followed.run((settings) => heard.push(settings), stopping.signal)
  onTestFinished(() => stopping.abort())
  /** Moves the clock until files are written, too. */
  const until = async (probe: () => boolean): Promise<void> => {
    const deadlineMs = performance.now() + 5000
    while (!probe() && performance.now() < deadlineMs) await clock.advance(100)
    expect(probe()).toBe(true)
  }
  return {
    clock,
    reports,
    heard,
    first,
    start,
    until,
    stop: () => stopping.abort(),
    reads: () => reads,
    set answer(next: () => SettingsInForce) {
      current = next
    },
  }
}

const away = (): never => {
  throw new Error('away')
}

const settingsFile = (): string => join(temporaryFolder(), 'audit-settings.json')

/** A file that an agent has kept. */
async function keptFile(audit: AuditSettings): Promise<string> {
  const file = settingsFile()
  const following = await follow(file, () => inForce(audit))
  following.start()
  await following.until(() => existsSync(file))
  following.stop()
  return file
}

describe('the settings of the platform (23.1)', () => {
  test('are read at once, and are at most 15 s old then', async () => {
    const following = await follow(null, () => inForce(LEVEL_2))
    following.start()
    await following.until(() => following.heard.length === 1)
    expect(following.heard).toEqual([{ audit: { ...LEVEL_2, path: PATH }, syncBack: 'send' }])
    const reads = following.reads()
    await following.clock.advance(60_000)
    // Each read may take 5 s besides.
    expect(following.reads() - reads).toBeGreaterThanOrEqual(60 / 10)
    following.answer = () => inForce({ enabled: true, level: 4 })
    await following.clock.advance(10_000)
    expect(following.heard[1]?.audit.level).toBe(4)
  })

  test('reach the listener once for each change, whatever the order of their names is', async () => {
    const following = await follow(null, () => inForce(LEVEL_2))
    following.start()
    following.answer = () => inForce({ maxSize: 7, level: 2, enabled: true })
    await following.clock.advance(60_000)
    expect(following.heard).toHaveLength(1)
    following.answer = () => inForce({ ...LEVEL_2, disableAgentSyncBack: true })
    await following.clock.advance(60_000)
    expect(following.heard.map(({ syncBack }) => syncBack)).toEqual(['send', 'discard'])
  })

  test('stay while the platform is away, for hours, with one report', async () => {
    const following = await follow(null, () => inForce(LEVEL_2))
    following.start()
    await following.until(() => following.heard.length === 1)
    following.answer = away
    await following.clock.advance(3 * 3_600_000)
    expect(following.heard).toHaveLength(1)
    expect(following.reports).toEqual(['away'])
    following.answer = () => inForce(LEVEL_2)
    await following.clock.advance(10_000)
    expect(following.reports).toEqual(['away', 'healed'])
    expect(following.heard).toHaveLength(1)
  })

  test.each<{ name: string; answer: () => SettingsInForce; says: string }>([
    {
      name: 'with a fault',
      answer: () => inForce({ enabled: true, level: 9 }),
      says: 'the settings of audit have a fault',
    },
    {
      name: 'of another shape',
      answer: () => ({ known: true, settings: { audit: [] }, from: 'status' }),
      says: 'the settings of audit have a fault',
    },
    {
      name: 'that are unknown',
      answer: () => ({ known: false, because: 'no settings were in force yet' }),
      says: 'no settings were in force yet',
    },
  ])('$name are ignored: the earlier ones stay', async ({ answer, says }) => {
    const following = await follow(null, () => inForce(LEVEL_2))
    following.start()
    await following.until(() => following.heard.length === 1)
    following.answer = answer
    await following.clock.advance(60_000)
    expect(following.heard).toHaveLength(1)
    expect(following.reports).toEqual([says])
  })
})

describe('kept settings (23.1)', () => {
  test.each<{ audit: AuditSettings; syncBack: string }>([
    { audit: LEVEL_2, syncBack: 'send' },
    { audit: { enabled: true, level: 1, disableAgentSyncBack: true }, syncBack: 'discard' },
    { audit: {}, syncBack: 'send' },
    { audit: { enabled: false }, syncBack: 'send' },
  ])(
    '$audit count at the next start until the platform has answered',
    async ({ audit, syncBack }) => {
      const file = await keptFile(audit)
      const following = await follow(file, away)
      expect(following.first).toEqual({ audit: { ...audit, path: PATH }, syncBack })
      following.start()
      await following.clock.advance(60_000)
      expect(following.heard).toEqual([])
    },
  )

  test('reach the listener no second time when the platform has the same', async () => {
    const file = await keptFile(LEVEL_2)
    const following = await follow(file, () => inForce(LEVEL_2))
    following.start()
    await following.clock.advance(60_000)
    expect(following.heard).toEqual([])
  })

  test('leave out the path of the gateway and its data store', async () => {
    const text = readFileSync(await keptFile(LEVEL_2), 'utf8')
    expect(JSON.parse(text)).toEqual({ audit: LEVEL_2 })
  })

  test.each<{ name: string; make: (file: string) => void }>([
    { name: 'is not there', make: () => undefined },
    { name: 'is empty', make: (file) => writeFileSync(file, '') },
    { name: 'is cut', make: (file) => writeFileSync(file, '{"audit":{"enabled":tr') },
    { name: 'has a list', make: (file) => writeFileSync(file, '[]') },
    { name: 'has a fault', make: (file) => writeFileSync(file, '{"audit":{"level":7}}') },
    {
      name: 'has another shape',
      make: (file) => writeFileSync(file, '{"audit":{"enabled":"no"}}'),
    },
    { name: 'is a directory', make: (file) => mkdirSync(file) },
    { name: 'is a link', make: (file) => symlinkSync('/etc/hostname', file) },
    { name: 'is too large', make: (file) => writeFileSync(file, ' '.repeat(3_000_000)) },
  ])('count as none ever seen where the file $name', async ({ make }) => {
    const file = settingsFile()
    make(file)
    const { first } = await follow(file, away)
    expect(first.audit).toMatchObject({ enabled: true, policy: { rules: [{ level: 'Metadata' }] } })
    expect(first.syncBack).toBe('hold')
  })

  test('apply also where they cannot be written, which is reported and tried again', async () => {
    const folder = join(temporaryFolder(), 'state')
    const file = join(folder, 'audit-settings.json')
    const following = await follow(file, () => inForce(LEVEL_2))
    following.start()
    await following.until(() => following.reports.length === 1)
    expect(following.heard).toHaveLength(1)
    expect(following.reports[0]).toMatch('ENOENT')
    mkdirSync(folder)
    await following.until(() => existsSync(file))
    await following.until(() => following.reports.length === 2)
    expect(following.reports[1]).toBe('healed')
    expect(following.heard).toHaveLength(1)
    chmodSync(folder, 0o700)
    rmSync(folder, { recursive: true })
  })
})
