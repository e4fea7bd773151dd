/** @module-tag no-retry */
// A gateway accepts no key on stale data: while its watch of the keys is silent, and while the API server is stopped or
// frozen (contract 10.4, 13.4; threats F3, F5; invariants I2, I13).
import { afterAll, expect, test } from 'vitest'
import { isWatchOf } from '../../faults/operator-observations.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import { uniqueName } from '../../support/object-builder.ts'
import {
  measureMachineLag,
  type OpenWatch,
  type TimedAnswer,
  UPSTREAM_PATH,
  codesOf,
  isAccepted,
  pollGateway,
  allowWatch,
  openWatch,
  askTimed,
  startAnotherGateway,
} from './timed-requests.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await ownControlPlane())
const { keys, plane } = setup
await allowWatch(setup)
const [fresh] = setup.gateways
if (!fresh) throw new Error('there is no gateway')
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const stale = await startAnotherGateway(setup, { proxy })
afterAll(() => stale.stop())

/** The watch counts as fresh for 15 s after a heartbeat, and a key that was read is reused for 1 s (10.4). */
const FRESH_FOR_MS = 15_000 + 1000
/** A key that was read for one request is reused for 1 s (10.4), with a margin. */
const READ_REUSED_MS = 1000 + 1000
/** Open streams are cut within a second (13.4). */
const CUT_WITHIN_MS = 1000
/** While the watch is stale, the key of each stream is read every second; a read fails after 2 s. */
const CHECKED_WITHIN_MS = 1000 + 2000

const newToken = (): string => uniqueName('k'.repeat(32))
const printMs = (what: string, ms: number): void => console.log(`measured: ${what}: ${ms} ms`)

/** A key that both gateways accept. */
async function newKey(): Promise<UsableKey> {
  const key = await setup.key()
  const isKnown = async () => isAccepted(await askTimed(setup, stale, key.token)) || undefined
  await eventually('the other gateway accepts the key', isKnown, SOON)
  return key
}

/** Every answer is a 503 with Retry-After. */
function expectUnavailable(answers: readonly TimedAnswer[]): void {
  expect(codesOf(answers)).toEqual(new Set([503]))
  for (const { headers } of answers) expect(Number(headers['retry-after'])).toBeGreaterThan(0)
}

const endOf = (watch: OpenWatch): Promise<number> =>
  eventually('the watch ends', () => watch.endedMs() ?? undefined, { withinMs: 40_000 })

const expectErrorEvent = (watch: OpenWatch, ...codes: readonly number[]): void => {
  const anyOf = expect.toBeOneOf([...codes]) as number
  expect(watch.lastEvent()).toMatchObject({ type: 'ERROR', object: { code: anyOf } })
}

/**
 * A 503 after a read that timed out, on a machine that stood still meanwhile (10.4). The request may have joined the
 * read a second after its start.
 */
const isLate = ({ code, sentMs, doneMs }: TimedAnswer): boolean =>
  code === 503 && doneMs - sentMs >= 900
const inTime = (answers: readonly TimedAnswer[]): readonly TimedAnswer[] =>
  answers.filter((one) => !isLate(one))

/** How often the stale gateway has read this key from the API server. */
const readsOf = ({ object }: Pick<UsableKey, 'object'>): number =>
  proxy.requests.filter(({ path }) => path.endsWith(`/ownedaccesskeys/${object.metadata.name}`))
    .length

