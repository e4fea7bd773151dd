import { expect, test, vi } from 'vitest'
import type { AuditSettings } from '../../../src/api/config.gen.ts'
import { AuditRecorder, type Recording } from '../../../src/audit/recorder.ts'
import { manualClock } from '../../support/manual-clock.ts'

const ON: AuditSettings = { enabled: true, path: '/a', policy: { rules: [{ level: 'Metadata' }] } }
const OFF: AuditSettings = { ...ON, enabled: false }

/** A recorder whose logs are lists in memory, and what it did with them. */
function memoryRecorder() {
  const did: string[] = []
  const lines: string[] = []
  const recorder = new AuditRecorder({
    clock: manualClock(0),
    openSink: ({ path, maxSize, maxBackups, maxAge, compress }) => {
      did.push(`open ${path} ${maxSize} ${maxBackups} ${maxAge} ${compress}`)
      return {
        open: async () => undefined,
        append: async (batch) => {
          lines.push(...batch.map((line) => `${path} ${line}`))
          return batch.length
        },
        changeRetention: (retention) => did.push(`keep ${path} ${retention.maxSize}`),
        close: async () => void did.push(`close ${path}`),
      }
    },
    observer: {
      wrote: () => undefined,
      failed: () => undefined,
      healed: () => undefined,
      lost: () => undefined,
    },
  })
  const begin = (): Recording => {
    const { current } = recorder
    if (current === null) throw new Error('nothing is recorded')
    current.log.retain()
    return current
  }
  return { recorder, did, lines, begin }
}

const line = (text: string) => ({ text, withoutBodies: () => text })

test('a process without a policy opens nothing (21.1)', async () => {
  const { recorder, did } = memoryRecorder()
  expect([recorder.isKnown, recorder.current]).toEqual([false, null])
  recorder.apply(OFF)
  recorder.apply({ enabled: true, path: '/a' })
  expect([recorder.isKnown, recorder.current]).toEqual([true, null])
  await recorder.end(AbortSignal.timeout(1000))
  expect(did).toEqual([])
})

test('a change of retention keeps the log, and 0 megabytes are 100 (22.1)', () => {
  const { recorder, did } = memoryRecorder()
  recorder.apply({ ...ON, maxSize: 0, maxBackups: 3, maxAge: 7, compress: true })
  recorder.apply({ ...ON, maxSize: 5 })
  expect(did).toEqual(['open /a 100 3 7 true', 'keep /a 5'])
})

test('a request keeps its policy, and its lines follow the log to another path (21.2, 22.1)', async () => {
  const { recorder, did, lines, begin } = memoryRecorder()
  recorder.apply(ON)
  const stream = begin()
  await stream.log.write(line('started'))
  recorder.apply({ ...ON, path: '/b', policy: { rules: [{ level: 'Request' }] } })
  await vi.waitFor(() => expect(did).toContain('close /a'))
  expect(stream.policy.rules[0]?.level).toBe('Metadata')
  await stream.log.write(line('ended'))
  stream.log.release()
  expect(lines).toEqual(['/a started', '/b ended'])
})

test('a log that is switched off closes once its last request has ended (21.1)', async () => {
  const { recorder, did, lines, begin } = memoryRecorder()
  recorder.apply(ON)
  const [one, other] = [begin(), begin()]
  recorder.apply(OFF)
  expect(recorder.current).toBeNull()
  one.log.release()
  await other.log.write(line('ended'))
  expect(did).not.toContain('close /a')
  other.log.release()
  await vi.waitFor(() => expect(did).toContain('close /a'))
  expect(lines).toEqual(['/a ended'])
})

test('a stream that outlives two logs ends in the last one, which is open until then (21.2, 22.1)', async () => {
  const { recorder, did, lines, begin } = memoryRecorder()
  recorder.apply(ON)
  const stream = begin()
  for (const path of ['/b', '/c']) recorder.apply({ ...ON, path })
  await vi.waitFor(() => expect(did).toContain('close /b'))
  recorder.apply(OFF)
  await new Promise(setImmediate)
  await stream.log.write(line('ended'))
  expect(did).not.toContain('close /c')
  stream.log.release()
  await vi.waitFor(() => expect(did).toContain('close /c'))
  expect(lines).toEqual(['/c ended'])
})

test('a request whose log comes back at once is counted once (22.1)', async () => {
  const { recorder, did, begin } = memoryRecorder()
  recorder.apply(ON)
  const stream = begin()
  recorder.apply({ ...ON, path: '/b' })
  recorder.apply(ON)
  recorder.apply(OFF)
  stream.log.release()
  await vi.waitFor(() => expect(did).toContain('close /a'))
  expect(did.filter((deed) => deed.startsWith('open'))).toHaveLength(2)
})

test('a log that is switched on again while a request still has it is the same log (22.1)', async () => {
  const { recorder, did, begin } = memoryRecorder()
  recorder.apply(ON)
  const stream = begin()
  recorder.apply({ ...ON, path: '/b' })
  const other = begin()
  recorder.apply(OFF)
  recorder.apply({ ...ON, path: '/b' })
  await other.log.write(line('here'))
  stream.log.release()
  other.log.release()
  expect(did.filter((deed) => deed.startsWith('open /b'))).toHaveLength(1)
  await recorder.end(AbortSignal.timeout(1000))
  expect(did.filter((deed) => deed === 'close /b')).toHaveLength(1)
})

test('a recorder that has ended is not one that is switched off: what comes later is refused (21.1, 23.2)', async () => {
  const { recorder } = memoryRecorder()
  recorder.apply(ON)
  await recorder.end(AbortSignal.timeout(1000))
  expect([recorder.isKnown, recorder.current]).toEqual([false, null])
})

test('a policy, path and switch that change a hundred times lose no line (21.2)', async () => {
  const { recorder, lines, begin } = memoryRecorder()
  const writes: Promise<void>[] = []
  recorder.apply(ON)
  for (const round of Array.from({ length: 100 }).keys()) {
    const recording = begin()
    recorder.apply(round % 5 === 4 ? OFF : { ...ON, path: `/${round % 3}`, maxSize: round + 1 })
    writes.push(recording.log.write(line(`line ${round}`)))
    recording.log.release()
    if (recorder.current === null) recorder.apply(ON)
  }
  await Promise.all(writes)
  await recorder.end(AbortSignal.timeout(1000))
  const numbers = lines.map((text) => Number(text.split(' ')[2])).toSorted((a, b) => a - b)
  expect(numbers).toEqual([...Array.from({ length: 100 }).keys()])
})
