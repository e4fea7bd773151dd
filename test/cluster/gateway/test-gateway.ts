// The whole product for one test file: an installed control plane, an operator, gateways, and keys to call them with.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { SELF_SUBJECT_REVIEWS, apiVersionOf } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { kubeconfig as kubeconfigOf } from '../../../tools/control-plane/kubeconfig.ts'
import type { KubectlOptions, KubectlResult } from '../../../tools/control-plane/kubectl.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type AskOptions,
  type GatewayAnswer,
  type OwnGateway,
  ask,
  gatewayCa,
  startGateway,
} from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { type KeyClient, type StoredKey, keyClientOf } from '../keys/key-client.ts'

/** The path prefix of the management cluster's API on a gateway. */
export const MANAGEMENT = '/kubernetes/management'

/** A bound for steps without a promised time, on a busy machine. */
export const SOON = { withinMs: 20_000 }

/** A key that every gateway of the setup accepts. */
export interface UsableKey {
  readonly object: StoredKey
  readonly token: string
  /** The path of a kubeconfig with this key, for kubectl and other clients. */
  readonly kubeconfig: string
}

/** Whom the API server sees. */
interface UserInfo {
  readonly username: string
  readonly groups: readonly string[]
}

/** The product's processes for one test file. */
export interface TestGateway<Plane = TestControlPlane> {
  readonly plane: Plane
  readonly operator: OwnOperator
  readonly gateways: readonly OwnGateway[]
  /** Starts one more gateway, which the caller stops; `quotaFlags` replace quotas that no test reaches. */
  readonly anotherGateway: (quotaFlags?: readonly string[]) => Promise<OwnGateway>
  /** Reads and writes keys as an administrator, past the gateway. */
  readonly keys: KeyClient
  readonly ca: string
  /** Creates a key as an administrator, of user ada unless the spec says otherwise. */
  readonly key: (spec?: OwnedAccessKeySpec, metadata?: Partial<ObjectMeta>) => Promise<UsableKey>
  /** One request to the first gateway; `token` null = without a credential. */
  readonly ask: (
    token: string | null,
    path: string,
    options?: Omit<AskOptions, 'ca'>,
  ) => Promise<GatewayAnswer>
  /** Whom the API server sees behind a token, through the first gateway. */
  readonly userInfo: (token: string) => Promise<UserInfo>
  readonly kubectl: (
    key: UsableKey,
    args: readonly string[],
    options?: Pick<KubectlOptions, 'input'>,
  ) => Promise<KubectlResult>
}

/**
 * Starts operator and gateways on a control plane; they are stopped after the file's last test.
 *
 * @param gatewayFlags more flags of the gateways
 */
export async function startTestGateway<Plane extends TestControlPlane>(
  plane: Plane,
  gatewayCount = 1,
  gatewayFlags: readonly string[] = [],
): Promise<TestGateway<Plane>> {
  const folder = mkdtempSync(join(tmpdir(), 'setup-'))
  const { namespace, name } = GATEWAY_ACCOUNT
  const flags = [`--issuer-url=${ISSUER}`]
  const [ofOperator, kubeconfig] = await Promise.all([
    plane.operatorKubeconfig(),
    plane.serviceAccountKubeconfig(namespace, name),
  ])
  // The tests of a file share a few users, each with more keys than the default quota.
  const unbounded = ['--max-keys-per-user=10000', '--max-tokens-per-user=10000']
  const anotherGateway: TestGateway['anotherGateway'] = (quotaFlags = unbounded) =>
    startGateway({ kubeconfig, flags: [...flags, ...gatewayFlags, ...quotaFlags] })
  const [operator, ...gateways] = await Promise.all([
    startOperator({ kubeconfig: ofOperator, flags }),
    ...Array.from({ length: gatewayCount }, () => anotherGateway()),
  ])
  afterAll(async () => {
    await Promise.all([...gateways, operator].map((one) => one.stop()))
    rmSync(folder, { recursive: true })
  })
  const ca = await gatewayCa(plane.admin)
  const urlOf = (at: number): string => `${gateways[at]?.url()}${MANAGEMENT}`
  const keys = keyClientOf(plane)

  const askAt = (at: number, token: string | null, path: string, options = {}) =>
    ask(`${urlOf(at)}${path}`, { ca, ...withToken(token, options) })
  const key: TestGateway['key'] = async (spec, metadata) => {
    const object = await keys.shown(await keys.create(spec, metadata), 'Active')
    const token = spec?.key ?? object.spec.key ?? ''
    for (const at of gateways.keys()) {
      const isAccepted = async () => (await askAt(at, token, '/version')).code !== 401 || undefined
      await eventually(`gateway ${at} accepts the key`, isAccepted, SOON)
    }
    const file = join(folder, `${object.metadata.name}.kubeconfig`)
    const tokenFile = join(folder, `${object.metadata.name}.token`)
    writeFileSync(tokenFile, token)
    writeFileSync(file, kubeconfigOf('gateway', { url: urlOf(0), caPem: ca }, { tokenFile }))
    return { object, token, kubeconfig: file }
  }
  return {
    plane,
    operator,
    gateways,
    anotherGateway,
    keys,
    ca,
    key,
    ask: (token, path, options) => askAt(0, token, path, options),
    userInfo: async (token) => {
      const { body } = await askAt(0, token, pathOf(SELF_SUBJECT_REVIEWS, {}), SELF_REVIEW)
      return (JSON.parse(body) as { readonly status: { readonly userInfo: UserInfo } }).status
        .userInfo
    },
    kubectl: (one, args, options) =>
      plane.kubectl(args, { ...options, kubeconfig: one.kubeconfig }),
  }
}

const SELF_REVIEW = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    apiVersion: apiVersionOf(SELF_SUBJECT_REVIEWS),
    kind: SELF_SUBJECT_REVIEWS.kind,
  }),
}

const withToken = (
  token: string | null,
  options: Omit<AskOptions, 'ca'>,
): Omit<AskOptions, 'ca'> =>
  token === null
    ? options
    : { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } }
