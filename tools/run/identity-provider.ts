// A company's OpenID Connect provider, for `make run` and for tests: oidc-provider on loopback, with two people who need no
// password. Nothing is kept; a restart makes new keys and forgets every session. To start it alone:
//
//   node tools/run/identity-provider.ts 9443 https://127.0.0.1:8443/auth/oidc/callback
//
// It prints the settings for status.auth.oidc of a Config, and ends with Ctrl-C.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { type ClientMetadata, type Configuration, type JWK, Provider } from 'oidc-provider'
import { identityStore } from './identity-store.ts'

/** A person who can sign in. */
export interface Person {
  readonly displayName: string
  readonly email: string
  readonly groups: readonly string[]
}

/** People who have an account, by their user names. */
export type People = Readonly<Record<string, Person>>

/** The people of `make run`. */
export const PEOPLE: People = {
  ada: { displayName: 'Ada Lovelace', email: 'ada@example.com', groups: ['sre', 'developers'] },
  grace: { displayName: 'Grace Hopper', email: 'grace@example.com', groups: ['developers'] },
}

/** Options of identityProvider. */
interface IdentityProviderOptions {
  /** Where it is reached, without a slash at its end. */
  readonly issuer: string
  readonly clients: readonly ClientMetadata[]
  /** Who has an account, by user names; read at each use. Absent = PEOPLE. */
  readonly people?: People
}

/** The provider, as a listener of an HTTP server. */
export function identityProvider({
  issuer,
  clients,
  people = PEOPLE,
}: IdentityProviderOptions): RequestListener {
  const provider = new Provider(issuer, configuration([...clients], people))
  const answer = provider.callback()
  return (request, response) => {
    const isInteraction = request.url?.startsWith('/interaction/') ?? false
    const answered = isInteraction
      ? interact({ provider, people }, request, response)
      : answer(request, response)
    answered.catch(() => response.writeHead(400).end('Start again at the client'))
  }
}

const configuration = (clients: ClientMetadata[], people: People): Configuration => ({
  adapter: identityStore(),
  clients,
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  jwks: { keys: [signingKey()] },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'preferred_username'],
    groups: ['groups'],
  },
  // Also in the ID token, not at the userinfo endpoint alone.
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, id) => {
    const person = people[id]
    return person && { accountId: id, claims: () => claimsOf(id, person) }
  },
  ttl: {
    AccessToken: 600,
    Grant: 86_400,
    IdToken: 600,
    Interaction: 600,
    RefreshToken: 86_400,
    Session: 86_400,
  },
})

function signingKey(): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'ES256', use: 'sig' }
}

function claimsOf(id: string, { displayName, email, groups }: Person) {
  return {
    sub: id,
    name: displayName,
    preferred_username: id,
    email,
    email_verified: true,
    groups: [...groups],
  }
}

/** The pages of a sign-in: who it is; a consent is given without a question. */
async function interact(
  { provider, people }: { readonly provider: Provider; readonly people: People },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  if (prompt.name === 'consent') {
    const grantId = await consent(provider, String(session?.accountId), params)
    return provider.interactionFinished(request, response, { consent: { grantId } })
  }
  const person = await chosenPerson(request, people)
  if (person !== null)
    return provider.interactionFinished(request, response, { login: { accountId: person } })
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(people))
}

async function consent(
  provider: Provider,
  accountId: string,
  { client_id: clientId, scope }: Readonly<Record<string, unknown>>,
): Promise<string> {
  const grant = new provider.Grant({ accountId, clientId: String(clientId) })
  grant.addOIDCScope(String(scope))
  return grant.save()
}

const LONGEST_FORM = 256

/** The person in a form; null = none. */
async function chosenPerson(request: IncomingMessage, people: People): Promise<string | null> {
  let form = ''
  for await (const chunk of request) {
    form += String(chunk)
    if (form.length > LONGEST_FORM) return null
  }
  const person = new URLSearchParams(form).get('person')
  return person !== null && Object.hasOwn(people, person) ? person : null
}

function page(people: People): string {
  const buttons = Object.entries(people).map(
    ([name, { displayName }]) => `<button name="person" value="${name}">${displayName}</button>`,
  )
  return `<!doctype html><title>Sign in</title><h1>Who are you?</h1><form method="post">${buttons.join(' ')}</form>`
}

/** The settings that a Config needs for it. */
function settingsText(issuer: string, clientSecret: string): string {
  const fields = { issuerUrl: issuer, clientId: 'platform', clientSecret, scopes: PROVIDER_SCOPES }
  return `status.auth.oidc: ${JSON.stringify(fields)}`
}

/** The scopes to ask it for. */
export const PROVIDER_SCOPES = ['profile', 'email', 'groups', 'offline_access']

function main([port = '', redirectURI = '']: readonly string[]): void {
  if (!/^\d{1,5}$/.test(port) || !URL.canParse(redirectURI)) {
    console.error('usage: identity-provider.ts <port> <redirect URI>')
    process.exitCode = 2
    return
  }
  const issuer = `http://127.0.0.1:${port}`
  const secret = randomBytes(16).toString('hex')
  const client = {
    client_id: 'platform',
    client_secret: secret,
    redirect_uris: [redirectURI],
    grant_types: ['authorization_code', 'refresh_token'],
  }
  const server = createServer(identityProvider({ issuer, clients: [client] }))
  server.listen(Number(port), '127.0.0.1', () => console.log(settingsText(issuer, secret)))
}

if (import.meta.main) main(process.argv.slice(2))
