// Lists of our kinds are read in pages, and sent as they are read (contract 12.2, 13.3).
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { list } from '../../../../src/gateway/selfservice/read.ts'
import type { SelfServiceRequest } from '../../../../src/gateway/selfservice/request.ts'
import { createResponseBuffer } from '../../../../src/gateway/selfservice/response-buffer.ts'
import type { Form } from '../../../../src/gateway/selfservice/response.ts'
import { parseYaml } from '../../../../src/runtime/yaml.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { repeated, sampled } from '../../../support/tier.ts'
import { exchangeOf } from './self-service-request.ts'

const MEBIBYTE = 1024 ** 2
const PAGE = (64 * MEBIBYTE) / 8 / 16

const keyNamed = (name: string, weight: number): JsonMap => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  metadata: { name, uid: `uid-${name}`, annotations: { weight: 'x'.repeat(weight) } },
  spec: { user: 'ada', key: 'never-to-be-shown', displayName: 'yes: "no"\n- \u00e9' },
})

interface Asked {
  readonly path: string
  readonly limit: number
}

/** An API server with that many keys of that length, in pages like a real one. */
function stored(count: number, weight: number, isTable = false) {
  const asked: Asked[] = []
  const answers: Parameters<typeof exchangeOf>[0]['answers'] = ({ path }) => {
    const query = new URLSearchParams(path.split('?')[1])
    const limit = Number(query.get('limit') ?? count)
    const from = Number(query.get('continue') ?? 0)
    asked.push({ path, limit })
    const names = Array.from({ length: count }, (_, at) => `key-${at}`).slice(from, from + limit)
    const next = from + limit
    const left = count - next
    const metadata: JsonMap = {
      resourceVersion: '7',
      ...(left > 0 ? { continue: String(next), remainingItemCount: left } : {}),
    }
    const objects = names.map((name) => keyNamed(name, weight))
    if (!isTable)
      return [200, { kind: 'OwnedAccessKeyList', apiVersion: 'v1', metadata, items: objects }]
    const columnDefinitions = [{ name: 'Name' }]
    const rows = objects.map((object, at) => ({ cells: [names[at] ?? ''], object }))
    return [200, { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions, rows }]
  }
  return { asked, answers }
}

const asking = (
  answers: Parameters<typeof exchangeOf>[0]['answers'],
  given: Partial<SelfServiceRequest> = {},
): SelfServiceRequest => ({ ...exchangeOf({ verb: 'list', name: '', answers }), ...given })

const bodyText = async ({ body }: Answer): Promise<string> =>
  Buffer.isBuffer(body) ? body.toString() : text(body)

const FORMS: readonly { name: string; form: Form }[] = (['json', 'yaml'] as const).flatMap(
  (encoding): readonly { name: string; form: Form }[] => [
    { name: `${encoding} List`, form: { encoding, shape: { as: 'object' } } },
    { name: `${encoding} Table`, form: { encoding, shape: { as: 'Table', version: 'v1' } } },
    {
      name: `${encoding} PartialObjectMetadataList`,
      form: { encoding, shape: { as: 'PartialObjectMetadata', version: 'v1' } },
    },
  ],
)

describe.each(FORMS)('a list of several pages: $name (12.2)', ({ form }) => {
  const read = form.encoding === 'json' ? JSON.parse : parseYaml
  const isTable = form.shape.as === 'Table'

  const rows: readonly { name: string; count: number; query: SelfServiceRequest['query'] }[] = [
    { name: 'all', count: 250, query: [] },
    { name: 'none of the last page', count: 200, query: [] },
    { name: 'limited by the client', count: 500, query: [['limit', '230']] },
    { name: 'continued by the client', count: 500, query: [['continue', '330']] },
  ]
  // YAML is slow to read, and has no pages of its own.
  test.each(form.encoding === 'json' ? rows : sampled(rows, 2))(
    'has the content of a list of a single page: $name',
    async ({ count, query }) => {
      const { answers, asked } = stored(count, 10, isTable)
      const answer = await list(asking(answers, { form, query }))
      const said = await bodyText(answer)
      const single = stored(count, 10, isTable)
      // Without a limit this API server sends one page.
      const atOnce: typeof answers = (call) =>
        single.answers({ ...call, path: call.path.replace('limit=100', atOnceLimit(query)) })
      const whole = await list(asking(atOnce, { form, query }))
      expect(asked.length).toBeGreaterThan(1)
      expect(Buffer.isBuffer(whole.body)).toBe(true)
      expect(read(said)).toEqual(read(await bodyText(whole)))
      expect(said).not.toContain('never-to-be-shown')
      expect(answer.headers).toEqual(whole.headers)
    },
  )
})

const atOnceLimit = (query: SelfServiceRequest['query']): string =>
  `limit=${query.find(([name]) => name === 'limit')?.[1] ?? '1000'}`

describe('a list (12.2, 13.3)', () => {
  const HEAVY = 60_000

  test('reads the next page when its client has read the last one, and buffers one page', async () => {
    const { answers, asked } = stored(400, HEAVY)
    const exchange = asking(answers)
    const answer = await list(exchange)
    const body = answer.body as Readable
    const before = asked.length
    body.once('readable', () => undefined)
    for (let at = 0; at < 50; at += 1) await turn()
    expect(asked.length, 'nothing is read ahead').toBe(before)
    const { items } = JSON.parse(await text(body)) as { items: readonly unknown[] }
    expect(items).toHaveLength(400)
    expect(asked.length).toBeGreaterThan(40)
  })

  test('uses small pages for large objects, and large pages again for small ones', async () => {
    const heavy = stored(60, 200_000)
    await bodyText(await list(asking(heavy.answers)))
    const { limit: last = 0 } = heavy.asked.at(-1) ?? {}
    expect(last * 200_000).toBeLessThan(PAGE)
    const light = stored(450, 10)
    await bodyText(await list(asking(light.answers)))
    expect(light.asked.map(({ limit }) => limit)).toEqual([100, 100, 100, 100, 100])
  })

  test('with resourceVersion 0 is read at the latest version, in pages', async () => {
    const { answers, asked } = stored(1, 10)
    const query = [['resourceVersion', '0'] as const]
    await bodyText(await list(asking(answers, { query })))
    expect(asked.map(({ path }) => path.split('?')[1])).toEqual(['limit=100'])
  })

  test('aborts when a page fails, so that it does not look complete', async () => {
    const { answers } = stored(250, 10)
    const broken: typeof answers = (call) =>
      call.path.includes('continue=200') ? [410, { kind: 'Status', code: 410 }] : answers(call)
    const answer = await list(asking(broken))
    expect(answer.status).toBe(200)
    await expect(bodyText(answer)).rejects.toThrow('a list broke off')
  })

  test('that its client does not read leaves buffer for other callers, while its own caller gets a 429', async () => {
    const buffer = createResponseBuffer(64 * MEBIBYTE, () => undefined)
    const begin = (caller: string) =>
      list(asking(stored(400, HEAVY).answers, { reservation: buffer.holding(caller) })).then(
        ({ status }) => status,
        (error: Error) => error.name,
      )
    const codes: (number | string)[] = []
    for (let at = 0; at < repeated(20, 40); at += 1) codes.push(await begin('mallory'))
    expect(codes.filter((code) => code === 200)).toHaveLength(16)
    expect(new Set(codes)).toEqual(new Set([200, 'BufferFull']))
    expect(await begin('ada')).toBe(200)
  })
})
