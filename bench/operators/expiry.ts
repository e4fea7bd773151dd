// Many keys that end at once, or within a minute: how long after its end the status of each says so; and the floor, the
// same writes without an operator.
import { setTimeout as sleep } from 'node:timers/promises'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import type { OwnedAccessKeyObject } from '../../src/domain/accesskey/access-key.ts'
import { eventually } from '../../test/support/eventually.ts'
import { OPERATOR_USER } from '../../test/support/installed-control-plane.ts'
import { KEYS_PATH } from '../gateway/objects.ts'
import { type Figures, quantile } from '../measure/rounds.ts'
import { type Testbed, startNamed } from './comparators.ts'
import { warmUp } from './life.ts'
import { statusLoad } from './load.ts'
import { madeBy } from './scale.ts'
import { removeSeeds, seed } from './seed.ts'

const PREFIX = 'ending'
const TTL_SECONDS = 3600
/** Time before the first expiry: to write all keys, and for the operator to read them and warm up. */
const AHEAD_MS = 12_000
/** A list of all keys costs the API server time that the operator needs. */
const LOOK_EVERY_MS = 1000

/** Keys that end at once at the product, and the floor. */
export const EXPIRY_COMPARATORS = ['product', 'floor'] as const

/** As measureExpiry, or the same writes by a client that knows the keys: as many at a time as the operator has. */
export async function measureExpiryAtOnce(
  name: (typeof EXPIRY_COMPARATORS)[number],
  bed: Testbed,
  count: number,
): Promise<Figures> {
  if (name === 'product') return measureExpiry(bed, count, 0)
  const original = await madeBy('product', bed, { ttl: TTL_SECONDS })
  const endedMs = Date.now() - 1000
  await seed(bed, 'keys', original, { prefix: PREFIX, count, endMsOf: () => endedMs })
  const { seconds } = await statusLoad(bed, { prefix: PREFIX, count })
  for (const prefix of [PREFIX, 'original']) await removeSeeds(bed, prefix)
  return { seconds }
}

/**
 * Lets `count` keys end, evenly over `withinMs`; 0 = all in the same second.
 *
 * @throws Error when a status that says so comes before the end, or never
 */
export async function measureExpiry(
  bed: Testbed,
  count: number,
  withinMs: number,
): Promise<Figures> {
  const original = await madeBy('product', bed, { ttl: TTL_SECONDS })
  const firstEndMs = Math.ceil((Date.now() + AHEAD_MS + count / 2) / 1000) * 1000
  const endMsOf = (n: number): number =>
    firstEndMs + Math.floor(((n / count) * withinMs) / 1000) * 1000
  await seed(bed, 'keys', original, { prefix: PREFIX, count, endMsOf })
  await using operator = await startNamed('product', bed)
  await warmUp(operator, 'product', bed)
  const mark = await bed.audit.mark()
  if (Date.now() > firstEndMs) throw new Error('the keys ended before the operator was ready')
  await sleep(firstEndMs + withinMs - Date.now())
  await eventually('every status says so', () => allExpired(bed, count), { withinMs: 600_000 })
  await operator.stop()
  const writes = (await bed.audit.writesSince(mark, { user: OPERATOR_USER })).filter(
    ({ resource, name }) => resource === ACCESS_KEYS.plural && name.startsWith(`${PREFIX}-`),
  )
  for (const prefix of [PREFIX, 'original']) await removeSeeds(bed, prefix)
  const ended = writes.map(({ at }) => Date.parse(at) - firstEndMs)
  const lags = writes
    .map(({ name, at }) => Date.parse(at) - endMsOf(Number(name.slice(PREFIX.length + 1))))
    .toSorted((a, b) => a - b)
  if ((lags[0] ?? -1) < 0) throw new Error('a key was called expired before its end')
  return {
    lagP50Ms: quantile(lags, 0.5),
    lagP99Ms: quantile(lags, 0.99),
    // From the end of the first key to the write for the last one.
    seconds: Math.max(...ended) / 1000,
    writesPerKey: writes.length / count,
  }
}

async function allExpired({ raw }: Testbed, count: number): Promise<true | undefined> {
  await sleep(LOOK_EVERY_MS)
  const { body } = await raw<{ readonly items: readonly OwnedAccessKeyObject[] }>(
    'GET',
    `${KEYS_PATH}?resourceVersion=0`,
  )
  const expired = body.items.filter(
    ({ metadata, status }) =>
      metadata.name.startsWith(`${PREFIX}-`) &&
      status?.conditions?.some(({ type, reason }) => type === 'Ready' && reason === 'Expired'),
  )
  return expired.length === count || undefined
}
