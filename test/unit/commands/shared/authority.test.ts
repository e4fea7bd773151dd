import { expect, onTestFinished, test } from 'vitest'
import { authorityPublisher } from '../../../../src/commands/shared/authority.ts'
import { MemoryApiServer } from '../../../support/delivery/memory-api-server.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const CONFIG_MAP = { namespace: 'platform-system', name: 'platform-gateway-ca' }
const DATA = { 'ca.crt': 'PEM' }

/** A publisher whose certificate has this authority, and what it has written. */
function publisher() {
  const clock = manualClock(0)
  const { deps } = new MemoryApiServer(clock)
  const written: unknown[] = []
  const request = ({ body }: { readonly body: string }) => {
    written.push(JSON.parse(body))
    const answer = { text: () => Promise.resolve('{}'), dump: () => Promise.resolve() }
    return Promise.resolve({ statusCode: 200, headers: {}, body: answer })
  }
  const pool = { request, compose: () => pool }
  const connection = {
    ...deps.connection,
    open: () => Promise.resolve({ calls: pool, headers: {} }),
  }
  let stored: object | null = null
  const client = {
    get: (resource: { readonly kind: string }) =>
      Promise.resolve(
        resource.kind === 'Secret' ? { data: { 'ca.crt': btoa(DATA['ca.crt']) } } : stored,
      ),
  }
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const self = { clock, log: memoryLog().log, lifecycle: { stopping: ending.signal } }
  const publish = authorityPublisher(
    self,
    client as never,
    { ...deps, connection } as never,
    CONFIG_MAP,
  )
  const store = (data: object | null): void => {
    stored = data && { data }
  }
  return { clock, publish, written, store }
}

test('the authority that others delete or change is published again within a minute (9.7)', async () => {
  const { clock, publish, written, store } = publisher()
  const ours = expect.objectContaining({ metadata: CONFIG_MAP, data: DATA })
  publish()
  await clock.advance(0)
  expect(written).toEqual([ours])
  for (const [changes, found] of [null, { 'ca.crt': 'other' }].entries()) {
    store(DATA)
    await clock.advance(600_000)
    expect(written).toHaveLength(changes + 1)
    store(found)
    await clock.advance(60_000)
    expect(written).toHaveLength(changes + 2)
  }
  expect(written.at(-1)).toEqual(ours)
})

test('a certificate that is replaced has its authority published at once (9.7)', async () => {
  const { clock, publish, written, store } = publisher()
  publish()
  await clock.advance(0)
  store({ 'ca.crt': 'of the certificate before' })
  publish()
  await clock.advance(0)
  expect(written).toHaveLength(2)
})
