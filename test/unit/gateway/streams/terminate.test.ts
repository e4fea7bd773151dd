// A streaming response, bound to its key (contract 13.4).
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { credentialRefusals } from '../../../../src/gateway/streams/credential-refusals.ts'
import {
  InFlightRequests,
  type TerminationReason,
} from '../../../../src/gateway/streams/in-flight.ts'
import { terminable } from '../../../../src/gateway/streams/terminate.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { ForwardBuffer } from '../../../../src/gateway/streams/forward-buffer.ts'

const caller = {
  key: viewOf({}),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** The connection to the target of its request. */
const CONNECTION = {}

function started(given: Partial<Answer> = {}, isWatch = true, isLong = isWatch) {
  let because: Exclude<TerminationReason, 'shutdown' | 'target'> | null = null
  const open: string[] = []
  const clock = manualClock(t0)
  const streams = new InFlightRequests({
    clock,
    reauthenticate: () => (because === null ? { ok: true, caller } : { ok: false, because }),
    observer: {
      opened: (kind) => void open.push(kind),
      closed: () => void open.pop(),
      cut: () => undefined,
    },
  })
  const pending = { mayComplete: () => false, end: () => expect.fail('it is answered') }
  const { flows, close } = streams.open(caller, pending, CONNECTION)
  const source = new PassThrough()
  const counts = { done: 0, flowed: 0 }
  const answer = terminable(
    { status: 200, headers: { 'content-type': 'application/json' }, body: source, ...given },
    {
      flows,
      isWatch,
      isLong,
      upgrade: null,
      buffer: new ForwardBuffer(2 ** 28),
      refusals: credentialRefusals(caller).inStream,
      flowed: () => void (counts.flowed += 1),
      done: () => {
        close()
        counts.done += 1
      },
    },
  )
  const cut = (reason: TerminationReason): void => {
    if (reason === 'shutdown') {
      streams.close()
      return
    }
    if (reason === 'target') {
      streams.endConnection(CONNECTION)
      return
    }
    because = reason
    streams.look(null)
  }
  return { answer, source, cut, open, counts, clock }
}

/** Resolves when it is closed, with an error or without. */
const closed = (body: PassThrough): Promise<void> =>
  new Promise((resolve) => body.once('close', resolve))

const streamOf = ({ body }: Answer): PassThrough => body as PassThrough

test.each([
  { name: 'a watch', isWatch: true },
  { name: 'another body', isWatch: false },
])(
  '$name that fails before it is delivered is no unexpected error (13.3, 22.2)',
  async ({ isWatch }) => {
    const { answer, source, counts } = started({}, isWatch)
    const body = streamOf(answer)
    expect(() => body.emit('error', new Error('nobody listens yet'))).not.toThrow()
    source.destroy(new Error('the connection to the API server broke off'))
    await setImmediate()
    expect({ isDestroyed: body.destroyed, done: counts.done }).toEqual({
      isDestroyed: true,
      done: 1,
    })
  },
)

describe('a watch', () => {
  test.each([
    { reason: 'revoked', code: 401, says: 'platform access key not found. Please login again' },
    { reason: 'expired', code: 401, says: 'platform access key expired. Please login again' },
    { reason: 'changed', code: 401, says: 'the platform access key changed. Please watch again' },
    { reason: 'stale', code: 503, says: 'cannot tell whether' },
  ] as const)('that is cut ends with a Status $code: $reason (13.4)', async (row) => {
    const { answer, source, cut, counts, open } = started()
    source.write('{"type":"ADDED"}\n{"type":"MO')
    const said = text(streamOf(answer))
    await setImmediate()
    cut(row.reason)
    await setImmediate()
    source.write('DIFIED"}\n{"type":"AD')
    const lines = (await said).split('\n')
    expect(lines).toHaveLength(4)
    expect(lines.slice(0, 2)).toEqual(['{"type":"ADDED"}', '{"type":"MODIFIED"}'])
    const { type, object } = JSON.parse(lines[2] ?? '') as {
      readonly type: string
      readonly object: Readonly<Record<string, unknown>>
    }
    expect({ type, kind: object['kind'], code: object['code'] }).toEqual({
      type: 'ERROR',
      kind: 'Status',
      code: row.code,
    })
    expect(object['message']).toContain(row.says)
    expect(source.destroyed).toBe(true)
    expect({ counts, open }).toEqual({ counts: { done: 1, flowed: 2 }, open: [] })
  })

  test('that is cut in a line without an end is aborted, so that it does not look complete (13.4)', async () => {
    const { answer, source, cut, counts, open } = started()
    source.write('{"type":"ADDED"}\n{"type":"MO')
    const said: string[] = []
    streamOf(answer).on('data', (piece: Buffer) => said.push(piece.toString()))
    let hasEnded = false
    streamOf(answer).once('end', () => (hasEnded = true))
    await setImmediate()
    cut('revoked')
    await closed(streamOf(answer))
    expect({ said: said.join(''), hasEnded, upstream: source.destroyed, counts, open }).toEqual({
      said: '{"type":"ADDED"}\n{"type":"MO',
      hasEnded: false,
      upstream: true,
      counts: { done: 1, flowed: 1 },
      open: [],
    })
  })

  test('ends without a Status when the gateway stops (8.3)', async () => {
    const { answer, source, cut } = started()
    source.write('a\n')
    const said = text(streamOf(answer))
    await setImmediate()
    cut('shutdown')
    expect(await said).toBe('a\n')
  })

  test('whose client has stopped reading is aborted', async () => {
    const { answer, source, cut, counts } = started()
    source.write('a\n')
    cut('revoked')
    await closed(streamOf(answer))
    expect(counts.done).toBe(1)
  })

  test.each([
    { name: 'between two lines', sent: 'a\n' },
    { name: 'in a line', sent: 'a' },
  ])(
    'that has ended upstream $name is aborted when its key ends before its client has read it (13.4)',
    async ({ sent }) => {
      for (const isFirst of ['end', 'cut']) {
        const { answer, source, cut, open } = started()
        source.write(sent)
        if (isFirst === 'cut') cut('revoked')
        source.end()
        await setImmediate()
        if (isFirst === 'end') cut('revoked')
        await closed(streamOf(answer))
        expect(open).toEqual([])
      }
    },
  )

  test('that breaks off is broken for its client after all that came before (13.3)', async () => {
    const { answer, source, counts } = started()
    const line = `${'x'.repeat(1000)}\n`
    for (let count = 0; count < 10; count += 1) source.write(line)
    await setImmediate()
    source.destroy(new Error('broken'))
    await setImmediate()
    let said = ''
    const body = streamOf(answer).on('data', (piece: Buffer) => (said += piece.toString()))
    const [error] = (await once(body, 'error')) as [Error]
    expect({ bytes: said.length, because: error.message }).toEqual({
      bytes: 10 * line.length,
      because: 'broken',
    })
    await setImmediate()
    expect(counts.done).toBe(1)
  })

  test('that breaks off and is not read ends with its key (13.4)', async () => {
    const { answer, source, cut, open } = started()
    source.write('a\n')
    await setImmediate()
    source.destroy(new Error('broken'))
    await setImmediate()
    expect(open).toEqual(['watch'])
    cut('revoked')
    await closed(streamOf(answer))
    expect(open).toEqual([])
  })

  test('ends upstream when its client disconnects', async () => {
    const { answer, source, counts, open } = started()
    source.on('error', () => undefined)
    streamOf(answer).destroy()
    await once(source, 'close')
    expect({ done: counts.done, open }).toEqual({ done: 1, open: [] })
  })

  test('in another encoding than JSON is aborted without a Status', async () => {
    const { answer, cut, open } = started({
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf;stream=watch' },
    })
    const said = text(streamOf(answer))
    expect(open).toEqual(['watch'])
    cut('revoked')
    await expect(said).rejects.toThrow('the stream was cut: revoked')
  })
})

describe('an answer', () => {
  test('that is long is aborted when its key ends, so that it does not look complete', async () => {
    const { answer, source, cut, open, counts, clock } = started({}, false)
    source.write('{"items":[')
    const said = text(streamOf(answer))
    expect(open).toEqual(['body'])
    cut('revoked')
    void clock.advance(500)
    await expect(said).rejects.toThrow('the stream was cut: revoked')
    expect({ counts, open }).toEqual({ counts: { done: 1, flowed: 0 }, open: [] })
  })

  test('that is followed counts as a use while bytes flow, and is aborted at once (13.4, 14.1)', async () => {
    const { answer, source, cut, open, counts } = started({}, false, true)
    source.write('one\n')
    const said = text(streamOf(answer))
    await setImmediate()
    source.write('two\n')
    await setImmediate()
    expect(counts).toEqual({ done: 0, flowed: 2 })
    cut('revoked')
    await expect(said).rejects.toThrow('the stream was cut: revoked')
    expect({ open, ended: source.destroyed, done: counts.done }).toEqual({
      open: [],
      ended: true,
      done: 1,
    })
  })

  test('that is complete is not cut', async () => {
    const { answer, source, open, counts } = started({}, false)
    source.end('{}')
    expect(await text(streamOf(answer))).toBe('{}')
    expect({ counts, open }).toEqual({ counts: { done: 1, flowed: 0 }, open: [] })
  })

  test('that refuses a watch does not count as a watch', async () => {
    const { source, open } = started({ status: 410 })
    expect(open).toEqual(['body'])
    source.end()
  })

  test.each([
    { name: 'a watch', isWatch: true, isLong: true },
    { name: 'logs', isWatch: false, isLong: true },
    { name: 'a body', isWatch: false, isLong: false },
  ])('that has broken off before frees its place: $name (13.3)', async ({ isWatch, isLong }) => {
    const broken = new PassThrough().destroy()
    await setImmediate()
    const { answer, open, counts } = started({ body: broken }, isWatch, isLong)
    await setImmediate()
    expect(streamOf(answer).destroyed).toBe(true)
    expect({ open, done: counts.done }).toEqual({ open: [], done: 1 })
  })

  test('that is a complete buffer passes and ends', () => {
    const { answer, open, counts } = started({ body: Buffer.from('{}') })
    expect(answer.body).toEqual(Buffer.from('{}'))
    expect({ open, done: counts.done }).toEqual({ open: [], done: 1 })
  })
})
