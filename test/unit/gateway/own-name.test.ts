// The direct endpoint gives most answers of the gateway: they must be true for both (contract 9.2).
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ERRORS } from '../../../src/gateway/errors.ts'
import { credentialRefusals } from '../../../src/gateway/streams/credential-refusals.ts'
import { terminable } from '../../../src/gateway/streams/terminate.ts'
import { closeFrame } from '../../../src/gateway/streams/websocket-frames.ts'
import { viewOf } from '../../support/key-builder.ts'
import { ForwardBuffer } from '../../../src/gateway/streams/forward-buffer.ts'

test('only answers to access keys, and to lists of them, name the gateway (9.2)', () => {
  const naming = Object.entries(ERRORS).filter(([, { message }]) => message.includes('gateway'))
  expect(naming.map(([name]) => name)).toEqual([
    'tooManyInAll',
    'keyUnchecked',
    'keyUncheckedInWatch',
  ])
})

test('a WebSocket learns at the shutdown that this server is shutting down, whichever it is (13.4)', async () => {
  const source = new PassThrough()
  let end: (reason: 'shutdown') => void = () => expect.fail('nothing flows')
  const key = viewOf({ metadata: { name: 'ci', uid: 'ci' }, spec: {} })
  const caller = { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
  const { body } = terminable(
    { status: 101, headers: {}, body: source, tunnel: new PassThrough() },
    {
      flows: (_, cut) => {
        end = cut
      },
      isWatch: false,
      isLong: true,
      upgrade: 'websocket',
      buffer: new ForwardBuffer(2 ** 28),
      refusals: credentialRefusals(caller).inStream,
      flowed: () => undefined,
      done: () => undefined,
    },
  )
  end('shutdown')
  expect(await buffer(body as PassThrough)).toEqual(closeFrame('this server is shutting down'))
})
