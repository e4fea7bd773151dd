// How soon a disabled key is refused by a gateway that is busy and has many keys.
import { writeFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../../test/support/gateway-process.ts'
import type { Raw } from '../../test/support/raw-client.ts'
import { type HttpLoad, runLoad } from '../measure/load.ts'
import { type Figures, quantile } from '../measure/rounds.ts'
import { untilRest } from '../measure/usage.ts'
import { type KnownKey, KEYS_PATH, configMapPath, createKeys } from './objects.ts'
import { type Asked, checkAnswers, flagsOf, measureRequests, untilAnswers } from './request.ts'
import type { Way } from './way.ts'

/** Options of measureRevoked. */
export interface RevokedOptions {
  readonly load: string
  readonly gateway: Way
  /** The CA of the gateway; PEM. */
  readonly caPem: string
  /** The operator, which works on new keys until it rests. */
  readonly operatorPid: number
  /** As an administrator. */
  readonly raw: Raw
  /** Keys that are neither used nor revoked. */
  readonly furtherKeys: number
  /** A folder for keys. */
  readonly folder: string
  readonly log: (line: string) => void
}

const USED_KEYS = 50
const REVOKED_KEYS = 20
const EVERY_MS = 150
/** How long traffic runs before the first revocation and after the last one. */
const MARGIN_SECONDS = 3
const MOST_PER_SECOND = 1000
/** Fraction of the gateway's maximum rate that is used: an open load at the maximum would measure a queue. */
const SHARE_OF_MOST = 0.6
/**
 * A scope by which the gateway itself refuses what is asked. With such keys the time until the first 401 is not that of
 * an API server that answers before.
 */
export const NO_RIGHTS = { rules: [{ verbs: ['get'], nonResourceURLs: ['/version'] }] }
const SMALL: Asked = { path: configMapPath('small'), status: 200 }

/**
 * Disables 20 keys in turn while the gateway serves up to 1,000 requests a second with 50 others.
 *
 * @returns revokedP50Ms and revokedP99Ms, from the API server's answer to the first 401, 0 where that comes first; and
 *   perSecond, what the gateway served meanwhile
 */
export async function measureRevoked(options: RevokedOptions): Promise<Figures> {
  const { load, gateway, raw, operatorPid, furtherKeys, log } = options
  log(`revoked: creating ${furtherKeys} keys and ${REVOKED_KEYS + USED_KEYS} more`)
  const revoked = await createKeys(raw, 'bench-revoked', REVOKED_KEYS, { scope: NO_RIGHTS })
  await createKeys(raw, 'bench-further', furtherKeys)
  const used = await createKeys(raw, 'bench-used', USED_KEYS)
  await untilRest(operatorPid)
  await untilAnswers(load, gateway, SMALL)
  const most = await measureRequests(load, gateway, SMALL, { seconds: 1 })
  const rate = Math.min(MOST_PER_SECOND, SHARE_OF_MOST * (most['perSecond'] ?? 0))
  log(`revoked: ${REVOKED_KEYS} keys at ${Math.round(rate)} requests a second`)
  const secrets = used.map(({ secret }) => secret)
  const traffic = serve(options, secrets, rate)
  const ended = endOf(traffic)
  // Awaited only below: a rejection until then must not end the process.
  ended.catch(() => undefined)
  await sleep((MARGIN_SECONDS * 1000) / 2)
  const tookMs: number[] = []
  for (const one of revoked) {
    const next = sleep(EVERY_MS)
    tookMs.push(await Promise.race([revoke(options, one), ended]))
    await next
  }
  const { perSecond } = await traffic
  return {
    revokedP50Ms: quantile(tookMs, 0.5),
    revokedP99Ms: quantile(tookMs, 0.99),
    perSecond,
  }
}

/** Requests at that rate with all of the keys, until after the last revocation. */
async function serve(
  { load, gateway, folder }: RevokedOptions,
  secrets: readonly string[],
  perSecond: number,
): Promise<HttpLoad> {
  const file = join(folder, 'used-keys')
  await writeFile(file, secrets.join('\n'), { mode: 0o600 })
  const seconds = (REVOKED_KEYS * EVERY_MS) / 1000 + MARGIN_SECONDS
  const asked = { ...SMALL, credential: [`--token-file=${file}`] }
  const result = await runLoad<HttpLoad>(load, [
    ...flagsOf(gateway, asked),
    `--connections=${secrets.length}`,
    `--seconds=${seconds}`,
    `--rate=${perSecond}`,
  ])
  checkAnswers(gateway, asked, result)
  return result
}

/** @throws Error once the traffic has ended */
async function endOf(traffic: Promise<HttpLoad>): Promise<never> {
  await traffic
  throw new Error('the traffic ended before the last revocation')
}

/** Milliseconds from the API server's answer to the first 401. The key is tried from before the write on. */
async function revoke(
  { gateway, caPem, raw }: RevokedOptions,
  { name, secret }: KnownKey,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: caPem })
  const headers = { authorization: `Bearer ${secret}` }
  const codeNow = async (): Promise<number> => {
    const { code } = await ask(`${gateway.url}${SMALL.path}`, { ca: caPem, agent, headers })
    if (code !== 401 && code !== 403) throw new Error(`a key without rights is answered ${code}`)
    return code
  }
  const over = new AbortController()
  const refused = async (): Promise<number> => {
    while (!over.signal.aborted && (await codeNow()) !== 401);
    return performance.now()
  }
  const written = async (): Promise<number> => {
    const { code } = await raw('PATCH', `${KEYS_PATH}/${name}`, { spec: { disabled: true } })
    if (code !== 200) throw new Error(`the write to key ${name} is answered ${code}`)
    return performance.now()
  }
  try {
    if ((await codeNow()) !== 403)
      throw new Error(`key ${name} does not work before it is disabled`)
    const [refusedMs, writtenMs] = await Promise.all([refused(), written()])
    return Math.max(refusedMs - writtenMs, 0)
  } finally {
    over.abort()
    agent.destroy()
  }
}
