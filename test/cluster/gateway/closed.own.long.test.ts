/** @module-tag no-retry */
// Nobody passes on stale knowledge: a gateway that hears nothing any more, and an API server that is gone or
// stands still (contract 10.4, 13.4; threats F3, F5; invariants I2, I13).
import { afterAll, expect, test } from 'vitest'
import { isWatchOf } from '../../faults/observed-writes.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { measureEventLoopLag } from './event-loop-lag.ts'
import {
  type OpenWatch,
  type PolledAnswer,
  UPSTREAM,
  codesOf,
  isAccepted,
  pollGateway,
  allowWatch,
  openWatch,
  polledAnswerOf,
  startAnotherGateway,
} from './gateway-poller.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await ownControlPlane())
const { keys, plane } = front
await allowWatch(front)
const [hearing] = front.gateways
if (!hearing) throw new Error('there is no gateway')
const line = await startProxy(plane)
afterAll(() => line[Symbol.asyncDispose]())
const deaf = await startAnotherGateway(front, { line })
afterAll(() => deaf.stop())

/** Proof of what is known is this old at most, and what is read is used again for a second (10.4). */
const KNOWN_FOR_MS = 15_000 + 1000
/** What is read for one request is used for others for a second (10.4), and a little more. */
const READ_FOR_MS = 1000 + 1000
/** Open streams end within a second (13.4). */
const CUT_WITHIN_MS = 1000
/** What is open is asked about every second once anything is not fresh, by a read that fails within 2 s. */
const ASKED_ABOUT_WITHIN_MS = 1000 + 2000

const newToken = (): string => uniqueName('k'.repeat(32))
const say = (what: string, ms: number): void => console.log(`measured: ${what}: ${ms} ms`)

/** A key that both gateways take. */
async function given(): Promise<UsableKey> {
  const key = await front.key()
  const isTaken = async () => isAccepted(await polledAnswerOf(front, deaf, key.token)) || undefined
  await eventually('the other gateway takes the key', isTaken, SOON)
  return key
}

/** It is said that nobody can tell now, and to try again. */
function expectUnavailable(answers: readonly PolledAnswer[]): void {
  expect(codesOf(answers)).toEqual(new Set([503]))
  for (const { headers } of answers) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
}

const endOf = (watch: OpenWatch): Promise<number> =>
  eventually('the watch ends', () => watch.endedMs() ?? undefined, { withinMs: 40_000 })

const hasEventError = (watch: OpenWatch, ...codes: readonly number[]): void => {
  const anyOf = expect.toBeOneOf([...codes]) as number
  expect(watch.last()).toMatchObject({ type: 'ERROR', object: { code: anyOf } })
}

/**
 * A 503 after a read that took the time which it is given: on a machine that stood still meanwhile nobody can
 * tell (10.4). Who asks may have come a second after it left.
 */
const isLate = ({ code, sentMs, doneMs }: PolledAnswer): boolean =>
  code === 503 && doneMs - sentMs >= 900
const inTime = (answers: readonly PolledAnswer[]): readonly PolledAnswer[] =>
  answers.filter((one) => !isLate(one))

/** Reads of single keys that the deaf gateway makes. */
const readsOf = ({ object }: Pick<UsableKey, 'object'>): number =>
  line.requests.filter(({ path }) => path.endsWith(`/ownedaccesskeys/${object.metadata.name}`))
    .length

