// The gateway as a child process: `node src/main.ts gateway`, with its own ServiceAccount.
import type { IncomingHttpHeaders } from 'node:http'
import { type Agent, request } from 'node:https'
import { GATEWAY_TLS_SECRET, SECRETS } from '../../src/api/names.ts'
import type { Secret } from '../../src/api/objects.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { type OwnProcess, type ProcessOptions, startCommand } from './command-process.ts'
import { GATEWAY_ACCOUNT } from './installed-control-plane.ts'

/** A running gateway. `await using` stops it at the end of the block. */
export interface OwnGateway extends OwnProcess {
  /** The URL that it serves, such as `https://127.0.0.1:20123`. @throws Error before it does */
  url(): string
}

/**
 * Starts a gateway and waits until it is ready. It ends with the test process, whatever ends that.
 *
 * @throws Error with the end of its output when it ends first or is not ready within 30 s
 */
export const startGateway = (options: ProcessOptions): Promise<OwnGateway> =>
  startFrontDoor('gateway', 'serving the gateway', options)

/** Starts a direct endpoint, as startGateway does. Its flags must name the cluster and the issuer. */
export const startDirect = (options: ProcessOptions): Promise<OwnGateway> =>
  startFrontDoor('direct', 'serving the direct endpoint', options)

/** Starts a sign-in process, as startGateway does. Its flags must name the gateway. */
export const startSignIn = (options: ProcessOptions): Promise<OwnGateway> =>
  startFrontDoor('sign-in', 'serving signing in', options)

async function startFrontDoor(
  command: 'gateway' | 'direct' | 'sign-in',
  served: string,
  options: ProcessOptions,
): Promise<OwnGateway> {
  const flags = ['--bind-address=127.0.0.1:0', ...(options.flags ?? [])]
  const running = await startCommand(command, { ...options, flags })
  return {
    ...running,
    url: () => {
      const line = running.logs().find(({ msg }) => msg === served)
      if (!line) throw new Error(`the ${command} does not serve yet`)
      return `https://127.0.0.1:${Number(line['port'])}`
    },
  }
}

/** The authority that signs the certificates of gateways without files, PEM. */
export async function gatewayCa(
  admin: KubeClient,
  namespace: string = GATEWAY_ACCOUNT.namespace,
): Promise<string> {
  const ref = { namespace, name: GATEWAY_TLS_SECRET }
  const secret = await admin.get<Secret>(SECRETS, ref)
  if (!secret) throw new Error(`there is no Secret ${GATEWAY_TLS_SECRET}`)
  return Buffer.from(secret.data?.['ca.crt'] ?? '', 'base64').toString('utf8')
}

/** A complete response. */
export interface GatewayAnswer {
  readonly code: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Options of a request. Without an agent each has its own connection. */
export interface AskOptions {
  readonly ca: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is; none when absent. */
  readonly body?: string
  readonly agent?: Agent
}

/** One request to a gateway. A response of any code is a result. @throws Error without one */
export function ask(
  url: string,
  { ca, agent, body, ...options }: AskOptions,
): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, ca, agent: agent ?? false }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
      incoming.once('error', reject)
      incoming.once('end', () =>
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body: text }),
      )
    })
    outgoing.once('error', reject)
    // For some methods Node does not frame a body by itself.
    if (body !== undefined) outgoing.setHeader('content-length', Buffer.byteLength(body))
    outgoing.end(body)
  })
}
