// `make install` and `make deploy` on a cluster without constrained impersonation, and after its upgrade: the gateway
// gets the right that the API server requires, and no broader one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../../tools/control-plane/control-plane.ts'
import type { KubectlResult } from '../../../tools/control-plane/kubectl.ts'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { ask, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import {
  COMPONENT,
  CONFIG,
  LEGACY,
  PROBE_OBJECTS,
  type Tool,
  reportAvailable,
  toolFor,
} from './installer.ts'

const IMAGE = 'registry.example.com/management-operator:1.2.3'
const ADDED =
  'this cluster has no constrained impersonation (Kubernetes before 1.36, or its feature gate is off): added config/components/legacy-impersonation'
const REMOVED =
  'this cluster has constrained impersonation: removed config/components/legacy-impersonation'
const IN_NAMESPACE = ['-n', GATEWAY_ACCOUNT.namespace]
const flags = [`--issuer-url=${ISSUER}`]
const SOON = { withinMs: 20_000 }

/** The data that survives the upgrade: etcd, certificates, ServiceAccount keys. */
const dataDir = mkdtempSync(join(tmpdir(), 'upgraded-'))
let plane: ControlPlane
let tool: Tool
afterAll(async () => {
  await plane.stop()
  rmSync(dataDir, { recursive: true })
})

async function start(...apiServerFlags: readonly string[]): Promise<void> {
  plane = await startControlPlane({ dataDir, apiServerFlags, log: console.log })
  tool = await toolFor(plane)
}

const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

const legacy = async (): Promise<boolean> => (await kubectl('get', ...LEGACY, '-o', 'name')) !== ''
const probe = (): Promise<string> => kubectl('get', ...PROBE_OBJECTS, '-o', 'name')

async function deploy(): Promise<string> {
  const deploying = tool(['deploy', '--image', IMAGE])
  for (const name of ['manager', 'gateway', 'delivery']) await reportAvailable(plane, name)
  const { code, out, err } = await deploying
  expect({ code, err, probe: await probe() }).toEqual({ code: 0, err: '', probe: '' })
  return out
}

/** Starts a gateway, which is ready once it may impersonate, and sends a request with a key. */
async function expectGatewayWorks(): Promise<void> {
  const kubeconfigOf = ({ namespace, name }: { namespace: string; name: string }) =>
    plane.serviceAccountKubeconfig(namespace, name)
  await using operator = await startOperator({
    kubeconfig: await kubeconfigOf(OPERATOR_ACCOUNT),
    flags,
  })
  await using gateway = await startGateway({
    kubeconfig: await kubeconfigOf(GATEWAY_ACCOUNT),
    flags,
  })
  expect((await operator.health('/readyz')).code).toBe(200)
  await kubectl('apply', '--server-side', '-k', join(CONFIG, 'samples'))
  await kubectl('wait', 'oak/laptop-cli', '--for=condition=Ready', '--timeout=30s')
  const key = await kubectl('get', 'oak', 'laptop-cli', '-o', 'jsonpath={.spec.key}')
  const path = 'jsonpath={.data.ca\\.crt}'
  const secret = await kubectl('get', 'secret', 'platform-gateway-tls', ...IN_NAMESPACE, '-o', path)
  const ca = Buffer.from(secret, 'base64').toString('utf8')
  const headers = { authorization: `Bearer ${key}` }
  const asked = async () => {
    const { code } = await ask(`${gateway.url()}/kubernetes/management/version`, { ca, headers })
    return code === 200 || undefined
  }
  await eventually('the gateway accepts the key', asked, SOON)
}

/** Tries to impersonate system:masters with the token of the gateway's account. */
async function impersonateMasters(): Promise<KubectlResult> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  const as = ['--as=ada', '--as-group=system:masters']
  return plane.kubectl(['get', '--raw', '/version', ...as], { kubeconfig })
}

describe('without constrained impersonation', () => {
  beforeAll(() => start('--feature-gates=ConstrainedImpersonation=false'))

  test('the tool, stopped during its probe, removes the probe and adds nothing (10.5)', async () => {
    const ending = new AbortController()
    const installing = tool(['install'], { signal: ending.signal })
    await eventually('the probe exists', async () => (await probe()) || undefined, {
      withinMs: 60_000,
    })
    ending.abort()
    expect(await installing).toMatchObject({ code: 1, err: 'interrupted\n' })
    expect({ probe: await probe(), legacy: await legacy() }).toEqual({ probe: '', legacy: false })
  })

  test('make deploy adds the older right and reports it; a gateway works (10.5)', async () => {
    expect(await deploy()).toContain(ADDED)
    expect(await legacy()).toBe(true)
    await expectGatewayWorks()
  })
})

describe('after the upgrade of that cluster', () => {
  beforeAll(async () => {
    await plane.stop()
    await start()
  })

  test('make deploy removes the older right, which was still in effect, and reports it; a gateway works (10.5)', async () => {
    expect(await impersonateMasters()).toMatchObject({ code: 0 })
    expect(await deploy()).toContain(REMOVED)
    expect(await legacy()).toBe(false)
    await eventuallyPasses(
      'the right is removed',
      async () => {
        const { code, stderr } = await impersonateMasters()
        expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('cannot imp') })
      },
      SOON,
    )
    await expectGatewayWorks()
  })

  test('the tool prints advice and changes nothing when its probe is inconclusive (10.5)', async () => {
    await kubectl('apply', '--server-side', '-f', COMPONENT)
    // Without this binding no account may create self reviews.
    await kubectl('delete', 'clusterrolebinding', 'system:basic-user')
    const { code, out, err } = await tool(['install'])
    expect({ code, probe: await probe(), legacy: await legacy() }).toEqual({
      code: 1,
      probe: '',
      legacy: true,
    })
    expect(out).not.toContain('constrained impersonation')
    expect(err).toContain('whether this cluster has constrained impersonation is not certain')
    expect(err).toContain('cannot create resource "selfsubjectaccessreviews"')
    expect(err).toContain('docs/install.md, Before Kubernetes 1.36')
  })
})
