// A request is sent only if its caller still wants it on an open connection, each time that it is sent (13.4): its key may end
// while the connection opens, or after the server has refused the credential of this process.
import { describe, expect, test } from 'vitest'
import {
  type Wire,
  WIRES,
  call,
  outcomeOf,
  startServerAndUpstream,
  textOf,
} from './upstream-server.ts'

const BODIES = [
  { method: 'DELETE', body: null },
  { method: 'PATCH', body: Buffer.from('{}') },
  { method: 'GET', body: null },
] as const

const ROWS = WIRES.flatMap((wire: Wire) => BODIES.map((row) => ({ wire, ...row })))

describe('a request that may not be sent any more', () => {
  test.each(ROWS)(
    '$method over $wire: is not sent on a connection that is open by then',
    async ({ wire, method, body }) => {
      const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) =>
        outgoing.end('ok'),
      )
      let isOver = wire === 'http'
      server.server.once('connection', () => (isOver = true))
      const maySend = (): boolean => !isOver
      const sent = upstream.send(call({ method, path: '/x', body, maySend }))
      await expect(sent).rejects.toMatchObject({ outcome: 'unprocessed' })
      // The connection serves others, and on it the server would have seen the request.
      expect(await textOf(await upstream.send(call({ path: '/next' })))).toBe('ok')
      expect(server.received).toEqual(['GET /next'])
    },
  )

  test.each(ROWS)(
    '$method over $wire: is not sent again after a refused credential',
    async (row) => {
      const { wire, method, body } = row
      const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) => {
        outgoing.statusCode = 401
        outgoing.end()
      })
      let asked = 0
      const maySend = (): boolean => {
        asked += 1
        return asked === 1
      }
      const sent = upstream.send(call({ method, path: '/x', body, maySend }))
      expect(await outcomeOf(sent)).toBe('unavailable')
      expect(server.received).toEqual([`${method} /x`])
      expect(asked).toBe(2)
    },
  )
})
