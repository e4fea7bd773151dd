/** @module-tag no-retry */
// etcd is put back to an earlier state while gateways run: nothing that they remember opens anything, whether
// revisions go back with it or not (contract 10.3, 10.4; threats C4, F7, invariants I2, I13). What an administrator
// does is in docs/backup.md; this is what happens to one who stops no gateway.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { EXPIRES_HEADER } from '../../../src/gateway/stages/expiry-headers.ts'
import { paths, urls } from '../../../tools/control-plane/commands.ts'
import type { Ports } from '../../../tools/control-plane/ports.ts'
import { ensureEtcdTools } from '../../../tools/etcd-tools/programs.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import type { OwnGateway } from '../../support/gateway-process.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type StoredKey, createdMs, createdAgo } from '../keys/key-client.ts'
import {
  type GatewayPoller,
  type PolledAnswer,
  UPSTREAM,
  WATCHED,
  isAccepted,
  pollGateway,
  allowWatch,
  polledAnswerOf,
} from './gateway-poller.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

// The one of the front lives through all of it; those of a test end with it.
const front = await startTestGateway(await ownControlPlane())
const { etcdutl } = await ensureEtcdTools(console.log)
const { keys, plane } = front
await allowWatch(front)
let gateways: readonly OwnGateway[] = []
beforeEach(async () => {
  gateways = await Promise.all([front.another(), front.another()])
})
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()))
})

const HOUR = 3600
/** Ends between the snapshot and its return. */
const SHORT = 12
/** Proof of what is known is this old at most, and what is read is used again for a second (10.4). */
const KNOWN_FOR_MS = 15_000 + 1000
/** A watch that waits for versions which do not come is doubted, and lists anew. */
const RESTORED = { withinMs: 60_000 }

const newToken = (): string => uniqueName('k'.repeat(32))

interface Given {
  readonly token: string
  readonly object: StoredKey
}

async function given(
  spec: OwnedAccessKeySpec = {},
  metadata: Parameters<typeof keys.create>[1] = {},
): Promise<Given> {
  const token = newToken()
  return { token, object: await keys.create({ key: token, ...spec }, metadata) }
}

/** What each gateway says of a key. */
const saidBy = ({ token }: Given, path?: string): Promise<readonly PolledAnswer[]> =>
  Promise.all(gateways.map((gateway) => polledAnswerOf(front, gateway, token, path)))

/** Every gateway comes to answer the bearer with this code. */
const comesTo = (
  what: string,
  key: Given,
  code: number,
  bound = SOON,
  path?: string,
): Promise<void> =>
  eventuallyPasses(
    `${what}: ${code}`,
    async () => {
      for (const answer of await saidBy(key, path)) expect(answer.code).toBe(code)
    },
    bound,
  )

/** As one who knows no better: all stop, in order, but for operator and gateways. */
async function whileStopped(act: () => Promise<void>): Promise<number> {
  const { controllerManager, apiServer, etcd } = plane
  await controllerManager.stop()
  await apiServer.stop()
  const stoppedMs = Date.now()
  await etcd.stop()
  await act()
  for (const daemon of [etcd, apiServer, controllerManager]) await daemon.start()
  await eventuallyPasses('the API server takes writes, policies and all', admits, SOON)
  return stoppedMs
}

/** A server that has just started refuses what a policy is about until it has read the policies. */
async function admits(): Promise<void> {
  const { kind } = ACCESS_KEYS
  const metadata = { generateName: 'tried-' }
  const tried = { apiVersion: API_VERSION, kind, metadata, spec: { user: 'ada' } }
  expect((await plane.raw('POST', `${KEYS_PATH}?dryRun=All`, tried)).code).toBe(201)
}
const KEYS_PATH = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}`

const data = join(plane.dataDir, 'etcd')
const snapshot = `${data}.snapshot`

/** How somebody puts it back, with etcd stopped. */
const WAYS = {
  'as the page on backups does, revisions bumped': async () => {
    const { etcdPeer } = urls(JSON.parse(readFileSync(paths.ports(plane.dataDir), 'utf8')) as Ports)
    const member = ['--name=default', `--initial-cluster=default=${etcdPeer}`]
    const itself = [...member, `--initial-advertise-peer-urls=${etcdPeer}`, `--data-dir=${data}`]
    const onward = ['--bump-revision=1000000000', '--mark-compacted', '--skip-hash-check']
    const saved = join(snapshot, 'member/snap/db')
    await promisify(execFile)(etcdutl, ['snapshot', 'restore', saved, ...itself, ...onward])
  },
  // Behind the other: who is deaf since, as the operator may be for a while, is not what is looked at.
  'and revisions go back': () => rename(snapshot, data),
} as const

const askingAll = (key: Given): readonly GatewayPoller[] =>
  gateways.map((gateway) => pollGateway(front, gateway, key.token))

test.each(Object.entries(WAYS))(
  'etcd is restored to an earlier state, %s: what it says now holds, and nothing else (10.4, C4)',
  async (_, putBack) => {
    const [lived, ended, endedSince, deletedSince, renamedSince] = [
      await given({ ttl: HOUR }),
      await given({ disabled: true }),
      await given(),
      await given(),
      await given(),
    ]
    // Used last after the snapshot: by what that says it has ended an hour ago.
    const usedSince = await given({ ttl: HOUR, ttlAfterLastActivity: true }, createdAgo(2 * HOUR))
    await Promise.all(
      [lived, endedSince, deletedSince, renamedSince].map(({ object }) =>
        keys.shown(object, 'Active'),
      ),
    )
    await keys.shown(usedSince.object, 'Expired')
    const short = await given({ ttl: SHORT })
    await rm(snapshot, { recursive: true, force: true })
    await whileStopped(() => cp(data, snapshot, { recursive: true }))
    await comesTo('the key that lives', lived, 404)
    await comesTo('it is passed on', lived, 200, SOON, UPSTREAM)
    const endOfLived = (await saidBy(lived, UPSTREAM)).map(({ headers }) => headers[EXPIRES_HEADER])

    const createdSince = await given()
    await keys.patch(endedSince.object, { spec: { disabled: true } })
    await keys.remove(deletedSince.object)
    await keys.patch(renamedSince.object, { spec: { user: 'bob' } })
    await keys.use(usedSince.object, Date.now())
    for (const key of [createdSince, usedSince]) await comesTo('it opens', key, 404)
    for (const key of [endedSince, deletedSince]) await comesTo('it has ended', key, 401)
    await comesTo('it is of another user', renamedSince, 403, SOON, WATCHED)
    // Gateways now remember a use that is not recorded yet.
    await comesTo('it is passed on', usedSince, 200, SOON, UPSTREAM)

    await using stack = new AsyncDisposableStack()
    const asked = [createdSince, usedSince, ended, short].map(askingAll)
    for (const one of asked.flat()) stack.use(one)
    const stoppedMs = await whileStopped(async () => {
      await rm(data, { recursive: true })
      await putBack()
    })
    const backMs = Date.now()
    await comesTo('created since', createdSince, 401, RESTORED)
    await comesTo('used since', usedSince, 401, RESTORED)
    await comesTo('lived', lived, 404, RESTORED)
    await comesTo('disabled since', endedSince, 404, RESTORED)
    await comesTo('deleted since', deletedSince, 404, RESTORED)
    await comesTo('of another user since', renamedSince, 200, RESTORED, WATCHED)
    console.log(`measured: restored, to what it says now: ${Date.now() - backMs} ms`)
    const [askedCreated = [], askedUsed = [], askedEnded = [], askedShort = []] = asked
    const refused = (...codes: readonly number[]): void => {
      for (const { all } of [...askedCreated, ...askedUsed])
        expect(all.at(-1)?.code).toBeOneOf([...codes])
    }
    // Their last answer of now may be to what was asked before; how late one was accepted is looked at below.
    await eventuallyPasses('whoever goes on asking is refused', () => refused(401), SOON)
    // Of a key that is no longer listed it can't tell before the next heartbeat (10.4).
    await staysTrue('it is refused', () => refused(401, 503), { forMs: 3000 })
    for (const { all, lastAcceptedMs } of [...askedCreated, ...askedUsed]) {
      expect(lastAcceptedMs()).toBeLessThanOrEqual(stoppedMs + KNOWN_FOR_MS)
      expect(all.findIndex(isAccepted), 'it was open before').toBe(0)
    }
    for (const { lastAcceptedMs } of askedEnded) expect(lastAcceptedMs()).toBe(0)
    for (const { lastAcceptedMs } of askedShort)
      expect(lastAcceptedMs()).toBeLessThan(createdMs(short.object) + SHORT * 1000)

    const ends = (await saidBy(lived, UPSTREAM)).map(({ headers }) => headers[EXPIRES_HEADER])
    expect(ends, 'no lifetime is renewed').toEqual(endOfLived)
    expect(
      (await keys.read(createdSince.object))?.metadata,
      'nothing brings it back',
    ).toBeUndefined()

    // It hears again, on its watch: a key that it never heard of is unknown, and what changes is heard.
    await comesTo('a key of nobody', { ...lived, token: newToken() }, 401, RESTORED)
    await keys.patch(lived.object, { spec: { disabled: true } })
    await comesTo('disabled now', lived, 401)
    const next = await given()
    await comesTo('created now', next, 404)
    await stack.disposeAsync()
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    const { status } = (await keys.read(usedSince.object)) ?? {}
    expect(status, 'a use of before is not recorded').not.toHaveProperty('lastActivity')
  },
)
