// Loaded into a program by `node --import`: its wall clock is CLOCK_AHEAD_MS ahead, and SIGUSR2 steps it to what
// CLOCK_STEP_FILE holds. So a test shows what takes minutes or weeks, with the program as it is. See stepped-clock.ts.
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
