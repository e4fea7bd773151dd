// Two gateways under load, killed at random for a minute, beside one operator (contract 10.3, 14.1, 14.2;
// threats F2; invariants I1, I2, I7).
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
import { type TimedAnswer, type Client, loadClientOf } from './load-clients.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane(), 2)
const { keys } = front
const replicas = [...front.gateways]
const clients: Client[] = replicas.map((one) => loadClientOf(front, one))
const stopped = new AbortController()
afterAll(async () => {
  stopped.abort()
  for (const client of clients) client.close()
  await Promise.all(replicas.map((one) => one.stop()))
})

const SEED = Date.now() % 1_000_000
const { between, pick } = randomFrom(SEED)
const MINUTE_MS = 60_000
/** From the answer to a change to the last request that any key opens; mostly it is less, as measured. */
const REVOKED_WITHIN_MS = 2000

/** What one replica says; a connection that breaks is asked again at any. */
async function ask(token: string): Promise<TimedAnswer> {
  for (;;) {
    const answer = await pick(clients).ask(token, '/version')
    if (answer.code !== 0) return answer
    await wait(20)
  }
}

const isAccepted = ({ code }: TimedAnswer): boolean => code === 200
const newToken = (): string => uniqueName('k'.repeat(32))

async function opened(token: string): Promise<void> {
  await eventually('it opens', async () => isAccepted(await ask(token)) || undefined, SOON)
}

/** Kills a replica every few seconds and puts another in its place, until told that it is over. */
async function killAtRandom(isOver: () => boolean): Promise<number> {
  let kills = 0
  while (!isOver()) {
    await wait(between(1500, 4000))
    const at = pick([0, 1])
    const victim = replicas[at]
    victim?.kill('SIGKILL')
    await victim?.exited
    kills += 1
    const next = await front.another()
    replicas[at] = next
    clients[at]?.close()
    clients[at] = loadClientOf(front, next)
  }
  return kills
}

/** A key that is ended in the middle: when, and what was accepted. */
async function ended(isOver: () => boolean) {
  const accepted: number[] = []
  const token = newToken()
  const key = await keys.create({ user: 'ada', key: token })
  await opened(token)
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

/** So long after its last use nothing may end a key (14.2): a machine that stood still for longer may. */
const IDLE_MS = (TTL / 2) * 1000

/** A sliding key that is in use all the time: every refusal of it. */
async function used(isOver: () => boolean): Promise<readonly TimedAnswer[]> {
  const refused: TimedAnswer[] = []
  const token = newToken()
  await keys.create({ user: 'ada', key: token, ttl: TTL, ttlAfterLastActivity: true })
  let usedMs = Date.now()
  await opened(token)
  while (!isOver()) {
    const answer = await ask(token)
    if (isAccepted(answer)) usedMs = answer.sentMs
    if (answer.code === 401 && Date.now() < usedMs + IDLE_MS) refused.push(answer)
    await wait(between(300, 800))
  }
  return refused
}

/** A sliding key that is used, left alone, and tried again: how long it lived after its last use. */
async function idle(): Promise<number> {
  const token = newToken()
  await keys.create({ user: 'ada', key: token, ttl: TTL, ttlAfterLastActivity: true })
  await opened(token)
  await wait(between(0, 3000))
  const last = await ask(token)
  if (!isAccepted(last)) return Number.NaN
  // A try is a use, so there is one: somewhere in the half that nothing may shorten (14.2).
  await wait(between(0, IDLE_MS))
  const { code } = await ask(token)
  const idleMs = Date.now() - last.sentMs
  return code === 401 && idleMs < IDLE_MS ? idleMs : Number.POSITIVE_INFINITY
}

/** Every moment at which a key was recorded as used, in the order in which they were stored. */
function recordedUses(): ReadonlyMap<string, readonly string[]> {
  const uses = new Map<string, string[]>()
  const ignore = (): void => undefined
  const { startInformer } = createInformerFactory({
    client: front.plane.admin,
    clock: systemClock(),
    log: memoryLog().log,
    restarted: ignore,
    signal: stopped.signal,
  })
  const put = ({ metadata, status }: KubeObject): void => {
    const { lastActivity } = (status ?? {}) as OwnedAccessKeyStatus
    if (!lastActivity) return
    const known = uses.get(metadata.uid) ?? []
    if (known.at(-1) !== lastActivity) known.push(lastActivity)
    uses.set(metadata.uid, known)
  }
  const sink = { begin: ignore, put, remove: ignore, sweep: () => false, end: ignore }
  startInformer(ACCESS_KEYS, sink, {})
  return uses
}

test(`for a minute, replicas are killed at random: seed ${SEED}`, async () => {
  const uses = recordedUses()
  const untilMs = Date.now() + MINUTE_MS
  const isOver = (): boolean => Date.now() > untilMs
  const forever = async <T>(run: () => Promise<T>): Promise<readonly T[]> => {
    const results: T[] = []
    while (!isOver()) results.push(await run())
    return results
  }
  const [kills, ends, refusals, idles] = await Promise.all([
    killAtRandom(isOver),
    Promise.all(Array.from({ length: 6 }, () => forever(() => ended(isOver)))),
    Promise.all(Array.from({ length: 6 }, () => used(isOver))),
    Promise.all(Array.from({ length: 6 }, () => forever(idle))),
  ])
  console.log(
    `measured: ${kills} kills, ${ends.flat().length} keys ended, ${idles.flat().length} left alone, ${uses.size} recorded as used`,
  )
  expect(kills).toBeGreaterThan(2)
  const late = ends
    .flat()
    .flatMap(({ endedMs, accepted }) =>
      accepted.filter((ms) => endedMs !== null && ms > endedMs + REVOKED_WITHIN_MS),
    )
  expect(late, 'accepted with a key that had ended (10.3)').toEqual([])
  expect(refusals.flat(), 'refused while in use (14.2)').toEqual([])
  expect(
    idles.flat().filter(Number.isFinite),
    'ended in less than half an idle time (14.2)',
  ).toEqual([])
  const steps = [...uses.values()].filter((moments) => moments.length > 1)
  expect(steps.length, 'recorded more than once').toBeGreaterThan(5)
  for (const moments of steps) {
    // Not as texts: a moment without milliseconds would come after later ones of its second.
    const sorted = moments.toSorted((one, other) => Date.parse(one) - Date.parse(other))
    expect(sorted, 'the last use never moves back (14.1)').toEqual(moments)
  }
})
