// How a stock API server follows the signing keys of its issuer. It fetches the JWKS for an unknown kid, but not within
// max-age - 30 s of the last fetch. The gateway sends a max-age of 300; here a proxy sends 33, so that 3 s are enough.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { adaptedAuthentication } from '../../tools/run/connected-cluster.ts'
import { shellBlocksOf } from '../support/documentation-blocks.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { startStockServer } from '../support/stock-api-server.ts'
import { DENY_REVOKED, shippedFile } from './authentication-file.ts'
import { type SigningKey, claimsIn, forge } from './forged-tokens.ts'
import { startCachingProxy } from './issuer-servers.ts'
import { isAuthenticationConfigInForce, timeUntilServer } from './authentication-file.ts'
import { startTokenPlatform } from './token-platform.ts'

const NO_FETCH_FOR_MS = 3000

const platform = await startTokenPlatform(await startCachingProxy(30 + NO_FETCH_FOR_MS / 1000))
const issued = claimsIn(await platform.issueToken())
const { issuer, caPem } = platform
const file = adaptedAuthentication(shippedFile('authentication'), {
  issuer,
  cluster: 'berlin',
  caPem,
})
const first = await platform.signingKey(1)
await platform.stopIssuer()
const server = await startStockServer(file)

/** A new token, which is not in the cache of the server. */
function fresh(key: SigningKey): string {
  return forge(key, { ...issued, jti: randomUUID() })
}

/** A token with a kid that is not in the JWKS. */
function withUnknownKid(): string {
  return fresh({ ...first, kid: randomUUID() })
}

test('a server that starts before the issuer accepts tokens once the issuer is up (7.2)', async () => {
  expect((await server.kubectl(['get', 'namespaces'])).code).toBe(0)
  expect(await server.whoIs(fresh(first))).toBeNull()
  await platform.startIssuer()
  await timeUntilServer('the server accepts its first token', server, 'accepted', () =>
    fresh(first),
  )
})

test('tokens of the old and the new key are accepted after a rotation, with one fetch (7.2, 7.3)', async () => {
  await platform.rotate()
  const second = await platform.signingKey(2)
  const before = await platform.fetchCount()
  const tookMs = await timeUntilServer('a token of a new key', server, 'accepted', () =>
    fresh(second),
  )
  expect(tookMs).toBeLessThan(NO_FETCH_FOR_MS + 10_000)
  for (const key of [first, second, first, second]) {
    expect(await server.whoIs(fresh(key))).not.toBeNull()
  }
  expect(await platform.fetchCount()).toBe(before + 1)
})

test('a flood of unknown kids causes one fetch per max-age - 30 s (7.2)', async () => {
  const before = await platform.fetchCount()
  const startMs = performance.now()
  await eventually(
    'the server fetches the JWKS',
    async () => {
      expect(await server.whoIs(withUnknownKid())).toBeNull()
      return (await platform.fetchCount()) > before || undefined
    },
    { withinMs: 60_000 },
  )
  for (let more = 0; more < 100; more += 1) expect(await server.whoIs(withUnknownKid())).toBeNull()
  const longestMs = performance.now() - startMs
  expect((await platform.fetchCount()) - before).toBeLessThanOrEqual(
    1 + longestMs / NO_FETCH_FOR_MS,
  )
})

test('a withdrawn key is accepted until a token with an unknown kid triggers a fetch (7.2, 7.3)', async () => {
  const cached = fresh(first)
  expect(await server.whoIs(cached)).not.toBeNull()
  await platform.withdraw(first.kid)
  await staysAccepted(first)
  expect(await server.whoIs(cached)).not.toBeNull()
  expect(await server.whoIs(withUnknownKid())).toBeNull()
  expect(await server.whoIs(fresh(first))).toBeNull()
  await timeUntilServer('a cached token of a withdrawn key', server, 'refused', () => cached)
  expect(await server.whoIs(fresh(await platform.signingKey(2)))).not.toBeNull()
})

test('a withdrawn key is accepted until the server reloads the authentication file (7.2, 7.3)', async () => {
  const second = await platform.signingKey(2)
  await platform.rotate()
  const third = await platform.signingKey(3)
  await timeUntilServer('a token of the next key', server, 'accepted', () => fresh(third))
  await platform.withdraw(second.kid)
  await staysAccepted(second)
  await server.configure(`${file}# changed\n`)
  await timeUntilServer('a withdrawn key, after a reload', server, 'refused', () => fresh(second))
  expect(await server.whoIs(fresh(third))).not.toBeNull()
})

test('the withdrawal of a key without tokens reaches the server only by deny-revoked.sh --reload, as docs/leaks.md says (7.2, 7.3)', async () => {
  expect(await denyRevoked(scheduledCommand())).toContain('of them new')
  const isInForce = async () => (await isAuthenticationConfigInForce(server)) || undefined
  await eventually('the written file is in effect', isInForce, { withinMs: 60_000 })
  await platform.rotate()
  const unused = await platform.signingKey(4)
  await timeUntilServer('a token of an unused key', server, 'accepted', () => fresh(unused))
  await platform.withdraw(unused.kid)
  const before = readFileSync(server.authenticationFile, 'utf8')
  expect(await denyRevoked(scheduledCommand())).toContain('nothing new')
  expect(readFileSync(server.authenticationFile, 'utf8')).toBe(before)
  await staysAccepted(unused)
  expect(await denyRevoked(reloadCommand())).toContain('reloaded')
  await timeUntilServer('a withdrawn unused key, after --reload', server, 'refused', () =>
    fresh(unused),
  )
  expect(await server.whoIs(fresh(await platform.signingKey(3)))).not.toBeNull()
})

/** The command of the systemd service in docs/direct-api-server.md. */
function scheduledCommand(): string {
  const [, command = ''] = /^ExecStart=([^]*?[^\\])\n/m.exec(page('direct-api-server')) ?? []
  return command
}

/** The command after a withdrawal in docs/leaks.md. */
function reloadCommand(): string {
  const [command = ''] = shellBlocksOf(page('leaks'))
  return command
}

function page(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../docs', `${name}.md`), 'utf8')
}

/** Runs a command of the docs with the paths and issuer of this test; returns its standard output. */
async function denyRevoked(command: string): Promise<string> {
  const caFile = join(dirname(server.authenticationFile), 'ca.crt')
  writeFileSync(caFile, caPem)
  const replacements = [
    ['/etc/kubernetes/authentication/deny-revoked.sh', DENY_REVOKED],
    ['https://platform.example.com/oidc', issuer],
    ['/etc/kubernetes/authentication/issuer-ca.crt', caFile],
    ['/etc/kubernetes/authentication/authentication.yaml', server.authenticationFile],
  ] as const
  const adapted = replacements.reduce((text, [documented, actual]) => {
    if (!text.includes(documented)) throw new Error(`${documented} is not in: ${command}`)
    return text.replaceAll(documented, actual)
  }, command)
  return (await promisify(execFile)('bash', ['-euc', adapted])).stdout
}

/** For longer than the server may not fetch; with fresh tokens, so that none is cached. */
async function staysAccepted(key: SigningKey): Promise<void> {
  await staysTrue(
    'the withdrawn key is accepted',
    async () => expect(await server.whoIs(fresh(key))).not.toBeNull(),
    { forMs: NO_FETCH_FOR_MS + 1000 },
  )
}
