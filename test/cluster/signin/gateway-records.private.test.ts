// @module-tag no-retry
// What the gateway's log and audit log have of signing in on a real control plane (contract 25.1, 21.4).
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { startSignInWorld } from './sign-in-world.ts'

const world = await startSignInWorld(await privateControlPlane())
const { setup, url } = world
const { ca } = setup
const PASSWORD = 'correct horse battery-canary'
const WRONG = 'incorrect horse battery-canary'
const folder = mkdtempSync(join(tmpdir(), 'sign-in-audit-'))
const file = join(folder, 'audit.log')
afterAll(() => rmSync(folder, { recursive: true }))

/** An event as a line has it. */
interface Line {
  readonly auditID: string
  readonly requestURI: string
  readonly responseStatus?: { readonly code: number }
  readonly annotations: Readonly<Record<string, string>>
}

const audited = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')

const eventOf = (id: unknown): Line | undefined =>
  audited()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
    .find(({ auditID }) => auditID === id)

const signIn = (username: string, password: string) =>
  ask(`${url}/auth/password/login?next=%2Flogin%3Fquery-canary`, {
    ca,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ username, password }),
  })

await world.settings.declare({
  platformHost: 'platform.example.com',
  audit: { enabled: true, path: folder, level: 4 },
})
await world.createUser('ada', {}, PASSWORD)
await eventually(
  'the gateway records by these settings',
  async () => eventOf((await ask(`${url}/login`, { ca })).headers['audit-id']),
  SOON,
)

test.each([
  { name: 'that succeeds', password: PASSWORD, code: 200, outcome: 'signed_in', reason: undefined },
  { name: 'that fails', password: WRONG, code: 401, outcome: 'refused', reason: 'wrong_password' },
])(
  'a sign-in $name has a record and a line, without password and key (25.1, 21.4)',
  async ({ password, code, outcome, reason }) => {
    const answer = await signIn('ada', password)
    expect(answer.code).toBe(code)
    expect(answer.headers).not.toHaveProperty('x-platform-sign-in')
    const id = answer.headers['audit-id']
    expect(eventOf(id)).toMatchObject({
      requestURI: '/auth/password/login',
      responseStatus: { code },
      annotations: {
        'platform.sh/sign-in-provider': 'password',
        'platform.sh/sign-in-user': 'ada',
        'platform.sh/sign-in-outcome': outcome,
        ...(reason === undefined ? {} : { 'platform.sh/sign-in-reason': reason }),
      },
    })
    const logs = setup.gateways[0]?.logs() ?? []
    expect(logs.filter((line) => line['requestId'] === id)).toMatchObject([
      { msg: 'sign-in', signInProvider: 'password', signInOutcome: outcome, status: code },
    ])
    const { accessKey = 'accessKey' } = JSON.parse(answer.body) as Readonly<Record<string, string>>
    const written = `${audited()}${JSON.stringify(logs)}`
    for (const secret of [PASSWORD, WRONG, accessKey, 'query-canary'])
      expect(written).not.toContain(secret)
  },
)

test('a path below those of signing in, and an upgrade, do not reach the process (25.1)', async () => {
  const before = world.replicas[0]?.logs().length
  expect((await ask(`${url}/auth/password/login/`, { ca })).code).toBe(404)
  expect((await ask(`${url}/auth/password`, { ca })).code).toBe(404)
  const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
  expect((await ask(`${url}/login`, { ca, headers: upgrade })).code).toBe(501)
  expect(world.replicas[0]?.logs().length).toBe(before)
})

test('a gateway without --sign-in-url answers these paths as any other (25.1)', async () => {
  await using plain = await setup.anotherGateway(['--sign-in-url='])
  const answerTo = async (path: string) => {
    const { code, body } = await ask(`${plain.url()}${path}`, { ca })
    return { code, body }
  }
  const unknown = await answerTo('/nowhere')
  expect(unknown.code).toBe(401)
  for (const path of ['/login', '/auth/password/login', '/auth/logout', '/oidc/apps/keys'])
    expect(await answerTo(path)).toEqual(unknown)
})
