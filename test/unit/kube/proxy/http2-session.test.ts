import { expect, test } from 'vitest'
import { openSession } from '../../../../src/kube/proxy/http2-pool.ts'
import { TLS, echo, startUpstreamServer } from './upstream-server.ts'

test('a closed session gets no ping, whose method would throw and end the process', async () => {
  const { url } = await startUpstreamServer('h2', echo)
  const due: (() => void)[] = []
  const clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    schedule: (_: number, respond: () => void) => {
      due.push(respond)
      return () => undefined
    },
  }
  const opened = await openSession(url, { ca: TLS.ca }, clock)
  const session = opened?.session
  const ask = due.at(-1)
  const closed = new Promise<void>((resolve) => session?.once('close', () => resolve()))
  session?.destroy()
  expect(session?.destroyed).toBe(true)
  expect(() => ask?.()).not.toThrow()
  await closed
  expect(due, 'and never again').toHaveLength(2)
})
