import { execFile as execFileWithCallback } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { eventually, eventuallyPasses } from '../../../support/eventually.ts'
import {
  type DirectWorld,
  directWorld,
  MAX_STALENESS_MS,
  START_MS,
  stateDirectory,
  type TestDirect,
} from './direct-world.ts'
import { newTestKey, newToken } from './test-issuer.ts'

const execFile = promisify(execFileWithCallback)
const HOUR_MS = 3_600_000
/** By the clock of the tests: files have the time of the machine. */
const NOW = new Date(START_MS)

/** Waits until the number of writes has settled at this, or more. */
const kept = (direct: TestDirect, text: string, path: string): Promise<string> =>
  eventually(
    `${path} has ${text}`,
    async () => {
      const content = await readFile(path, 'utf8')
      return content.includes(text) ? content : undefined
    },
    { withinMs: 5000 },
  ).finally(() => expect(direct.counts['state not kept']).toBe(undefined))

/** A world with a file of `direct-0` in which token `revoked` is revoked, and the platform stopped. */
async function stoppedWorld(): Promise<
  DirectWorld & { readonly stateDir: string; readonly file: string; readonly revoked: string }
> {
  const world = await directWorld()
  const stateDir = await stateDirectory()
  const { jti, token: revoked } = world.token()
  world.platform.served.revoked = { [jti]: START_MS + HOUR_MS }
  const direct = await world.start({ stateDir })
  const file = join(stateDir, 'state-direct-0.jsonl')
  await kept(direct, `"projectNamespacePrefix":"p-"`, file)
  await eventually(
    'the keys are kept',
    async () => (await readFile(file, 'utf8')).includes(world.key.kid) || undefined,
    {
      withinMs: 5000,
    },
  )
  direct.stop()
  await world.platform.stop()
  return { ...world, stateDir, file, revoked }
}

describe('a restart without the platform (9.2; threats F17)', () => {
  test('goes on with what was known: keys, revocations, and the prefix', async () => {
    const { start, stateDir, revoked, token } = await stoppedWorld()
    const direct = await start({ stateDir })
    expect(await direct.because(token().token)).toBe(null)
    expect(await direct.because(revoked)).toBe('revoked')
    expect(direct.projectNamespacePrefix()).toBe('p-')
    expect(Object.values(direct.readiness).map((check) => check())).toEqual([null, null, null])
  })

  test('knows what took effect a moment before an orderly end', async () => {
    const { start, token, platform, key } = await directWorld()
    const stateDir = await stateDirectory()
    const direct = await start({ stateDir })
    // Enough for a write to take its time.
    const others = Array.from({ length: 20_000 }, () => [randomUUID(), START_MS + HOUR_MS] as const)
    const { jti, token: revoked } = token()
    platform.served.revoked = { ...Object.fromEntries(others), [jti]: START_MS + HOUR_MS }
    await direct.poll()
    expect(await direct.because(revoked)).toBe('revoked')
    direct.stop()
    await direct.stateSettled()
    const text = await readFile(join(stateDir, 'state-direct-0.jsonl'), 'utf8')
    for (const known of [jti, key.kid]) expect(text).toContain(known)
  })

  test('knows nothing without a state directory', async () => {
    const { start, token } = await stoppedWorld()
    const direct = await start()
    expect(await direct.because(token().token)).toBe('stale')
  })

  test('does not restart the outage bound', async () => {
    const { start, stateDir, leap, platform, key } = await stoppedWorld()
    const claims = { exp: (START_MS + 9 * HOUR_MS) / 1000 }
    const { token } = newToken(key, platform.issuer, START_MS, claims)
    leap(MAX_STALENESS_MS - 1000)
    const direct = await start({ stateDir })
    expect(direct.gauges().listAgeMs).toBe(MAX_STALENESS_MS - 1000)
    expect(await direct.because(token)).toBe(null)
    leap(1001)
    expect(await direct.because(token)).toBe('stale')
    expect(direct.revocation.unknownSince()).toBe('2026-11-21T10:00:00Z')
  })

  test.each([
    { name: 'ahead: the bound is reached early', aheadMs: HOUR_MS, because: 'stale' },
    { name: 'behind: the list is not younger than it is', aheadMs: -HOUR_MS, because: null },
  ])('with a clock that is an hour $name', async ({ aheadMs, because }) => {
    const { start, stateDir, clock, key, platform } = await stoppedWorld()
    clock.setNow(START_MS + 1 + aheadMs)
    const direct = await start({ stateDir })
    const claims = { exp: (START_MS + 9 * HOUR_MS) / 1000 }
    expect(await direct.because(newToken(key, platform.issuer, START_MS, claims).token)).toBe(
      because,
    )
    expect(direct.nowMs()).toBeGreaterThanOrEqual(START_MS)
  })
})

