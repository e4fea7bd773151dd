// A filtered list or watch keeps its place while it is in progress, and no longer.
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { CONFIGS, type Resource, TOKENS } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { list } from '../../../../src/gateway/selfservice/read.ts'
import {
  type SelfServiceRequest,
  callerAccessOf,
} from '../../../../src/gateway/selfservice/request.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import { watch } from '../../../../src/gateway/selfservice/watch.ts'
import {
  MAX_IN_TOTAL,
  MAX_PER_KEY,
  createMaxInFlight,
} from '../../../../src/gateway/streams/max-in-flight.ts'
import { type UpstreamAnswer, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { asAbortSignal } from '../../../../src/runtime/concurrency/end-signal.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { t0, viewOf } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { callTo } from '../request-builder.ts'

const limits = createMaxInFlight(() => undefined)
const buffer = createResponseBuffer(64 * 1024 ** 2, () => undefined)

/** The API server's response for a path; `as`: whether the gateway asks for itself. */
type Says = (path: string, as: 'gateway' | 'caller') => UpstreamAnswer | Promise<UpstreamAnswer>

const says = (status: number, body: string | Readable): UpstreamAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? Readable.from([Buffer.from(body)]) : body,
})

const EMPTY = JSON.stringify({ kind: 'DirectClusterEndpointTokenList', metadata: {}, items: [] })
const FORBIDDEN = () => says(403, JSON.stringify({ kind: 'Status', code: 403 }))

/** The caller may not list all; the gateway may, and gets this response. */
const toNobody =
  (own: (path: string) => UpstreamAnswer | Promise<UpstreamAnswer>): Says =>
  (path, as) =>
    as === 'caller' ? FORBIDDEN() : own(path)

interface Asking {
  readonly says: Says
  readonly key?: string
  /** Absent: a user of its own, as the limit of one user is below that of all. */
  readonly user?: string
  readonly spec?: OwnedAccessKeySpec
  readonly resource?: Resource
  readonly query?: SelfServiceRequest['query']
}

/** A request for tokens by a key of some user; `key` names the owner when it is another. */
function asking({
  says: said,
  key = uniqueName('key'),
  user = `user-of-${key}`,
  spec = {},
  ...asked
}: Asking): SelfServiceRequest {
  const caller: SelfServiceRequest['caller'] = {
    key: viewOf({ metadata: { name: key, uid: `uid-${key}` }, spec }),
    identity: { user, groups: [] },
    scope: null,
    expiresMs: null,
  }
  const { resource = TOKENS, query = [] } = asked
  const call = callTo('/')
  return {
    info: { resource, verb: 'list', name: '', isStatus: false },
    query,
    call,
    caller,
    access: callerAccessOf(caller),
    findKey: () => undefined,
    form: { encoding: 'json', shape: { as: 'object' } },
    include: 'Metadata',
    upstream: {
      send: async ({ path, impersonation }) =>
        said(path, impersonation === null ? 'gateway' : 'caller'),
    },
    limits,
    reservation: buffer.holding(key),
    clock: manualClock(t0),
    signal: asAbortSignal(call.gone),
    still: async () => caller,
    maySend: () => true,
  }
}

/** The refusal. @throws Error when the response streams */
function messageOf({ body }: Answer): string {
  if (!Buffer.isBuffer(body)) throw new Error('it is no refusal')
  return (JSON.parse(body.toString()) as { message: string }).message
}

describe('filtered lists (13.3)', () => {
  /** Started requests; `end` answers them. */
  function begun(key?: string) {
    const { promise: held, resolve } = Promise.withResolvers<UpstreamAnswer>()
    const answer = list(asking({ ...(key ? { key } : {}), says: toNobody(() => held) }))
    return { answer, end: () => resolve(says(200, EMPTY)) }
  }

  test('of two keys of one user read one after the other (13.3)', async () => {
    const held: ((answer: UpstreamAnswer) => void)[] = []
    const reads = toNobody(() => new Promise((resolve) => held.push(resolve)))
    const user = uniqueName('user')
    const lists = [list(asking({ user, says: reads })), list(asking({ user, says: reads }))]
    await turn()
    expect(held).toHaveLength(1)
    held[0]?.(says(200, EMPTY))
    for (let at = 0; at < 20 && held.length < 2; at += 1) await turn()
    held[1]?.(says(200, EMPTY))
    expect((await Promise.all(lists)).map(({ status }) => status)).toEqual([200, 200])
  })

  test('of one key run one by one, and those of all keys within a limit', async () => {
    const names = Array.from({ length: MAX_IN_TOTAL.filteredList }, () => uniqueName('crowd'))
    const under = names.map((name) => begun(name))
    await turn()
    const [mine = ''] = names
    const more = await list(asking({ key: mine, says: toNobody(() => says(200, EMPTY)) }))
    expect({ code: more.status, after: more.headers['retry-after'] }).toEqual({
      code: 429,
      after: '1',
    })
    expect(messageOf(more)).toContain('filtered lists in progress for this credential (limit 1)')
    const other = await list(asking({ says: toNobody(() => says(200, EMPTY)) }))
    expect({ code: other.status, after: other.headers['retry-after'] }).toEqual({
      code: 429,
      after: '1',
    })
    expect(messageOf(other)).toContain('for all credentials together (limit 4)')
    for (const { end } of under) end()
    const codes = (await Promise.all(under.map(({ answer }) => answer))).map((one) => one.status)
    expect(new Set(codes)).toEqual(new Set([200]))
    const again = await list(asking({ key: mine, says: toNobody(() => says(200, EMPTY)) }))
    expect(again.status).toBe(200)
  })

  test.each<{ name: string; own: () => UpstreamAnswer }>([
    { name: 'is answered', own: () => says(200, EMPTY) },
    { name: 'is refused', own: () => FORBIDDEN() },
    { name: 'gets another response than JSON', own: () => says(200, 'oops') },
    {
      name: 'is not answered',
      own: () => {
        throw new UpstreamUnavailable('unprocessed', 'gone')
      },
    },
    {
      name: 'breaks off',
      own: () =>
        says(
          200,
          new Readable({
            read() {
              this.destroy(new Error('reset'))
            },
          }),
        ),
    },
  ])('one that $name frees its place', async ({ own }) => {
    const key = uniqueName('key')
    await list(asking({ key, says: toNobody(own) })).catch(() => undefined)
    const next = await list(asking({ key, says: toNobody(() => says(200, EMPTY)) }))
    expect(next.status).toBe(200)
  })

  test('are read in pages of 100, whatever limit the client sends', async () => {
    const paths: string[] = []
    const query = [['limit', '5000']] as const
    const own = (path: string) => {
      paths.push(path)
      const isLast = paths.length === 3
      const next = isLast ? '{"continue":""}' : '{"continue":"c","remainingItemCount":3}'
      return says(200, EMPTY.replace('{}', next))
    }
    const { status, body } = await list(asking({ query, says: toNobody(own) }))
    expect(status).toBe(200)
    const { metadata } = JSON.parse(await text(body as Readable)) as { metadata: object }
    expect(metadata).toEqual({})
    expect(paths.map((path) => path.split('?')[1])).toEqual([
      'limit=100',
      'limit=100&continue=c',
      'limit=100&continue=c',
    ])
  })

  test('do not count lists that RBAC lets the caller read', async () => {
    const key = uniqueName('key')
    const holding = begun(key)
    await turn()
    expect((await list(asking({ key, says: () => says(200, EMPTY) }))).status).toBe(200)
    holding.end()
    await holding.answer
  })
})

