/** @module-tag no-retry */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { roundStatus } from '../../../../src/domain/store/round-status.ts'
import type { ServerFault } from '../../../support/delivery/memory-api-server.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import type { EntryFault } from '../../../support/store/memory-store.ts'
import { NAMESPACE, StoreWorld, storeSettings } from '../../../support/store/store-world.ts'

const PULLED = plantCanary('value of an entry')
const PUSHED = plantCanary('value of a Secret')
const NAME = plantCanary('name in an entry')
const PATH = plantCanary('path that is none')
/** Errors are shown with their stacks and all they have. */
const WHOLE = { depth: null, maxArrayLength: null, maxStringLength: null }
const CANARIES = [PULLED, PUSHED, NAME, PATH]

/** Secrets in every state, with canaries for values. */
function world(): StoreWorld {
  const made = new StoreWorld()
  made.namespace(NAMESPACE)
  const pulled = (name: string, content: Readonly<Record<string, string>>): void => {
    made.secret('Pull', { name })
    made.store.put(`shop/${name}`, content)
  }
  pulled('good', { value: PULLED.secret })
  pulled('name', { [`${NAME.secret}/x`]: PULLED.secret })
  pulled('half', { value: `${PULLED.secret}\ud800` })
  pulled('large', { value: PULLED.secret.repeat(30_000) })
  made.secret('Pull', {
    name: 'path',
    annotations: { 'management.platform.sh/secret-store-path': `../${PATH.secret}` },
  })
  made.secret('Pull', { name: 'missing' })
  const data = { value: PUSHED.secret }
  made.secret('Push', { name: 'pushed', data })
  made.secret('Push', { name: 'foreign', data })
  made.store.put('shop/foreign', { theirs: PULLED.secret })
  const bytes = Buffer.concat([Buffer.from(PUSHED.secret), Buffer.from([0xff])])
  const binary = made.secret('Push', { name: 'binary', data })
  made.server.put('secrets', { ...binary, data: { value: bytes.toString('base64') } })
  return made
}

// biome-ignore format: a table
const FAULTS: readonly { readonly name: string; readonly store: EntryFault | null; readonly server: ServerFault | null }[] = [
  { name: 'no call fails', store: null, server: null },
  { name: 'the store is away', store: 'unreachable', server: null },
  { name: 'the store denies', store: 'denied', server: null },
  { name: 'the store refuses', store: 'refused', server: null },
  { name: 'answers of the store are lost', store: 'lost', server: null },
  ...[400, 403, 409, 422, 500, 503].map((code) => ({ name: `the API server answers ${code} and quotes the data`, store: null, server: { code, reason: 'Quoted', message: `${PULLED.secret} ${PUSHED.secret}` } })),
]

describe('no value is in a log, an Event or the report (36.5)', { tags: ['no-retry'] }, () => {
  test.each(FAULTS)('where $name', async ({ store, server }) => {
    const made = world()
    made.store.faultOf = () => store
    made.server.faultOf = ({ method }) => (method === 'PATCH' ? server : null)
    const rounds = made.rounds()
    await made.clock.advance(600_000)
    const report = rounds.results.map((result) => roundStatus(storeSettings(), result, 'answers'))
    const sinks = {
      log: inspect(made.log.lines, WHOLE),
      events: JSON.stringify(made.events),
      report: JSON.stringify(report),
      compared: JSON.stringify(made.compared),
      annotations: JSON.stringify(
        made.server
          .all('secrets')
          .filter(({ metadata }) => metadata.name !== 'path')
          .map(({ metadata }) => metadata),
      ),
      paths: JSON.stringify(made.store.calls),
    }
    expect(made.log.lines.length).toBeGreaterThan(0)
    expect(findCanaries(sinks, CANARIES)).toEqual([])
  })

  test('and the canaries were where they belong', async () => {
    const made = world()
    made.rounds()
    await made.clock.advance(1000)
    expect(made.data('good')).toEqual({ value: PULLED.secret })
    expect(made.store.content('shop/pushed')).toEqual({ value: PUSHED.secret })
  })
})
