// Requests that cost a gateway far more than whoever sends them: it reads them, or what they ask for, on the
// one event loop that all others wait for (contract 13.3).
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { API_VERSION, TOKENS } from '../../../src/api/names.ts'
import type { GatewayAnswer } from '../../support/gateway-process.ts'
import { repeated } from '../../support/tier.ts'
import { type LoadScenario, MOST_BODY_LAG_MS, openMany } from './gateway-load.ts'
import type { TestGateway } from './test-gateway.ts'

const OURS = `/apis/${API_VERSION}`
const PATH = `${OURS}/${TOKENS.plural}`

/** How long somebody bears down at least. */
const FOR_MS = repeated(1000, 6000)

/** Tokens of others, each as long as one with a scope, its conditions and its JWT. */
const OTHERS = repeated(300, 3000)
const WEIGHT = 'x'.repeat(2000)

const byCode = (answers: readonly GatewayAnswer[]): Partial<Record<number, GatewayAnswer[]>> =>
  Object.groupBy(answers, ({ code }) => code)

const itemsIn = ({ body }: GatewayAnswer): readonly unknown[] =>
  (JSON.parse(body) as { items: readonly unknown[] }).items

const ROOM_FOR = 'too many filtered lists in progress for this access key (limit 1)'
/** Of the list before it more may be on its way than one caller may have. */
const UNREAD = 'too many bytes of answers and events about keys, tokens and Configs not read yet'

/** The beginning of a refusal that is expected, any other whole, and when to come again. */
function saying({ body, headers }: GatewayAnswer): string {
  const { message } = JSON.parse(body) as { message: string }
  const said = [ROOM_FOR, UNREAD].find((one) => message.startsWith(one)) ?? message
  return `${said} ${headers['retry-after']}`
}

/** The tests; afterwards there is no operator any more. */
export function testExpensiveRequests(
  front: TestGateway,
  { borneDown, expectWell }: LoadScenario,
): void {
  const { plane, operator } = front

  /** One after the other, so many at a time; the answers. */
  async function asks(
    atATime: number,
    ask: (agent: Agent) => Promise<GatewayAnswer>,
  ): Promise<readonly GatewayAnswer[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: atATime })
    const endMs = performance.now() + FOR_MS
    const answers: GatewayAnswer[] = []
    const askers = Array.from({ length: atATime }, async () => {
      while (performance.now() < endMs) answers.push(await ask(agent))
    })
    await Promise.all(askers).finally(() => agent.destroy())
    return answers
  }

  describe('JSON that takes long to read', () => {
    const LENGTH = 2_900_000
    const half = LENGTH / 2
    test.each<{ name: string; body: string }>([
      { name: 'levels', body: `${'['.repeat(half)}${']'.repeat(half)}` },
      { name: 'levels without an end', body: '{"a":'.repeat(LENGTH / 5) },
      { name: 'values', body: `[${'0,'.repeat(half - 1)}0]` },
      {
        name: 'names',
        body: `{${Array.from({ length: 250_000 }, (_, at) => `"${at}":0`).join()}}`,
      },
    ])('of many $name is refused, and others do not notice', async ({ body }) => {
      const { token } = await front.key({ user: 'mallory' })
      const headers = { 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body }
      const pressure = await borneDown(() =>
        asks(8, (agent) => front.ask(token, `${OURS}/ownedaccesskeys`, { ...sent, agent })),
      )
      expect(Object.keys(byCode(pressure.results.flat()))).toEqual(['400'])
      expectWell(pressure, 256, MOST_BODY_LAG_MS)
    })
  })

  describe(`lists and watches of one's own among ${OTHERS} of others`, () => {
    test('are as many as there is room for, and others do not notice', async () => {
      const mallory = await front.key({ user: 'mallory' })
      // It would issue all of them.
      await operator.stop()
      const annotations = { weight: WEIGHT }
      const codes = await openMany(OTHERS, async (at) => {
        const metadata = { name: `weight-${at}`, annotations }
        const token = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata, spec: { ttl: 3600 } }
        return (await plane.raw('POST', PATH, token)).code
      })
      expect(new Set(codes)).toEqual(new Set([201]))

      const lists = await borneDown(() =>
        asks(100, (agent) => front.ask(mallory.token, PATH, { agent })),
      )
      const { 200: served = [], 429: refused = [], ...others } = byCode(lists.results.flat())
      expect(others).toEqual({})
      expect(served.map(itemsIn)).toContainEqual([])
      expect(new Set(served.map(itemsIn).map(({ length }) => length))).toEqual(new Set([0]))
      const said = new Set(refused.map(saying))
      expect(said).toContain(`${ROOM_FOR} 1`)
      expect([`${ROOM_FOR} 1`, `${UNREAD} 1`]).toEqual(expect.arrayContaining([...said]))
      expectWell(lists, 150)

      const watches = await borneDown(async () => {
        const query = `?watch=true&resourceVersion=0&timeoutSeconds=${FOR_MS / 1000}`
        const watching = openMany(50, () => front.ask(mallory.token, `${PATH}${query}`))
        const over = watching.then(() => true)
        for (let at = 0; !(await Promise.race([over, delay(5, false)])); at += 1) {
          const body = { metadata: { annotations: { at: String(at) } } }
          await plane.raw('PATCH', `${PATH}/weight-${at % OTHERS}`, body)
        }
        return watching
      })
      expect(Object.keys(byCode(watches.results.flat()))).toEqual(['200', '429'])
      expectWell(watches, 150)
    })
  })
}
