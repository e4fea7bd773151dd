// Which clients count as stalled although they send (contract 13.3).
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { StalledClients } from '../../../../src/serving/http/stalled-clients.ts'

/** A connection that had received, accepted and still holds so many bytes. */
const socketOf = (bytesRead: number, bytesWritten: number, writableLength: number): Socket =>
  Object.defineProperties(new Socket(), {
    bytesRead: { value: bytesRead, writable: true },
    bytesWritten: { value: bytesWritten, writable: true },
    writableLength: { value: writableLength, writable: true },
  })

type Bytes = readonly [received: number, written: number, waiting: number]

// biome-ignore format: a table
test.each<{ readonly name: string; readonly before: Bytes; readonly now: Bytes; readonly isStalled: boolean }>([
  { name: 'it sends, and reads nothing', before: [10, 100, 50], now: [11, 100, 50], isStalled: true },
  { name: 'it sends, and reads nothing while more waits for it', before: [10, 100, 50], now: [11, 150, 100], isStalled: true },
  { name: 'it sends, and reads', before: [10, 100, 50], now: [11, 100, 49], isStalled: false },
  { name: 'it does nothing, which the timeout of its connection sees', before: [10, 100, 50], now: [10, 100, 50], isStalled: false },
  { name: 'nothing waits for it', before: [10, 100, 50], now: [11, 100, 0], isStalled: false },
  { name: 'nothing waited for it', before: [10, 100, 0], now: [11, 150, 50], isStalled: false },
])('$name: $isStalled', ({ before, now, isStalled }) => {
  const stalled = new StalledClients()
  const socket = socketOf(...before)
  expect(stalled.look([socket])).toEqual([])
  const [bytesRead, bytesWritten, writableLength] = now
  Object.assign(socket, { bytesRead, bytesWritten, writableLength })
  expect(stalled.look([socket])).toEqual(isStalled ? [socket] : [])
})
