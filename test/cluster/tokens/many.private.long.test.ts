// Two thousand tokens of one access key: their writes, a restart without writes, their common revocation (contract 5.1,
// 5.4, 7.4, 8.6).
import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, REVOKED_TOKENS_PREFIX, TOKENS } from '../../../src/api/names.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { type AuditedWrite, auditOf, countWrites } from '../../support/audit-log.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_ACCOUNT, OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { isIdle, metric, reconciled } from '../../support/metrics-page.ts'
import { createMany } from '../../support/raw-client.ts'
import { repeated } from '../../support/tier.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { type StoredToken, newToken, under } from './token-client.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)
const keys = keyClientOf(plane)
const kubeconfig = await plane.operatorKubeconfig()

/** More than one ConfigMap holds with the same hour of `exp`, and some with another hour (contract 7.4). */
const MANY = repeated(220, 2200)
const OTHERS = repeated(10, 100)
const MOST_ENTRIES = 2000
const CONTROLLER = 'directclusterendpointtoken'
const HOUR = 3600
const IN_TIME = { withinMs: 180_000 }
const A_MINUTE = { withinMs: 60_000 }

const start = (): Promise<OwnOperator> =>
  startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })

const until = (what: string, isReached: () => Promise<boolean>, bound = IN_TIME) =>
  eventually(what, async () => (await isReached()) || undefined, bound)

async function list<Item>(path: string): Promise<readonly Item[]> {
  const { code, body } = await plane.raw<{ readonly items: readonly Item[] }>('GET', path)
  expect(code).toBe(200)
  return body.items
}

async function records(): Promise<readonly ConfigMap[]> {
  const all = await list<ConfigMap>(pathOf(CONFIG_MAPS, { namespace: OPERATOR_ACCOUNT.namespace }))
  return all.filter(({ metadata }) => metadata.name.startsWith(REVOKED_TOKENS_PREFIX))
}

const recorded = async (): Promise<Readonly<Record<string, string>>> =>
  Object.assign({}, ...(await records()).map(({ data }) => data))

const inState = async (operator: OwnOperator, state: string): Promise<boolean> =>
  (await metric(operator, 'platform_tokens', `state="${state}"`)) === MANY &&
  (await isIdle(operator, CONTROLLER))

/** The most writes received within one second. */
function mostInASecond(writes: readonly AuditedWrite[]): number {
  const times = writes.map(({ at }) => Date.parse(at)).toSorted((a, b) => a - b)
  return Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length),
  )
}

describe('two thousand tokens of one key', () => {
  let tokens: readonly StoredToken[]
  let ends: Readonly<Record<string, string>>

  test('get one apply and one status write each (5.1, 8.6)', async () => {
    const key = await keys.create({ user: 'ada' }, { name: 'fleet' })
    const mark = await audit.mark()
    await using operator = await start()
    const ttlOf = (index: number) => ({ ttl: index < OTHERS ? 12 * HOUR : 20 * HOUR })
    const wanted = Array.from({ length: MANY }, (_, index) => newToken(ttlOf(index), under(key)))
    await createMany(plane, TOKENS, wanted)
    await until('every token is issued', () => inState(operator, 'issued'))
    tokens = await list<StoredToken>(pathOf(TOKENS, {}))
    ends = Object.fromEntries(
      tokens.map(({ metadata, status }) => [metadata.uid, status.expirationTimestamp ?? '']),
    )
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    const toTokens = writes.filter(({ resource }) => resource === TOKENS.plural)
    expect(countWrites(toTokens)).toEqual({ 'patch  200': MANY, 'patch status 200': MANY })
    expect(new Set(tokens.map(({ status }) => status.token)).size).toBe(MANY)
  })

  test('get no write at a restart (8.6)', async () => {
    const mark = await audit.mark()
    await using operator = await start()
    const isReconciled = async () =>
      (await reconciled(operator, CONTROLLER)) >= MANY && inState(operator, 'issued')
    await until('every token is reconciled', isReconciled)
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    expect(writes).toEqual([])
  })

  test('are recorded in batches and revoked within a minute after one patch of the key (5.4, 7.4)', async () => {
    await using operator = await start()
    await until('every token is in the store', () => inState(operator, 'issued'))
    const mark = await audit.mark()
    await keys.patch('fleet', { spec: { disabled: true } })
    await until('every token is revoked', () => inState(operator, 'revoked'), A_MINUTE)

    expect(await recorded()).toEqual(ends)
    const sizes = (await records()).map(({ data = {} }) => Object.keys(data).length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MOST_ENTRIES)
    expect((await list<StoredToken>(pathOf(TOKENS, {}))).filter(holdsToken)).toEqual([])

    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    const toTokens = writes.filter(({ resource }) => resource === TOKENS.plural)
    expect(countWrites(toTokens)).toEqual({ 'patch status 200': MANY })
    const toRecords = writes.filter(({ resource }) => resource === CONFIG_MAPS.plural)
    // Without batches there would be one write per token.
    expect(toRecords.length).toBeLessThan(MANY / 10)
    expect(mostInASecond(toRecords)).toBeLessThanOrEqual(4)
  })

  test('are deleted with their key without further records (5.1)', async () => {
    await using operator = await start()
    await until('every token is in the store', () => inState(operator, 'revoked'))
    const mark = await audit.mark()
    await keys.remove('fleet')
    const isEmpty = async () => (await list(pathOf(TOKENS, {}))).length === 0
    await until('every token is deleted', isEmpty)
    await keys.gone('fleet')
    expect(await recorded()).toEqual(ends)
    // No object is patched after the removal of its finalizer, which would give a 404.
    const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
    const patches = writes.filter(({ verb }) => verb === 'patch')
    expect(new Set(patches.map(({ code }) => code))).toEqual(new Set([200]))
  })
})

const holdsToken = ({ status }: StoredToken): boolean => Boolean(status.token)