test('the watch of the keys is cut without a word (10.4, 13.4; F5, I2)', async () => {
  const [good, ended, endedLate] = [await given(), await given(), await given()]
  const watchOf = (key: UsableKey): Promise<OpenWatch> => openWatch(front, deaf, key.token)
  const watches = [await watchOf(good), await watchOf(ended), await watchOf(endedLate)] as const
  await using asGood = pollGateway(front, deaf, good.token)
  await using asGoodUpstream = pollGateway(front, deaf, good.token, UPSTREAM)
  await using asEnded = pollGateway(front, deaf, ended.token)
  await using asNobody = pollGateway(front, hearing, newToken())

  line.freeze(isWatchOf('ownedaccesskeys'))
  // Opened anew, it would tell everything.
  const kept = line.on(isWatchOf('ownedaccesskeys'), { kind: 'hold' })
  await keys.patch(ended.object, { spec: { disabled: true } })
  const disabledMs = Date.now()
  const late = await front.key()
  await eventuallyPasses(
    'the key that was disabled is refused',
    () => expect(asEnded.all.at(-1)?.code).toBe(401),
    { withinMs: 30_000 },
  )
  const endMs = await endOf(watches[1])
  const refusals = (): readonly number[] => (asGood.all.some(isLate) ? [401, 503] : [401])
  hasEventError(watches[1], ...refusals())
  say('deaf, from the change to the last request accepted', asEnded.lastAcceptedMs() - disabledMs)
  say('deaf, from the change to the end of a watch', endMs - disabledMs)
  expect(asEnded.lastAcceptedMs()).toBeLessThanOrEqual(disabledMs + KNOWN_FOR_MS)
  const cutWithinMs = (): number => CUT_WITHIN_MS + asGood.lateMs()
  expect(endMs).toBeLessThanOrEqual(disabledMs + KNOWN_FOR_MS + cutWithinMs())

  // Of a key that it has never heard of it can not say that there is none.
  expectUnavailable([
    await polledAnswerOf(front, deaf, newToken()),
    await polledAnswerOf(front, deaf, late.token),
    await polledAnswerOf(front, deaf, late.token, UPSTREAM),
  ])
  expect((await polledAnswerOf(front, hearing, late.token)).code).toBe(404)

  const readBefore = readsOf(endedLate)
  const askMany = (): Promise<readonly PolledAnswer[]> =>
    Promise.all(Array.from({ length: 50 }, () => polledAnswerOf(front, deaf, endedLate.token)))
  const startMs = Date.now()
  const first = await askMany()
  expect(codesOf(first.every(isLate) ? await askMany() : first)).toEqual(new Set([404]))
  const seconds = Math.ceil((Date.now() - startMs) / 1000)
  expect(readsOf(endedLate) - readBefore, 'reads for 50 requests').toBeLessThanOrEqual(seconds + 1)

  await using asEndedLate = pollGateway(front, deaf, endedLate.token)
  await keys.patch(endedLate.object, { spec: { disabled: true } })
  const disabledLateMs = Date.now()
  const endLateMs = await endOf(watches[2])
  hasEventError(watches[2], ...refusals())
  say('deaf already, to the last request', asEndedLate.lastAcceptedMs() - disabledLateMs)
  say('deaf already, to the end of a watch', endLateMs - disabledLateMs)
  expect(asEndedLate.lastAcceptedMs()).toBeLessThanOrEqual(disabledLateMs + READ_FOR_MS)
  expect(endLateMs).toBeLessThanOrEqual(disabledLateMs + KNOWN_FOR_MS + cutWithinMs())

  kept.release()
  await eventuallyPasses(
    'it hears again',
    async () => {
      expect((await polledAnswerOf(front, deaf, late.token)).code).toBe(404)
      expect((await polledAnswerOf(front, deaf, newToken())).code).toBe(401)
    },
    { withinMs: 40_000 },
  )
  const readsThen = readsOf(good)
  await staysTrue('nothing is read for a request', () => expect(readsOf(good)).toBe(readsThen), {
    forMs: 3000,
  })
  expect(readsThen, 'reads while it was deaf').toBeGreaterThan(0)
  const goesOn = watches[0].endedMs() === null || asGood.all.some(isLate)
  expect(goesOn, 'the watch of the good key goes on').toBe(true)
  expect(codesOf(inTime(asGood.all)), 'the good key').toEqual(new Set([404]))
  expect(codesOf(inTime(asGoodUpstream.all)), 'the good key upstream').toEqual(new Set([200]))
  expect(codesOf(asNobody.all), 'the gateway that hears').toEqual(new Set([401]))
})

/** How an API server goes away, and comes back. */
interface Outage {
  readonly name: string
  /** The last word of a watch: ours, or that of an API server which ends it itself. */
  readonly says: object
  readonly begin: () => Promise<void> | void
  readonly end: () => Promise<void> | void
}

