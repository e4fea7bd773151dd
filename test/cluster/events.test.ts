import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, EVENTS, FIELD_MANAGER } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { NotLeaderError } from '../../src/kube/client/api-error.ts'
import { type KubeClient, createClient } from '../../src/kube/client/client.ts'
import { connect } from '../../src/kube/client/connection.ts'
import { type ObjectEvent, createEventRecorder } from '../../src/kube/event-recorder.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { sharedControlPlane } from '../support/control-plane.ts'
import { memoryLog } from '../support/memory-log.ts'

const plane = await sharedControlPlane()
const { admin, adminKubeconfig } = plane
const clock = systemClock()

/** A recorder as in a new process. */
function start(client: KubeClient = admin) {
  const { log, lines } = memoryLog()
  const recorder = createEventRecorder({ client, clock, log, instance: `host_${randomUUID()}` })
  const record = async (...events: readonly ObjectEvent[]): Promise<void> => {
    for (const event of events) recorder.record(event)
    await recorder.flush(AbortSignal.timeout(30_000))
    recorder.stop()
  }
  return { record, lines }
}

const eventOf = (regarding: ObjectEvent['regarding'], note: string): ObjectEvent => ({
  regarding,
  type: 'Warning',
  reason: 'TestExpired',
  action: 'Expire',
  note,
  discriminator: '2026-11-21T10:00:00Z',
})

/** A reference to an object, which may not exist. */
const reference = (name = `events-${randomUUID()}`): ObjectEvent['regarding'] => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name,
  uid: randomUUID(),
})

interface StoredEvent extends KubeObject {
  readonly regarding: { readonly uid: string; readonly namespace?: string }
  readonly note: string
}

async function stored(uid: string): Promise<readonly StoredEvent[]> {
  const { items, next } = await admin.list(EVENTS, { namespace: 'default' }, 5000)
  expect(next).toBeUndefined()
  return (items as readonly StoredEvent[]).filter(({ regarding }) => regarding.uid === uid)
}

test('kubectl describe shows the event of a cluster-scoped object', async () => {
  const name = `events-${randomUUID()}`
  const key = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, metadata: { name } }
  const { metadata } = await admin.create(ACCESS_KEYS, { ...key, spec: { user: 'ana' } }, 'test')
  const { record, lines } = start()
  await record(
    eventOf({ ...reference(name), uid: metadata.uid }, 'expired 60 s after its last use'),
  )
  expect(lines).toEqual([])
  const { stdout } = await plane.kubectl(['describe', 'oak', name])
  const events = stdout.slice(stdout.indexOf('\nEvents:'))
  expect(events).toMatch(
    /Warning +TestExpired +\S+ +management-operator +expired 60 s after its last use/,
  )
  await plane.kubectl(['delete', 'oak', name, '--wait=false'])
})

test('a restarted recorder does not repeat an event', async () => {
  const event = eventOf(reference(), 'recorded once')
  for (let run = 0; run < 2; run += 1) {
    const { record, lines } = start()
    await record(event)
    expect(lines).toEqual([])
  }
  const events = await stored(event.regarding.uid)
  expect(events).toHaveLength(1)
  expect(events[0]).not.toHaveProperty('series')
  expect(events[0]?.regarding.namespace).toBeUndefined()
})

test('the API server accepts events with the longest names and notes', async () => {
  const note = '🔑'.repeat(1000)
  const longest = [`${'a'.repeat(234)}.-b`, 'a'.repeat(253), 'a.'.repeat(126) + 'a'].map((name) =>
    eventOf(reference(name), note),
  )
  const { record, lines } = start()
  await record(...longest)
  expect(lines).toEqual([])
  for (const { regarding } of longest) {
    const [event] = await stored(regarding.uid)
    expect(event?.note).toMatch(/^🔑+…$/u)
  }
})

test('a recorder that does not lead writes no event', async () => {
  const connection = await connect({ kind: 'files', paths: [adminKubeconfig] }, clock)
  const follower = createClient({
    connection,
    clock,
    observer: { responded: () => undefined, wrote: () => undefined },
    userAgent: 'test',
    fieldManager: FIELD_MANAGER,
    mayWrite: () => {
      throw new NotLeaderError()
    },
  })
  const event = eventOf(reference(), 'not to be recorded')
  const { record, lines } = start(follower)
  await record(event)
  await connection.close()
  expect(await stored(event.regarding.uid)).toEqual([])
  expect(lines).toMatchObject([{ level: 'warn', fields: { dropped: 1 } }])
})
