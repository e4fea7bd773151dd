// Events that an agent sends again, to any replica of the gateway: twice in files, once in the data store (contract 22.3, 23.2).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { auditLine } from '../../../support/audit-event-builder.ts'
import { auditQuery } from '../../../support/audit-store-events.ts'
import { centre } from './agent-centre.ts'

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
  const [first, second] = [centre(), centre()]
  const events = [
    auditLine({ annotations: { 'platform.sh/source': 'agent:west' } }),
    auditLine({ stage: 'ResponseStarted' }),
  ]
  for (const { replica, cluster } of [
    { replica: first, cluster: 'east' },
    { replica: first, cluster: 'east' },
    { replica: second, cluster: 'east' },
    { replica: second, cluster: 'west' },
  ])
    expect((await replica.send(eventListOf(events, null), { cluster })).status).toBe(200)
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
