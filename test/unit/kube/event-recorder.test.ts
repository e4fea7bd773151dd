import { describe, expect, test } from 'vitest'
import { NotLeaderError } from '../../../src/kube/client/api-error.ts'
import { type ObjectEvent, createEventRecorder } from '../../../src/kube/event-recorder.ts'
import { type Line, memoryApi, silence } from '../../support/fake-kube-client.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'

const T0 = Date.parse('2026-11-21T10:00:00.123Z')
const never = new AbortController().signal

function expired(fields: Partial<ObjectEvent> & { name?: string; uid?: string } = {}): ObjectEvent {
  const { name = 'ci', uid = 'u-1', ...rest } = fields
  return {
    regarding: { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', name, uid },
    type: 'Warning',
    reason: 'Expired',
    action: 'Expire',
    note: 'The key expired.',
    discriminator: '2026-11-21T10:00:00Z',
    ...rest,
  }
}

function recorderOnClock(api = memoryApi()) {
  const clock = manualClock(T0)
  const line: Line = {}
  const { log, lines } = memoryLog()
  const recorder = createEventRecorder({ client: api.client(line), clock, log, instance: 'host_1' })
  const names = () => [...api.objects.keys()]
  const stored = () => [...api.objects.values()] as unknown as Record<string, unknown>[]
  return { api, clock, line, lines, recorder, names, stored }
}

/** One event for each of `count` keys, key-0 first. */
const burst = (count: number): readonly ObjectEvent[] =>
  Array.from({ length: count }, (_, index) => expired({ name: `key-${index}` }))

const keysOf = (names: readonly string[]) => names.map((name) => name.split('.')[0])

test('the stored Event has all fields', async () => {
  const { clock, recorder, stored } = recorderOnClock()
  const event = expired()
  recorder.record(event)
  await clock.advance(0)
  expect(stored()).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: expect.objectContaining({ namespace: 'default' }),
      eventTime: '2026-11-21T10:00:00.123000Z',
      reportingController: 'management-operator',
      reportingInstance: 'host_1',
      regarding: event.regarding,
      type: 'Warning',
      reason: 'Expired',
      action: 'Expire',
      note: 'The key expired.',
    },
  ])
})

test('the stored Event of a reconcile has its ID as an annotation, and another one has none', async () => {
  const { clock, recorder, stored } = recorderOnClock()
  recorder.record({ ...expired({ name: 'a' }), reconcileID: 'of-this-reconcile' })
  recorder.record(expired({ name: 'b' }))
  await clock.advance(0)
  const [annotated, plain] = stored().map(({ metadata }) => metadata as { annotations?: object })
  expect(annotated?.annotations).toEqual({
    'management.platform.sh/reconcile-id': 'of-this-reconcile',
  })
  expect(plain).not.toHaveProperty('annotations')
})

test('an event about a namespaced object is in its namespace, where kubectl describe reads it (4.5)', async () => {
  const { clock, recorder, stored } = recorderOnClock()
  const regarding = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'platform-jwks',
    namespace: 'platform-system',
    uid: 'u-3',
  }
  recorder.record(expired({ regarding }))
  await clock.advance(0)
  expect(stored()).toMatchObject([{ metadata: { namespace: 'platform-system' }, regarding }])
})

describe('a note of an Event', () => {
  const long = 'x'.repeat(2000)
  test.each([
    { name: 'of 1024 bytes stays', note: long.slice(0, 1024), is: long.slice(0, 1024) },
    { name: 'of one more is cut', note: long.slice(0, 1025), is: `${long.slice(0, 1021)}…` },
    { name: 'counts bytes, not characters', note: 'é'.repeat(600), is: `${'é'.repeat(510)}…` },
    { name: 'loses no half of a character', note: '🔑'.repeat(300), is: `${'🔑'.repeat(255)}…` },
  ])('$name', async ({ note, is }) => {
    const { clock, recorder, stored } = recorderOnClock()
    recorder.record(expired({ note }))
    await clock.advance(0)
    expect(stored()[0]?.['note']).toBe(is)
    expect(Buffer.byteLength(is)).toBeLessThanOrEqual(1024)
  })
})

describe('the name of an Event', () => {
  const HASH = '[0-9a-f]{16}'
  test.each([
    { name: 'of a short object', of: 'ci.team-a', is: 'ci\\.team-a' },
    { name: 'of the longest object', of: 'a'.repeat(253), is: 'a{236}' },
    { name: 'cut behind dots and dashes', of: `${'a'.repeat(230)}.-.-.-.b`, is: 'a{230}' },
  ])('$name', async ({ of, is }) => {
    const { clock, recorder, names } = recorderOnClock()
    recorder.record(expired({ name: of }))
    await clock.advance(0)
    expect(names()[0]).toMatch(new RegExp(`^${is}\\.${HASH}$`))
  })

  test('differs for each transition, and for nothing else', async () => {
    const { clock, recorder, names, lines } = recorderOnClock()
    recorder.record(expired())
    recorder.record(expired({ note: 'Other words.', action: 'Other' }))
    await clock.advance(0)
    expect(names()).toHaveLength(1)
    recorder.record(expired({ uid: 'u-2' }))
    recorder.record(expired({ reason: 'KeyConflict' }))
    recorder.record(expired({ discriminator: '2026-11-22T10:00:00Z' }))
    await clock.advance(0)
    expect(names()).toHaveLength(4)
    expect(lines).toEqual([])
  })

  test('is the same after a restart', async () => {
    const { api, clock, recorder, names } = recorderOnClock()
    recorder.record(expired())
    await clock.advance(0)
    const restarted = recorderOnClock(api)
    await restarted.clock.advance(5000)
    restarted.recorder.record(expired())
    await restarted.clock.advance(0)
    expect(names()).toHaveLength(1)
    expect(restarted.lines).toEqual([])
  })
})

