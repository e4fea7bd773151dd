// A direct endpoint for its metrics.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { GATEWAY_TLS_SECRET, SECRETS, TARGET_LABEL } from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import type { IssuerEndpoint } from '../../direct/issuer-servers.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { type OwnGateway, ask, startDirect } from '../../support/gateway-process.ts'
import { mustKubectl } from '../../support/kubectl.ts'

const NAMESPACE = 'platform-direct'
const WEBHOOK_TOKEN = 'webhook-token-of-the-tests'
const SPACE = { name: 'web', project: 'shop', cluster: 'ignored', namespace: 'default' }

/** A direct endpoint of a control plane, in a new namespace, with one space. */
export async function startDirectOn(
  plane: TestControlPlane,
  { issuer, caPem }: IssuerEndpoint,
): Promise<OwnGateway> {
  const home = mkdtempSync(join(tmpdir(), 'direct-'))
  afterAll(() => rmSync(home, { recursive: true }))
  const caFile = join(home, 'ca.pem')
  const webhookToken = join(home, 'webhook-token')
  const stateDir = join(home, 'state')
  mkdirSync(stateDir)
  writeFileSync(caFile, caPem)
  writeFileSync(webhookToken, WEBHOOK_TOKEN)
  const metadata = { name: 'web', namespace: NAMESPACE, labels: { [TARGET_LABEL]: 'space' } }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: SPACE }
  await mustKubectl(plane, ['create', 'namespace', NAMESPACE])
  await mustKubectl(plane, ['create', '-f', '-'], { input: JSON.stringify(secret) })
  return startDirect({
    kubeconfig: plane.adminKubeconfig,
    flags: [
      '--cluster=berlin',
      `--issuer-url=${issuer}`,
      `--issuer-ca-file=${caFile}`,
      `--namespace=${NAMESPACE}`,
      `--target-namespace=${NAMESPACE}`,
      `--webhook-token-file=${webhookToken}`,
      `--state-dir=${stateDir}`,
      '--revocation-poll-interval=1s',
    ],
  })
}

/** Creates activity of a direct endpoint: a request with a token, and a review. @returns their status codes */
export async function useDirect(
  { admin }: TestControlPlane,
  direct: OwnGateway,
  token: string,
): Promise<readonly number[]> {
  const ref = { namespace: NAMESPACE, name: GATEWAY_TLS_SECRET }
  const secret = await admin.get<Secret>(SECRETS, ref)
  const ca = Buffer.from(secret?.data?.['ca.crt'] ?? '', 'base64').toString()
  const authorization = (bearer: string) => ({ authorization: `Bearer ${bearer}` })
  const attributes = { verb: 'get', path: '/version' }
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'ada', nonResourceAttributes: attributes },
  }
  const answers = await Promise.all([
    ask(`${direct.url()}/kubernetes/cluster/version`, { ca, headers: authorization(token) }),
    ask(`${direct.url()}/authorize`, {
      ca,
      method: 'POST',
      headers: { ...authorization(WEBHOOK_TOKEN), 'content-type': 'application/json' },
      body: JSON.stringify(review),
    }),
  ])
  return answers.map(({ code }) => code)
}
