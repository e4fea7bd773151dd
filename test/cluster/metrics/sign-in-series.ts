// A sign-in process for its metrics.
import { SIGN_IN_AUDIENCE } from '../../../src/api/names.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { type OwnGateway, ask, gatewayCa, startSignIn } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { NAMESPACE, SIGN_IN_NAMESPACE } from './expressions.ts'

/** A sign-in process of a control plane, behind the gateway. */
export const startSignInOn = async (
  plane: TestControlPlane,
  gateway: OwnGateway,
): Promise<OwnGateway> =>
  startSignIn({
    kubeconfig: await plane.serviceAccountKubeconfig(SIGN_IN_NAMESPACE, 'sign-in'),
    flags: [
      `--namespace=${NAMESPACE}`,
      `--gateway-url=${gateway.url()}`,
      '--public-url=https://platform.example.com',
    ],
  })

/** Tries a wrong password, as the gateway passes it on. @returns the status code */
export async function tryPassword(plane: TestControlPlane, signIn: OwnGateway): Promise<number> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const token = ['create', 'token', name, '-n', namespace, `--audience=${SIGN_IN_AUDIENCE}`]
  const authorization = `Bearer ${(await mustKubectl(plane, token)).trim()}`
  const { code } = await ask(`${signIn.url()}/auth/password/login`, {
    ca: await gatewayCa(plane.admin, SIGN_IN_NAMESPACE),
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'ada', password: 'a wrong password' }),
  })
  return code
}
