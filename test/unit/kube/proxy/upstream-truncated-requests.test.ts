/** @module-tag no-retry */
// A truncated request body never looks complete to the API server, which would act on a truncated object, or
// without the options of a delete (contract 13.3; threat X2).
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { Upstream, UpstreamAnswer } from '../../../../src/kube/proxy/types.ts'
import { eventually } from '../../../support/eventually.ts'
import { repeated } from '../../../support/tier.ts'
import {
  ERROR_CODES,
  call,
  outcomeOf,
  startFrameServer,
  startUpstreamServer,
  upstreamTo,
} from './upstream-server.ts'

const ROUNDS = repeated(4, 300)
const SOON = { withinMs: 20_000 }

/** A request in flight; the headers of its answer may have arrived. */
interface UnderWay {
  readonly body: PassThrough
  readonly abort: AbortController
  readonly sent: Promise<UpstreamAnswer>
}

/** Ways in which a body ends early. */
interface Way {
  readonly name: string
  readonly breakOff: (request: UnderWay) => Promise<void> | void
  /** Whether the server answers before the body has ended. */
  readonly isAnswered?: true
}

const WAYS: readonly Way[] = [
  { name: 'fails', breakOff: ({ body }) => void body.destroy(new Error('aborted')) },
  { name: 'is closed', breakOff: ({ body }) => void body.destroy() },
  { name: 'is aborted', breakOff: ({ abort }) => abort.abort() },
  {
    name: 'fails after the head of the answer',
    breakOff: ({ body }) => void body.destroy(new Error('aborted')),
    isAnswered: true,
  },
  {
    name: 'is aborted after the head of the answer',
    breakOff: ({ abort }) => abort.abort(),
    isAnswered: true,
  },
  {
    name: 'stays open when its answer is destroyed',
    breakOff: async ({ sent }) => void (await sent).body.destroy(),
    isAnswered: true,
  },
]

/** The part of the body that is sent before it breaks off. */
const PIECES = [
  { name: 'nothing', piece: '' },
  { name: 'a line', piece: 'kind: ConfigMap\n' },
  { name: 'more than a window', piece: 'x'.repeat(300_000) },
] as const

const ROWS = WAYS.flatMap((way) => PIECES.map(({ name, piece }) => ({ ...way, sent: name, piece })))

/** Sends a request and breaks its body off, in every other round at once. */
async function brokenOff(
  upstream: Upstream,
  { breakOff, isAnswered, piece }: Way & { readonly piece: string },
  round: number,
  arrived: () => unknown,
): Promise<void> {
  const body = new PassThrough()
  body.on('error', () => undefined)
  const abort = new AbortController()
  if (piece !== '') body.write(piece)
  const sent = upstream.send(call({ method: 'PUT', body, signal: abort.signal }))
  const outcome = outcomeOf(sent)
  if (isAnswered) await sent
  else if (round % 2 === 1) await eventually('it has arrived', () => arrived() || undefined, SOON)
  await breakOff({ body, abort, sent })
  expect(['broken', 'unavailable', 'whole: ']).toContain(await outcome)
  body.destroy()
}

describe('over h2', () => {
  test.each(ROWS)('a body that $name after $sent is reset, not ended', async (row) => {
    const server = await startFrameServer({
      onRequest: (sender, stream) => row.isAnswered && sender.head(stream),
    })
    const { upstream } = await upstreamTo(server.url)
    const count = (word: string): number => server.received.filter((one) => one === word).length
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = count('request')
      await brokenOff(upstream, row, round, () => count('request') > before)
    }
    const isOver = () => count(`reset ${ERROR_CODES.cancel}`) === count('request') || undefined
    await eventually('each is reset', isOver, SOON)
    expect(count('end')).toBe(0)
    expect(count('request')).toBeGreaterThanOrEqual(ROUNDS / 2)
  })
})

/** Over HTTP/1.1 the headers leave with the first piece of the body. */
const BEGUN = ROWS.filter(({ piece }) => piece !== '')

describe.each(['https', 'http'] as const)('over %s', (wire) => {
  test.each(BEGUN)('a body that $name after $sent breaks the connection', async (row) => {
    let sentCount = 0
    let ended = 0
    const broken: boolean[] = []
    const server = await startUpstreamServer(wire, (incoming, outgoing) => {
      sentCount += 1
      incoming.resume()
      incoming.once('end', () => (ended += 1))
      incoming.once('close', () => broken.push(!incoming.complete))
      if (row.isAnswered) outgoing.writeHead(200).flushHeaders()
    })
    const { upstream } = await upstreamTo(server.url)
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = sentCount
      await brokenOff(upstream, row, round, () => sentCount > before)
    }
    await eventually('all are over', () => broken.length === sentCount || undefined, SOON)
    expect(ended).toBe(0)
    expect(broken).not.toContain(false)
    expect(sentCount).toBeGreaterThanOrEqual(ROUNDS / 2)
  })
})
