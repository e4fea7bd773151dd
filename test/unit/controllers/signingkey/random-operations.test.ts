// Random operations: several managers with caches of any age, crashes before and after writes, changed
// clocks, and Secrets that are lost, damaged and restored. Always: signed tokens verify, withdrawn keys
// never sign, and the managers settle (contract 7.3, 8.6).
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
  type Cluster,
  newCluster,
} from './signing-key-cluster.ts'

interface Signed {
  readonly token: string
  readonly kid: string
  readonly expMs: number
}

/** The state of one run. */
interface Simulation {
  readonly random: Random
  readonly cluster: Cluster
  readonly managers: Manager[]
  readonly signed: Signed[]
  /** Withdrawn kids, each with the time in epoch milliseconds from which its note may be dropped. */
  readonly withdrawnKids: Map<string, number>
  readonly backups: Map<number, Secret>
  /** kid of each generation that was ever published. */
  readonly kidByGeneration: Map<number, string>
}

type Action = (simulation: Simulation) => Promise<void> | void

const generationOf = ({ random, cluster }: Simulation): number =>
  random.pick([...cluster.secretGenerations(), 1])

/** Damages the ConfigMap while every manager has the intact one in its caches. */
const damage =
  (action: (cluster: Cluster) => void): Action =>
  async ({ random, cluster, managers }) => {
    for (const manager of managers) await manager.settle()
    action(cluster)
    await random.pick(managers).settle()
  }

const crash =
  (point: 'before' | 'after'): Action =>
  async (simulation) => {
    const { random, managers } = simulation
    const crashing = random.pick(managers)
    crashing.writeHooks[point] = () => {
      throw new Error('killed')
    }
    crashing.sync()
    await crashing.reconcile().catch(() => undefined)
    managers[managers.indexOf(crashing)] = addManager(simulation)
  }

/** Starts a manager that knows all tokens, with flags of its own, since replicas are replaced one by one. */
function addManager(
  { cluster, random, signed }: Simulation,
  algorithm: SigningAlgorithm = 'ES256',
): Manager {
  const expsOf = (kid: string) => signed.filter((one) => one.kid === kid).map(({ expMs }) => expMs)
  return cluster.startManager({
    algorithm,
    tokenMaxTtlMs: random.pick([HOUR_MS, DAY_MS, 5 * DAY_MS]),
    lastExpMs: (kid) => Math.max(0, ...expsOf(kid)) || null,
  })
}

const advanceClock =
  (longestMs: number): Action =>
  ({ random, cluster }) =>
    cluster.clock.setNow(Math.floor(cluster.clock.nowMs() + random.between(0, longestMs)))

/** Corrupts a Secret, at most two in six hours: after three in an hour the manager pauses. */
function corrupt(simulation: Simulation): void {
  const { cluster } = simulation
  const generation = generationOf(simulation)
  const young = [...cluster.secrets.values()].filter(
    ({ metadata, data }) =>
      Date.parse(metadata.creationTimestamp) > cluster.clock.nowMs() - 6 * HOUR_MS &&
      !data?.['kid'],
  )
  if (cluster.secretGenerations().includes(generation) && young.length < 2)
    cluster.putSecret(generation, { data: {} })
}

const actions: readonly Action[] = [
  advanceClock(20 * MINUTE_MS),
  advanceClock(DAY_MS),
  advanceClock(12 * DAY_MS),
  ({ random, cluster }) =>
    cluster.clock.setNow(Math.floor(cluster.clock.nowMs() - random.between(0, HOUR_MS))),
  ({ random, managers }) => random.pick(managers).sync(),
  async ({ random, managers }) =>
    void (await random
      .pick(managers)
      .reconcile()
      .catch(() => undefined)),
  async ({ random, managers }) => void (await random.pick(managers).settle()),
  crash('before'),
  crash('after'),
  ({ cluster }) => cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: '' }),
  (simulation) =>
    simulation.cluster.annotateConfigMap({
      [WITHDRAW_ANNOTATION]: simulation.cluster.kidOf(generationOf(simulation)),
    }),
  (simulation) => simulation.cluster.putSecret(generationOf(simulation), null),
  corrupt,
  ({ random, cluster, backups }) => {
    const [generation, secret] = random.pick([...backups, [0, null] as const])
    if (secret && !cluster.secretGenerations().includes(generation))
      cluster.putSecret(generation, secret)
  },
  damage((cluster) => cluster.put(CONFIG_MAPS, JWKS_CONFIG_MAP, null)),
  damage((cluster) => cluster.editConfigMap({ 'jwks.json': '{"keys":[null]}' })),
  damage((cluster) => cluster.editConfigMap({ 'keys.json': '{' })),
]

