// Two gateways under load are killed at random for a minute, beside one operator (contract 10.3, 14.1, 14.2; threats F2;
// invariants I1, I2, I7).
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { OwnedAccessKeyStatus } from '../../../src/api/ownedaccesskey.gen.ts'
import { createInformerFactory } from '../../../src/kube/informer/informers.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { randomFrom } from '../../support/random.ts'
import { type TimedAnswer, type GatewayClient, gatewayClientOf } from './timed-requests.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 2)
const { keys } = setup
const replicas = [...setup.gateways]
const clients: GatewayClient[] = replicas.map((one) => gatewayClientOf(setup, one))
const stopped = new AbortController()
afterAll(async () => {
  stopped.abort()
  for (const client of clients) client.close()
  await Promise.all(replicas.map((one) => one.stop()))
})

const SEED = Date.now() % 1_000_000
const { between, pick } = randomFrom(SEED)
const MINUTE_MS = 60_000
/** From the answer to a change to the last accepted request; mostly much less. */
const REVOKED_WITHIN_MS = 2000

/** A request to a random replica; repeated after a broken connection. */
async function ask(token: string): Promise<TimedAnswer> {
  for (;;) {
    const answer = await pick(clients).ask(token, '/version')
    if (answer.code !== 0) return answer
    await wait(20)
  }
}

const isAccepted = ({ code }: TimedAnswer): boolean => code === 200
const newToken = (): string => uniqueName('k'.repeat(32))

async function untilAccepted(token: string): Promise<void> {
  await eventually(
    'the key is accepted',
    async () => isAccepted(await ask(token)) || undefined,
    SOON,
  )
}

/** Kills a replica every few seconds and starts another, until `isOver`; the number of kills. */
async function killAtRandom(isOver: () => boolean): Promise<number> {
  let kills = 0
  while (!isOver()) {
    await wait(between(1500, 4000))
    const at = pick([0, 1])
    const victim = replicas[at]
    victim?.kill('SIGKILL')
    await victim?.exited
    kills += 1
    const next = await setup.anotherGateway()
    replicas[at] = next
    clients[at]?.close()
    clients[at] = gatewayClientOf(setup, next)
  }
  return kills
}

/** Uses a key and ends it meanwhile: the time of its end, and of the accepted requests. */
async function endKey(isOver: () => boolean) {
  const accepted: number[] = []
  const token = newToken()
  const key = await keys.create({ user: 'ada', key: token })
  await untilAccepted(token)
  const endAtMs = Date.now() + between(0, 5000)
  let endedMs: number | null = null
  while (!isOver() && (endedMs === null || Date.now() < endedMs + 10_000)) {
    const answer = await ask(token)
    if (isAccepted(answer)) accepted.push(answer.sentMs)
    if (endedMs === null && Date.now() > endAtMs) {
      if (pick(['delete', 'disable']) === 'delete') await keys.remove(key)
      else await keys.patch(key, { spec: { disabled: true } })
      endedMs = Date.now()
    }
    await wait(50)
  }
  return { endedMs, accepted }
}

const TTL = 8

/** A sliding key lives at least this long after a use (14.2); a machine that stands still longer may end it. */
const IDLE_MS = (TTL / 2) * 1000

/** Uses a sliding key all the time; the refusals within IDLE_MS after a use. */
async function useKey(isOver: () => boolean): Promise<readonly TimedAnswer[]> {
  const refused: TimedAnswer[] = []
  const token = newToken()
  await keys.create({ user: 'ada', key: token, ttl: TTL, ttlAfterLastActivity: true })
  let usedMs = Date.now()
  await untilAccepted(token)
  while (!isOver()) {
    const answer = await ask(token)
    if (isAccepted(answer)) usedMs = answer.sentMs
    if (answer.code === 401 && Date.now() < usedMs + IDLE_MS) refused.push(answer)
    await wait(between(300, 800))
  }
  return refused
}

/** Uses a sliding key twice with a pause: the pause in milliseconds if it was refused too early, else Infinity. */
async function leaveIdle(): Promise<number> {
  const token = newToken()
  await keys.create({ user: 'ada', key: token, ttl: TTL, ttlAfterLastActivity: true })
  await untilAccepted(token)
  await wait(between(0, 3000))
  const last = await ask(token)
  if (!isAccepted(last)) return Number.NaN
  // The second use prolongs the key, so there is only one, within the time that is guaranteed (14.2).
  await wait(between(0, IDLE_MS))
  const { code } = await ask(token)
  const idleMs = Date.now() - last.sentMs
  return code === 401 && idleMs < IDLE_MS ? idleMs : Number.POSITIVE_INFINITY
}

/** The recorded uses of each key by its uid, in the order in which they were stored. */
function recordedUses(): ReadonlyMap<string, readonly string[]> {
  const usesByUid = new Map<string, string[]>()
  const ignore = (): void => undefined
  const { startInformer } = createInformerFactory({
    client: setup.plane.admin,
    clock: systemClock(),
    log: memoryLog().log,
    restarted: ignore,
    signal: stopped.signal,
  })
  const put = ({ metadata, status }: KubeObject): void => {
    const { lastActivity } = (status ?? {}) as OwnedAccessKeyStatus
    if (!lastActivity) return
    const known = usesByUid.get(metadata.uid) ?? []
    if (known.at(-1) !== lastActivity) known.push(lastActivity)
    usesByUid.set(metadata.uid, known)
  }
  const sink = { begin: ignore, put, remove: ignore, sweep: () => false, end: ignore }
  startInformer(ACCESS_KEYS, sink, {})
  return usesByUid
}

test(`killed replicas accept no ended key, and lose no use of a sliding key: seed ${SEED}`, async () => {
  const usesByUid = recordedUses()
  const untilMs = Date.now() + MINUTE_MS
  const isOver = (): boolean => Date.now() > untilMs
  const repeat = async <T>(run: () => Promise<T>): Promise<readonly T[]> => {
    const results: T[] = []
    while (!isOver()) results.push(await run())
    return results
  }
  const [kills, ends, refusals, idleTimes] = await Promise.all([
    killAtRandom(isOver),
    Promise.all(Array.from({ length: 6 }, () => repeat(() => endKey(isOver)))),
    Promise.all(Array.from({ length: 6 }, () => useKey(isOver))),
    Promise.all(Array.from({ length: 6 }, () => repeat(leaveIdle))),
  ])
  console.log(
    `measured: ${kills} kills, ${ends.flat().length} keys ended, ${idleTimes.flat().length} left alone, ${usesByUid.size} recorded as used`,
  )
  expect(kills).toBeGreaterThan(2)
  const late = ends
    .flat()
    .flatMap(({ endedMs, accepted }) =>
      accepted.filter((ms) => endedMs !== null && ms > endedMs + REVOKED_WITHIN_MS),
    )
  expect(late, 'accepted after the end of the key (10.3)').toEqual([])
  expect(refusals.flat(), 'refused while in use (14.2)').toEqual([])
  expect(
    idleTimes.flat().filter(Number.isFinite),
    'ended in less than half an idle time (14.2)',
  ).toEqual([])
  const steps = [...usesByUid.values()].filter((moments) => moments.length > 1)
  expect(steps.length, 'recorded more than once').toBeGreaterThan(5)
  for (const moments of steps) {
    // Not sorted as text: a time without milliseconds would come after later ones of its second.
    const sorted = moments.toSorted((one, other) => Date.parse(one) - Date.parse(other))
    expect(sorted, 'lastActivity never moves back (14.1)').toEqual(moments)
  }
})