describe('filtered watches (13.3)', () => {
  const watching = (key: string, body: Readable): Promise<Answer> =>
    watch(asking({ key, says: toNobody(() => says(200, body)) }))

  const streamOf = ({ body }: Answer): Readable => {
    if (Buffer.isBuffer(body)) throw new Error(`there is no stream: ${body.toString()}`)
    return body
  }

  /** As many as one key may have. */
  async function filled(key: string) {
    const upstream = Array.from({ length: MAX_PER_KEY.filteredWatch }, () => new PassThrough())
    const streams = await Promise.all(
      upstream.map(async (body) => streamOf(await watching(key, body))),
    )
    for (const stream of streams) stream.on('error', () => undefined).resume()
    return { upstream, streams, end: () => upstream.forEach((body) => body.end()) }
  }

  test.each<{
    name: string
    act: (at: Awaited<ReturnType<typeof filled>>) => unknown
  }>([
    { name: 'whose client disconnects', act: ({ streams }) => streams[0]?.destroy() },
    { name: 'that the API server ends', act: ({ upstream }) => upstream[0]?.end() },
    { name: 'that breaks off', act: ({ upstream }) => upstream[0]?.destroy(new Error('reset')) },
  ])('refuses one too many; one $name frees its place', async ({ act }) => {
    const key = uniqueName('key')
    const held = await filled(key)
    const refusal = await watching(key, new PassThrough())
    expect({ code: refusal.status, after: refusal.headers['retry-after'] }).toEqual({
      code: 429,
      after: '1',
    })
    expect(messageOf(refusal)).toContain(
      'filtered watches in progress for this credential (limit 5)',
    )
    act(held)
    await expect
      .poll(async () => {
        const body = new PassThrough()
        const answer = await watching(key, body)
        body.end()
        if (answer.status === 200) await text(streamOf(answer))
        return answer.status
      })
      .toBe(200)
    held.end()
  })

  const FROM = [['resourceVersion', '7']] as const
  test.each<{ name: string; own: (path: string) => UpstreamAnswer }>([
    { name: 'is too old', own: () => says(410, JSON.stringify({ kind: 'Status', code: 410 })) },
    {
      name: 'is not answered',
      own: () => {
        throw new UpstreamUnavailable('unprocessed', 'gone')
      },
    },
    {
      name: 'begins at an expired resourceVersion',
      own: (path) =>
        path.includes('watch=true')
          ? says(200, new PassThrough())
          : says(410, JSON.stringify({ kind: 'Status', code: 410 })),
    },
    {
      name: 'begins at an unknown resourceVersion',
      own: (path) => {
        if (path.includes('watch=true')) return says(200, new PassThrough())
        throw new UpstreamUnavailable('unprocessed', 'gone')
      },
    },
  ])('one that $name frees its place', async ({ own }) => {
    const key = uniqueName('key')
    const bodies: Readable[] = []
    const kept = (path: string): UpstreamAnswer => {
      const answer = own(path)
      bodies.push(answer.body)
      return answer
    }
    for (let at = 0; at < MAX_PER_KEY.filteredWatch; at += 1) {
      const request = asking({ key, query: FROM, says: toNobody(kept) })
      await watch(request).catch(() => undefined)
    }
    await turn()
    expect(bodies.every((body) => body.destroyed)).toBe(true)
    const next = await watching(key, new PassThrough())
    expect(next.status).toBe(200)
    streamOf(next).destroy()
  })

  test('do not count watches of Configs by a scoped key', async () => {
    const scope = { projects: [{ project: 'shop' }] }
    const key = uniqueName('key')
    for (let at = 0; at <= MAX_PER_KEY.filteredWatch; at += 1) {
      const answered: Says = () => says(200, new PassThrough())
      const request = asking({ key, spec: { scope }, resource: CONFIGS, says: answered })
      const answer = await watch({ ...request, query: FROM })
      expect(answer.status).toBe(200)
      streamOf(answer).once('error', () => undefined)
    }
  })
})