describe('a burst', () => {
  test('of 200 events is sent in order, ten in any second', async () => {
    const { clock, line, recorder, names } = recorderOnClock()
    const sentMs: number[] = []
    line.there = async () => void sentMs.push(clock.monotonicMs())
    for (const event of burst(200)) recorder.record(event)
    let flushed = false
    void recorder.flush(never).then(() => (flushed = true))
    await clock.advance(18_999)
    expect(flushed).toBe(false)
    await clock.advance(1)
    expect(flushed).toBe(true)
    expect(keysOf(names())).toEqual(burst(200).map(({ regarding }) => regarding.name))
    const crowded = sentMs.filter((atMs, index) => atMs - (sentMs[index - 10] ?? -Infinity) < 1000)
    expect(crowded).toEqual([])
  })

  test('drops the oldest events when it exceeds the queue, and logs it once a minute', async () => {
    const { clock, recorder, names, lines } = recorderOnClock()
    for (const event of burst(1300)) recorder.record(event)
    await clock.advance(120_000)
    expect(keysOf(names())).toEqual(
      burst(1300)
        .slice(300)
        .map(({ regarding }) => regarding.name),
    )
    recorder.stop()
    expect(lines.map(({ fields, sentence }) => [sentence, fields['dropped']])).toEqual([
      ['events were dropped', 1],
      ['events were dropped', 299],
    ])
  })
})

describe('urgent events (4.5)', () => {
  const REASONS = ['KeyConflict', 'Revoked', 'ScopeExceedsOwner', 'ActivityIgnored']
  /** 100 of each reason, the oldest first. */
  const urgent = burst(100).flatMap((event) => REASONS.map((reason) => ({ ...event, reason })))
  const reasonsIn = (events: readonly Record<string, unknown>[]) =>
    Object.fromEntries(
      [...REASONS, 'Expired'].map((reason) => [
        reason,
        events.filter((event) => event['reason'] === reason).length,
      ]),
    )
  const ofEach = (count: number) => Object.fromEntries(REASONS.map((reason) => [reason, count]))

  test.each([
    { name: 'older', events: [...urgent, ...burst(1300)] },
    { name: 'newer', events: [...burst(1300), ...urgent] },
  ])('are not dropped when they are $name than other events in the queue', async ({ events }) => {
    const { clock, recorder, stored } = recorderOnClock()
    for (const event of events) recorder.record(event)
    await clock.advance(120_000)
    expect(reasonsIn(stored())).toEqual({ ...ofEach(100), Expired: 600 })
  })

  test('are sent before all others', async () => {
    const { clock, recorder, stored } = recorderOnClock()
    for (const event of [...burst(600), ...urgent]) recorder.record(event)
    await clock.advance(40_000)
    recorder.stop()
    expect(reasonsIn(stored())).toEqual({ ...ofEach(100), Expired: 10 })
  })

  test('are dropped for urgent events only, the oldest first', async () => {
    const { clock, recorder, names, lines } = recorderOnClock()
    const events = burst(1300).map((event): ObjectEvent => ({ ...event, reason: 'Revoked' }))
    for (const event of [...events, expired({ name: 'other' })]) recorder.record(event)
    await clock.advance(120_000)
    expect(keysOf(names())).toEqual(events.slice(300).map(({ regarding }) => regarding.name))
    recorder.stop()
    expect(lines.map(({ fields }) => fields['dropped'])).toEqual([1, 300])
  })
})

describe('when the API server accepts no event', () => {
  test.each([
    { name: 'no answer', error: new Error('ECONNREFUSED') },
    { name: 'not the leader any more', error: new NotLeaderError() },
  ])('$name: the caller gets no error, and the next events are sent', async ({ error }) => {
    const { clock, line, lines, recorder, names } = recorderOnClock()
    line.there = () => Promise.reject(error)
    recorder.record(expired({ name: 'first' }))
    recorder.record(expired({ name: 'second' }))
    await clock.advance(1000)
    delete line.there
    recorder.record(expired({ name: 'third' }))
    await recorder.flush(never)
    expect(names()).toEqual([expect.stringMatching(/^third\./)])
    expect(lines).toMatchObject([
      { level: 'warn', fields: { dropped: 1, err: error }, sentence: 'events were dropped' },
    ])
    recorder.stop()
    expect(lines[1]).toMatchObject({ fields: { dropped: 1, err: error } })
  })

  test('a flush ends with its signal while a request hangs', async () => {
    const { clock, line, recorder } = recorderOnClock()
    line.there = silence
    recorder.record(expired())
    await clock.advance(0)
    const patience = new AbortController()
    let flushed = false
    const flushing = recorder.flush(patience.signal).then(() => (flushed = true))
    await clock.advance(10_000)
    expect(flushed).toBe(false)
    patience.abort()
    await flushing
    await recorder.flush(patience.signal)
  })
})

describe('at the end of the process', () => {
  test('a flush of an empty queue ends at once, and a stop logs nothing', async () => {
    const { recorder, lines, clock } = recorderOnClock()
    await recorder.flush(never)
    recorder.stop()
    expect(lines).toEqual([])
    expect(clock.pending()).toBe(0)
  })

  test('a stop drops the queue and all later events', async () => {
    const { clock, recorder, names, lines } = recorderOnClock()
    for (const event of burst(25)) recorder.record(event)
    await clock.advance(0)
    recorder.stop()
    recorder.record(expired({ name: 'late' }))
    await clock.advance(60_000)
    expect(names()).toHaveLength(10)
    expect(lines).toMatchObject([{ level: 'warn', fields: { dropped: 15 } }])
    expect(clock.pending()).toBe(0)
  })
})
