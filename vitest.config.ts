import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// What each project may do to a control plane is said in test/support/control-plane.ts. Groups run one
// after the other, and no group runs more than two control planes at a time.

const MINUTE_MS = 60_000

/** Their files start and break control planes of their own: two files at a time. */
const apart = { maxWorkers: 2, testTimeout: 5 * MINUTE_MS, hookTimeout: 2 * MINUTE_MS }

/** Files that take more than a minute or so: started last they would keep one core waiting. */
const LONG = [
  'test/faults/',
  'docs.private',
  'control-plane-lifetime',
  'install/lifecycle',
  'many.private',
  'gateway/limits',
  'gateway/measured',
  'gateway/closed',
  'gateway/replicas',
  'tokens/schedules',
  'gateway/callers-stale',
  'gateway/restored',
  'gateway/may-act',
]

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      (LONG.findIndex((part) => moduleId.includes(part)) + LONG.length + 1) % (LONG.length + 1)
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/*.test.ts'],
          // Some start processes, and the machine may be busy.
          testTimeout: MINUTE_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          exclude: ['**/*.private.test.ts'],
          globalSetup: 'test/support/global-setup.ts',
          maxWorkers: 2,
          testTimeout: MINUTE_MS,
          hookTimeout: MINUTE_MS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'private',
          include: ['test/cluster/**/*.private.test.ts'],
          ...apart,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...apart,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'direct',
          include: ['test/direct/**/*.test.ts'],
          ...apart,
          // Its files run two control planes each: the product's, and the one that takes its tokens.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'container',
          include: ['test/container/**/*.test.ts'],
          globalSetup: 'test/container/global-setup.ts',
          ...apart,
          maxWorkers: 1,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
})
