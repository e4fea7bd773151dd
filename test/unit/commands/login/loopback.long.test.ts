// The loopback port for more than ten seconds: what is not sent in time is cut.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startLoopback } from '../../../../src/commands/login/loopback.ts'

test.each([
  { name: 'nothing', sent: '' },
  { name: 'a part of a head', sent: 'POST /callback HTTP/1.1\r\nHost: x\r\n' },
  {
    name: 'a part of a body',
    sent: 'POST /callback HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ncode=',
  },
])('a connection that has sent $name is cut after ten seconds (25.2, SH)', async ({ sent }) => {
  const loopback = await startLoopback({ state: 'S', platform: 'https://platform.example.com' })
  onTestFinished(() => loopback[Symbol.dispose]())
  const startMs = performance.now()
  const socket = connect(loopback.port, '127.0.0.1')
  socket.on('error', () => undefined).resume()
  if (sent !== '') socket.write(sent)
  await once(socket, 'close')
  const tookMs = performance.now() - startMs
  expect(tookMs).toBeGreaterThan(9000)
  expect(tookMs).toBeLessThan(30_000)
})
