// The product as an issuer of tokens: a control plane, the operator and the gateway, all of the file's
// own. Its admin can read the private signing keys, which nobody else can, and so forge anything.
import { createPrivateKey } from 'node:crypto'
import { Agent, request } from 'undici'
import { afterAll } from 'vitest'
import type { DirectClusterEndpointToken } from '../../src/api/directclusterendpointtoken.gen.ts'
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
import type { OwnedAccessKey } from '../../src/api/ownedaccesskey.gen.ts'
import { JWKS_DATA_KEY } from '../../src/domain/signingkey/published-keys.ts'
import { KID_DATA_KEY, PRIVATE_KEY_DATA_KEY } from '../../src/signing/signing-key-secret.ts'
import { startOperator } from '../support/command-process.ts'
import { type TestControlPlane, ownControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { gatewayCa } from '../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../support/installed-control-plane.ts'
import { newKey, uniqueName } from '../support/object-builder.ts'
import { type SigningKey, claimsIn } from './forged-tokens.ts'
import { createIssuerGateway, freeAddress } from './issuer-gateway.ts'
import type { PassThroughServer, Served } from './pass-through-server.ts'

/** The product, seen from who trusts it. */
export interface TokenPlatform {
  readonly issuer: string
  /** Who signed the issuer's certificate; PEM. */
  readonly caPem: string
  /** A new unrestricted token, from `status.token`, under the key `ci` of user ada in group dev. */
  token(): Promise<string>
  /** A token of a ServiceAccount of the product's own cluster. */
  serviceAccountToken(): Promise<string>
  /** The private signing key of a generation, from its Secret. */
  signingKey(generation: number): Promise<SigningKey>
  /** Asks for a new signing key by annotation; resolves when it is published. */
  rotate(): Promise<void>
  /** Takes a signing key out by annotation; resolves when it is published no more. */
  withdraw(kid: string): Promise<void>
  /** Deletes a token's object; resolves when the list of revoked tokens has it. */
  revoke(token: string): Promise<void>
  /** How often verifiers have fetched anything since the issuer was started. */
  fetches(): Promise<number>
  stopIssuer(): Promise<void>
  startIssuer(): Promise<void>
}

const { namespace } = GATEWAY_ACCOUNT
const WITHIN_HALF_A_MINUTE = { withinMs: 30_000 }

/**
 * Starts it all; stopped after the last test of the file. To be called while the test file loads.
 *
 * @param front what verifiers see instead of the gateway; absent = the gateway
 */
export async function startTokenPlatform(front?: PassThroughServer): Promise<TokenPlatform> {
  const plane = await ownControlPlane()
  const address = await freeAddress()
  const issuer = front?.issuer ?? `https://${address}/oidc`
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
  front?.passTo(served)
  return {
    issuer,
    caPem: front?.caPem ?? served.caPem,
    ...tokensOf(plane, await owner(plane), served),
    ...signingKeysOf(plane, served),
    fetches: () => gateway.publicGets(),
    stopIssuer: () => gateway.stop(),
    startIssuer: () => gateway.start(kubeconfig, issuer),
  }
}

function owner({ admin }: TestControlPlane): Promise<OwnedAccessKey> {
  const key = newKey({ user: 'ada', groups: ['dev'] }, { name: 'ci' })
  return admin.create<OwnedAccessKey>(ACCESS_KEYS, key, 'test')
}

function tokensOf(
  plane: TestControlPlane,
  { metadata: { name: ownerName, uid } }: OwnedAccessKey,
  served: Served,
): Pick<TokenPlatform, 'token' | 'serviceAccountToken' | 'revoke'> {
  const { admin, raw } = plane
  const ownerReference = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, name: ownerName, uid }
  const object = {
    apiVersion: API_VERSION,
    kind: TOKENS.kind,
    metadata: { ownerReferences: [{ ...ownerReference, controller: true }] },
    spec: { ttl: 3600 },
  }
  const names = new Map<unknown, string>()
  return {
    token: async () => {
      const name = uniqueName('token')
      const metadata = { ...object.metadata, name }
      const created = await admin.create(TOKENS, { ...object, metadata }, 'test')
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
      const path = `/apis/${API_VERSION}/${TOKENS.plural}/${names.get(jti)}`
      const { code } = await raw('DELETE', path)
      if (code !== 200) throw new Error(`DELETE ${path}: ${code}`)
      await published(served, '/revoked', (text) => text.includes(`"${String(jti)}"`))
    },
  }
}

function signingKeysOf(
  { admin, raw }: TestControlPlane,
  served: Served,
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
        kid: read(KID_DATA_KEY).toString(),
        privateKey: createPrivateKey(read(PRIVATE_KEY_DATA_KEY)),
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

/** Waits until the issuer publishes what is so. */
async function published(
  { issuer, caPem }: Served,
  path: string,
  isSo: (text: string) => boolean,
): Promise<void> {
  const dispatcher = new Agent({ connect: { ca: caPem } })
  const probe = async () => {
    const { body } = await request(`${issuer}${path}`, { dispatcher })
    return isSo(await body.text()) || undefined
  }
  try {
    await eventually(`${path} has changed`, probe, WITHIN_HALF_A_MINUTE)
  } finally {
    await dispatcher.close()
  }
}
