import { stripVTControlCharacters } from 'node:util'
import type { TestCase, TestModule, TestSuite } from 'vitest/node'

/** A test that did not run, and why; null when nobody said so. */
export interface Skip {
  readonly test: string
  readonly reason: string | null
}

/** A failed test, a file or group that failed outside its tests, or an error that nobody caught. */
export interface Failure {
  readonly test: string
  /** What it said and where it comes from, a few lines. */
  readonly error: string
}

/** What came of a run. */
export interface Tally {
  readonly passed: number
  readonly failures: readonly Failure[]
  readonly skips: readonly Skip[]
}

/** What a run of nothing comes to. */
export const nothing: Tally = { passed: 0, failures: [], skips: [] }

/** Counts a run of vitest by what it hands to a reporter in the end. */
export function tallyOf(modules: readonly TestModule[], uncaught: readonly unknown[]): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const groups = modules.flatMap(groupsOf)
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failures: [
      ...tests.filter((test) => test.result().state === 'failed').map(failureOfTest),
      ...groups.filter((group) => group.errors().length > 0).map(failureOfGroup),
      ...uncaught.map((error) => ({ test: 'an error that nobody caught', error: brief(error) })),
    ],
    skips: tests.filter(didNotRun).map((test) => ({ test: nameOf(test), reason: reasonOf(test) })),
  }
}

/** Both together. */
export function sum(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failures: [...one.failures, ...other.failures],
    skips: [...one.skips, ...other.skips],
  }
}

/** Whether nothing failed, something ran, and each skip has a reason. */
export function isGood({ passed, failures, skips }: Tally): boolean {
  return failures.length === 0 && passed > 0 && skips.every(({ reason }) => reason !== null)
}

/**
 * The lines to end with: each failure and the skips with their reasons, then the counts. Failures are
 * said again here because whoever keeps only the end of a long log needs them too.
 */
export function summary({ passed, failures, skips }: Tally): readonly string[] {
  return [
    ...failures.map(({ test, error }) => `failed: ${test}\n${error.replace(/^/gm, '  ')}`),
    ...[...Map.groupBy(skips, ({ reason }) => reason ?? NO_REASON)].map(skipLine),
    `${passed} passed, ${failures.length} failed, ${skips.length} skipped`,
  ]
}

/** Many skip for one reason, such as a daemon that is not there. */
function skipLine([reason, [first, ...others]]: readonly [string, readonly Skip[]]): string {
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return `skipped: ${first?.test}${more}: ${reason}`
}

const NO_REASON = 'no reason given (use context.skip(reason)): this fails the run'

const didNotRun = (test: TestCase): boolean => {
  const { state } = test.result()
  return state === 'skipped' || state === 'pending'
}

function reasonOf(test: TestCase): string | null {
  const result = test.result()
  if (result.state === 'skipped' && result.note) return result.note
  return isBroken(test.parent) ? 'what goes before it failed' : null
}

/** Whether a hook of the group, or of one around it, failed. */
function isBroken(group: TestSuite | TestModule): boolean {
  return group.errors().length > 0 || (group.type === 'suite' && isBroken(group.parent))
}

function groupsOf(module: TestModule): readonly (TestSuite | TestModule)[] {
  return [module, ...module.children.allSuites()]
}

const nameOf = ({ module, fullName }: TestCase | TestSuite): string =>
  `${module.relativeModuleId} > ${fullName}`

const failureOfTest = (test: TestCase): Failure => ({
  test: nameOf(test),
  error: briefs(test.result().errors ?? []),
})

const failureOfGroup = (group: TestSuite | TestModule): Failure => ({
  test: group.type === 'module' ? group.relativeModuleId : nameOf(group),
  error: briefs(group.errors()),
})

const briefs = (errors: readonly unknown[]): string => errors.map(brief).join('\n')

/** The first lines of what an error says, and the first place outside the packages. */
function brief(error: unknown): string {
  const { message, stack, diff } = error as { message?: string; stack?: string; diff?: string }
  const text = stripVTControlCharacters([message ?? String(error), diff ?? ''].join('\n'))
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const place = stack?.split('\n').find((line) => /^\s+at /.test(line) && !isForeign(line))
  return [...lines.slice(0, BRIEF_LINES), ...(place === undefined ? [] : [place.trim()])].join('\n')
}

const BRIEF_LINES = 30

const isForeign = (line: string): boolean => /node_modules|node:/.test(line)
