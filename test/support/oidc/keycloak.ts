// Keycloak in a test: a realm with a person and a client, and a browser that signs in there.
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../../tools/control-plane/ports.ts'
import { eventually } from '../eventually.ts'

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
  const page = await fetch(start, { redirect: 'manual' })
  const [, action = ''] = /action="([^"]+)"/.exec(await page.text()) ?? []
  const cookie = page.headers.getSetCookie().map((text) => text.split(';')[0])
  const answer = await fetch(action.replaceAll('&amp;', '&'), {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookie.join('; ') },
    body: new URLSearchParams({ username: 'ada', password: PASSWORD }),
  })
  return new URL(answer.headers.get('location') ?? '')
}
