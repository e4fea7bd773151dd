// Loaded before the program by `node --import`: its wall clock is so many milliseconds ahead. What takes
// minutes or weeks can be shown that way; the program knows nothing of it. See ahead.ts.
const aheadMs = Number(process.env['CLOCK_AHEAD_MS'])
if (!Number.isSafeInteger(aheadMs)) throw new Error('CLOCK_AHEAD_MS: write milliseconds')

const realNow = Date.now
Date.now = () => realNow() + aheadMs
globalThis.Date = new Proxy(Date, {
  construct: (target, parts, newTarget) =>
    Reflect.construct(target, parts.length === 0 ? [Date.now()] : parts, newTarget),
})