test('a gateway with a silent watch reads each key, and refuses keys that ended (10.4, 13.4; F5, I2)', async () => {
  const [good, ended, endedLate] = [await newKey(), await newKey(), await newKey()]
  const watchOf = (key: UsableKey): Promise<OpenWatch> => openWatch(setup, stale, key.token)
  const watches = [await watchOf(good), await watchOf(ended), await watchOf(endedLate)] as const
  await using asGood = pollGateway(setup, stale, good.token)
  await using asGoodUpstream = pollGateway(setup, stale, good.token, UPSTREAM_PATH)
  await using asEnded = pollGateway(setup, stale, ended.token)
  await using asUnknown = pollGateway(setup, fresh, newToken())

  proxy.freeze(isWatchOf('ownedaccesskeys'))
  // A new watch would deliver the changes.
  const rule = proxy.on(isWatchOf('ownedaccesskeys'), { kind: 'hold' })
  await keys.patch(ended.object, { spec: { disabled: true } })
  const disabledMs = Date.now()
  const late = await setup.key()
  await eventuallyPasses(
    'the disabled key is refused',
    () => expect(asEnded.answers.at(-1)?.code).toBe(401),
    { withinMs: 30_000 },
  )
  const endMs = await endOf(watches[1])
  const refusals = (): readonly number[] => (asGood.answers.some(isLate) ? [401, 503] : [401])
  expectErrorEvent(watches[1], ...refusals())
  printMs(
    'silent watch, from the change to the last accepted request',
    asEnded.lastAcceptedMs() - disabledMs,
  )
  printMs('silent watch, from the change to the end of a client watch', endMs - disabledMs)
  expect(asEnded.lastAcceptedMs()).toBeLessThanOrEqual(disabledMs + FRESH_FOR_MS)
  const cutWithinMs = (): number => CUT_WITHIN_MS + asGood.maxDelayMs()
  expect(endMs).toBeLessThanOrEqual(disabledMs + FRESH_FOR_MS + cutWithinMs())

  // A stale gateway can't tell whether a key that it doesn't know exists.
  expectUnavailable([
    await askTimed(setup, stale, newToken()),
    await askTimed(setup, stale, late.token),
    await askTimed(setup, stale, late.token, UPSTREAM_PATH),
  ])
  expect((await askTimed(setup, fresh, late.token)).code).toBe(404)

  const readsBefore = readsOf(endedLate)
  const askMany = (): Promise<readonly TimedAnswer[]> =>
    Promise.all(Array.from({ length: 50 }, () => askTimed(setup, stale, endedLate.token)))
  const startMs = Date.now()
  const first = await askMany()
  expect(codesOf(first.every(isLate) ? await askMany() : first)).toEqual(new Set([404]))
  const seconds = Math.ceil((Date.now() - startMs) / 1000)
  expect(readsOf(endedLate) - readsBefore, 'reads for 50 requests').toBeLessThanOrEqual(seconds + 1)

  await using asEndedLate = pollGateway(setup, stale, endedLate.token)
  await keys.patch(endedLate.object, { spec: { disabled: true } })
  const disabledLateMs = Date.now()
  const endLateMs = await endOf(watches[2])
  expectErrorEvent(watches[2], ...refusals())
  printMs(
    'watch silent before the change, to the last accepted request',
    asEndedLate.lastAcceptedMs() - disabledLateMs,
  )
  printMs(
    'watch silent before the change, to the end of a client watch',
    endLateMs - disabledLateMs,
  )
  expect(asEndedLate.lastAcceptedMs()).toBeLessThanOrEqual(disabledLateMs + READ_REUSED_MS)
  expect(endLateMs).toBeLessThanOrEqual(disabledLateMs + FRESH_FOR_MS + cutWithinMs())

  rule.release()
  await eventuallyPasses(
    'the watch delivers again',
    async () => {
      expect((await askTimed(setup, stale, late.token)).code).toBe(404)
      expect((await askTimed(setup, stale, newToken())).code).toBe(401)
    },
    { withinMs: 40_000 },
  )
  const readsThen = readsOf(good)
  await staysTrue('requests need no read', () => expect(readsOf(good)).toBe(readsThen), {
    forMs: 3000,
  })
  expect(readsThen, 'reads while the watch was silent').toBeGreaterThan(0)
  const isOpen = watches[0].endedMs() === null || asGood.answers.some(isLate)
  expect(isOpen, 'the watch of the good key stays open').toBe(true)
  expect(codesOf(inTime(asGood.answers)), 'the good key').toEqual(new Set([404]))
  expect(codesOf(inTime(asGoodUpstream.answers)), 'forwarded requests of the good key').toEqual(
    new Set([200]),
  )
  expect(codesOf(asUnknown.answers), 'the fresh gateway').toEqual(new Set([401]))
})

/** How the API server becomes unavailable, and available again. */
interface Outage {
  readonly name: string
  /** The last event of a client watch: the gateway's, or the last one of an API server that ends it by itself. */
  readonly lastEvent: object
  readonly begin: () => Promise<void> | void
  readonly end: () => Promise<void> | void
}

