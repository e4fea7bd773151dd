import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Nothing is mocked and no file keeps anything for the next one, so none needs a process of its own (`isolate`).
// What each project may do to a control plane is said in test/support/control-plane.ts. Groups run one
// after the other, and no group runs more than two control planes at a time.

const MINUTE_MS = 60_000

/** By name, and by tier: without TEST_TIER there are all. */
const LONG_FILES = process.env['TEST_TIER'] === 'quick' ? ['**/*.long.test.ts'] : []

// Programs and tests start again and again: what Node has compiled is kept.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compile')
// Servers that live for minutes need not be sparing with memory.
process.env['GOGC'] ??= '400'

/** Counts assertions by rule, where a file is named for it: see tools/assertions.ts. */
const COUNTING = process.env['ASSERTIONS'] === undefined ? [] : ['tools/assertions/count.ts']

/** A failed test is tried once more, and the run says so; not where one failure in a hundred is a defect. */
const retry = 1
const tags = [
  {
    name: 'no-retry',
    description: 'attacks, attribution, canaries, revocation, expiry: one failure is a defect',
    retry: 0,
  },
]

/** Their files have a control plane each for itself: two files at a time. */
const apart = {
  exclude: LONG_FILES,
  globalSetup: 'test/support/template.ts',
  isolate: false,
  maxWorkers: 2,
  setupFiles: COUNTING,
  testTimeout: 5 * MINUTE_MS,
  hookTimeout: 2 * MINUTE_MS,
  retry,
}

/** Files that take long, longest first: started last they would keep one core waiting. Units come last of all. */
const LONG = [
  'test/faults/api-server',
  'test/faults/operator',
  'install/lifecycle',
  'test/faults/',
  'gateway/overload',
  'gateway/authenticator-stale-watch',
  'gateway/impersonation-readiness',
  'tokens/schedules',
  'gateway/fail-closed',
  'gateway/killed-replicas',
  'gateway/targets-under-load',
  'gateway/stream-endings',
  'gateway/restored-etcd',
  'gitops/health',
  'keys/many',
  'claims/many',
  'claims/clocks',
  'claims/leaders',
  // Not beside the other flood, gateway/overload; what is measured, beside neither.
  'tokens/many',
  'metrics/prometheus',
  'gateway/caller-isolation',
  'gateway/revocation-latency',
  'test/cluster/leader',
  'self-service',
  'gateway/authenticator',
  'cluster/policies/',
  'gateway/revoked-in-flight',
  'cluster/claims/',
  'cluster/tokens/',
  'cluster/keys/',
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
    tags,
    // A title ends with the number of its rule, by which assertions are counted: none is cut.
    taskTitleValueFormatTruncate: 1000,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', 'test/*.test.ts'],
          exclude: LONG_FILES,
          isolate: false,
          maxWorkers: 2,
          setupFiles: ['test/support/low-priority.ts', ...COUNTING],
          retry,
          // Some start processes, and the machine may be busy.
          testTimeout: MINUTE_MS,
          sequence: { groupOrder: 7 },
        },
      },
      {
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          exclude: ['**/*.{private,own}{,.long}.test.ts', ...LONG_FILES],
          globalSetup: ['test/support/template.ts', 'test/support/global-setup.ts'],
          isolate: false,
          setupFiles: COUNTING,
          // They wait more than they work.
          maxWorkers: 4,
          retry,
          testTimeout: MINUTE_MS,
          hookTimeout: MINUTE_MS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'docs',
          include: ['test/docs/**/*.test.ts'],
          isolate: false,
          setupFiles: COUNTING,
          maxWorkers: 1,
          retry,
          testTimeout: MINUTE_MS,
          hookTimeout: 2 * MINUTE_MS,
          sequence: { groupOrder: 8 },
        },
      },
      {
        test: {
          name: 'private',
          include: ['test/cluster/**/*.private{,.long}.test.ts'],
          ...apart,
          // Concurrent tests hold watches, and wait for times: they are no work for the machine.
          maxConcurrency: 12,
          globalSetup: ['test/support/template.ts', 'test/support/global-setup.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'own',
          include: ['test/cluster/**/*.own{,.long}.test.ts'],
          ...apart,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...apart,
          retry: 0,
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
          name: 'sync',
          include: ['test/sync/**/*.test.ts'],
          exclude: ['**/*.own{,.long}.test.ts', ...LONG_FILES],
          globalSetup: 'test/support/sync-global-setup.ts',
          isolate: false,
          setupFiles: COUNTING,
          // A syncer syncs the whole virtual cluster: no other may run meanwhile.
          maxWorkers: 1,
          // Objects have fixed names in the namespaces of a file: a second try would find those of the first.
          retry: 0,
          testTimeout: MINUTE_MS,
          hookTimeout: MINUTE_MS,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'sync-own',
          include: ['test/sync/**/*.own{,.long}.test.ts'],
          ...apart,
          globalSetup: [],
          // Its files run two control planes each.
          maxWorkers: 1,
          retry: 0,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: 'container',
          include: ['test/container/**/*.test.ts'],
          ...apart,
          globalSetup: 'test/container/global-setup.ts',
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
})
