/** @module-tag no-retry */
// Random histories: managers restart, responses are lost, watches break, users delete records; then nothing fails any more.
import { expect, test } from 'vitest'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { NOTHING_OVERDUE } from '../../../src/domain/time.ts'
import { NotLeaderError } from '../../../src/kube/client/api-error.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'
import { revokedInAll } from '../domain/token/revocations.ts'
import {
  EXP,
  EXPIRES_MS,
  type FakeConfigMapServer,
  HOUR,
  HOUR_MS,
  type Manager,
  type Request,
  type RequestFailure,
  T0,
  failure,
  jtis,
  mostWritesInASecond,
  serverAndManager,
  startManager,
} from './test-revocation-list.ts'

const STORIES = repeated(12, 40)
const STORMY_SECONDS = 40
const CALM_SECONDS = 30

test.each(Array.from({ length: STORIES }, (_, seed) => seed))(
  'each revoked token is stored exactly once in the end: history %i (7.4)',
  async (seed) => {
    const random = randomFrom(seed)
    const { clock, server, one } = serverAndManager()
    const wanted = await prepare(random, server)
    const managers = [one]
    let current = disturbed(random, one)
    for (let second = 0; second < STORMY_SECONDS; second += 1) {
      askForMore(random, wanted)
      await happening(random, server, current)
      if (random.between(0, 1) < 0.05) {
        current.die()
        await clock.advance(1500)
        current = disturbed(random, startManager(server, clock))
        managers.push(current)
      }
      recordAll(wanted, current)
      await clock.advance(1000)
    }
    mend(current)
    current.failureOf = () => null
    for (let second = 0; second < CALM_SECONDS; second += 1) {
      recordAll(wanted, current)
      await clock.advance(1000)
    }
    expect([...wanted.keys()].filter((jti) => !current.records.has(jti))).toEqual([])
    expect(current.records.backlog()).toEqual(NOTHING_OVERDUE)
    const stored = [...server.objects.values()] as readonly ConfigMap[]
    expect(revokedInAll(stored)).toEqual(wanted)
    expect(stored.flatMap(({ data = {} }) => Object.keys(data))).toHaveLength(wanted.size)
    for (const { requests } of managers)
      expect(mostWritesInASecond(requests)).toBeLessThanOrEqual(4)
  },
)

/** Some histories begin with a ConfigMap that is full, or nearly so. */
async function prepare(random: Random, server: FakeConfigMapServer): Promise<Map<string, number>> {
  const there = jtis(random.pick([0, 0, 0, 1900, 2000]))
  if (there.length > 0) await server.edit(HOUR, Object.fromEntries(there.map((jti) => [jti, EXP])))
  return new Map(there.map((jti) => [jti, EXPIRES_MS]))
}

function askForMore(random: Random, wanted: Map<string, number>): void {
  const most = wanted.size + random.between(0, 20)
  while (wanted.size < most)
    wanted.set(`more-${wanted.size}`, Math.floor(T0 + random.between(0, 4 * HOUR_MS)))
}

/** Requests the record once a second until it is stored, as a reconcile does. */
function recordAll(wanted: ReadonlyMap<string, number>, { records }: Manager): void {
  for (const [jti, expiresMs] of wanted) if (!records.has(jti)) records.record(jti, expiresMs)
}

function disturbed(random: Random, its: Manager): Manager {
  its.failureOf = (method) => (random.between(0, 1) < 0.6 ? null : randomFailure(random, method))
  return its
}

const randomFailure = (random: Random, method: Request['method']): RequestFailure =>
  random.pick<RequestFailure>([
    'lost',
    { refused: new Error('headers timeout') },
    { refused: failure(500, 'InternalError') },
    { refused: failure(429, 'TooManyRequests', 2000) },
    { refused: failure(503, 'ServiceUnavailable', 1000) },
    { refused: failure(409, method === 'create' ? 'AlreadyExists' : 'Conflict') },
    { refused: new NotLeaderError() },
  ])

/** A write of a user, or a fault of the watch. */
async function happening(
  random: Random,
  server: FakeConfigMapServer,
  current: Manager,
): Promise<void> {
  const name = random.pick([...server.objects.keys(), HOUR])
  const data = server.data()[name]
  const what = random.pick(['nothing', 'nothing', 'delete', 'touch', 'slow', 'broken', 'mended'])
  if (what === 'delete' && data) await server.edit(name, undefined)
  if (what === 'touch' && data) await server.edit(name, data)
  if (what === 'slow') current.watchMs = 400
  if (what === 'broken') current.watchMs = null
  if (what === 'mended') mend(current)
}

function mend(its: Manager): void {
  its.watchMs = 5
  its.relist()
}
