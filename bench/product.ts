// The product on a control plane, as benchmarks run it: operator and gateway as processes with their own accounts.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { GATEWAY_TLS_SECRET } from '../src/api/names.ts'
import { type OwnOperator, startOperator } from '../test/support/command-process.ts'
import { type OwnGateway, startGateway } from '../test/support/gateway-process.ts'
import {
  GATEWAY_ACCOUNT,
  OPERATOR_ACCOUNT,
  installProduct,
} from '../test/support/installed-control-plane.ts'
import { mustKubectl } from '../test/support/kubectl.ts'
import type { ControlPlane } from '../tools/control-plane/control-plane.ts'

/** An operator and a gateway that are ready. */
export interface RunningProduct {
  readonly operator: OwnOperator
  readonly gateway: OwnGateway
  /** The issuer of tokens: the gateway itself. */
  readonly issuer: string
  /** The CA of the gateway's certificate; PEM. */
  readonly caPem: string
  /** Starts one more gateway beside it, of another program where one is named, and waits until it is ready. */
  readonly startAnotherGateway: (programFile?: string) => Promise<OwnGateway>
  stop(): Promise<void>
}

/** Installs the product and starts it. @throws Error when a part is not ready within 30 s; nothing runs then */
export async function startProduct(plane: ControlPlane): Promise<RunningProduct> {
  await installProduct(plane)
  const address = `127.0.0.1:${await freePort()}`
  const issuer = `https://${address}/oidc`
  const flags = [`--issuer-url=${issuer}`]
  const operator = await startOperator({ kubeconfig: await kubeconfigOf(OPERATOR_ACCOUNT), flags })
  const startOneGateway = async (
    own: readonly string[],
    programFile?: string,
  ): Promise<OwnGateway> =>
    startGateway({
      kubeconfig: await kubeconfigOf(GATEWAY_ACCOUNT),
      flags: [...flags, '--allow-target-cidr=127.0.0.0/8', ...own],
      programFile,
    })
  try {
    const gateway = await startOneGateway([`--bind-address=${address}`])
    return {
      operator,
      gateway,
      issuer,
      caPem: await servingCa(plane),
      startAnotherGateway: (programFile) => startOneGateway([], programFile),
      stop: async () => {
        await gateway.stop()
        await operator.stop()
      },
    }
  } catch (error) {
    await operator.stop()
    throw error
  }

  function kubeconfigOf({ namespace, name }: typeof GATEWAY_ACCOUNT | typeof OPERATOR_ACCOUNT) {
    return plane.serviceAccountKubeconfig(namespace, name)
  }
}

/** The CA that signed the certificate of a gateway or direct endpoint; PEM. */
export async function servingCa(plane: ControlPlane): Promise<string> {
  const secret = ['get', 'secret', GATEWAY_TLS_SECRET, '-n', GATEWAY_ACCOUNT.namespace]
  const encoded = await mustKubectl(plane, [...secret, '-o', 'jsonpath={.data.ca\\.crt}'])
  return Buffer.from(encoded, 'base64').toString()
}

/** A port that was free a moment ago, for a program that can't choose one by itself. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
