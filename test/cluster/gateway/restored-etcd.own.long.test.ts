/** @module-tag no-retry */
// etcd is restored to an earlier snapshot while gateways run: they accept no key by old state, whether revisions go back
// or are bumped (contract 10.3, 10.4; threats C4, F7, invariants I2, I13). docs/backup.md stops gateways first.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { paths, urls } from '../../../tools/control-plane/commands.ts'
import type { Ports } from '../../../tools/control-plane/ports.ts'
import { ensureEtcdTools } from '../../../tools/etcd-tools/programs.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import type { OwnGateway } from '../../support/gateway-process.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { createdAgo, createdMs, type StoredKey } from '../keys/key-client.ts'
import { SOON, startTestGateway } from './test-gateway.ts'
import {
  allowWatch,
  askTimed,
  type GatewayPoller,
  isAccepted,
  pollGateway,
  type TimedAnswer,
  UPSTREAM_PATH,
  WATCHED_PATH,
} from './timed-requests.ts'

// The gateway of the setup runs through all tests; each test starts two of its own.
const setup = await startTestGateway(await ownControlPlane())
const { etcdutl } = await ensureEtcdTools(console.log)
const { keys, plane } = setup
await allowWatch(setup)
let gateways: readonly OwnGateway[] = []
beforeEach(async () => {
  gateways = await Promise.all([setup.anotherGateway(), setup.anotherGateway()])
})
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()))
})

const HOUR = 3600
/** In seconds: ends between the snapshot and its restore. */
const SHORT = 12
/** The watch counts as fresh for 15 s after a heartbeat, and a key that was read is reused for 1 s (10.4). */
const FRESH_FOR_MS = 15_000 + 1000
/** A watch that waits for future versions is found stale and relists. */
const RESTORED = { withinMs: 60_000 }

const newToken = (): string => uniqueName('k'.repeat(32))

interface TestKey {
  readonly token: string
  readonly object: StoredKey
}

async function newKey(
  spec: OwnedAccessKeySpec = {},
  metadata: Parameters<typeof keys.create>[1] = {},
): Promise<TestKey> {
  const token = newToken()
  return { token, object: await keys.create({ key: token, ...spec }, metadata) }
}

/** The answer of each gateway to a request with this key. */
const answersTo = ({ token }: TestKey, path?: string): Promise<readonly TimedAnswer[]> =>
  Promise.all(gateways.map((gateway) => askTimed(setup, gateway, token, path)))

/** Waits until every gateway answers this key with this code. */
const untilAnswered = (
  what: string,
  key: TestKey,
  code: number,
  bound = SOON,
  path?: string,
): Promise<void> =>
  eventuallyPasses(
    `${what}: ${code}`,
    async () => {
      for (const answer of await answersTo(key, path)) expect(answer.code).toBe(code)
    },
    bound,
  )

/** Stops the control plane in order, acts, and starts it again; operator and gateways keep running. */
async function whileStopped(act: () => Promise<void>): Promise<number> {
  const { controllerManager, apiServer, etcd } = plane
  await controllerManager.stop()
  await apiServer.stop()
  const stoppedMs = Date.now()
  await etcd.stop()
  await act()
  for (const daemon of [etcd, apiServer, controllerManager]) await daemon.start()
  await eventuallyPasses('the API server accepts writes', acceptsWrites, SOON)
  return stoppedMs
}