const signalApiServer = (signal: NodeJS.Signals): void => {
  const { pid } = plane.apiServer
  if (pid === null) throw new Error('the API server does not run')
  process.kill(pid, signal)
}

test.each<Outage>([
  {
    name: 'is stopped',
    lastEvent: { type: 'ADDED' },
    begin: () => plane.apiServer.stop(),
    end: () => plane.apiServer.start(),
  },
  {
    name: 'is frozen',
    lastEvent: { type: 'ERROR', object: { code: 503 } },
    begin: () => signalApiServer('SIGSTOP'),
    end: () => signalApiServer('SIGCONT'),
  },
])(
  'a gateway refuses all keys with 503 while the API server $name (10.4; F3, I13)',
  async (outage) => {
    const [good, disabled] = [await setup.key(), await setup.key()]
    await keys.patch(disabled.object, { spec: { disabled: true } })
    await eventuallyPasses(
      'the disabled key is refused',
      async () => expect((await askTimed(setup, fresh, disabled.token)).code).toBe(401),
      SOON,
    )
    const watch = await openWatch(setup, fresh, good.token)
    await using asGood = pollGateway(setup, fresh, good.token)
    await using asGoodUpstream = pollGateway(setup, fresh, good.token, UPSTREAM_PATH)
    await using asDisabled = pollGateway(setup, fresh, disabled.token)

    await using lag = measureMachineLag(() => fresh.health('/healthz'))
    await outage.begin()
    const beginMs = Date.now()
    try {
      await eventuallyPasses(
        'the key is refused',
        () => expect(asGood.answers.at(-1)?.code).toBe(503),
        {
          withinMs: 30_000,
        },
      )
      const watchEndMs = await endOf(watch)
      printMs(
        `API server ${outage.name}, to the last accepted request`,
        asGood.lastAcceptedMs() - beginMs,
      )
      printMs(`API server ${outage.name}, to the end of a client watch`, watchEndMs - beginMs)
      expect(watch.lastEvent()).toMatchObject(outage.lastEvent)
      expect(watchEndMs).toBeLessThanOrEqual(
        beginMs + FRESH_FOR_MS + CHECKED_WITHIN_MS + CUT_WITHIN_MS + lag.maxMs(),
      )
      await staysTrue(
        'all keys are refused',
        async () =>
          expectUnavailable([
            await askTimed(setup, fresh, good.token),
            await askTimed(setup, fresh, good.token, UPSTREAM_PATH),
            await askTimed(setup, fresh, disabled.token),
            await askTimed(setup, fresh, newToken()),
          ]),
        { forMs: Math.max(beginMs + FRESH_FOR_MS + 1000 - Date.now(), 1000) },
      )
      expect(asGood.lastAcceptedMs()).toBeLessThanOrEqual(beginMs + FRESH_FOR_MS)
      const upstream = asGoodUpstream.answers.filter(({ sentMs }) => sentMs > beginMs)
      expect(codesOf(upstream.filter(({ code }) => code !== 503)), 'forwarded requests').toEqual(
        new Set(),
      )
      expectUnavailable(asGood.sentBetween(asGood.lastAcceptedMs(), Date.now()))
    } finally {
      await outage.end()
    }
    const backMs = Date.now()
    await eventuallyPasses(
      'keys are accepted again',
      async () => {
        expect((await askTimed(setup, fresh, good.token)).code).toBe(404)
        expect((await askTimed(setup, fresh, good.token, UPSTREAM_PATH)).code).toBe(200)
        expect((await askTimed(setup, fresh, newToken())).code).toBe(401)
      },
      { withinMs: 40_000 },
    )
    printMs(`API server ${outage.name}, from its return to normal answers`, Date.now() - backMs)
    await keys.patch(good.object, { spec: { disabled: true } })
    await eventuallyPasses(
      'changes take effect again',
      () => expect(asGood.answers.at(-1)?.code).toBe(401),
      SOON,
    )
    expect(asDisabled.lastAcceptedMs(), 'the disabled key').toBe(0)
    expect(asGoodUpstream.answers.some(isAccepted), 'forwarded before the outage').toBe(true)
    expect(codesOf(asGood.answers), 'the good key').toEqual(new Set([404, 503, 401]))
    expect(asGood.answers.find(({ code }) => code === 401)?.sentMs).toBeGreaterThan(backMs)
  },
)
