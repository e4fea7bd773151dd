import { buffer } from 'node:stream/consumers'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { terminableTunnel } from '../../../../src/gateway/streams/terminate-tunnel.ts'
import { closeFrame } from '../../../../src/gateway/streams/websocket-frames.ts'

test('a client that reads late still gets the close frame (13.4)', async () => {
  const [source, sink] = [new PassThrough(), new PassThrough()]
  let cut: (reason: 'revoked') => void = () => expect.fail('nothing flows')
  const { body } = terminableTunnel(
    { status: 101, headers: {}, body: source, tunnel: sink },
    { body: source, tunnel: sink },
    {
      upgrade: 'websocket',
      flows: (_, end) => (cut = end),
      flowed: () => undefined,
      done: () => undefined,
      textOf: (reason) => reason,
    },
  )
  const frame = Buffer.from([0x82, 1, 0])
  source.write(frame)
  await setImmediate()
  cut('revoked')
  // The connection to the API server has been closed by now.
  await setImmediate()
  await setImmediate()
  expect(source.destroyed).toBe(true)
  expect(await buffer(body as PassThrough)).toEqual(Buffer.concat([frame, closeFrame('revoked')]))
})