/** An API server that has just started refuses keys until it has loaded the admission policies. */
async function acceptsWrites(): Promise<void> {
  const { kind } = ACCESS_KEYS
  const metadata = { generateName: 'tried-' }
  const key = { apiVersion: API_VERSION, kind, metadata, spec: { user: 'ada' } }
  expect((await plane.raw('POST', `${KEYS_PATH}?dryRun=All`, key)).code).toBe(201)
}
const KEYS_PATH = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}`

const data = join(plane.dataDir, 'etcd')
const snapshot = `${data}.snapshot`

/** How the snapshot is restored, with etcd stopped. */
const RESTORES = {
  'with bumped revisions, as docs/backup.md does': async () => {
    const { etcdPeer } = urls(JSON.parse(readFileSync(paths.ports(plane.dataDir), 'utf8')) as Ports)
    const member = ['--name=default', `--initial-cluster=default=${etcdPeer}`]
    const identity = [...member, `--initial-advertise-peer-urls=${etcdPeer}`, `--data-dir=${data}`]
    const revision = ['--bump-revision=1000000000', '--mark-compacted', '--skip-hash-check']
    const saved = join(snapshot, 'member/snap/db')
    await promisify(execFile)(etcdutl, ['snapshot', 'restore', saved, ...identity, ...revision])
  },
  // The last: it leaves watches stale, as the operator's may be for a while.
  'with the old revisions': () => rename(snapshot, data),
} as const

const pollAll = (key: TestKey): readonly GatewayPoller[] =>
  gateways.map((gateway) => pollGateway(setup, gateway, key.token))

test.each(Object.entries(RESTORES))(
  'gateways follow the restored state of etcd, %s (10.4, C4)',
  async (_, restore) => {
    const [lasting, ended, endedSince, deletedSince, renamedSince] = [
      await newKey({ ttl: HOUR }),
      await newKey({ disabled: true }),
      await newKey(),
      await newKey(),
      await newKey(),
    ]
    // Used after the snapshot, which has it expired for an hour.
    const usedSince = await newKey({ ttl: HOUR, ttlAfterLastActivity: true }, createdAgo(2 * HOUR))
    await Promise.all(
      [lasting, endedSince, deletedSince, renamedSince].map(({ object }) =>
        keys.shown(object, 'Active'),
      ),
    )
    await keys.shown(usedSince.object, 'Expired')
    const short = await newKey({ ttl: SHORT })
    await rm(snapshot, { recursive: true, force: true })
    await whileStopped(() => cp(data, snapshot, { recursive: true }))
    await untilAnswered('the lasting key', lasting, 404)
    await untilAnswered('its request is forwarded', lasting, 200, SOON, UPSTREAM_PATH)
    const expiryBefore = (await answersTo(lasting, UPSTREAM_PATH)).map(
      ({ headers }) => headers['x-platform-key-expires'],
    )

    const createdSince = await newKey()
    await keys.patch(endedSince.object, { spec: { disabled: true } })
    await keys.remove(deletedSince.object)
    await keys.patch(renamedSince.object, { spec: { user: 'bob' } })
    await keys.use(usedSince.object, Date.now())
    for (const key of [createdSince, usedSince]) await untilAnswered('it is accepted', key, 404)
    for (const key of [endedSince, deletedSince]) await untilAnswered('it has ended', key, 401)
    await untilAnswered('it is of another user', renamedSince, 403, SOON, WATCHED_PATH)
    // The gateways now have a use that is not recorded yet.
    await untilAnswered('its request is forwarded', usedSince, 200, SOON, UPSTREAM_PATH)

    await using stack = new AsyncDisposableStack()
    const pollers = [createdSince, usedSince, ended, short].map(pollAll)
    for (const one of pollers.flat()) stack.use(one)
    const stoppedMs = await whileStopped(async () => {
      await rm(data, { recursive: true })
      await restore()
    })
    const backMs = Date.now()
    await untilAnswered('created since', createdSince, 401, RESTORED)
    await untilAnswered('used since', usedSince, 401, RESTORED)
    await untilAnswered('lasting', lasting, 404, RESTORED)
    await untilAnswered('disabled since', endedSince, 404, RESTORED)
    await untilAnswered('deleted since', deletedSince, 404, RESTORED)
    await untilAnswered('of another user since', renamedSince, 200, RESTORED, WATCHED_PATH)
    console.log(`measured: from the restore to its state: ${Date.now() - backMs} ms`)
    const [polledCreated = [], polledUsed = [], polledEnded = [], polledShort = []] = pollers
    const refused = (...codes: readonly number[]): void => {
      for (const { answers } of [...polledCreated, ...polledUsed])
        expect(answers.at(-1)?.code).toBeOneOf([...codes])
    }
    // The last answers so far may be to requests from before.
    await eventuallyPasses('all polls are refused', () => refused(401), SOON)
    // Before the next heartbeat a gateway can't tell whether an unlisted key exists: 503 (10.4).
    await staysTrue('all polls are refused', () => refused(401, 503), { forMs: 3000 })
    for (const { answers, lastAcceptedMs } of [...polledCreated, ...polledUsed]) {
      expect(lastAcceptedMs()).toBeLessThanOrEqual(stoppedMs + FRESH_FOR_MS)
      expect(answers.findIndex(isAccepted), 'it was accepted before').toBe(0)
    }
    for (const { lastAcceptedMs } of polledEnded) expect(lastAcceptedMs()).toBe(0)
    for (const { lastAcceptedMs } of polledShort)
      expect(lastAcceptedMs()).toBeLessThan(createdMs(short.object) + SHORT * 1000)

    const ends = (await answersTo(lasting, UPSTREAM_PATH)).map(
      ({ headers }) => headers['x-platform-key-expires'],
    )
    expect(ends, 'no lifetime is renewed').toEqual(expiryBefore)
    expect(
      (await keys.read(createdSince.object))?.metadata,
      'a key created after the snapshot stays absent',
    ).toBeUndefined()

    // The watch is fresh again: unknown keys are refused with 401, and changes take effect.
    await untilAnswered('an unknown key', { ...lasting, token: newToken() }, 401, RESTORED)
    await keys.patch(lasting.object, { spec: { disabled: true } })
    await untilAnswered('disabled now', lasting, 401)
    const next = await newKey()
    await untilAnswered('created now', next, 404)
    await stack.disposeAsync()
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    const { status } = (await keys.read(usedSince.object)) ?? {}
    expect(status, 'a use from before the restore is not recorded').not.toHaveProperty(
      'lastActivity',
    )
  },
)