/** Every manager signs with stale and with fresh caches; only tokens of fresh caches count as issued. */
async function sign({ cluster, managers, signed }: Simulation): Promise<void> {
  for (const manager of managers) {
    for (const isFresh of [false, true]) {
      if (isFresh) manager.sync()
      const expMs = cluster.clock.nowMs() + manager.settings.tokenMaxTtlMs
      const claims = { jti: 'u-1', exp: Math.floor(expMs / 1000) } as TokenClaims
      const made = await manager.keyring.sign(claims)
      if (made) checkPublished(made.kid, manager)
      if (made && isFresh) signed.push({ ...made, expMs })
    }
  }
}

/** A manager signs only with a key that its cache shows as published and not withdrawn. */
function checkPublished(kid: string, { keyring }: Manager): void {
  const { jwks = [], notes = [] } = keyring.published() ?? {}
  expect(jwks.map((jwk) => jwk.kid)).toContain(kid)
  expect(notes.find((note) => note.kid === kid)?.withdrawnMs).toBeNull()
}

/** Invariants of the ConfigMap and the Secrets that hold at any time. */
function checkInvariants({ cluster, withdrawnKids, backups, kidByGeneration }: Simulation): void {
  const nowMs = cluster.clock.nowMs()
  for (const generation of cluster.withdrawnGenerations()) {
    const kid = cluster.kidOf(generation)
    if (!withdrawnKids.has(kid)) withdrawnKids.set(kid, nowMs + 30 * DAY_MS)
  }
  const text = cluster.configMap()?.data?.['jwks.json'] ?? ''
  const secret = ['"d"', '"p"', '"q"', '"dp"', '"dq"', '"qi"', '"k"']
  const out = [...withdrawnKids].filter(([, untilMs]) => nowMs < untilMs).map(([kid]) => kid)
  expect([...secret, ...out].filter((part) => text.includes(part))).toEqual([])
  for (const generation of cluster.publishedGenerations()) {
    const kid = cluster.kidOf(generation)
    expect(kidByGeneration.get(generation) ?? kid).toBe(kid)
    kidByGeneration.set(generation, kid)
  }
  for (const generation of cluster.secretGenerations()) {
    const key = cluster.secrets.get(`platform-signing-key-${generation}`)
    const kid = Buffer.from(key?.data?.['kid'] ?? '', 'base64').toString()
    if (key && kidByGeneration.get(generation) === kid) backups.set(generation, key)
  }
}

/** Invariants that hold once a manager has settled. */
async function checkSettled(simulation: Simulation): Promise<void> {
  const { cluster, managers, signed, withdrawnKids, random } = simulation
  const manager = random.pick(managers)
  await manager.settle()
  checkInvariants(simulation)
  const before = manager.writes.length
  await manager.settle()
  expect(manager.writes.length).toBe(before)
  const text = cluster.configMap()?.data?.['jwks.json'] ?? ''
  expect(text).toContain(manager.keyring.current()?.kid ?? 'none')
  const set = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet)
  const nowMs = cluster.clock.nowMs()
  for (const { token, kid, expMs } of signed) {
    if (expMs > nowMs && !withdrawnKids.has(kid)) await compactVerify(token, set)
  }
}

/** A key that verifiers may not have fetched yet signs only if there is no other. */
function settledKeySigns({ cluster, managers }: Simulation): void {
  const [manager] = managers
  const { notes = [] } = manager?.keyring.published() ?? {}
  const nowMs = cluster.clock.nowMs()
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

test.each(SEEDS)('random operations, seed %i (7.3, 8.6)', async (seed) => {
  const random = randomFrom(seed)
  const cluster = newCluster()
  const simulation: Simulation = {
    random,
    cluster,
    managers: [],
    signed: [],
    withdrawnKids: new Map(),
    backups: new Map(),
    kidByGeneration: new Map(),
  }
  const { managers, signed } = simulation
  for (const algorithm of ['ES256', seed % 20 === 0 ? 'RS256' : 'ES256'] as const)
    managers.push(addManager(simulation, algorithm))
  await managers[0]?.settle()
  for (let turn = 0; turn < 60; turn += 1) {
    await random.pick(actions)(simulation)
    checkInvariants(simulation)
    await sign(simulation)
    if (turn % 5 === 0) {
      await checkSettled(simulation)
    }
    const [first] = managers
    await first?.settle()
    settledKeySigns(simulation)
    checkInvariants(simulation)
  }
  expect(signed.length).toBeGreaterThan(60)
})
