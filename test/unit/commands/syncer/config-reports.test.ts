import { expect, test } from 'vitest'
import { configReports } from '../../../../src/commands/syncer/config-reports.ts'
import { recordingClient } from '../../../support/fake-kube-client.ts'
import { memoryLog } from '../../../support/memory-log.ts'

/** Reports of a virtual cluster with or without a Service of its own, and the Events that they record. */
function reportsWorld(serviceName: string | null = 'vc') {
  const { client } = recordingClient({
    get: () => Promise.resolve({ metadata: { name: 'vc', uid: 's1' } } as never),
  })
  const recorded: string[] = []
  const { log, lines } = memoryLog()
  const reports = configReports({
    settings: { serviceName, hostNamespace: 'host' },
    events: {
      record: ({ reason, note, regarding }) =>
        void recorded.push(`${regarding.uid} ${reason}: ${note}`),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    client,
    log,
  })
  /** The Events since the last call. */
  const takeEvents = async (): Promise<readonly string[]> => {
    await Promise.resolve()
    return recorded.splice(0)
  }
  return { reports, lines, takeEvents }
}

type Step = (reports: ReturnType<typeof configReports>) => void
const inForce =
  (...warnings: readonly string[]): Step =>
  (reports) =>
    reports.inForce(warnings.map((text) => ({ reason: 'PatchesNotServed', text })))
const faults =
  (...sentences: readonly string[]): Step =>
  (reports) =>
    reports.faults(sentences)
const restored: Step = (reports) => reports.restored()

test.each<{ name: string; before: readonly Step[]; events: readonly string[] }>([
  {
    name: 'the warnings at start',
    before: [inForce('a', 'b')],
    events: ['s1 PatchesNotServed: a\nb'],
  },
  {
    name: 'the last warnings',
    before: [inForce('a'), inForce('b')],
    events: ['s1 PatchesNotServed: b'],
  },
  {
    name: 'what does not flow back apart',
    before: [
      (reports) =>
        reports.inForce([
          { reason: 'PatchesNotServed', text: 'a' },
          { reason: 'ReverseNotServed', text: 'b' },
          { reason: 'ReverseNotServed', text: 'c' },
        ]),
    ],
    events: ['s1 PatchesNotServed: a', 's1 ReverseNotServed: b\nc'],
  },
  { name: 'no warnings that hold no more', before: [inForce('a'), inForce()], events: [] },
  {
    name: 'the faults of a file that a standby has read, and the warnings in force',
    before: [inForce('a'), faults('f')],
    events: ['s1 PatchesNotServed: a', 's1 ConfigInvalid: f'],
  },
  { name: 'no faults of an earlier content', before: [faults('f'), restored], events: [] },
  { name: 'no faults that are corrected', before: [faults('f'), inForce()], events: [] },
])('a process that leads records $name (16.1, 16.2, 18.5)', async ({ before, events }) => {
  const { reports, lines, takeEvents } = reportsWorld()
  for (const step of before) step(reports)
  expect(await takeEvents()).toEqual([])
  // The log has them at once.
  expect(lines.length >= events.length).toBe(true)
  reports.lead()
  expect(await takeEvents()).toEqual(events)
  reports.faults(['later'])
  expect(await takeEvents()).toEqual(['s1 ConfigInvalid: later'])
})

test('no Event is recorded without a Service of the virtual cluster (16.1)', async () => {
  const { reports, takeEvents } = reportsWorld(null)
  reports.inForce([{ reason: 'PatchesNotServed', text: 'a' }])
  reports.lead()
  expect(await takeEvents()).toEqual([])
})
