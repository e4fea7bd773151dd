// The tests of a gateway or a direct endpoint before a hostile target: one for each answer (contract 13.3).
import { describe, expect, test } from 'vitest'
import { FORGED, HOSTILE_ANSWERS, ORDINARY } from './hostile-answers.ts'
import { type Endured, type FrontDoor, endure } from './hostile-load.ts'
import { GENUINE } from './hostile-target.ts'
import { isWhole } from './tier.ts'

const MEASURED_MS = isWhole ? 3000 : 700
/** Four answers of 48 MiB that are held are 192; what one ordinary flood leaves to the collector is less. */
const MOST_GROWN_MIB = 160
/** How many times slower than under ordinary answers another caller may be. */
const SLOWER = 10
/** Below this, the times of this machine are noise; milliseconds. */
const NOISE_MS = 30

/** Tests each answer, in `make test` some. */
export function testHostileAnswers(front: FrontDoor): void {
  const rows = HOSTILE_ANSWERS.filter(({ isSample = false }) => isWhole || isSample)
  let ordinary: Endured | null = null

  describe('a hostile target', () => {
    test.each(rows)(
      'that gives $name holds no memory and keeps nobody waiting (13.3)',
      async (row) => {
        ordinary ??= await endure(front, ORDINARY, MEASURED_MS)
        const { grownMiB, otherCodes, otherMs, received, next } = await endure(
          front,
          row,
          MEASURED_MS,
        )
        const [times, usual] = [timesOf(otherMs), timesOf(ordinary.otherMs)]
        console.log(
          `measured: ${row.name}: ${grownMiB.toFixed(0)} MiB, ${JSON.stringify({ times, usual })}`,
        )
        expect(new Set(otherCodes)).toEqual(new Set([200]))
        expect(next).toEqual(next.map(() => GENUINE))
        expect(received.filter((text) => isForged(text, row.asks === 'exec'))).toEqual([])
        expect(grownMiB).toBeLessThan(MOST_GROWN_MIB)
        expect(times.p90Ms).toBeLessThan(SLOWER * Math.max(usual.p90Ms, NOISE_MS))
        expect(times.mostMs).toBeLessThan(SLOWER * Math.max(usual.mostMs, NOISE_MS))
      },
    )
  })
}

const timesOf = (sortedMs: readonly number[]) => ({
  p90Ms: Math.round(sortedMs[Math.floor(sortedMs.length * 0.9)] ?? 0),
  mostMs: Math.round(sortedMs.at(-1) ?? 0),
})

/** Whether a client got what was not the answer to its request. */
const isForged = (text: string, isUpgrade: boolean): boolean =>
  text.includes(FORGED) || (!isUpgrade && text.startsWith('HTTP/1.1 101'))
