import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type AppGrant,
  createSecretStore,
  grantIn,
  grantSecret,
} from '../../../../src/signin/apps/grants.ts'
import { sweepGrants } from '../../../../src/signin/apps/sweep.ts'
import { refused } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'

const NAMESPACE = 'platform-sign-in'
const START_MS = Date.UTC(2026, 10, 21)
const NAME = `oidc-${'a'.repeat(26)}`
const CHAIN = { key: 'k', current: 'c', previous: null, rotatedMs: 0 }

const grantOf = (differs: Partial<AppGrant> = {}): AppGrant => ({
  name: NAME,
  clientId: 'app',
  user: 'ada',
  userUid: 'uid-ada',
  scopes: ['openid'],
  authMs: START_MS,
  session: `login-${'a'.repeat(26)}`,
  madeMs: START_MS,
  chain: null,
  isEnded: false,
  ...differs,
})

function sweeper(grant: AppGrant, owners: readonly object[] = []) {
  const cluster = new MemoryCluster()
  const clock = manualClock(START_MS)
  const { log, lines } = memoryLog()
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const secrets = createSecretStore()
  cluster.feed('Secret', secrets)
  const secret = grantSecret(grant, NAMESPACE)
  const metadata = { ...secret.metadata, ownerReferences: owners }
  cluster.put({ ...secret, metadata } as never)
  cluster.put({ kind: 'OwnedAccessKey', metadata: { name: grant.name } } as never)
  void sweepGrants({ client: cluster.client, secrets, clock, log, signal: stop.signal })
  const left = () => [cluster.object('Secret', NAME), cluster.object('OwnedAccessKey', NAME)]
  return { cluster, clock, lines, left }
}

describe('grants that are cleared away (26.3)', () => {
  it.each([
    ['after half an hour', grantOf(), [], 1_800_000, false, true],
    ['not before', grantOf(), [], 1_740_000, true, true],
    ['not while a key owns them', grantOf({ chain: CHAIN }), [{ uid: 'k' }], 9_000_000, true, true],
    ['with a key that was not recorded', grantOf({ chain: CHAIN }), [], 1_800_000, false, false],
    ['when they were ended', grantOf({ isEnded: true }), [], 1_800_000, false, true],
  ])('%s', async (_, grant, owners, afterMs, hasSecret, hasKey) => {
    const { clock, left } = sweeper(grant, owners)
    await clock.advance(afterMs)
    expect(left().map((one) => one !== undefined)).toEqual([hasSecret, hasKey])
  })

  it('are tried again in the next round', async () => {
    const { cluster, clock, left, lines } = sweeper(grantOf())
    cluster.before = () => {
      throw refused(503, 'ServiceUnavailable')
    }
    await clock.advance(1_800_000)
    expect(lines.at(-1)).toMatchObject({ level: 'warn', fields: { grant: NAME } })
    cluster.before = () => undefined
    await clock.advance(60_000)
    expect(left()[0]).toBeUndefined()
  })
})

describe('a grant in a Secret (26.3)', () => {
  const secretOf = (differs: object) =>
    ({ ...grantSecret(grantOf(), NAMESPACE), ...differs }) as never
  const data = (value: unknown) => ({
    data: { grant: Buffer.from(JSON.stringify(value)).toString('base64') },
  })

  it('is read as it was written', () => {
    expect(grantIn(secretOf({}))).toEqual(grantOf())
    const offline = grantSecret(grantOf({ chain: CHAIN }), NAMESPACE)
    expect(grantIn(offline as never)?.chain).toEqual(CHAIN)
  })

  it.each([
    ['of another type', { type: 'Opaque' }],
    ['of another name', { metadata: { name: 'oidc-a' } }],
    ['of no data', { data: {} }],
    ['of other data', data({ clientId: 'app' })],
    ['of no JSON', { data: { grant: 'e30' } }],
  ])('is none %s', (_, differs) => {
    expect(grantIn(secretOf(differs))).toBeNull()
  })

  it('that does not say it goes on has ended', () => {
    const { name: _, isEnded: __, ...fields } = grantOf()
    expect(grantIn(secretOf(data({ ...fields, scopes: 'openid' })))?.isEnded).toBe(true)
  })
})