const signalled = (signal: NodeJS.Signals): void => {
  const { pid } = plane.apiServer
  if (pid === null) throw new Error('the API server does not run')
  process.kill(pid, signal)
}

test.each<Outage>([
  {
    name: 'is stopped',
    says: { type: 'ADDED' },
    begin: () => plane.apiServer.stop(),
    end: () => plane.apiServer.start(),
  },
  {
    name: 'stands still',
    says: { type: 'ERROR', object: { code: 503 } },
    begin: () => signalled('SIGSTOP'),
    end: () => signalled('SIGCONT'),
  },
])('the API server $name: nobody passes until it is back (10.4; F3, I13)', async (outage) => {
  const [good, disabled] = [await front.key(), await front.key()]
  await keys.patch(disabled.object, { spec: { disabled: true } })
  await eventuallyPasses(
    'it is refused',
    async () => expect((await polledAnswerOf(front, hearing, disabled.token)).code).toBe(401),
    SOON,
  )
  const watch = await openWatch(front, hearing, good.token)
  await using asGood = pollGateway(front, hearing, good.token)
  await using asGoodUpstream = pollGateway(front, hearing, good.token, UPSTREAM)
  await using asDisabled = pollGateway(front, hearing, disabled.token)

  await using late = measureEventLoopLag(() => hearing.health('/healthz'))
  await outage.begin()
  const beginMs = Date.now()
  try {
    await eventuallyPasses('nobody passes', () => expect(asGood.all.at(-1)?.code).toBe(503), {
      withinMs: 30_000,
    })
    const watchEndMs = await endOf(watch)
    say(`${outage.name}, to the last request accepted`, asGood.lastAcceptedMs() - beginMs)
    say(`${outage.name}, to the end of a watch`, watchEndMs - beginMs)
    expect(watch.last()).toMatchObject(outage.says)
    expect(watchEndMs).toBeLessThanOrEqual(
      beginMs + KNOWN_FOR_MS + ASKED_ABOUT_WITHIN_MS + CUT_WITHIN_MS + late.mostMs(),
    )
    await staysTrue(
      'nobody passes',
      async () =>
        expectUnavailable([
          await polledAnswerOf(front, hearing, good.token),
          await polledAnswerOf(front, hearing, good.token, UPSTREAM),
          await polledAnswerOf(front, hearing, disabled.token),
          await polledAnswerOf(front, hearing, newToken()),
        ]),
      { forMs: Math.max(beginMs + KNOWN_FOR_MS + 1000 - Date.now(), 1000) },
    )
    expect(asGood.lastAcceptedMs()).toBeLessThanOrEqual(beginMs + KNOWN_FOR_MS)
    const upstream = asGoodUpstream.all.filter(({ sentMs }) => sentMs > beginMs)
    expect(codesOf(upstream.filter(({ code }) => code !== 503)), 'upstream').toEqual(new Set())
    expectUnavailable(asGood.between(asGood.lastAcceptedMs(), Date.now()))
  } finally {
    await outage.end()
  }
  const backMs = Date.now()
  await eventuallyPasses(
    'it passes again',
    async () => {
      expect((await polledAnswerOf(front, hearing, good.token)).code).toBe(404)
      expect((await polledAnswerOf(front, hearing, good.token, UPSTREAM)).code).toBe(200)
      expect((await polledAnswerOf(front, hearing, newToken())).code).toBe(401)
    },
    { withinMs: 40_000 },
  )
  say(`${outage.name}, from its return to all as before`, Date.now() - backMs)
  await keys.patch(good.object, { spec: { disabled: true } })
  await eventuallyPasses(
    'what changes is heard',
    () => expect(asGood.all.at(-1)?.code).toBe(401),
    SOON,
  )
  expect(asDisabled.lastAcceptedMs(), 'the disabled key').toBe(0)
  expect(asGoodUpstream.all.some(isAccepted), 'upstream, before').toBe(true)
  expect(codesOf(asGood.all), 'the good key').toEqual(new Set([404, 503, 401]))
  expect(asGood.all.find(({ code }) => code === 401)?.sentMs).toBeGreaterThan(backMs)
})
