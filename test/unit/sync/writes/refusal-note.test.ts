import { describe, expect, test } from 'vitest'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import { reportOf } from '../report-world.ts'

describe('a refused write (18.3, 19.8)', () => {
  const refusedWith = (code: number, words: string, reason = '') =>
    new StatusError({
      code,
      reason,
      message: `PUT endpoints/web: ${code} ${reason}`.trimEnd(),
      retryAfterMs: null,
      isTestFailed: false,
      words,
    })
  const sent = { data: { a: 'x'.repeat(88) } }
  const SIZE =
    'the object is too large: 105 bytes of JSON, and etcd takes 1.5 MiB unless it is set otherwise.'

  test.each([
    {
      name: 'the words of the server',
      kind: 'Endpoints',
      error: refusedWith(422, 'spec.x: Invalid value: "y"', 'Invalid'),
      note: 'PUT endpoints/web: 422 Invalid: spec.x: Invalid value: "y".',
    },
    {
      name: 'the words and the size of what is too large for etcd',
      kind: 'Endpoints',
      error: refusedWith(500, 'etcdserver: request is too large'),
      note: `PUT endpoints/web: 500: etcdserver: request is too large; ${SIZE}`,
    },
    {
      name: 'the code and the size of a Secret that is too large',
      kind: 'Secret',
      error: refusedWith(500, 'rpc error: trying to send message larger than max (3 vs. 2)'),
      note: `500; ${SIZE}`,
    },
    {
      name: 'the code and the size of a body that is too large',
      kind: 'Secret',
      error: refusedWith(413, 'limit is 3145728', 'RequestEntityTooLarge'),
      note: `413 RequestEntityTooLarge; ${SIZE}`,
    },
    {
      name: 'the code alone of another refusal of a Secret',
      kind: 'Secret',
      error: refusedWith(500, 'a webhook does not like "hunter2"'),
      note: '500.',
    },
  ])('has in its Event $name, and no words in the log', ({ kind, error, note }) => {
    const { report, events, lines, pair } = reportOf(kind)
    report.notWritten(pair, { by: 'host', error, sent })
    expect(events).toMatchObject([{ note: `The host refuses the object: ${note}` }])
    expect(JSON.stringify(lines)).not.toContain(error.words)
    expect(lines).toHaveLength(1)
  })

  test('is the same one when only a number in the answer differs', () => {
    const { report, events, pair } = reportOf()
    for (const words of ['quota: 7 left', 'quota: 12 left', 'no quota'])
      report.notWritten(pair, { by: 'host', error: refusedWith(500, words), sent })
    expect(events).toHaveLength(2)
  })

  test('of a delete whose virtual object is gone is one line, without an Event', () => {
    const { report, events, lines, counts, pair } = reportOf()
    for (let times = 0; times < 3; times += 1)
      report.notWritten(
        { ...pair, virtual: null },
        { by: 'host', error: refusedWith(403, 'no'), sent: null },
      )
    expect([events, counts.length]).toEqual([[], 3])
    expect(lines).toMatchObject([{ fields: { object: { name: 'web', namespace: 'shop' } } }])
  })
})
