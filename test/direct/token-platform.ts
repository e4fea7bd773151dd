// The product as an issuer of tokens: a control plane, the manager and the gateway, for one test file. Its admin
// reads the private signing keys, so that a test can forge any token.
import { createPrivateKey, randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { afterAll } from 'vitest'
import type {
  DirectClusterEndpointToken,
  DirectClusterEndpointTokenSpec,
} from '../../src/api/directclusterendpointtoken.gen.ts'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  ROTATE_ANNOTATION,
  SECRETS,
  SIGNING_KEY_PREFIX,
  TOKENS,
  WITHDRAW_ANNOTATION,
} from '../../src/api/names.ts'
import type { ConfigMap, Secret } from '../../src/api/objects.ts'
import type { OwnedAccessKey, OwnedAccessKeySpec } from '../../src/api/ownedaccesskey.gen.ts'
import { JWKS_DATA_KEY } from '../../src/domain/signingkey/published-keys.ts'
import { choosePort } from '../../tools/control-plane/ports.ts'
import { type OwnProcess, startOperator } from '../support/command-process.ts'
import { ownControlPlane, type TestControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { gatewayCa, startGateway } from '../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../support/installed-control-plane.ts'
import { sumOf } from '../support/metrics-page.ts'
import { newKey, uniqueName } from '../support/object-builder.ts'
import { claimsIn, type SigningKey } from './forged-tokens.ts'
import type { CachingProxy, IssuerEndpoint } from './issuer-servers.ts'

/** The issuer as verifiers see it, and what its admin can do. */
export interface TokenPlatform {
  readonly issuer: string
  /** The CA of the issuer's certificate; PEM. */
  readonly caPem: string
  /** The management cluster. */
  readonly plane: TestControlPlane
  /** Where the gateway serves as issuer, whatever stands before it. */
  readonly gateway: IssuerEndpoint
  /** The access key `ci` of user ada in group dev, which owns all tokens. */
  readonly accessKey: string
  /**
   * A new token, without a scope and good for an hour unless the spec says otherwise.
   *
   * @param owner the key that owns it; absent = key `ci`
   */
  issueToken(spec?: DirectClusterEndpointTokenSpec, owner?: OwnedAccessKey): Promise<string>
  /** A new key of that user in group dev. */
  createKey(user: string): Promise<OwnedAccessKey>
  /** The gateway without its paths, such as `https://127.0.0.1:31000`; it may connect to targets on this machine. */
  readonly gatewayUrl: string
  /** A ServiceAccount token of the management cluster. */
  serviceAccountToken(): Promise<string>
  /** The private signing key of a generation, from its Secret. */
  signingKey(generation: number): Promise<SigningKey>
  /** Rotates by annotation; resolves when the new signing key is published. */
  rotate(): Promise<void>
  /** Withdraws a signing key by annotation; resolves when it is no longer published. */
  withdraw(kid: string): Promise<void>
  /** Deletes the object of a token; resolves when the revocation list contains the token. */
  revoke(token: string): Promise<void>
  /** Deletes the object of a token, also while the issuer is stopped. */
  deleteToken(token: string): Promise<void>
  /** How many requests verifiers have sent since the last start of the issuer. */
  fetchCount(): Promise<number>
  stopIssuer(): Promise<void>
  startIssuer(): Promise<void>
}

const { namespace } = GATEWAY_ACCOUNT
const WITHIN_HALF_A_MINUTE = { withinMs: 30_000 }

/**
 * Starts control plane, manager and gateway; call it at the top level of a test file, which stops them at its end.
 *
 * @param proxy stands between verifiers and the gateway; absent = verifiers reach the gateway itself
 */
export async function startTokenPlatform(proxy?: CachingProxy): Promise<TokenPlatform> {
  const plane = await ownControlPlane()
  const address = await freeAddress()
  const issuer = proxy?.issuer ?? `https://${address}/oidc`
  const own = await plane.operatorKubeconfig()
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, GATEWAY_ACCOUNT.name)
  const gateway = createIssuerGateway(address)
  afterAll(() => gateway.stop())
  const [operator] = await Promise.all([
    startOperator({ kubeconfig: own, flags: [`--issuer-url=${issuer}`] }),
    gateway.start(kubeconfig, issuer),
  ])
  afterAll(async () => void (await operator.stop()))
  const served = { issuer: `https://${address}/oidc`, caPem: await gatewayCa(plane.admin) }
  proxy?.setUpstream(served)
  const accessKey = uniqueName('k'.repeat(32))
  return {
    issuer,
    caPem: proxy?.caPem ?? served.caPem,
    plane,
    gateway: served,
    gatewayUrl: `https://${address}`,
    accessKey,
    ...tokensOf(plane, await createKey(plane, { user: 'ada', key: accessKey }, 'ci'), served),
    createKey: (user) => createKey(plane, { user }, uniqueName('key')),
    ...signingKeysOf(plane, served),
    fetchCount: () => gateway.publicGets(),
    stopIssuer: () => gateway.stop(),
    startIssuer: () => gateway.start(kubeconfig, issuer),
  }
}

/** Creates a key of a user in group dev. */
const createKey = (
  { admin }: TestControlPlane,
  spec: OwnedAccessKeySpec,
  name: string,
): Promise<OwnedAccessKey> =>
  admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey({ groups: ['dev'], ...spec }, { name }), 'test')

