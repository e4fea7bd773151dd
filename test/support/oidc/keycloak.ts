// Keycloak in a test: a realm with a person and clients, and a browser that signs in there.
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../../tools/control-plane/ports.ts'
import { eventually } from '../eventually.ts'
import { SAML_CLIENTS } from '../saml/keycloak-clients.ts'

/** The client's secret, and the person's password. */
export const KEYCLOAK_SECRET = 'a secret of the client'
const PASSWORD = 'a long password'

/** Where Keycloak sends the browser back to. */
export const KEYCLOAK_CALLBACK = 'https://platform.example.com/auth/oidc/callback'

const REALM = {
  realm: 'staff',
  enabled: true,
  sslRequired: 'none',
  groups: [{ name: 'sre' }, { name: 'developers' }],
  users: [
    {
      username: 'ada',
      enabled: true,
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@example.com',
      emailVerified: true,
      groups: ['/sre', '/developers'],
      credentials: [{ type: 'password', value: PASSWORD, temporary: false }],
    },
  ],
  clients: [
    {
      clientId: 'platform',
      secret: KEYCLOAK_SECRET,
      redirectUris: [KEYCLOAK_CALLBACK],
      attributes: { 'pkce.code.challenge.method': 'S256' },
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
        },
      ],
    },
    ...SAML_CLIENTS,
  ],
}

/** It is slow to start, and slower beside other tests. */
const START_WITHIN_MS = 600_000

/** A running Keycloak. */
interface Keycloak {
  /** Of its realm. */
  readonly issuer: string
  readonly stop: () => Promise<void>
}

/** Starts a copy of Keycloak on loopback. @throws Error when it does not answer in time */
export async function startKeycloak(program: string): Promise<Keycloak> {
  const home = await mkdtemp(join(tmpdir(), 'keycloak-'))
  await cp(program, home, { recursive: true })
  await mkdir(join(home, 'data/import'), { recursive: true })
  await writeFile(join(home, 'data/import/staff.json'), JSON.stringify(REALM))
  const port = await choosePort(join(home, 'port'), () => undefined)
  const flags = ['--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`]
  const child = spawn(
    join(home, 'bin/kc.sh'),
    ['start', '--optimized', '--import-realm', '--hostname-strict=false', ...flags],
    { stdio: 'ignore', detached: true, env: { ...process.env, JAVA_OPTS_APPEND: '-Xmx512m' } },
  )
  const stop = async (): Promise<void> => {
    // The group: its script starts Java as a child.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
  const issuer = `http://127.0.0.1:${port}/realms/staff`
  try {
    await eventually(
      'Keycloak answers',
      async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok || undefined,
      { withinMs: START_WITHIN_MS },
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { issuer, stop }
}

/** Signs in as ada in Keycloak's own form. @returns the address that leads back */
export async function signInAtKeycloak(start: URL): Promise<URL> {
  const answer = await fillIn(start, {})
  return new URL(answer.headers.get('location') ?? '')
}

/** Revokes a refresh token of the client (RFC 7009). @throws Error when Keycloak does not */
export async function revokeAtKeycloak(issuer: string, token: string): Promise<void> {
  const client = { client_id: 'platform', client_secret: KEYCLOAK_SECRET }
  const body = new URLSearchParams({ ...client, token, token_type_hint: 'refresh_token' })
  const { status } = await fetch(`${issuer}/protocol/openid-connect/revoke`, {
    method: 'POST',
    body,
  })
  if (status !== 200) throw new Error(`Keycloak answered ${status}`)
}

/** Posts a form to Keycloak, and signs in as ada in its own. @returns the fields of the form that leads back */
export async function postToKeycloak(
  url: URL,
  form: Readonly<Record<string, string>>,
): Promise<URLSearchParams> {
  const answer = await fillIn(url, { method: 'POST', body: new URLSearchParams(form) })
  const inputs = (await answer.text()).matchAll(/<input [^>]*name="([^"]+)" value="([^"]*)"/gi)
  return new URLSearchParams(
    Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value])),
  )
}

/** The most redirects between a request and the form. */
const MOST_REDIRECTS = 5

/** Fills in the form that a request leads to, as ada. */
async function fillIn(start: URL, request: RequestInit): Promise<Response> {
  const cookies = new Map<string, string>()
  const visit = async (url: URL, init: RequestInit): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const page = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } })
    for (const text of page.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      cookies.set(name, value)
    }
    return page
  }
  let url = start
  let page = await visit(url, request)
  for (let at = 0; at < MOST_REDIRECTS && page.status >= 300 && page.status < 400; at += 1) {
    url = new URL(page.headers.get('location') ?? '', url)
    page = await visit(url, {})
  }
  const [, action] = /action="([^"]+)"/.exec(await page.text()) ?? []
  if (action === undefined) throw new Error(`Keycloak has no form: ${page.status} ${url.href}`)
  const body = new URLSearchParams({ username: 'ada', password: PASSWORD })
  return visit(new URL(action.replaceAll('&amp;', '&')), { method: 'POST', body })
}
