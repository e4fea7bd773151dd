/** @module-tag no-retry */
// What ends a token at a stock server, and when: its end, the list of revoked tokens, the break-glass.
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
import { DENY_REVOKED, shipped } from './deny-revoked-script.ts'
import { claimsIn, forge } from './forged-tokens.ts'
import { listServer, revokedTokens } from './list-server.ts'
import { isAuthenticationConfigInForce, timeUntilServer } from './revocation-timing.ts'
import { startTokenPlatform } from './token-platform.ts'

const exec = promisify(execFile)
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const LATER = '2099-11-21T11:00:00Z'

const platform = await startTokenPlatform()
const { issuer } = platform
const key = await platform.signingKey(1)
const issued = claimsIn(await platform.token())
const folder = mkdtempSync(join(tmpdir(), 'revocation-'))
afterAll(() => rmSync(folder, { recursive: true }))
const plain = adaptedAuthentication(shipped('authentication'), {
  issuer,
  cluster: 'berlin',
  caPem: platform.caPem,
})
/** Nearly as many as deny-revoked.sh takes unless it is told otherwise. */
const OTHERS = 19_990
const server = await startStockServer(await withOthers(plain, OTHERS))
await timeUntilServer('a server finds its issuer', server, 'accepted', fresh)
const bystander = await platform.token()

/** A token that the server has never seen. */
function fresh(): string {
  return forge(key, { ...issued, jti: randomUUID() })
}

describe.concurrent('in the course of time', () => {
  test('an expired token is refused at once, one in use at most 10 s later (7.2)', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3
    const ending = (): string => forge(key, { ...issued, exp, jti: randomUUID() })
    const used = ending()
    const [inUse] = await Promise.all([
      timeUntilServer('the end of a token in use', server, 'refused', () => used),
      hasPassed(exp * 1000).then(async () => expect(await server.whoIs(ending())).toBeNull()),
    ])
    expect(inUse).toBeLessThan(30_000)
  })

  test('a revoked token is refused once deny-revoked.sh ran, not before (7.2, 7.4)', async () => {
    const [revoked, next] = [await platform.token(), await platform.token()]
    await mayRead()
    const watch = await server.watch(CONFIG_MAPS, revoked)
    await platform.revoke(revoked)
    await staysTrue(
      'the server knows nothing of the list',
      async () => expect(await server.whoIs(revoked)).not.toBeNull(),
      { forMs: 2000 },
    )

    expect(await denyRevoked()).toContain(`${OTHERS + 1} tokens denied, 1 of them new`)
    expect(await denyRevoked()).toContain('nothing new')
    await platform.revoke(next)
    expect(await denyRevoked()).toContain(`${OTHERS + 2} tokens denied, 1 of them new`)
    const [firstMs, nextMs] = await Promise.all([
      timeUntilServer('a revoked token in use', server, 'refused', () => revoked),
      timeUntilServer(
        'one revoked while the server reads the file anew',
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
      'a watch that was open goes on',
      () => expect(watch.received).toContain('"name":"after-the-refusal"'),
      { withinMs: 10_000 },
    )
    expect(watch.hasEnded).toBe(false)
    expect(await isAuthenticationConfigInForce(server)).toBe(true)
  })
})

test('a change counts only when the issuer is there (7.2)', async () => {
  const jti = randomUUID()
  const denied = forge(key, { ...issued, jti })
  await platform.stopIssuer()
  const byHand = plain.replace('id in []', `id in ['JTI=${jti}']`)
  await server.configure(byHand.replaceAll("'platform:' + ", ''))
  await staysTrue(
    'the file before is in force',
    async () => expect(await server.whoIs(denied)).not.toBeNull(),
    { forMs: 12_000 },
  )
  await platform.startIssuer()
  await timeUntilServer(
    'a token denied by hand, after the issuer came back',
    server,
    'refused',
    () => denied,
  )
})

test('even without the prefix, as in that file, nobody is of system (7.2)', async () => {
  expect((await server.whoIs(fresh()))?.username).toBe('user:ada')
  for (const different of [{ sub: 'system:admin' }, { groups: ['dev', 'system:masters'] }]) {
    const token = forge(key, { ...issued, jti: randomUUID(), ...different })
    expect(await server.whoIs(token)).toBeNull()
  }
})

test('the break-glass needs no issuer: out of the file, out of the server (7.2)', async () => {
  await platform.stopIssuer()
  const used = fresh()
  expect(await server.whoIs(used)).not.toBeNull()
  await server.configure(`${plain.slice(0, plain.indexOf('jwt:'))}jwt: []\n`)
  const [unseen, inUse] = await Promise.all([
    timeUntilServer('break-glass: tokens used once', server, 'refused', fresh),
    timeUntilServer('break-glass: a token in use', server, 'refused', () => used),
  ])
  // Not only when the server looks at the file by itself, once a minute.
  expect(unseen).toBeLessThan(20_000)
  expect(inUse).toBeLessThan(30_000)
  expect((await server.kubectl(['get', 'namespaces'])).code).toBe(0)
})

/** Waits until that moment is over, epoch milliseconds. */
async function hasPassed(atMs: number): Promise<void> {
  await eventually('the moment is over', () => Date.now() > atMs || undefined, { withinMs: 10_000 })
}

/** The file after a run with a list of so many other tokens. */
async function withOthers(text: string, count: number): Promise<string> {
  const others = Array.from({ length: count }, () => [randomUUID(), LATER] as const)
  const list = await listServer(() => revokedTokens(Object.fromEntries(others)))
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

async function mayRead(): Promise<void> {
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
    'the binding counts',
    async () => expect(await server.get(CONFIG_MAPS, bystander)).toBe(200),
    { withinMs: 10_000 },
  )
}
