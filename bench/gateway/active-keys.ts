// Writes that record the last use of many keys which are all in use, beside what the API server can write.
import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import { type OwnGateway, ask } from '../../test/support/gateway-process.ts'
import { valueOf } from '../../test/support/metrics-page.ts'
import type { Raw } from '../../test/support/raw-client.ts'
import type { Figures } from '../measure/rounds.ts'
import { untilRest } from '../measure/usage.ts'
import { ACTIVITY_WRITES } from './last-uses.ts'
import { type KnownKey, CONNECTIONS, configMapPath, createKeys } from './objects.ts'
import type { Way } from './way.ts'

/** Options of measureActiveKeys. */
export interface ActiveKeysOptions {
  readonly gateway: OwnGateway
  readonly way: Way
  /** The CA of the gateway; PEM. */
  readonly caPem: string
  /** The operator, which works on new keys until it rests. */
  readonly operatorPid: number
  /** As an administrator. */
  readonly raw: Raw
  readonly count: number
  /** Writes a second that the API server can do; NaN = not measured. */
  readonly serverWritesPerSecond: number
}

/** How long writes are counted: the gateway has more to write than it can in this time. */
const COUNTED_MS = 10_000

/** Uses each key once, and counts the writes of one gateway while most uses are still to be recorded. */
export async function measureActiveKeys(options: ActiveKeysOptions): Promise<Figures> {
  const { gateway, raw, operatorPid, count, serverWritesPerSecond } = options
  const keys = [...(await createKeys(raw, 'bench-active', count))]
  await untilRest(operatorPid)
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca: options.caPem })
  const users = Array.from({ length: CONNECTIONS }, async () => {
    for (let key = keys.pop(); key; key = keys.pop()) await use(key, agent, options)
  })
  await Promise.all(users)
  agent.destroy()
  const startMs = performance.now()
  const before = valueOf(await gateway.metrics(), ACTIVITY_WRITES)
  await sleep(COUNTED_MS)
  const writes = valueOf(await gateway.metrics(), ACTIVITY_WRITES) - before
  const writesPerSecond = (writes / (performance.now() - startMs)) * 1000
  return { writesPerSecond, percentOfWrites: (writesPerSecond / serverWritesPerSecond) * 100 }
}

/** The gateway learns of a key by a watch. */
async function use(
  { name, secret }: KnownKey,
  agent: Agent,
  { way, caPem }: ActiveKeysOptions,
): Promise<void> {
  const headers = { authorization: `Bearer ${secret}` }
  const asked = async (): Promise<true | undefined> => {
    const { code } = await ask(`${way.url}${configMapPath('small')}`, { ca: caPem, agent, headers })
    return code === 200 || undefined
  }
  await eventually(`${name} works`, asked, { withinMs: 10_000 })
}
