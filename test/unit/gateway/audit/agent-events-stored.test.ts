// Events that an agent sends again, to any replica of the gateway: twice in files, once in the data store (contract 22.3, 23.2).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { AgentEvents } from '../../../../src/gateway/audit/agent-events.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { auditLine } from '../../../support/audit-event-builder.ts'
import { auditQuery } from '../../../support/audit-store-events.ts'
import { memoryAudit } from './memory-audit.ts'

/** A replica of the gateway, which writes to a log in memory. */
function replica() {
  const clock = systemClock()
  const { recorder, lines } = memoryAudit({ level: 2 }, clock)
  const ignore = (): void => undefined
  const agents = new AgentEvents({
    recording: () => recorder.current,
    isKnown: () => recorder.isKnown,
    clock,
    bodyLimit: 1024,
    observer: { recorded: ignore, omitted: ignore, heard: ignore },
  })
  const send = async (cluster: string, events: readonly string[]): Promise<number> => {
    const body = Readable.from([Buffer.from(eventListOf(events, null))])
    return (await agents.take(cluster, { headers: { 'content-type': 'application/json' }, body }))
      .status
  }
  return { lines, send }
}

function dataStore(): DataStore {
  const folder = mkdtempSync(join(tmpdir(), 'agent-events-'))
  const store = new DataStore({ kind: 'sqlite', file: join(folder, 'events.db') }, systemClock())
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return store
}

test('a batch that is sent twice, to two replicas, is in the store once, as the cluster of its path (22.3, 23.2)', async () => {
  const [first, second] = [replica(), replica()]
  const events = [
    auditLine({ annotations: { 'platform.sh/source': 'agent:west' } }),
    auditLine({ stage: 'ResponseStarted' }),
  ]
  expect(await first.send('east', events)).toBe(200)
  expect(await first.send('east', events)).toBe(200)
  expect(await second.send('east', events)).toBe(200)
  expect(await second.send('west', events)).toBe(200)
  expect([first.lines.length, second.lines.length]).toEqual([4, 4])
  const store = dataStore()
  const ofFirst = { source: 'gateway-0', lines: first.lines, position: 'p' }
  const ofSecond = { source: 'gateway-1', lines: second.lines, position: 'p' }
  expect(await store.writeEvents(ofFirst)).toEqual({ stored: 2, double: 2, refused: 0 })
  expect(await store.writeEvents(ofSecond)).toEqual({ stored: 2, double: 2, refused: 0 })
  const sources = async (source: string): Promise<readonly unknown[]> => {
    const page = await store.queryEvents(auditQuery({ source }))
    return page.events.map(
      (event) =>
        (JSON.parse(event) as { readonly annotations: Readonly<Record<string, string>> })
          .annotations['platform.sh/source'],
    )
  }
  expect(await sources('agent:east')).toEqual(['agent:east', 'agent:east'])
  expect(await sources('agent:west')).toEqual(['agent:west', 'agent:west'])
  expect(await sources('gateway-0')).toEqual([])
})
