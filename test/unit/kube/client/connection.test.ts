import { describe, expect, test } from 'vitest'
import { connect } from '../../../../src/kube/client/connection.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type Answer,
  type Connected,
  THINGS,
  connectTo,
  answersInTurn,
  json,
  refuse,
  neverAnswer,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const SOON = { withinMs: 20_000 }
const MINUTE_MS = 60_000
const good = json(200, thing('a', 5))
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })

describe('connection pools', () => {
  const open = async (answer: Answer) => {
    const server = await startScriptedServer(answer)
    const it = await connectTo(await writeKubeconfig({ server: server.url }))
    return { it, server }
  }

  /** A connection counts as busy slightly longer than its answer takes, so two alternate. */
  const USED_IN_TURN = 2

  test('50 calls in a row share a connection', async () => {
    const { it, server } = await open(good)
    for (let n = 0; n < 50; n += 1) await read(it)
    expect(server.received).toHaveLength(50)
    expect(server.connections()).toBeLessThanOrEqual(USED_IN_TURN)
  })

  test('calls share a connection also after the same credential was read again', async () => {
    const { it, server } = await open(
      answersInTurn(good, refuse(401), ...Array.from({ length: 8 }, () => good)),
    )
    for (let n = 0; n < 9; n += 1) {
      await read(it)
      await it.clock.advance(MINUTE_MS)
    }
    expect(server.received).toHaveLength(10)
    expect(server.connections()).toBeLessThanOrEqual(USED_IN_TURN)
  })

  test('200 calls at once share 32 connections', async () => {
    const { it, server } = await open(good)
    await Promise.all(Array.from({ length: 200 }, () => read(it)))
    expect(server.received).toHaveLength(200)
    expect(server.connections()).toBe(32)
  })

  test('100 watches leave room for calls, and 32 calls that stall leave room for watches', async () => {
    const { it, server } = await open((response, request) => {
      const isWatch = request.query['watch'] !== undefined
      if (isWatch) response.writeHead(200).write('{}\n')
      else (request.path.endsWith('/stalled') ? neverAnswer : good)(response, request)
    })
    const { signal } = new AbortController()
    const watch = () => it.client.watch(THINGS, { watch: 'true' }, undefined, signal)
    const watches = await Promise.all(Array.from({ length: 100 }, watch))
    for (const stream of watches) stream.on('error', () => undefined)
    await read(it)
    expect(server.connections()).toBe(101)
    const stalled = Array.from({ length: 32 }, () => it.client.get(THINGS, { name: 'stalled' }))
    void Promise.allSettled(stalled)
    await eventually(
      'all calls stall',
      () => (server.received.length === 133 ? true : undefined),
      SOON,
    )
    const last = await watch()
    last.on('error', () => undefined)
    expect(server.received).toHaveLength(134)
  })

  test('calls and watches in flight end when the connection is closed', async () => {
    const server = await startScriptedServer((response, request) => {
      if (request.query['watch'] !== undefined) response.writeHead(200).write('{}\n')
    })
    const path = await writeKubeconfig({ server: server.url })
    const connection = await connect({ kind: 'files', paths: [path] }, systemClock())
    const { calls, watches } = await connection.open()
    const stream = await watches.request({ method: 'GET', path: '/?watch=true' })
    const endings = Promise.allSettled([
      stream.body.text(),
      calls.request({ method: 'GET', path: '/' }),
    ])
    await eventually('both requests arrive', () => server.received[1], SOON)
    await connection.close()
    expect((await endings).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
