// How a stock API server authenticates tokens with the shipped authentication file: the user it sees, and the tokens
// it refuses.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { adaptedAuthentication } from '../../tools/run/connected-cluster.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { startStockServer } from '../support/stock-api-server.ts'
import { inWhole } from '../support/tier.ts'
import { shippedFile } from './authentication-file.ts'
import {
  HOSTILE_NAMES,
  type Members,
  badClaims,
  badSignatures,
  claimsIn,
  es256,
  forge,
} from './forged-tokens.ts'
import { startTokenPlatform } from './token-platform.ts'

const WITHIN_A_MINUTE = { withinMs: 60_000 }
const DAY = 86_400

const platform = await startTokenPlatform()
const { issuer } = platform
const cluster = 'berlin'
const adaptation = { issuer, cluster, caPem: platform.caPem }
const server = await startStockServer(
  adaptedAuthentication(shippedFile('authentication'), adaptation),
)
const key = await platform.signingKey(1)
const issued = claimsIn(await platform.issueToken())
const own = issued['platform.sh'] as Members
const ownGroups = (issued['groups'] as readonly string[]).map((group) => `platform:${group}`)
const now = Math.floor(Date.now() / 1000)

await eventually(
  'the server has fetched the public keys',
  async () => (await server.whoIs(forge(key, issued))) ?? undefined,
  WITHIN_A_MINUTE,
)

/** The claims of a new token, issued a minute ago, with some claims replaced. */
function claims(different: Members = {}): Members {
  const times = { iat: now - 60, nbf: now - 60, exp: now + 3600 }
  return { ...issued, ...times, jti: randomUUID(), ...different }
}

