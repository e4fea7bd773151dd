// Loaded before the program by `node --import`: its wall clock is so many milliseconds ahead, and is stepped
// by SIGUSR2 where a file is named. What takes minutes or weeks can be shown that way; the program knows
// nothing of it. See ahead.ts.
import { readFileSync, rmSync } from 'node:fs'

function read(name: string, text: string | undefined): number {
  const ms = Number(text)
  if (!Number.isSafeInteger(ms)) throw new Error(`${name}: write milliseconds`)
  return ms
}

let aheadMs = read('CLOCK_AHEAD_MS', process.env['CLOCK_AHEAD_MS'])
const stepFile = process.env['CLOCK_STEP_FILE']
if (stepFile !== undefined) {
  process.on('SIGUSR2', () => {
    aheadMs = read(stepFile, readFileSync(stepFile, 'utf8'))
    rmSync(stepFile)
  })
}

const realNow = Date.now
Date.now = () => realNow() + aheadMs
globalThis.Date = new Proxy(Date, {
  construct: (target, parts, newTarget) =>
    Reflect.construct(target, parts.length === 0 ? [Date.now()] : parts, newTarget),
})