function tokensOf(
  plane: TestControlPlane,
  usualOwner: OwnedAccessKey,
  served: IssuerEndpoint,
): Pick<TokenPlatform, 'issueToken' | 'serviceAccountToken' | 'revoke' | 'deleteToken'> {
  const { admin, raw } = plane
  const names = new Map<unknown, string>()
  const deleteToken = async (token: string): Promise<void> => {
    const path = `/apis/${API_VERSION}/${TOKENS.plural}/${names.get(claimsIn(token)['jti'])}`
    const { code } = await raw('DELETE', path)
    if (code !== 200) throw new Error(`DELETE ${path}: ${code}`)
  }
  return {
    issueToken: async (spec = {}, owner = usualOwner) => {
      const name = uniqueName('token')
      const { uid } = owner.metadata
      const kind = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind }
      const reference = { ...kind, name: owner.metadata.name, uid, controller: true }
      const created = await admin.create(
        TOKENS,
        {
          apiVersion: API_VERSION,
          kind: TOKENS.kind,
          metadata: { name, ownerReferences: [reference] },
          spec: { ttl: 3600, ...spec },
        },
        'test',
      )
      names.set(created.metadata.uid, name)
      return eventually(
        'the token is issued',
        async () => (await admin.get<DirectClusterEndpointToken>(TOKENS, { name }))?.status?.token,
        WITHIN_HALF_A_MINUTE,
      )
    },
    serviceAccountToken: async () => {
      const { stdout } = await plane.kubectl([
        'create',
        'token',
        'default',
        `--audience=${served.issuer}`,
      ])
      return stdout.trim()
    },
    revoke: async (token) => {
      const { jti } = claimsIn(token)
      await deleteToken(token)
      await published(served, '/revoked', (text) => text.includes(`"${String(jti)}"`))
    },
    deleteToken,
  }
}

function signingKeysOf(
  { admin, raw }: TestControlPlane,
  served: IssuerEndpoint,
): Pick<TokenPlatform, 'signingKey' | 'rotate' | 'withdraw'> {
  const annotate = async (annotation: string, value: string): Promise<void> => {
    const path = `/api/v1/namespaces/${namespace}/configmaps/${JWKS_CONFIG_MAP}`
    const { code } = await raw('PATCH', path, {
      metadata: { annotations: { [annotation]: value } },
    })
    if (code !== 200) throw new Error(`PATCH ${path}: ${code}`)
  }
  return {
    signingKey: async (generation) => {
      const name = `${SIGNING_KEY_PREFIX}${generation}`
      const secret = await admin.get<Secret>(SECRETS, { namespace, name })
      const read = (key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64')
      return {
        kid: read('kid').toString(),
        privateKey: createPrivateKey(read('private-key.pem')),
      }
    },
    rotate: async () => {
      const before = await admin.get<ConfigMap>(CONFIG_MAPS, { namespace, name: JWKS_CONFIG_MAP })
      const known = kidsIn(before?.data?.[JWKS_DATA_KEY] ?? '')
      await annotate(ROTATE_ANNOTATION, 'now')
      await published(served, '/keys', (text) => kidsIn(text).length > known.length)
    },
    withdraw: async (kid) => {
      await annotate(WITHDRAW_ANNOTATION, kid)
      await published(served, '/keys', (text) => !kidsIn(text).includes(kid))
    },
  }
}

function kidsIn(jwks: string): readonly string[] {
  const { keys } = JSON.parse(jwks) as { readonly keys: readonly { readonly kid: string }[] }
  return keys.map(({ kid }) => kid)
}

/** Waits until the answer of the issuer at a path meets a condition. */
async function published(
  { issuer, caPem }: IssuerEndpoint,
  path: string,
  isExpected: (text: string) => boolean,
): Promise<void> {
  const dispatcher = new Agent({ connect: { ca: caPem } })
  const probe = async () => {
    const { body } = await request(`${issuer}${path}`, { dispatcher })
    return isExpected(await body.text()) || undefined
  }
  try {
    await eventually(`${path} has changed`, probe, WITHIN_HALF_A_MINUTE)
  } finally {
    await dispatcher.close()
  }
}

/** The gateway as issuer; a test stops it and starts it again under the same address. */
interface IssuerGateway {
  /** Resolves when the gateway is ready. */
  start(kubeconfig: string, issuer: string): Promise<void>
  /** No effect while it is stopped. */
  stop(): Promise<void>
  /** GETs of public routes that it has answered since its start. */
  publicGets(): Promise<number>
}

const PUBLIC_GETS = ['platform_gateway_requests_total', 'target="Public"', 'verb="get"'] as const

/** A gateway that is not started yet; `address` such as `127.0.0.1:20123`. */
function createIssuerGateway(address: string): IssuerGateway {
  let running: OwnProcess | null = null
  return {
    start: async (kubeconfig, issuer) => {
      const targets = '--allow-target-cidr=127.0.0.0/8'
      const flags = [`--bind-address=${address}`, `--issuer-url=${issuer}`, targets]
      running = await startGateway({ kubeconfig, flags })
    },
    stop: async () => {
      await running?.stop()
      running = null
    },
    publicGets: async () => {
      const page = await running?.metrics()
      return page === undefined ? 0 : sumOf(page, ...PUBLIC_GETS)
    },
  }
}

/** A free address that no other process of the tests chooses while the gateway is stopped. */
export async function freeAddress(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'port-'))
  try {
    const file = join(folder, 'port')
    // Above the range of control planes: one may start while the gateway is stopped.
    await writeFile(file, String(randomInt(30_000, 32_768)))
    return `127.0.0.1:${await choosePort(file, console.log)}`
  } finally {
    await rm(folder, { recursive: true })
  }
}
