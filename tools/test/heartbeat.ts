import type { Reporter } from 'vitest/node'

const BEAT_MS = 30_000

/** Says every half minute what runs, where no terminal shows it: some tests wait for minutes. */
export function heartbeat(log: (line: string) => void): Reporter {
  const running = new Map<string, string>()
  const startMs = performance.now()
  const beat = (): void => {
    const seconds = Math.round((performance.now() - startMs) / 1000)
    const what = [...running.values()].join(', ') || 'what goes before or after the tests'
    log(`after ${seconds} s: running ${what}`)
  }
  let timer: NodeJS.Timeout | undefined
  return {
    onTestRunStart: () => {
      timer = setInterval(beat, BEAT_MS)
    },
    onTestCaseReady: ({ id, fullName }) => void running.set(id, fullName),
    onTestCaseResult: ({ id }) => void running.delete(id),
    onTestRunEnd: () => clearInterval(timer),
  }
}
