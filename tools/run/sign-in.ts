// The sign-in process of `make run`. The gateway passes browsers on to it, as in a cluster.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { hashPassword, passwordHashText, SALT_BYTES } from '../../src/signin/password/hash.ts'
import type { Access } from '../control-plane/access.ts'
import { readIfThere, replaceFile } from '../control-plane/exclusive-file.ts'
import { mustKubectl } from '../control-plane/kubectl.ts'
import { choosePort } from '../control-plane/ports.ts'
import { identityProvider, PROVIDER_SCOPES } from './identity-provider.ts'
import { type KeptProgram, keepProgram, type RunFolders } from './program.ts'

/** The cluster, and where the parts of `make run` keep files. */
interface SignInOptions {
  readonly management: Access
  readonly folders: RunFolders
  readonly log: (line: string) => void
}

/** Where the gateway reaches the process. */
interface SignInAddress {
  readonly port: number
  /** Flags of the gateway. */
  readonly gatewayFlags: readonly string[]
}

const PLATFORM = 'platform-system'
const NAMESPACE = `${PLATFORM}-sign-in`
/** Longer than anybody leaves it running: the gateway reads the file again, and a new run writes it again. */
const TOKEN_LIFE = '720h'
/** The person of the samples who can sign in. */
const USER = 'ada'
const PASSWORD_SECRET = `password-${USER}`

/** Chooses a port, and writes the token by which the gateway proves itself. */
export async function prepareSignIn({
  management,
  folders: { home },
  log,
}: SignInOptions): Promise<SignInAddress> {
  const port = await choosePort(join(home, 'sign-in-port'), log)
  const request = ['create', 'token', 'gateway', '-n', PLATFORM, '--audience=sign-in']
  const token = await mustKubectl(management, [...request, `--duration=${TOKEN_LIFE}`])
  const tokenFile = join(home, 'sign-in-token')
  await replaceFile(tokenFile, token)
  const url = `https://127.0.0.1:${port}`
  return {
    port,
    gatewayFlags: [`--sign-in-url=${url}`, `--sign-in-token-file=${tokenFile}`],
  }
}

/** Keeps the process running. @param publicUrl that of the gateway */
export const keepSignIn = (
  { management, folders: { home, main }, log }: SignInOptions,
  { port }: SignInAddress,
  publicUrl: string,
): Promise<KeptProgram> =>
  keepProgram({
    command: 'sign-in',
    accounts: [{ flag: '--kubeconfig', access: management, namespace: NAMESPACE, name: 'sign-in' }],
    title: 'the sign-in process',
    flags: [
      `--namespace=${PLATFORM}`,
      `--public-url=${publicUrl}`,
      `--gateway-url=${publicUrl}`,
      `--bind-address=127.0.0.1:${port}`,
    ],
    main,
    logFile: join(home, 'sign-in.log'),
    pidFile: join(home, 'sign-in.pid'),
    log,
  })

/**
 * Starts the OpenID Connect provider of a company, and sets it up in the Config: each start, as its port may be another one.
 *
 * @param publicUrl that of the gateway
 */
export async function startIdentityProvider(
  { management, folders: { home }, log }: SignInOptions,
  publicUrl: string,
): Promise<{ readonly stop: () => Promise<void> }> {
  const port = await choosePort(join(home, 'identity-provider-port'), log)
  const issuer = `http://127.0.0.1:${port}`
  const client = {
    client_id: 'platform',
    // Without a secret: a Config in a repository may have all of it.
    token_endpoint_auth_method: 'none' as const,
    // It is asked again about people who have signed in. A restart forgets them: within an hour they are gone.
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [`${publicUrl}/auth/oidc/callback`],
    post_logout_redirect_uris: [`${publicUrl}/login`],
  }
  const server = createServer(identityProvider({ issuer, clients: [client] }))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const oidc = {
    issuerUrl: issuer,
    clientId: client.client_id,
    type: 'the company',
    scopes: PROVIDER_SCOPES,
    postLogoutRedirectURI: `${publicUrl}/login`,
  }
  const patch = ['patch', 'config', 'platform-manager-config', '--type=merge', '-p']
  await mustKubectl(management, [...patch, JSON.stringify({ spec: { auth: { oidc } } })])
  return {
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The file with the password of the person of the samples. */
const passwordFile = (home: string): string => join(home, `${USER}.password`)

/** Gives the person of the samples a random password. */
export async function givePassword({ management, folders }: SignInOptions): Promise<void> {
  const password = randomBytes(12).toString('base64url')
  const hash = passwordHashText(await hashPassword(password, randomBytes(SALT_BYTES)))
  await replaceFile(passwordFile(folders.home), `${password}\n`)
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: PASSWORD_SECRET, namespace: NAMESPACE },
    stringData: { password: hash },
  }
  const input = JSON.stringify(secret)
  await mustKubectl(management, ['apply', '--server-side', '-f', '-'], { input })
  const spec = { passwordRef: { name: PASSWORD_SECRET } }
  const patch = ['patch', 'users.management.platform.sh', USER, '--type=merge', '-p']
  await mustKubectl(management, [...patch, JSON.stringify({ spec })])
}

/** Who can sign in, and where the password is; null = no file has it, as in a folder of an earlier version. */
export async function signInAccount(
  home: string,
): Promise<{ readonly user: string; readonly passwordFile: string } | null> {
  const file = passwordFile(home)
  return (await readIfThere(file)) === null ? null : { user: USER, passwordFile: file }
}
