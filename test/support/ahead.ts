import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'shifted-clock.ts')).href

/** Variables for a process whose wall clock is so many milliseconds ahead of everybody else's. */
export const ahead = (ms: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${PRELOAD}`,
  CLOCK_AHEAD_MS: String(ms),
})
