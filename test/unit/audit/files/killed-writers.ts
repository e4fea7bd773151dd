// Writers that are killed at random moments, one after the other in one directory, while files are rotated and compressed.
import { once } from 'node:events'
import { expect } from 'vitest'
import { backupOf } from '../../../../src/audit/files/backups.ts'
import { eventuallyPasses } from '../../../support/eventually.ts'
import type { Random } from '../../../support/random.ts'
import { bytes, namesIn, sinkIn, temporaryFolder, textsIn } from './sink-folder.ts'
import { startWriter } from './writer-process.ts'

const LINES_A_ROUND = 1_000_000
const LONGEST_LINE = 2000

/** What the files have after the rounds. */
interface KilledRounds {
  /** The numbers that were acknowledged. */
  readonly acknowledged: readonly number[]
  /** The numbers of the whole lines, over all files. */
  readonly found: readonly number[]
  readonly tornLines: readonly string[]
  readonly files: number
}

/** Kills writers, then closes what the last one left as a start does, and reads all files. */
export async function killWriters(rounds: number, random: Random): Promise<KilledRounds> {
  const path = temporaryFolder()
  const acknowledged: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const writer = startWriter({
      path,
      first: round * LINES_A_ROUND,
      maxSize: bytes(16 * 1024),
      lineLength: LONGEST_LINE,
      atOnce: 8,
      haste: 1,
      isRestless: true,
    })
    await writer.until(/^written/)
    const lifeMs = random.between(0, 120)
    await Promise.race([
      new Promise((resolve) => setTimeout(resolve, lifeMs)),
      once(writer.child, 'exit'),
    ])
    await writer.kill()
    expect(writer.said().filter((line) => /failed|refused/.test(line))).toEqual([])
    acknowledged.push(...writer.written())
  }
  return { acknowledged, ...(await linesIn(path)) }
}

async function linesIn(path: string): Promise<Omit<KilledRounds, 'acknowledged'>> {
  const { sink } = sinkIn({ path, compress: true })
  await sink.open()
  await eventuallyPasses(
    'what crashes left is tidied',
    async () =>
      expect(
        (await namesIn(path)).filter(
          (name) => name !== 'audit.log' && !backupOf(name)?.isCompressed,
        ),
      ).toEqual([]),
    { withinMs: 120_000 },
  )
  await sink.close()
  const texts = Object.values(await textsIn(path))
  for (const text of texts) expect(text === '' || text.endsWith('\n')).toBe(true)
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1))
  return {
    found: lines.flatMap((line) => numberOf(line) ?? []),
    tornLines: lines.filter((line) => numberOf(line) === null),
    files: texts.length,
  }
}

/** The number of a whole line; null = it is torn. */
function numberOf(line: string): number | null {
  try {
    return (JSON.parse(line) as { readonly number: number }).number
  } catch {
    return null
  }
}

/** What is wrong: every acknowledged line must be there once, no other twice, and at most one torn line a round. */
export function faultsOf(
  { acknowledged, found, tornLines, files }: KilledRounds,
  rounds: number,
): readonly string[] {
  const counts = new Map<number, number>()
  for (const number of found) counts.set(number, (counts.get(number) ?? 0) + 1)
  const lost = acknowledged.filter((number) => !counts.has(number))
  const doubled = [...counts].filter(([, count]) => count > 1)
  return [
    ...lost.map((number) => `line ${number} is lost`),
    ...doubled.map(([number, count]) => `line ${number} is there ${count} times`),
    ...(tornLines.length > rounds ? [`${tornLines.length} lines are torn`] : []),
    // Too little was tried.
    ...(acknowledged.length < rounds * 10 ? [`only ${acknowledged.length} lines`] : []),
    ...(files < rounds ? [`only ${files} files`] : []),
  ]
}
