// A stock server and the keys of its issuer, in the order in which they come and go. A server fetches
// keys for a kid that it does not know, but not within max-age - 30 s of the last time. The gateway says
// 300; here something in front of it says 33, so that 3 s are enough.
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
import { DENY_REVOKED, shipped } from './deny-revoked-script.ts'
import { type SigningKey, claimsIn, forge } from './forged-tokens.ts'
import { startPassThroughServer } from './pass-through-server.ts'
import { isAuthenticationConfigInForce, timeUntilServer } from './revocation-timing.ts'
import { startTokenPlatform } from './token-platform.ts'

const NO_FETCH_FOR_MS = 3000

const platform = await startTokenPlatform(await startPassThroughServer(30 + NO_FETCH_FOR_MS / 1000))
const issued = claimsIn(await platform.token())
const { issuer, caPem } = platform
const file = adaptedAuthentication(shipped('authentication'), { issuer, cluster: 'berlin', caPem })
const first = await platform.signingKey(1)
await platform.stopIssuer()
const server = await startStockServer(file)

/** A token that the server has never seen, as if issued now. */
function fresh(key: SigningKey): string {
  return forge(key, { ...issued, jti: randomUUID() })
}

/** A token by a key that nobody publishes. */
function unknown(): string {
  return fresh({ ...first, kid: randomUUID() })
}

test('a server that is there before the issuer finds it by itself (7.2)', async () => {
  expect((await server.kubectl(['get', 'namespaces'])).code).toBe(0)
  expect(await server.whoIs(fresh(first))).toBeNull()
  await platform.startIssuer()
  await timeUntilServer('a server finds its issuer', server, 'accepted', () => fresh(first))
})

test('after a rotation old and new key are good, for one fetch (7.2, 7.3)', async () => {
  await platform.rotate()
  const second = await platform.signingKey(2)
  const before = await platform.fetches()
  const tookMs = await timeUntilServer('a new key', server, 'accepted', () => fresh(second))
  expect(tookMs).toBeLessThan(NO_FETCH_FOR_MS + 10_000)
  for (const key of [first, second, first, second]) {
    expect(await server.whoIs(fresh(key))).not.toBeNull()
  }
  expect(await platform.fetches()).toBe(before + 1)
})

test('a flood of unknown kids costs one fetch in max-age - 30 s (7.2)', async () => {
  const before = await platform.fetches()
  const startMs = performance.now()
  await eventually(
    'the server fetches',
    async () => {
      expect(await server.whoIs(unknown())).toBeNull()
      return (await platform.fetches()) > before || undefined
    },
    { withinMs: 60_000 },
  )
  for (let more = 0; more < 100; more += 1) expect(await server.whoIs(unknown())).toBeNull()
  const longestMs = performance.now() - startMs
  expect((await platform.fetches()) - before).toBeLessThanOrEqual(1 + longestMs / NO_FETCH_FOR_MS)
})

test('a withdrawn key is good until a token with an unknown kid comes by (7.2, 7.3)', async () => {
  const used = fresh(first)
  expect(await server.whoIs(used)).not.toBeNull()
  await platform.withdraw(first.kid)
  await staysGood(first)
  expect(await server.whoIs(used)).not.toBeNull()
  expect(await server.whoIs(unknown())).toBeNull()
  expect(await server.whoIs(fresh(first))).toBeNull()
  await timeUntilServer('a token in use, after its key', server, 'refused', () => used)
  expect(await server.whoIs(fresh(await platform.signingKey(2)))).not.toBeNull()
})

test('or until the file is read anew (7.2, 7.3)', async () => {
  const second = await platform.signingKey(2)
  await platform.rotate()
  const third = await platform.signingKey(3)
  await timeUntilServer('the next key', server, 'accepted', () => fresh(third))
  await platform.withdraw(second.kid)
  await staysGood(second)
  await server.configure(`${file}# read anew\n`)
  await timeUntilServer('a withdrawn key, after the file', server, 'refused', () => fresh(second))
  expect(await server.whoIs(fresh(third))).not.toBeNull()
})

test('a key that signed nothing gives deny-revoked.sh nothing to write; --reload, as docs/leaks.md has it, does (7.2, 7.3)', async () => {
  expect(await denyRevoked(scheduled())).toContain('of them new')
  const isRead = async () => (await isAuthenticationConfigInForce(server)) || undefined
  await eventually('the file that it wrote is in force', isRead, { withinMs: 60_000 })
  await platform.rotate()
  const waiting = await platform.signingKey(4)
  await timeUntilServer('a key that waits', server, 'accepted', () => fresh(waiting))
  await platform.withdraw(waiting.kid)
  const before = readFileSync(server.authenticationFile, 'utf8')
  expect(await denyRevoked(scheduled())).toContain('nothing new')
  expect(readFileSync(server.authenticationFile, 'utf8')).toBe(before)
  await staysGood(waiting)
  expect(await denyRevoked(afterWithdrawal())).toContain('reloaded')
  await timeUntilServer('a key that signed nothing, after --reload', server, 'refused', () =>
    fresh(waiting),
  )
  expect(await server.whoIs(fresh(await platform.signingKey(3)))).not.toBeNull()
})

/** What the timer runs, by docs/direct-endpoint.md. */
function scheduled(): string {
  const [, command = ''] = /^ExecStart=([^]*?[^\\])\n/m.exec(page('direct-endpoint')) ?? []
  return command
}

/** What a person runs after a withdrawal, by docs/leaks.md. */
function afterWithdrawal(): string {
  const [command = ''] = shellBlocksOf(page('leaks'))
  return command
}

function page(name: string): string {
  return readFileSync(join(import.meta.dirname, '../../docs', `${name}.md`), 'utf8')
}

/** Runs a command of the docs on the files of this test, and returns what it printed. */
async function denyRevoked(command: string): Promise<string> {
  const caFile = join(dirname(server.authenticationFile), 'ca.crt')
  writeFileSync(caFile, caPem)
  const here = [
    ['/etc/kubernetes/authentication/deny-revoked.sh', DENY_REVOKED],
    ['https://platform.example.com/oidc', issuer],
    ['/etc/kubernetes/authentication/issuer-ca.crt', caFile],
    ['/etc/kubernetes/authentication/authentication.yaml', server.authenticationFile],
  ] as const
  const ours = here.reduce((text, [theirs, own]) => {
    if (!text.includes(theirs)) throw new Error(`${theirs} is not in: ${command}`)
    return text.replaceAll(theirs, own)
  }, command)
  return (await promisify(execFile)('bash', ['-euc', ours])).stdout
}

/**
 * Asked with fresh tokens, so that the server's memory of whom it has accepted plays no part; and for
 * longer than it must wait before it may fetch.
 */
async function staysGood(key: SigningKey): Promise<void> {
  await staysTrue(
    'the withdrawn key is good',
    async () => expect(await server.whoIs(fresh(key))).not.toBeNull(),
    { forMs: NO_FETCH_FOR_MS + 1000 },
  )
}
