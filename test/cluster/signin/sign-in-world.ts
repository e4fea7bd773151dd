// Signing in as it is installed, for one test file: an operator, a gateway, sign-in processes behind it, and a browser.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { API_VERSION, SIGN_IN_AUDIENCE, USERS } from '../../../src/api/names.ts'
import type { UserSpec } from '../../../src/api/user.gen.ts'
import { hashPassword, passwordHashText } from '../../../src/signin/password/hash.ts'
import { type Browser, openBrowser } from '../../support/browser/browser.ts'
import { senderTo } from '../../support/browser/https-sender.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { type OwnGateway, ask, gatewayCa, startSignIn } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { settingsOf } from '../../support/config-client.ts'
import { type TestGateway, startTestGateway } from '../gateway/test-gateway.ts'

/** The sign-in namespace of the shipped manifests. */
export const SIGN_IN_NAMESPACE = 'platform-system-sign-in'

/** Signing in, for one test file. */
export interface SignInWorld {
  readonly setup: TestGateway
  /** Origin of the gateway, where browsers go. */
  readonly url: string
  readonly replicas: readonly OwnGateway[]
  /** Asks a replica as the gateway does. @returns the status code */
  readonly askReplica: (
    at: number,
    address: string,
    headers: Readonly<Record<string, string>>,
  ) => Promise<number>
  /** Leads the gateway's connections to this replica from now on. */
  readonly useReplica: (at: number) => void
  readonly settings: ReturnType<typeof settingsOf>
  /** Creates a User, with a password where one is given. */
  readonly createUser: (name: string, spec?: UserSpec, password?: string) => Promise<void>
  /** A browser with an empty jar, which trusts the gateway. */
  readonly browser: () => Browser
  /** Sets the password of a User. */
  readonly setPassword: (name: string, password: string) => Promise<void>
}

/** Starts it; it is stopped after the file's last test. @param replicas of the sign-in process */
export async function startSignInWorld(
  plane: TestControlPlane,
  {
    replicas: count = 1,
    flags = [],
  }: { readonly replicas?: number; readonly flags?: readonly string[] } = {},
): Promise<SignInWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-'))
  const tokenFile = join(folder, 'token')
  const { namespace, name } = GATEWAY_ACCOUNT
  const token = ['create', 'token', name, '-n', namespace, `--audience=${SIGN_IN_AUDIENCE}`]
  const gatewayToken = (await mustKubectl(plane, token)).trim()
  writeFileSync(tokenFile, gatewayToken)
  const relay = await startRelay()
  const setup = await startTestGateway(plane, 1, [
    `--sign-in-url=https://127.0.0.1:${relay.port}`,
    `--sign-in-token-file=${tokenFile}`,
  ])
  const url = setup.gateways[0]?.url() ?? ''
  const settings = settingsOf(plane)
  await settings.declare({ platformHost: 'platform.example.com' })
  const kubeconfig = await plane.serviceAccountKubeconfig(SIGN_IN_NAMESPACE, 'sign-in')
  const own = [
    `--namespace=${namespace}`,
    '--leader-elect',
    `--public-url=${url}`,
    `--gateway-url=${url}`,
  ]
  const replicas: OwnGateway[] = []
  for (let at = 0; at < count; at += 1)
    replicas.push(await startSignIn({ kubeconfig, flags: [...own, ...flags] }))
  const signInCa = await gatewayCa(plane.admin, SIGN_IN_NAMESPACE)
  const useReplica = (at: number): void =>
    relay.leadTo(Number(new URL(replicas[at]?.url() ?? '').port))
  useReplica(0)
  afterAll(async () => {
    relay.close()
    await Promise.all(replicas.map((replica) => replica.stop()))
    rmSync(folder, { recursive: true })
  })
  const setPassword: SignInWorld['setPassword'] = async (user, password) => {
    const text = passwordHashText(await hashPassword(password, randomBytes(16)))
    const object = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `password-${user}`, namespace: SIGN_IN_NAMESPACE },
      stringData: { password: text },
    }
    await mustKubectl(plane, ['apply', '-f', '-'], { input: JSON.stringify(object) })
  }
  return {
    setup,
    url,
    replicas,
    askReplica: async (at, address, headers) => {
      const { pathname, search } = new URL(address)
      const authorization = `Bearer ${gatewayToken}`
      const to = `${replicas[at]?.url()}${pathname}${search}`
      return (await ask(to, { ca: signInCa, headers: { ...headers, authorization } })).code
    },
    useReplica,
    settings,
    setPassword,
    browser: () =>
      openBrowser({ send: senderTo({ [url]: { port: Number(new URL(url).port), ca: setup.ca } }) }),
    createUser: async (user, spec = {}, password) => {
      const ref = password === undefined ? {} : { passwordRef: { name: `password-${user}` } }
      if (password !== undefined) await setPassword(user, password)
      const object = {
        apiVersion: API_VERSION,
        kind: USERS.kind,
        metadata: { name: user },
        spec: { ...ref, ...spec },
      }
      await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(object) })
    },
  }
}

/** A port that leads to another one, which can be changed. */
interface Relay {
  readonly port: number
  /** Ends all connections, and leads new ones to this port. */
  readonly leadTo: (port: number) => void
  readonly close: () => void
}

async function startRelay(): Promise<Relay> {
  let target = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).once('close', () => sockets.delete(socket))
    return socket
  }
  const server: Server = createServer((incoming) => {
    const outgoing = keep(connect(target, '127.0.0.1'))
    keep(incoming).pipe(outgoing).pipe(incoming)
    incoming.once('close', () => outgoing.destroy())
    outgoing.once('close', () => incoming.destroy())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (port) => {
      target = port
      cut()
    },
    close: () => {
      server.close()
      cut()
    },
  }
}
