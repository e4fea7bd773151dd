// A large answer of the gateway (contract 22.4).
import { expect, test } from 'vitest'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { numberedEvent } from '../../../support/audit-event-builder.ts'
import { ask } from './asked-gateway.ts'

test('an answer ends at 64 MiB, with the token to go on (22.4)', async () => {
  const event = JSON.stringify(numberedEvent(1, { requestObject: 'x'.repeat(17 * 1024 * 1024) }))
  const { code, stderr, asked } = await ask(
    (_, response) => response.end(eventListOf([event], 'more')),
    ['-o', 'json', '--limit=1000'],
  )
  expect({ code, pages: asked.length }).toEqual({ code: 0, pages: 4 })
  expect(stderr).toContain('go on with the same filters and --continue more')
})