describe('an issued token', () => {
  test('authenticates with user name, groups, uid and extra (7.1)', async () => {
    const token = await platform.issueToken()
    const { jti, 'platform.sh': platformClaim } = claimsIn(token)
    expect(await server.whoIs(token)).toEqual({
      username: 'platform:user:ada',
      uid: (platformClaim as Members)['uid'],
      groups: [
        'platform:authenticated',
        'platform:user:ada',
        'platform:group:dev',
        'system:authenticated',
      ],
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${String(jti)}`],
        'platform.sh/name': ['ci'],
        'platform.sh/scope': ['*'],
        'platform.sh/token-id': [jti],
      },
    })
  })

  test('works as the only credential of a kubeconfig (7.2)', async () => {
    const kubeconfig = await server.tokenKubeconfig('ada', await platform.issueToken())
    const { stdout } = await server.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig })
    expect(JSON.parse(stdout)).toMatchObject({
      status: { userInfo: { username: 'platform:user:ada' } },
    })
  })

  test.each(['group:dev', 'user:ada', 'authenticated'])(
    'is authorized by a RoleBinding for group platform:%s, in its namespace only (7.1, 7.2)',
    async (group) => {
      const namespace = `for-${group.replace(':', '-')}`
      const inside = `--namespace=${namespace}`
      const token = await platform.issueToken()
      const path = `/api/v1/namespaces/${namespace}/configmaps`
      await created('namespace', namespace)
      await created('role', 'reader', inside, '--verb=list', '--resource=configmaps')
      expect(await server.get(path, token)).toBe(403)
      await created('rolebinding', 'reader', inside, '--role=reader', `--group=platform:${group}`)
      await eventuallyPasses(
        'the RoleBinding is in effect',
        async () => expect(await server.get(path, token)).toBe(200),
        WITHIN_A_MINUTE,
      )
      const elsewhere = await server.get('/api/v1/namespaces/default/configmaps', token)
      expect(elsewhere).toBe(403)
    },
  )

  async function created(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await server.kubectl(['create', ...args])
    if (code !== 0) throw new Error(`kubectl create ${args.join(' ')}: ${stderr}`)
  }
})

describe('the server accepts a token', () => {
  const [berlin, paris] = [cluster, 'paris'].map((name) => `${issuer}/clusters/${name}`)
  test.each<{ name: string; different?: Members; header?: Members }>([
    { name: 'for every cluster', different: { aud: [issuer] } },
    { name: 'for this cluster', different: { aud: [berlin] } },
    { name: 'for this cluster among others', different: { aud: [paris, berlin] } },
    { name: 'with the longest lifetime', different: { iat: now, nbf: now, exp: now + DAY } },
    { name: 'without groups', different: { groups: undefined } },
    // The server then tries every published key.
    { name: 'without kid', header: { kid: undefined } },
  ])('$name (7.1, 7.2)', async ({ different, header = {} }) => {
    const token = forge(key, claims(different), { header })
    expect(await server.whoIs(token)).toMatchObject({ username: 'platform:user:ada' })
  })
})

test.each([
  { name: '50 s ahead is accepted', aheadSeconds: 50, isAccepted: true },
  { name: '70 s ahead is refused', aheadSeconds: 70, isAccepted: false },
])('a token issued by a clock $name (7.2)', async ({ aheadSeconds, isAccepted }) => {
  const start = Math.floor(Date.now() / 1000) + aheadSeconds
  const token = forge(key, claims({ iat: start, nbf: start }))
  expect((await server.whoIs(token)) !== null).toBe(isAccepted)
})

describe('the server refuses', () => {
  test.each(badClaims(issuer, cluster, now, own))(
    'a token with bad claims: $name (7.1, 7.2)',
    async (bad) => {
      expect(await server.whoIs(forge(key, claims(bad.claims)))).toBeNull()
    },
  )

  test.each(badSignatures(key, claims()))(
    'a token with a bad signature: $name (7.1, 7.2)',
    async ({ token }) => {
      expect(await server.whoIs(token)).toBeNull()
    },
  )

  test('tokens with unknown kids, without a fetch of keys within their max-age (7.2)', async () => {
    const before = await platform.fetchCount()
    for (let count = 0; count < 50; count += 1) {
      const unknown = { ...key, kid: randomUUID() }
      expect(await server.whoIs(forge(unknown, claims()))).toBeNull()
    }
    expect(await platform.fetchCount()).toBe(before)
  })

  test('a ServiceAccount token of the management cluster (7.2)', async () => {
    expect(await server.whoIs(await platform.serviceAccountToken())).toBeNull()
  })
})

describe('a hostile claim authenticates as exactly the prefixed user, or is refused', () => {
  const ada = { username: 'platform:user:ada', groups: [...ownGroups, 'system:authenticated'] }

  test.each([...HOSTILE_NAMES, `user:${'x'.repeat(2000)}`])('sub %j (7.1)', async (name) => {
    const exact = { ...ada, username: `platform:${wellFormed(name)}` }
    expect([null, exact]).toContainEqual(await namesOf(forge(key, claims({ sub: name }))))
  })

  test.each(HOSTILE_NAMES)('group %j (7.1)', async (name) => {
    const exact = { ...ada, groups: [`platform:${wellFormed(name)}`, 'system:authenticated'] }
    expect([null, exact]).toContainEqual(await namesOf(forge(key, claims({ groups: [name] }))))
  })

  test.each([
    { name: '__proto__', member: { sub: 'user:eve', groups: ['system:masters'] } },
    { name: 'constructor', member: { prototype: { sub: 'user:eve' } } },
  ])('a claim named $name is ignored (7.1)', async ({ name, member }) => {
    const text = `{${JSON.stringify(name)}:${JSON.stringify(member)},${JSON.stringify(claims()).slice(1)}`
    expect(await namesOf(signed(text))).toEqual(ada)
  })

  test.each(['sub', 'groups', 'aud', 'exp', 'token_use'])(
    'a token with a duplicate claim %s is refused, or its last value is used (7.1)',
    async (member) => {
      const first = `{${JSON.stringify(member)}:["user:eve"],`
      const token = signed(`${first}${JSON.stringify(claims()).slice(1)}`)
      expect([null, ada]).toContainEqual(await namesOf(token))
    },
  )

  /** A lone surrogate arrives as U+FFFD. */
  function wellFormed(name: string): string {
    return name.toWellFormed()
  }

  async function namesOf(token: string): Promise<object | null> {
    const who = await server.whoIs(token)
    return who && { username: who.username, groups: who.groups }
  }

  function signed(payload: string): string {
    const [header = ''] = forge(key, {}).split('.')
    const text = `${header}.${Buffer.from(payload).toString('base64url')}`
    return `${text}.${es256(key)(text)}`
  }
})

// Not in the quick tier: the server looks for a changed file every ten seconds.
test.each(
  inWhole(
    'the file for servers with an authorization webhook accepts scoped tokens too (7.1, 7.2)',
  ),
)('%s', async () => {
  const userFor = (aud: string) => server.whoIs(forge(key, claims({ aud: [`${issuer}${aud}`] })))
  expect(await userFor('/scoped')).toBeNull()
  await server.configure(
    adaptedAuthentication(shippedFile('authentication-with-webhook'), adaptation),
  )
  await eventually(
    'the changed file is in effect',
    async () => (await userFor('/scoped')) ?? undefined,
    WITHIN_A_MINUTE,
  )
  const scoped = await Promise.all(['', '/clusters/berlin', '/scoped/clusters/berlin'].map(userFor))
  expect(scoped).not.toContain(null)
  const others = await Promise.all(['/clusters/paris', '/scoped/clusters/paris'].map(userFor))
  expect(others).toEqual([null, null])
})
