// The whole of it: a control plane with the product's manifests, an operator, gateways, and keys to call with.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
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

/** Where the API of the management cluster is behind a gateway. */
export const MANAGEMENT = '/kubernetes/management'

/** How long anything may take on a busy machine, unless its time is what a test is about. */
export const SOON = { withinMs: 20_000 }

/** A key that opens the gateway. */
export interface UsableKey {
  readonly object: StoredKey
  readonly token: string
  /** Names a file that kubectl and clients read. */
  readonly kubeconfig: string
}

/** A front of the test file's own. */
export interface TestGateway<Plane = TestControlPlane> {
  readonly plane: Plane
  readonly operator: OwnOperator
  readonly gateways: readonly OwnGateway[]
  /** One more of them, to be stopped by who asked for it; with these flags in place of bounds that nobody meets. */
  readonly another: (bounds?: readonly string[]) => Promise<OwnGateway>
  /** The keys as an administrator makes and changes them, past the gateway. */
  readonly keys: KeyClient
  readonly ca: string
  /** Made by an administrator, of user ada unless the spec says otherwise; every gateway takes it. */
  readonly key: (spec?: OwnedAccessKeySpec, metadata?: Partial<ObjectMeta>) => Promise<UsableKey>
  /** One request to the first gateway; `token` null = without a credential. */
  readonly ask: (
    token: string | null,
    path: string,
    options?: Omit<AskOptions, 'ca'>,
  ) => Promise<GatewayAnswer>
  readonly kubectl: (
    key: UsableKey,
    args: readonly string[],
    options?: Pick<KubectlOptions, 'input'>,
  ) => Promise<KubectlResult>
}

/** Starts operator and gateways on a control plane; they are stopped after the file's last test. */
export async function startTestGateway<Plane extends TestControlPlane>(
  plane: Plane,
  gatewayCount = 1,
): Promise<TestGateway<Plane>> {
  const folder = mkdtempSync(join(tmpdir(), 'front-'))
  const { namespace, name } = GATEWAY_ACCOUNT
  const flags = [`--issuer-url=${ISSUER}`]
  const [ofOperator, kubeconfig] = await Promise.all([
    plane.operatorKubeconfig(),
    plane.serviceAccountKubeconfig(namespace, name),
  ])
  // The tests of a file share a few users, who have more keys than people do.
  const unbounded = ['--max-keys-per-user=10000', '--max-tokens-per-user=10000']
  const another: TestGateway['another'] = (bounds = unbounded) =>
    startGateway({ kubeconfig, flags: [...flags, ...bounds] })
  const [operator, ...gateways] = await Promise.all([
    startOperator({ kubeconfig: ofOperator, flags }),
    ...Array.from({ length: gatewayCount }, () => another()),
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
      const isTaken = async () => (await askAt(at, token, '/version')).code !== 401 || undefined
      await eventually(`gateway ${at} takes the key`, isTaken, SOON)
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
    another,
    keys,
    ca,
    key,
    ask: (token, path, options) => askAt(0, token, path, options),
    kubectl: (one, args, options) =>
      plane.kubectl(args, { ...options, kubeconfig: one.kubeconfig }),
  }
}

const withToken = (
  token: string | null,
  options: Omit<AskOptions, 'ca'>,
): Omit<AskOptions, 'ca'> =>
  token === null
    ? options
    : { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } }
