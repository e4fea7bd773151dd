// Random lives: several managers with views of any age, deaths before and after writes, clocks that are
// set, Secrets that are lost, damaged and restored. Whatever happens, what is signed verifies, nothing
// that leaked signs, and the operator comes to rest (contract 7.3, 8.6).
import { type JSONWebKeySet, compactVerify, createLocalJWKSet } from 'jose'
import { expect, test } from 'vitest'
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  ROTATE_ANNOTATION,
  WITHDRAW_ANNOTATION,
} from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import type { SigningAlgorithm, TokenClaims } from '../../../../src/domain/token/token-claims.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  type Manager,
  type World,
  world,
} from './signing-key-cluster.ts'

interface Signed {
  readonly token: string
  readonly kid: string
  readonly expMs: number
}

/** One story under way. */
interface Stage {
  readonly random: Random
  readonly w: World
  readonly managers: Manager[]
  readonly signed: Signed[]
  /** When each withdrawn kid may be forgotten. */
  readonly leaked: Map<string, number>
  readonly backups: Map<number, Secret>
  /** kid of each generation that was ever noted. */
  readonly noted: Map<number, string>
}

type Act = (stage: Stage) => Promise<void> | void

const generationOf = ({ random, w }: Stage): number => random.pick([...w.held(), 1])

/** Somebody damages the ConfigMap under the eyes of a manager that knows it whole. */
const damage =
  (act: (w: World) => void): Act =>
  async ({ random, w, managers }) => {
    for (const manager of managers) await manager.settle()
    act(w)
    await random.pick(managers).settle()
  }

const die =
  (way: 'there' | 'back'): Act =>
  async (stage) => {
    const { random, managers } = stage
    const doomed = random.pick(managers)
    doomed.line[way] = () => {
      throw new Error('killed')
    }
    doomed.sync()
    await doomed.step().catch(() => undefined)
    managers[managers.indexOf(doomed)] = start(stage)
  }

/** A new one: with flags of its own, since replicas are replaced one by one. It knows of all tokens. */
function start({ w, random, signed }: Stage, algorithm: SigningAlgorithm = 'ES256'): Manager {
  const expsOf = (kid: string) => signed.filter((one) => one.kid === kid).map(({ expMs }) => expMs)
  return w.manager({
    algorithm,
    tokenMaxTtlMs: random.pick([HOUR_MS, DAY_MS, 5 * DAY_MS]),
    lastExpMs: (kid) => Math.max(0, ...expsOf(kid)) || null,
  })
}

const pass =
  (longestMs: number): Act =>
  ({ random, w }) =>
    w.clock.setNow(Math.floor(w.clock.nowMs() + random.between(0, longestMs)))

/** No more than two in a while: of three in an hour the operator gives up for as long. */
function corrupt(stage: Stage): void {
  const { w } = stage
  const generation = generationOf(stage)
  const young = [...w.secrets.values()].filter(
    ({ metadata, data }) =>
      Date.parse(metadata.creationTimestamp) > w.clock.nowMs() - 6 * HOUR_MS && !data?.['kid'],
  )
  if (w.held().includes(generation) && young.length < 2) w.putKey(generation, { data: {} })
}

const acts: readonly Act[] = [
  pass(20 * MINUTE_MS),
  pass(DAY_MS),
  pass(12 * DAY_MS),
  ({ random, w }) => w.clock.setNow(Math.floor(w.clock.nowMs() - random.between(0, HOUR_MS))),
  ({ random, managers }) => random.pick(managers).sync(),
  async ({ random, managers }) =>
    void (await random
      .pick(managers)
      .step()
      .catch(() => undefined)),
  async ({ random, managers }) => void (await random.pick(managers).settle()),
  die('there'),
  die('back'),
  ({ w }) => w.annotate({ [ROTATE_ANNOTATION]: '' }),
  (stage) => stage.w.annotate({ [WITHDRAW_ANNOTATION]: stage.w.kid(generationOf(stage)) }),
  (stage) => stage.w.putKey(generationOf(stage), null),
  corrupt,
  ({ random, w, backups }) => {
    const [generation, secret] = random.pick([...backups, [0, null] as const])
    if (secret && !w.held().includes(generation)) w.putKey(generation, secret)
  },
  damage((w) => w.put(CONFIG_MAPS, JWKS_CONFIG_MAP, null)),
  damage((w) => w.edit({ 'jwks.json': '{"keys":[null]}' })),
  damage((w) => w.edit({ 'keys.json': '{' })),
]

/** Every manager signs on whatever it believes; what one signs whose view is fresh, people get. */
async function sign({ w, managers, signed }: Stage): Promise<void> {
  for (const manager of managers) {
    for (const isFresh of [false, true]) {
      if (isFresh) manager.sync()
      const expMs = w.clock.nowMs() + manager.circumstances.tokenMaxTtlMs
      const claims = { jti: 'u-1', exp: Math.floor(expMs / 1000) } as TokenClaims
      const made = await manager.keyring.sign(claims)
      if (made) believed(made.kid, manager)
      if (made && isFresh) signed.push({ ...made, expMs })
    }
  }
}

/** What it believes is what it read back. */
function believed(kid: string, { keyring }: Manager): void {
  const { jwks = [], notes = [] } = keyring.published() ?? {}
  expect(jwks.map((jwk) => jwk.kid)).toContain(kid)
  expect(notes.find((note) => note.kid === kid)?.withdrawnMs).toBeNull()
}

/** What holds at every moment, in the API server. */
function look({ w, leaked, backups, noted }: Stage): void {
  const nowMs = w.clock.nowMs()
  for (const generation of w.withdrawn()) {
    const kid = w.kid(generation)
    if (!leaked.has(kid)) leaked.set(kid, nowMs + 30 * DAY_MS)
  }
  const text = w.record()?.data?.['jwks.json'] ?? ''
  const secret = ['"d"', '"p"', '"q"', '"dp"', '"dq"', '"qi"', '"k"']
  const out = [...leaked].filter(([, untilMs]) => nowMs < untilMs).map(([kid]) => kid)
  expect([...secret, ...out].filter((part) => text.includes(part))).toEqual([])
  for (const generation of w.published()) {
    const kid = w.kid(generation)
    expect(noted.get(generation) ?? kid).toBe(kid)
    noted.set(generation, kid)
  }
  for (const generation of w.held()) {
    const key = w.secrets.get(`platform-signing-key-${generation}`)
    const kid = Buffer.from(key?.data?.['kid'] ?? '', 'base64').toString()
    if (key && noted.get(generation) === kid) backups.set(generation, key)
  }
}

/** What holds once a manager has come to rest. */
async function rest(stage: Stage): Promise<void> {
  const { w, managers, signed, leaked, random } = stage
  const manager = random.pick(managers)
  await manager.settle()
  look(stage)
  const before = manager.writes.length
  await manager.settle()
  expect(manager.writes.length).toBe(before)
  const text = w.record()?.data?.['jwks.json'] ?? ''
  expect(text).toContain(manager.keyring.current()?.kid ?? 'none')
  const set = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
  const nowMs = w.clock.nowMs()
  for (const { token, kid, expMs } of signed) {
    if (expMs > nowMs && !leaked.has(kid)) await compactVerify(token, set)
  }
}

/** A key that verifiers may not know yet signs only where there is no other. */
function settledKeySigns({ w, managers }: Stage): void {
  const [manager] = managers
  const { notes = [] } = manager?.keyring.published() ?? {}
  const nowMs = w.clock.nowMs()
  const isFresh = (atMs: number): boolean => atMs > nowMs - 10 * MINUTE_MS
  const usable = new Set(
    manager?.keyring
      .secrets()
      .filter(({ fault, jwk }) => fault === null && jwk)
      .map(({ kid }) => kid),
  )
  const able = notes.filter((note) => note.withdrawnMs === null && usable.has(note.kid))
  const signing = able.find((note) => note.kid === manager?.keyring.current()?.kid)
  const isAlone = able.every(({ publishedMs }) => isFresh(publishedMs))
  expect(signing && isFresh(signing.publishedMs) && !isAlone).toBe(false)
}

const SEEDS = Array.from({ length: repeated(6, 20) }, (_, seed) => seed)

test.each(SEEDS)('story %i (7.3, 8.6)', async (seed) => {
  const random = randomFrom(seed)
  const w = world()
  const stage: Stage = {
    random,
    w,
    managers: [],
    signed: [],
    leaked: new Map(),
    backups: new Map(),
    noted: new Map(),
  }
  const { managers, signed } = stage
  for (const algorithm of ['ES256', seed % 20 === 0 ? 'RS256' : 'ES256'] as const)
    managers.push(start(stage, algorithm))
  await managers[0]?.settle()
  for (let turn = 0; turn < 60; turn += 1) {
    await random.pick(acts)(stage)
    look(stage)
    await sign(stage)
    if (turn % 5 === 0) {
      await rest(stage)
    }
    const [first] = managers
    await first?.settle()
    settledKeySigns(stage)
    look(stage)
  }
  expect(signed.length).toBeGreaterThan(60)
})