describe('a restart with the platform (9.2)', () => {
  const restarted = async (change: (world: DirectWorld) => void) => {
    const world = await directWorld()
    const stateDir = await stateDirectory()
    const { jti, token } = world.token()
    world.platform.served.revoked = { [jti]: START_MS + HOUR_MS }
    const first = await world.start({ stateDir })
    await kept(first, world.key.kid, join(stateDir, 'state-direct-0.jsonl'))
    first.stop()
    change(world)
    return { ...world, token, direct: await world.start({ stateDir }) }
  }

  test('takes no list that lacks what was known before', async () => {
    const { direct, token } = await restarted(({ platform }) => {
      platform.served.revoked = {}
      platform.served.asOfMs += 1000
    })
    expect(direct.counts['revocations refused']).toBe(1)
    expect(await direct.because(token)).toBe('revoked')
  })

  test('a key that was withdrawn before the restart stays out', async () => {
    const world = await directWorld()
    const stateDir = await stateDirectory()
    const first = await world.start({ stateDir })
    const next = newTestKey()
    world.platform.served.keys = [next.jwk]
    await first.poll()
    await kept(first, `"missing":{"${world.key.kid}"`, join(stateDir, 'state-direct-0.jsonl'))
    first.stop()
    world.leap(601_000)
    world.platform.served.keys = [world.key.jwk, next.jwk]
    const direct = await world.start({ stateDir })
    expect(await direct.because(world.token().token)).toBe('unknownKey')
    // At the first poll, and at one for the token.
    expect(direct.counts['key refused']).toBe(2)
    expect(await direct.because(newToken(next, world.platform.issuer, START_MS).token)).toBe(null)
  })
})

describe('files that cannot be used (9.2)', () => {
  test.each<{ readonly name: string; readonly damage: (text: string) => string | Buffer }>([
    { name: 'empty', damage: () => '' },
    { name: 'cut off', damage: (text) => text.slice(0, -20) },
    { name: 'cut off in the first line', damage: (text) => text.slice(0, 30) },
    { name: 'no JSON', damage: () => Buffer.from([0xff, 0xfe, 0x0a, 0x00]) },
    {
      name: 'changed in the issuer',
      damage: (text) => text.replace(/https:[^"]*oidc/, 'https://other/oidc'),
    },
    { name: 'of another format', damage: (text) => text.replace('"format":1', '"format":2') },
    { name: 'changed in an id', damage: (text) => text.replace(/(tokens":{".)./, '$1g') },
    {
      name: 'changed in a time of a missing key',
      damage: (text) => text.replace('"missing":{', '"missing":{"a":"b"'),
    },
  ])('$name: a warning, and the state is empty at first', async ({ damage }) => {
    const { start, stateDir, file, token } = await stoppedWorld()
    await writeFile(file, damage(await readFile(file, 'utf8')))
    const direct = await start({ stateDir })
    expect(direct.lines.map(({ sentence }) => sentence)).toContain('state file ignored')
    expect(await direct.because(token().token)).toBe('stale')
  })

  test.each([
    { name: 'a FIFO', make: (path: string) => execFile('mkfifo', [path]) },
    { name: 'a directory', make: (path: string) => mkdir(path) },
    { name: 'a link that leads nowhere', make: (path: string) => symlink(`${path}.none`, path) },
    { name: 'a link to a file', make: (path: string) => symlink('notes.txt', path) },
    {
      name: 'a file of more than 65 MiB',
      make: async (path: string) => {
        await writeFile(path, '')
        await truncate(path, 65 * 1024 * 1024 + 1)
      },
    },
  ])('$name by the name of one: it is left alone, and others count', async ({ make }) => {
    const { start, stateDir, revoked, clock } = await stoppedWorld()
    const name = 'state-y.jsonl'
    await make(join(stateDir, name))
    // All are old.
    clock.setNow(Date.now() + 48 * HOUR_MS)
    const direct = await start({ stateDir, maxStalenessMs: 999_999 * HOUR_MS })
    const unused = direct.lines.filter(({ sentence }) => sentence === 'state file ignored')
    expect(unused.map(({ fields }) => fields['file'])).toEqual([name])
    expect(await direct.because(revoked)).toBe('revoked')
    await eventually('the state is kept', () => direct.counts['state kept'], { withinMs: 5000 })
    expect(direct.counts['state not kept']).toBe(undefined)
    expect(await readdir(stateDir)).toContain(name)
  })

  test('a FIFO in the place of the new file does not stop the writes', async () => {
    const { start, stateDir, file } = await stoppedWorld()
    await execFile('mkfifo', [`${file}.new`])
    const direct = await start({ stateDir })
    await eventually('the state is kept', () => direct.counts['state kept'], { withinMs: 5000 })
    expect(await readdir(stateDir)).toEqual(['state-direct-0.jsonl'])
  })

  test('other files are neither read nor removed', async () => {
    const { start, stateDir } = await stoppedWorld()
    await writeFile(join(stateDir, 'notes.txt'), 'x')
    const direct = await start({ stateDir })
    expect(direct.lines.filter(({ sentence }) => sentence === 'state file ignored')).toEqual([])
    expect(await readdir(stateDir)).toContain('notes.txt')
  })

  test('a directory that is none: a warning, and it goes on in memory', async () => {
    const { start, token } = await directWorld()
    const file = join(await stateDirectory(), 'file')
    await writeFile(file, '')
    const direct = await start({ stateDir: file })
    await eventually('the write has failed', () => direct.counts['state not kept'], {
      withinMs: 5000,
    })
    expect(direct.lines.map(({ sentence }) => sentence)).toEqual(
      expect.arrayContaining([
        'cannot read the state directory',
        'cannot write to the state directory: a restart will have an older state',
      ]),
    )
    expect(await direct.because(token().token)).toBe(null)
  })

  test('a write that failed is tried again at the next poll', async () => {
    const { start, platform } = await directWorld()
    const stateDir = await stateDirectory()
    await rm(stateDir, { recursive: true })
    const direct = await start({ stateDir })
    await eventually('the write has failed', () => direct.counts['state not kept'], {
      withinMs: 5000,
    })
    await mkdir(stateDir)
    platform.served.asOfMs += 1000
    await direct.poll()
    await eventually('the state is kept', () => direct.counts['state kept'], { withinMs: 5000 })
  })
})

describe('replicas that share a state directory (9.2)', () => {
  test('have a file each, for its owner only, and know all revocations of the others', async () => {
    const world = await directWorld()
    const { start, platform, token } = world
    const stateDir = await stateDirectory()
    const [ours, theirs] = [token(), token()]
    platform.served.revoked = { [ours.jti]: START_MS + HOUR_MS }
    const one = await start({ stateDir, instance: 'pod/1' })
    await kept(one, ours.jti, join(stateDir, 'state-pod%2F1.jsonl'))
    one.stop()
    // Another replica has seen a newer list, which lacks what the first one knows.
    platform.served.revoked = { [theirs.jti]: START_MS + HOUR_MS }
    platform.served.asOfMs += 1000
    const other = await stateDirectory()
    const two = await start({ stateDir: other, instance: 'pod-2' })
    const text = await kept(two, world.key.kid, join(other, 'state-pod-2.jsonl'))
    two.stop()
    await writeFile(join(stateDir, 'state-pod-2.jsonl'), text)
    for (const name of await readdir(stateDir)) await utimes(join(stateDir, name), NOW, NOW)
    await platform.stop()

    const three = await start({ stateDir, instance: 'pod-3' })
    expect(await three.because(ours.token)).toBe('revoked')
    expect(await three.because(theirs.token)).toBe('revoked')
    expect(await three.because(token().token)).toBe(null)
    expect(three.gauges().listAgeMs).toBe(0)
    await kept(three, ours.jti, join(stateDir, 'state-pod-3.jsonl'))
    expect((await readdir(stateDir)).toSorted()).toEqual([
      'state-pod%2F1.jsonl',
      'state-pod-2.jsonl',
      'state-pod-3.jsonl',
    ])
    expect((await stat(join(stateDir, 'state-pod-3.jsonl'))).mode & 0o777).toBe(0o600)
  })

  test('a file that was not written for a day is removed, once its content is in the own one', async () => {
    const { start, stateDir, revoked, file, clock } = await stoppedWorld()
    // The own file, just written, is old by this clock too.
    clock.setNow(Date.now() + 48 * HOUR_MS)
    const ages = { 'state-old.jsonl': 25, 'state-old.jsonl.new': 25, 'state-new.jsonl': 23 }
    for (const [name, hours] of Object.entries(ages)) {
      await writeFile(join(stateDir, name), await readFile(file))
      const at = new Date(clock.nowMs() - hours * HOUR_MS)
      await utimes(join(stateDir, name), at, at)
    }
    await rm(file)
    const direct = await start({ stateDir, instance: 'direct-1' })
    await eventuallyPasses(
      'the old files are removed',
      async () =>
        expect((await readdir(stateDir)).toSorted()).toEqual([
          'state-direct-1.jsonl',
          'state-new.jsonl',
        ]),
      { withinMs: 5000 },
    )
    expect(await direct.because(revoked)).toBe('revoked')
  })

  test('a file that is readable for others is not so any more when it is written again', async () => {
    const { stateDir, file, start } = await stoppedWorld()
    await chmod(file, 0o644)
    await writeFile(`${file}.new`, 'x', { mode: 0o644 })
    const direct = await start({ stateDir })
    await eventually('the state is kept', () => direct.counts['state kept'], { withinMs: 5000 })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })
})
