import { stripVTControlCharacters } from 'node:util'
import type { TestCase, TestModule, TestSuite } from 'vitest/node'

/** A test that did not run. */
export interface Skip {
  readonly test: string
  /** null = the test gives no reason. */
  readonly reason: string | null
}

/** A failed test, a file or group that failed outside its tests, or an uncaught error. */
export interface Failure {
  readonly test: string
  /** Its message and its place, a few lines. */
  readonly error: string
}

/** How long a file took, from its import to its last hook. */
export interface FileTime {
  readonly file: string
  readonly seconds: number
}

/** The result of a run. */
export interface Tally {
  /** Flaky tests count, too. */
  readonly passed: number
  readonly failures: readonly Failure[]
  /** Tests that failed, and passed when they were tried again; `error` is the first. */
  readonly flaky: readonly Failure[]
  readonly skips: readonly Skip[]
  readonly files: readonly FileTime[]
}

/** The tally of a run without files. */
export const nothing: Tally = { passed: 0, failures: [], flaky: [], skips: [], files: [] }

/** Maximum number of flaky tests; with more, the run fails. */
export const MOST_FLAKY = 3

/** Counts a run of vitest from the arguments of a reporter's onTestRunEnd. */
export function tallyOf(modules: readonly TestModule[], uncaught: readonly unknown[]): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const groups = modules.flatMap((module) => [module, ...module.children.allSuites()])
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failures: [
      ...tests
        .filter((test) => test.result().state === 'failed')
        .map((test) => failure(nameOf(test), test.result().errors ?? [])),
      ...groups
        .filter((group) => group.errors().length > 0)
        .map((group) => failure(nameOf(group), group.errors())),
      ...uncaught.map((error) => failure('an uncaught error', [error])),
    ],
    // Report the error of the first try: later tries meet a world that has changed since.
    flaky: tests
      .filter((test) => test.diagnostic()?.flaky)
      .map((test) => failure(nameOf(test), (test.result().errors ?? []).slice(0, 1))),
    skips: tests.filter(didNotRun).map((test) => ({ test: nameOf(test), reason: reasonOf(test) })),
    files: modules.map(timeOf),
  }
}

/** The tally of both runs together. */
export function sum(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failures: [...one.failures, ...other.failures],
    flaky: [...one.flaky, ...other.flaky],
    skips: [...one.skips, ...other.skips],
    files: [...one.files, ...other.files],
  }
}

/** The tally, with one failure more where too many tests were flaky. */
export function judged(tally: Tally): Tally {
  const { flaky, failures } = tally
  if (flaky.length <= MOST_FLAKY) return tally
  const error = `${flaky.length} passed only when they were tried again, ${MOST_FLAKY} may`
  return { ...tally, failures: [...failures, { test: 'too many tests are flaky', error }] }
}

/** Whether nothing failed, something ran, and each skip has a reason. */
export function isGood({ passed, failures, skips }: Tally): boolean {
  return failures.length === 0 && passed > 0 && skips.every(({ reason }) => reason !== null)
}

/**
 * The lines to end with: the time of each file, each flaky test and each failure, the skips with their
 * reasons, then the counts. The end of a long log has all that a reader needs.
 */
export function summary({ passed, failures, flaky, skips, files }: Tally): readonly string[] {
  return [
    ...timeLines(files),
    ...flaky.map(({ test, error }) => `flaky: ${test}\n${indented(error)}`),
    ...failures.map(({ test, error }) => `failed: ${test}\n${indented(error)}`),
    ...[...Map.groupBy(skips, ({ reason }) => reason ?? NO_REASON)].map(skipLine),
    `${flaky.length} flaky: passed when tried again`,
    `${passed} passed, ${failures.length} failed, ${skips.length} skipped`,
  ]
}

/** Files that take less share one line. */
const WORTH_A_LINE_SECONDS = 1

function timeLines(files: readonly FileTime[]): readonly string[] {
  const sorted = files.toSorted((one, other) => other.seconds - one.seconds)
  const quick = sorted.filter(({ seconds }) => seconds < WORTH_A_LINE_SECONDS)
  const lines = sorted.slice(0, sorted.length - quick.length).map(timeLine)
  if (quick.length === 0) return lines
  const seconds = quick.reduce((total, one) => total + one.seconds, 0)
  return [...lines, timeLine({ file: `${quick.length} files below a second, together`, seconds })]
}

const timeLine = ({ file, seconds }: FileTime): string =>
  `${seconds.toFixed(1).padStart(7)} s  ${file}`

const indented = (text: string): string => text.replace(/^/gm, '  ')

/** Many skip for one reason, such as a daemon that is not there. */
function skipLine([reason, [first, ...others]]: readonly [string, readonly Skip[]]): string {
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `skipped: ${first?.test}${more}: ${reason}`
}

const NO_REASON = 'no reason given (use context.skip(reason)): this fails the run'

const didNotRun = (test: TestCase): boolean => ['skipped', 'pending'].includes(test.result().state)

function reasonOf(test: TestCase): string | null {
  const result = test.result()
  if (result.state === 'skipped' && result.note) return result.note
  return isBroken(test.parent) ? 'a hook before it failed' : null
}

/** Whether a hook of the group, or of one around it, failed. */
function isBroken(group: TestSuite | TestModule): boolean {
  return group.errors().length > 0 || (group.type === 'suite' && isBroken(group.parent))
}

const nameOf = (of: TestCase | TestSuite | TestModule): string =>
  of.type === 'module' ? of.relativeModuleId : `${of.module.relativeModuleId} > ${of.fullName}`

const failure = (test: string, errors: readonly unknown[]): Failure => ({
  test,
  error: errors.map(brief).join('\n'),
})

function timeOf(module: TestModule): FileTime {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return {
    file: module.relativeModuleId,
    seconds: (collectDuration + setupDuration + duration) / 1000,
  }
}

/** The first lines of an error's message, and the first place outside the packages. */
function brief(error: unknown): string {
  const { message, stack, diff } = error as { message?: string; stack?: string; diff?: string }
  const text = stripVTControlCharacters([message ?? String(error), diff ?? ''].join('\n'))
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const place = stack?.split('\n').find((line) => /^\s+at /.test(line) && !isForeign(line))
  return [...lines.slice(0, BRIEF_LINES), ...(place === undefined ? [] : [place.trim()])].join('\n')
}

const BRIEF_LINES = 30

const isForeign = (line: string): boolean => /node_modules|node:/.test(line)
