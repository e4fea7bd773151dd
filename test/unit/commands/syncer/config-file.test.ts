import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { followConfigFile, readConfigFile } from '../../../../src/commands/syncer/config-file.ts'
import type { SyncConfig } from '../../../../src/sync/config/config.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const configOf = (expression: string): string =>
  JSON.stringify({ sync: { toHost: { endpoints: { patches: [{ path: 'a', expression }] } } } })
const FIRST = configOf('1')
const SECOND = configOf('2')
const THIRD = configOf('3')
const FAULTY = configOf('value;')
/** Valid by itself: only a cluster knows better. */
const REFUSED = configOf('"refused"')

interface Followed {
  /** What was called, in order: the source of the first expression, or faults. */
  readonly calls: readonly string[]
  readonly write: (text: string) => void
  readonly remove: () => void
  /** Lets the file be read once more. */
  readonly read: () => Promise<void>
  /** What the cluster says about REFUSED from now on; none = it takes it. */
  readonly answer: (...faults: readonly string[]) => void
  /** Holds each configuration back until it is called. */
  readonly hold: () => () => void
  readonly end: () => Promise<void>
}

function follow(): Followed {
  const home = mkdtempSync(join(tmpdir(), 'config-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const path = join(home, 'vcluster.yaml')
  const write = (text: string): void => {
    writeFileSync(join(home, 'next'), text)
    renameSync(join(home, 'next'), path)
  }
  write(FIRST)
  const { text } = readConfigFile(path)
  const clock = manualClock(0)
  const ending = new AbortController()
  const calls: string[] = []
  let held: Promise<void> = Promise.resolve()
  let answers: readonly string[] = ['a cluster refuses it']
  const sourceOf = ({ kinds }: SyncConfig): string | undefined => {
    const [patch] = kinds.endpoints.patches
    return patch?.kind === 'expression' ? patch.forward?.source : 'none'
  }
  const ended = followConfigFile(text, {
    path,
    clock,
    signal: ending.signal,
    faultsOf: (config) => Promise.resolve(sourceOf(config) === '"refused"' ? answers : []),
    onConfig: async (config, warnings) => {
      const source = sourceOf(config)
      calls.push([`config ${source}`, ...warnings.map((one) => one.text)].join('; '))
      await held
    },
    onFaults: (faults) => void calls.push(`faults ${faults.join('; ').replaceAll(home, '')}`),
    onRestored: () => void calls.push('restored'),
  })
  return {
    calls,
    write,
    remove: () => rmSync(path),
    read: () => clock.advance(2000),
    answer: (...faults) => {
      answers = faults
    },
    hold: () => {
      let release = (): void => undefined
      held = new Promise((resolve) => {
        release = resolve
      })
      return release
    },
    end: async () => {
      ending.abort()
      await ended
    },
  }
}

describe('a configuration file that is followed (16.1)', () => {
  const semicolon = expect.stringContaining('remove the semicolon')
  const unreadable = 'faults /vcluster.yaml: it cannot be read'
  test.each<{
    name: string
    /** Contents of the file in turn, each read twice; null = there is none. */
    contents: readonly (string | null)[]
    calls: readonly unknown[]
  }>([
    { name: 'the same content', contents: [FIRST, FIRST], calls: [] },
    { name: 'another one', contents: [SECOND], calls: ['config 2'] },
    {
      name: 'several, one after the other',
      contents: [SECOND, THIRD, FIRST],
      calls: ['config 2', 'config 3', 'config 1'],
    },
    { name: 'faults, once', contents: [FAULTY, FAULTY], calls: [semicolon] },
    {
      name: 'faults, and the content in force again',
      contents: [FAULTY, FIRST],
      calls: [semicolon, 'restored'],
    },
    {
      name: 'faults that a cluster knows, once, and the content in force again',
      contents: [REFUSED, REFUSED, FIRST],
      calls: ['faults a cluster refuses it', 'restored'],
    },
    { name: 'faults, and a valid one', contents: [FAULTY, SECOND], calls: [semicolon, 'config 2'] },
    {
      name: 'faults, and what was in force before that',
      contents: [SECOND, FAULTY, FIRST],
      calls: ['config 2', semicolon, 'config 1'],
    },
    {
      name: 'no YAML',
      contents: ['a: [1'],
      calls: [expect.stringMatching(/^faults \/vcluster\.yaml: /)],
    },
    { name: 'no file, once', contents: [null, null], calls: [unreadable] },
    {
      name: 'no file, and the same again',
      contents: [null, FIRST],
      calls: [unreadable, 'restored'],
    },
    { name: 'no file, and another', contents: [null, SECOND], calls: [unreadable, 'config 2'] },
    {
      name: 'no file, faults, no file',
      contents: [null, FAULTY, null],
      calls: [unreadable, semicolon, unreadable],
    },
    {
      name: 'warnings stop nothing',
      contents: [JSON.stringify({ sync: { toHost: { pods: { patches: [{}] } } } })],
      calls: [expect.stringContaining('config none; sync.toHost.pods.patches is not served')],
    },
  ])('$name', async ({ contents, calls }) => {
    const followed = follow()
    for (const content of contents) {
      if (content === null) rmIfThere(followed)
      else followed.write(content)
      await followed.read()
      await followed.read()
    }
    await followed.end()
    expect(followed.calls).toEqual(calls)
  })

  test('a change while a configuration starts follows it, and of several only the last', async () => {
    const followed = follow()
    const release = followed.hold()
    followed.write(SECOND)
    await followed.read()
    for (const text of [FAULTY, THIRD, FIRST, THIRD]) {
      followed.write(text)
      await followed.read()
    }
    expect(followed.calls).toEqual(['config 2'])
    release()
    await followed.read()
    await followed.read()
    expect(followed.calls).toEqual(['config 2', 'config 3'])
    await followed.end()
  })

  test('a configuration that a cluster refuses is checked again, and starts once the cluster accepts it', async () => {
    const followed = follow()
    followed.write(REFUSED)
    for (let times = 0; times < 3; times += 1) await followed.read()
    followed.answer('it refuses another thing')
    for (let times = 0; times < 3; times += 1) await followed.read()
    expect(followed.calls).toEqual([
      'faults a cluster refuses it',
      'faults it refuses another thing',
    ])
    followed.answer()
    await followed.read()
    await followed.read()
    expect(followed.calls.slice(2)).toEqual(['config "refused"'])
    await followed.end()
  })

  test('nothing is read after the end', async () => {
    const followed = follow()
    await followed.end()
    followed.write(SECOND)
    await followed.read()
    expect(followed.calls).toEqual([])
  })
})

function rmIfThere({ remove }: Followed): void {
  try {
    remove()
  } catch {
    // The row before has removed it.
  }
}

describe('a configuration file at the start (16.1)', () => {
  const home = mkdtempSync(join(tmpdir(), 'config-'))
  const fileOf = (text: string): string => {
    const path = join(home, 'vcluster.yaml')
    writeFileSync(path, text)
    return path
  }
  test('has all faults in its error', () => {
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    const faulty = JSON.stringify({
      sync: { toHost: { endpoints: { enabled: 1, patches: [{}] }, secrets: { all: 'x' } } },
    })
    expect(() => readConfigFile(fileOf(faulty))).toThrow(
      /^.*vcluster\.yaml has faults:\n(?:sync\..*\n?){4,}$/,
    )
    expect(() => readConfigFile(fileOf('a: [1'))).toThrow('vcluster.yaml: ')
    expect(() => readConfigFile(join(home, 'absent'))).toThrow('absent: it cannot be read')
    expect(readConfigFile(fileOf('')).checked.config.kinds.endpoints.enabled).toBe(true)
  })
})
