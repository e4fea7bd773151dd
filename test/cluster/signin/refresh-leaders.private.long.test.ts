// Three replicas of the sign-in process, of which the leading one is paused, or killed at the worst moment, while people are asked for
// again at a real provider that takes each refresh token once (contract 25.7, SL).
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { identityProvider } from '../../../tools/run/identity-provider.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { SOON } from '../gateway/test-gateway.ts'
import { SIGN_IN_NAMESPACE, startSignInWorld } from './sign-in-world.ts'

/** A Lease that is not renewed is taken over after 15 s. */
const TAKEN_OVER = { withinMs: 60_000 }

const world = await startSignInWorld(await privateControlPlane(), {
  replicas: 3,
  flags: ['--identity-refresh-interval=2s'],
})
const { setup, url, browser, replicas } = world
const { plane } = setup

/** The refresh tokens that the provider was sent, in order. */
const sent: string[] = []
/** Called once, after the provider has replaced a token and before its answer leaves. */
let beforeAnswer: (() => void) | null = null

/** Sees the refresh tokens of a request, and its answer before it leaves. */
function watchRefresh(request: IncomingMessage, response: ServerResponse): void {
  let body = ''
  request.on('data', (piece: Buffer) => {
    body += piece.toString()
    const token = new URLSearchParams(body).get('refresh_token')
    if (token !== null) sent.push(token)
  })
  const end = response.end.bind(response)
  response.end = ((...args: Parameters<typeof end>) => {
    if (body.includes('refresh_token')) {
      beforeAnswer?.()
      beforeAnswer = null
    }
    return end(...args)
  }) as typeof response.end
}

async function startProvider(): Promise<string> {
  let answer: RequestListener = () => undefined
  const server = createServer((request, response) => {
    if (request.method === 'POST' && request.url === '/token') watchRefresh(request, response)
    answer(request, response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  afterAll(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = {
    client_id: 'platform',
    token_endpoint_auth_method: 'none' as const,
    redirect_uris: [`${url}/auth/oidc/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
  }
  answer = identityProvider({ issuer, clients: [client] })
  return issuer
}

const issuerUrl = await startProvider()
await world.settings.declare({
  platformHost: 'platform.example.com',
  auth: { oidc: { issuerUrl, clientId: 'platform', scopes: ['profile', 'offline_access'] } },
})
const isOffered = async (): Promise<void> =>
  expect((await browser().navigate(`${url}/login`)).text).toContain('Sign in with')
await eventuallyPasses('the provider is offered', isOffered, SOON)

/** Signs a person in. @returns the name of the key */
async function signIn(person: string): Promise<string> {
  const one = browser()
  const choice = await one.click(await one.navigate(`${url}/login`), 'Sign in with')
  const page = await one.submit(choice, '/interaction/', { person })
  expect(page.text).toContain(`Signed in as ${person}`)
  const selector = `--field-selector=spec.user=${person}`
  return (
    await mustKubectl(plane, ['get', 'oak', selector, '-o', 'jsonpath={.items[0].metadata.name}'])
  ).trim()
}

const keyOf = async (name: string): Promise<OwnedAccessKey> =>
  JSON.parse(await mustKubectl(plane, ['get', 'oak', name, '-o', 'json'])) as OwnedAccessKey

/** Which replica holds the Lease. */
const leaderAt = (): Promise<number> =>
  eventually(
    'a replica leads',
    async () => {
      const path = ['get', 'lease', 'management-operator-sign-in', '-n', SIGN_IN_NAMESPACE]
      const holder = await mustKubectl(plane, [...path, '-o', 'jsonpath={.spec.holderIdentity}'])
      const at = replicas.findIndex((replica) =>
        replica.logs().some(({ identity }) => identity === holder),
      )
      return at === -1 ? undefined : at
    },
    TAKEN_OVER,
  )

const refreshedAfter = (count: number): Promise<void> =>
  eventuallyPasses(
    'people are asked for',
    () => expect(sent.length).toBeGreaterThan(count),
    TAKEN_OVER,
  )

test('a leader that is paused and comes back sends no token twice, and the person stays signed in', async () => {
  const name = await signIn('ada')
  await refreshedAfter(1)
  const at = await leaderAt()
  replicas[at]?.kill('SIGSTOP')
  const { length } = sent
  await refreshedAfter(length + 2)
  replicas[at]?.kill('SIGCONT')
  await refreshedAfter(sent.length + 2)
  expect(new Set(sent).size).toBe(sent.length)
  const { metadata, status } = await keyOf(name)
  expect(metadata.annotations).not.toHaveProperty('management.platform.sh/identity-gone')
  expect(status?.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('Active')
})

/** Why keys of people have ended; empty = they have not. */
async function endings(): Promise<readonly string[]> {
  const { items } = JSON.parse(await mustKubectl(plane, ['get', 'oak', '-o', 'json'])) as {
    items: OwnedAccessKey[]
  }
  const logins = items.filter(({ spec }) => spec?.type === 'Login')
  return logins.flatMap(
    ({ metadata }) => metadata.annotations?.['management.platform.sh/identity-gone'] ?? [],
  )
}

test('a leader that is killed after the provider has replaced a token: the person signs in again, and is not accused', async () => {
  const at = await leaderAt()
  expect(await endings()).toEqual([])
  beforeAnswer = () => replicas[at]?.kill('SIGKILL')
  await eventuallyPasses(
    'the key says so',
    async () => expect(await endings()).toEqual([expect.stringMatching(/Z SignInAgain$/)]),
    { withinMs: 100_000 },
  )
})
