// Requests that are cheap to send and expensive to answer: the gateway parses them, or filters long lists for them, on
// the event loop that serves all clients (contract 13.3).
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { API_VERSION, TOKENS } from '../../../src/api/names.ts'
import type { GatewayAnswer } from '../../support/gateway-process.ts'
import { repeated } from '../../support/tier.ts'
import { type LoadScenario, MAX_BODY_LAG_MS, runMany } from './gateway-load.ts'
import type { TestGateway } from './test-gateway.ts'

const OURS = `/apis/${API_VERSION}`
const PATH = `${OURS}/${TOKENS.plural}`

/** How long each load lasts at least. */
const FOR_MS = repeated(1000, 6000)

/** Tokens of other users, each as long as one with a scope, conditions and a JWT. */
const OTHERS = repeated(300, 3000)
const WEIGHT = 'x'.repeat(2000)

const byCode = (answers: readonly GatewayAnswer[]): Partial<Record<number, GatewayAnswer[]>> =>
  Object.groupBy(answers, ({ code }) => code)

const itemsIn = ({ body }: GatewayAnswer): readonly unknown[] =>
  (JSON.parse(body) as { items: readonly unknown[] }).items

const TOO_MANY_LISTS = 'too many filtered lists in progress for this credential (limit 1)'
/** The answers before may still have more unread bytes than one caller may have. */
const TOO_MANY_UNREAD_BYTES =
  'too many unread bytes of answers and events about objects of management.platform.sh'

/** The message of a refusal with its Retry-After; of an expected message only the beginning. */
function refusalOf({ body, headers }: GatewayAnswer): string {
  const { message } = JSON.parse(body) as { message: string }
  const known = [TOO_MANY_LISTS, TOO_MANY_UNREAD_BYTES].find((one) => message.startsWith(one))
  return `${known ?? message} ${headers['retry-after']}`
}

/** Declares the tests. They stop the operator of the setup. */
export function testExpensiveRequests(
  setup: TestGateway,
  { underLoad, expectHealthy }: LoadScenario,
): void {
  const { plane, operator } = setup

  /** Repeats a request for FOR_MS, `atATime` in parallel; the answers. */
  async function repeat(
    atATime: number,
    ask: (agent: Agent) => Promise<GatewayAnswer>,
  ): Promise<readonly GatewayAnswer[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: atATime })
    const endMs = performance.now() + FOR_MS
    const answers: GatewayAnswer[] = []
    const workers = Array.from({ length: atATime }, async () => {
      while (performance.now() < endMs) answers.push(await ask(agent))
    })
    await Promise.all(workers).finally(() => agent.destroy())
    return answers
  }

  describe('a body of JSON that is expensive to parse', () => {
    const LENGTH = 2_900_000
    const half = LENGTH / 2
    test.each<{ name: string; body: string }>([
      { name: 'nested arrays', body: `${'['.repeat(half)}${']'.repeat(half)}` },
      { name: 'nested objects that are not closed', body: '{"a":'.repeat(LENGTH / 5) },
      { name: 'array elements', body: `[${'0,'.repeat(half - 1)}0]` },
      {
        name: 'members',
        body: `{${Array.from({ length: 250_000 }, (_, at) => `"${at}":0`).join()}}`,
      },
    ])('of many $name is refused without delaying other clients', async ({ body }) => {
      const { token } = await setup.key({ user: 'mallory' })
      const headers = { 'content-type': 'application/json' }
      const sent = { method: 'POST', headers, body }
      const result = await underLoad(() =>
        repeat(8, (agent) => setup.ask(token, `${OURS}/ownedaccesskeys`, { ...sent, agent })),
      )
      expect(Object.keys(byCode(result.results.flat()))).toEqual(['400'])
      expectHealthy(result, 256, MAX_BODY_LAG_MS)
    })
  })

  describe(`lists and watches of own tokens among ${OTHERS} of other users`, () => {
    test('are limited per key, and delay no other client', async () => {
      const mallory = await setup.key({ user: 'mallory' })
      // A running operator would issue all of them.
      await operator.stop()
      const annotations = { weight: WEIGHT }
      const codes = await runMany(OTHERS, async (at) => {
        const metadata = { name: `weight-${at}`, annotations }
        const token = { apiVersion: API_VERSION, kind: TOKENS.kind, metadata, spec: { ttl: 3600 } }
        return (await plane.raw('POST', PATH, token)).code
      })
      expect(new Set(codes)).toEqual(new Set([201]))

      const lists = await underLoad(() =>
        repeat(100, (agent) => setup.ask(mallory.token, PATH, { agent })),
      )
      const { 200: served = [], 429: refused = [], ...others } = byCode(lists.results.flat())
      expect(others).toEqual({})
      expect(served.map(itemsIn)).toContainEqual([])
      expect(new Set(served.map(itemsIn).map(({ length }) => length))).toEqual(new Set([0]))
      const refusals = new Set(refused.map(refusalOf))
      expect(refusals).toContain(`${TOO_MANY_LISTS} 1`)
      expect([`${TOO_MANY_LISTS} 1`, `${TOO_MANY_UNREAD_BYTES} 1`]).toEqual(
        expect.arrayContaining([...refusals]),
      )
      expectHealthy(lists, 150)

      const watches = await underLoad(async () => {
        const query = `?watch=true&resourceVersion=0&timeoutSeconds=${FOR_MS / 1000}`
        const watching = runMany(50, () => setup.ask(mallory.token, `${PATH}${query}`))
        const over = watching.then(() => true)
        for (let at = 0; !(await Promise.race([over, delay(5, false)])); at += 1) {
          const body = { metadata: { annotations: { at: String(at) } } }
          await plane.raw('PATCH', `${PATH}/weight-${at % OTHERS}`, body)
        }
        return watching
      })
      expect(Object.keys(byCode(watches.results.flat()))).toEqual(['200', '429'])
      expectHealthy(watches, 150)
    })
  })
}
