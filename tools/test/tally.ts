import type { TestCase, TestModule, TestSuite } from 'vitest/node'

/** A test that did not run, and why; null when nobody said so. */
export interface Skip {
  readonly test: string
  readonly reason: string | null
}

/** What came of a run. */
export interface Tally {
  readonly passed: number
  /** Failed tests, files that failed outside their tests, and errors that nobody caught. */
  readonly failed: number
  readonly skips: readonly Skip[]
}

/** What a run of nothing comes to. */
export const nothing: Tally = { passed: 0, failed: 0, skips: [] }

/** Counts a run of vitest by what it hands to a reporter in the end. */
export function tallyOf(modules: readonly TestModule[], uncaught: readonly unknown[]): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const count = (state: 'passed' | 'failed'): number =>
    tests.filter((test) => test.result().state === state).length
  const broken = modules.flatMap(groupsOf).filter((group) => group.errors().length > 0)
  return {
    passed: count('passed'),
    failed: count('failed') + broken.length + uncaught.length,
    skips: tests.filter(didNotRun).map((test) => ({ test: nameOf(test), reason: reasonOf(test) })),
  }
}

/** Both together. */
export function sum(one: Tally, other: Tally): Tally {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skips: [...one.skips, ...other.skips],
  }
}

/** Whether nothing failed, something ran, and each skip has a reason. */
export function isGood({ passed, failed, skips }: Tally): boolean {
  return failed === 0 && passed > 0 && skips.every(({ reason }) => reason !== null)
}

/** The lines to end with: each skip with its reason, and the counts. */
export function summary({ passed, failed, skips }: Tally): readonly string[] {
  const skipped = skips.map(({ test, reason }) => `skipped: ${test}: ${reason ?? NO_REASON}`)
  return [...skipped, `${passed} passed, ${failed} failed, ${skips.length} skipped`]
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

const nameOf = ({ module, fullName }: TestCase): string =>
  `${module.relativeModuleId} > ${fullName}`
