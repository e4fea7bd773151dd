/** @module-tag no-retry */
// When a stock API server stops accepting a token: at its expiry, after deny-revoked.sh, and after the break-glass
// removes the issuer from the authentication file.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { adaptedAuthentication } from '../../tools/run/connected-cluster.ts'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { startStockServer } from '../support/stock-api-server.ts'
import { DENY_REVOKED, shippedFile } from './authentication-file.ts'
import { claimsIn, forge } from './forged-tokens.ts'
import { startListServer, revocationList } from './issuer-servers.ts'
import { isAuthenticationConfigInForce, timeUntilServer } from './authentication-file.ts'
import { startTokenPlatform } from './token-platform.ts'

const exec = promisify(execFile)
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const LATER = '2099-11-21T11:00:00Z'

const platform = await startTokenPlatform()
const { issuer } = platform
const key = await platform.signingKey(1)
const issued = claimsIn(await platform.issueToken())
const folder = mkdtempSync(join(tmpdir(), 'revocation-'))
afterAll(() => rmSync(folder, { recursive: true }))
const plain = adaptedAuthentication(shippedFile('authentication'), {
  issuer,
  cluster: 'berlin',
  caPem: platform.caPem,
})
/** Just below the default of --max-tokens. */
const OTHER_REVOKED = 19_990
const server = await startStockServer(await withRevokedTokens(plain, OTHER_REVOKED))
await timeUntilServer('the server accepts its first token', server, 'accepted', fresh)
const bystander = await platform.issueToken()

/** A token that is not in the cache of the server. */
function fresh(): string {
  return forge(key, { ...issued, jti: randomUUID() })
}

describe.concurrent('a stock API server', () => {
  test('refuses an expired token at once, or after 10 s if it has cached it (7.2)', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3
    const ending = (): string => forge(key, { ...issued, exp, jti: randomUUID() })
    const cached = ending()
    const [cachedMs] = await Promise.all([
      timeUntilServer('the expiry of a cached token', server, 'refused', () => cached),
      hasPassed(exp * 1000).then(async () => expect(await server.whoIs(ending())).toBeNull()),
    ])
    expect(cachedMs).toBeLessThan(30_000)
  })

  test('refuses a revoked token after a run of deny-revoked.sh, not before (7.2, 7.4)', async () => {
    const [revoked, next] = [await platform.issueToken(), await platform.issueToken()]
    await grantReadAccess()
    const watch = await server.watch(CONFIG_MAPS, revoked)
    await platform.revoke(revoked)
    await staysTrue(
      'the revoked token is accepted before deny-revoked.sh runs',
      async () => expect(await server.whoIs(revoked)).not.toBeNull(),
      { forMs: 2000 },
    )

    expect(await denyRevoked()).toContain(`${OTHER_REVOKED + 1} tokens denied, 1 of them new`)
    expect(await denyRevoked()).toContain('nothing new')
    await platform.revoke(next)
    expect(await denyRevoked()).toContain(`${OTHER_REVOKED + 2} tokens denied, 1 of them new`)
    const [firstMs, nextMs] = await Promise.all([
      timeUntilServer('a revoked token that is cached', server, 'refused', () => revoked),
      timeUntilServer(
        'a token revoked while the server reloads the file',
        server,
        'refused',
        () => next,
      ),
    ])
    expect(firstMs).toBeLessThan(40_000)
    expect(nextMs).toBeLessThan(50_000)
    expect(await server.whoIs(bystander)).not.toBeNull()

    expect(await server.get(CONFIG_MAPS, revoked)).toBe(401)
    await server.kubectl(['create', 'configmap', 'after-the-refusal'])
    await eventuallyPasses(
      'the open watch continues',
      () => expect(watch.received).toContain('"name":"after-the-refusal"'),
      { withinMs: 10_000 },
    )
    expect(watch.hasEnded).toBe(false)
    expect(await isAuthenticationConfigInForce(server)).toBe(true)
  })
})

test('a changed authentication file takes effect only when the issuer is reachable (7.2)', async () => {
  const jti = randomUUID()
  const denied = forge(key, { ...issued, jti })
  await platform.stopIssuer()
  const edited = plain.replace('id in []', `id in ['JTI=${jti}']`)
  await server.configure(edited.replaceAll("'platform:' + ", ''))
  await staysTrue(
    'the previous file is in effect',
    async () => expect(await server.whoIs(denied)).not.toBeNull(),
    { forMs: 12_000 },
  )
  await platform.startIssuer()
  await timeUntilServer(
    'a token denied in the file, after the return of the issuer',
    server,
    'refused',
    () => denied,
  )
})

test('a token with a system: user or group is refused without the prefix (7.2)', async () => {
  expect((await server.whoIs(fresh()))?.username).toBe('user:ada')
  for (const different of [{ sub: 'system:admin' }, { groups: ['dev', 'system:masters'] }]) {
    const token = forge(key, { ...issued, jti: randomUUID(), ...different })
    expect(await server.whoIs(token)).toBeNull()
  }
})

test('removing the issuer from the file refuses all its tokens while the issuer is down (7.2)', async () => {
  await platform.stopIssuer()
  const used = fresh()
  expect(await server.whoIs(used)).not.toBeNull()
  await server.configure(`${plain.slice(0, plain.indexOf('jwt:'))}jwt: []\n`)
  const [unseen, inUse] = await Promise.all([
    timeUntilServer('break-glass: new tokens', server, 'refused', fresh),
    timeUntilServer('break-glass: a cached token', server, 'refused', () => used),
  ])
  // The server watches the file: it does not wait for its check once a minute.
  expect(unseen).toBeLessThan(20_000)
  expect(inUse).toBeLessThan(30_000)
  expect((await server.kubectl(['get', 'namespaces'])).code).toBe(0)
})

/** Waits until a time in epoch milliseconds has passed. */
async function hasPassed(atMs: number): Promise<void> {
  await eventually('the time has passed', () => Date.now() > atMs || undefined, {
    withinMs: 10_000,
  })
}

/** An authentication file that denies `count` random tokens. */
async function withRevokedTokens(text: string, count: number): Promise<string> {
  const tokens = Array.from({ length: count }, () => [randomUUID(), LATER] as const)
  const list = await startListServer(() => revocationList(Object.fromEntries(tokens)))
  const file = join(folder, 'authentication.yaml')
  writeFileSync(file, text)
  await runScript(list.issuer, list.caPem, file)
  return readFileSync(file, 'utf8')
}

function denyRevoked(): Promise<string> {
  return runScript(issuer, platform.caPem, server.authenticationFile)
}

async function runScript(from: string, caPem: string, file: string): Promise<string> {
  const caFile = join(folder, 'ca.crt')
  writeFileSync(caFile, caPem)
  const args = ['--issuer', from, '--file', file, '--ca-file', caFile]
  return (await exec(DENY_REVOKED, args)).stdout
}

async function grantReadAccess(): Promise<void> {
  const binding = ['reader', '--clusterrole=reader', '--group=platform:authenticated']
  await server.kubectl([
    'create',
    'clusterrole',
    'reader',
    '--verb=get,list,watch',
    '--resource=configmaps',
  ])
  await server.kubectl(['create', 'clusterrolebinding', ...binding])
  await eventuallyPasses(
    'the ClusterRoleBinding is in effect',
    async () => expect(await server.get(CONFIG_MAPS, bystander)).toBe(200),
    { withinMs: 10_000 },
  )
}
