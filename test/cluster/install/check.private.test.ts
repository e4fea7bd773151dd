// `management-operator check` on a whole installation, and on one that lacks a part.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, GATEWAY_TLS_SECRET, SECRETS } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { PARTS, type Part } from '../../../src/commands/check/result.ts'
import { choosePort } from '../../../tools/control-plane/ports.ts'
import { serverPair } from '../../support/certificate-builder.ts'
import {
  type OwnOperator,
  type OwnProcess,
  type RunResult,
  runProgram,
  startCommand,
  startOperator,
} from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { type OwnGateway, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { inWhole } from '../../support/tier.ts'

const plane = await privateControlPlane()
const folder = mkdtempSync(join(tmpdir(), 'check-'))
const port = await choosePort(join(folder, 'port'), console.log)
const address = `https://127.0.0.1:${port}`
const issuer = `--issuer-url=${address}/oidc`
let operator: OwnOperator
let gateway: OwnGateway
let delivery: OwnProcess

const startDelivery = async (): Promise<OwnProcess> =>
  startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig(GATEWAY_ACCOUNT.namespace, 'delivery'),
    flags: ['--leader-elect'],
  })

beforeAll(async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  const account = await plane.serviceAccountKubeconfig(namespace, name)
  const bind = `--bind-address=127.0.0.1:${port}`
  ;[operator, gateway, delivery] = await Promise.all([
    startOperator({ kubeconfig: await plane.operatorKubeconfig(), flags: [issuer] }),
    startGateway({ kubeconfig: account, flags: [issuer, bind] }),
    startDelivery(),
  ])
})

afterAll(async () => {
  await Promise.all([operator, gateway, delivery].map((process) => process.stop()))
  rmSync(folder, { recursive: true })
})

const check = (...flags: readonly string[]): Promise<RunResult> =>
  runProgram(['check', `--kubeconfig=${plane.adminKubeconfig}`, `--gateway=${address}`, ...flags])

interface TlsSecret extends KubeObject {
  readonly data: Readonly<Record<string, string>>
}

/** The lines of a report, by part. */
const linesOf = ({ stdout }: RunResult): Readonly<Record<string, string>> =>
  Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, kind = '', part = '', text = ''] = /^(\S+) +(\S+) +(.*)$/.exec(line) ?? []
        return [part, `${kind}: ${text}`] as const
      }),
  )

/** The parts that are missing. */
const missingIn = (result: RunResult): readonly string[] =>
  Object.entries(linesOf(result))
    .filter(([, text]) => text.startsWith('missing'))
    .map(([part]) => part)

const keysOfChecks = async (): Promise<readonly string[]> =>
  (await plane.admin.list(ACCESS_KEYS, {}, 500)).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('check-'))

describe('management-operator check', () => {
  test('a whole installation lacks nothing, and no key of the check is left', async () => {
    const result = await check()
    const lines = linesOf(result)
    expect(missingIn(result)).toEqual([])
    expect(Object.keys(lines)).toEqual(PARTS)
    expect(lines['key']).toBe('found: made, used at the gateway, removed, and refused from then on')
    expect(lines['issuer']).toContain(`${address}/oidc is reached`)
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(await keysOfChecks()).toEqual([])
    expect(result.stdout).not.toContain('pak_')
  })

  test('without an address of the gateway, what was not checked counts as missing', async () => {
    const result = await runProgram(['check', `--kubeconfig=${plane.adminKubeconfig}`])
    expect(missingIn(result)).toEqual(['certificate', 'issuer', 'key'])
    expect(result.stdout).toContain('name it by --gateway, or set platformHost of the Config')
    expect(result.code).toBe(1)
    expect(await keysOfChecks()).toEqual([])
  })

  test.each<{
    readonly name: string
    readonly part: Part
    readonly path: string
    readonly says: string
  }>([
    {
      name: 'a policy',
      part: 'policies',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/owner.management.platform.sh',
      says: 'ValidatingAdmissionPolicy owner.management.platform.sh: kubectl apply',
    },
    {
      name: "a policy's binding",
      part: 'policies',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/limits.management.platform.sh',
      says: 'ValidatingAdmissionPolicyBinding limits.management.platform.sh: kubectl apply',
    },
    {
      name: 'a Role of the gateway',
      part: 'rights',
      path: '/apis/rbac.authorization.k8s.io/v1/namespaces/platform-system/rolebindings/management-operator-gateway',
      says: 'gateway may not get configmaps in namespace platform-system',
    },
    {
      name: 'the ClusterRole of the delivery process',
      part: 'rights',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/management-operator-delivery',
      says: 'delivery may not list accesskeyclaims',
    },
  ])('names $name that is deleted', async ({ part, path, says }) => {
    const { body } = await plane.raw('GET', path)
    await plane.raw('DELETE', path)
    try {
      const result = await check()
      expect(missingIn(result)).toEqual([part])
      expect(linesOf(result)[part]).toContain(says)
      expect(result.code).toBe(1)
    } finally {
      await restore(path, body)
    }
  })

  test("names a certificate that the given authority didn't sign, and uses no key there", async () => {
    const caFile = join(folder, 'other.crt')
    writeFileSync(caFile, serverPair('another').caPem)
    const result = await check(`--ca-file=${caFile}`)
    expect(missingIn(result)).toEqual(['certificate', 'issuer', 'key'])
    expect(linesOf(result)['certificate']).toMatch(/cannot be reached: .*certificate/)
    expect(await keysOfChecks()).toEqual([])
  })

  test('trusts the authority in the Secret of the certificate that it is told of', async () => {
    const own = await plane.admin.get<TlsSecret>(SECRETS, {
      name: GATEWAY_TLS_SECRET,
      namespace: GATEWAY_ACCOUNT.namespace,
    })
    const authorities = {
      edge: own?.data['ca.crt'],
      another: Buffer.from(serverPair('another').caPem).toString('base64'),
    }
    const path = `/api/v1/namespaces/${GATEWAY_ACCOUNT.namespace}/secrets`
    for (const [name, ca] of Object.entries(authorities))
      await plane.raw('POST', path, { metadata: { name }, data: { 'ca.crt': ca } })
    expect(missingIn(await check('--tls-secret=edge'))).toEqual([])
    for (const name of ['another', 'absent'])
      expect(missingIn(await check(`--tls-secret=${name}`))).toContain('certificate')
  })

  test('names a delivery process that has gone, and finds the next one (28.3)', async () => {
    await delivery.stop()
    const result = await check()
    expect(missingIn(result)).toEqual(['delivery'])
    expect(linesOf(result)['delivery']).toContain(
      'no delivery process holds Lease management-operator-delivery',
    )
    delivery = await startDelivery()
    expect(missingIn(await check('--wait=30s'))).toEqual([])
  })

  test.each(inWhole('waits for a manager that is not there yet'))('%s', async () => {
    await operator.stop()
    const absent = await check()
    expect(missingIn(absent)).toEqual(['lease', 'key'])
    expect(linesOf(absent)['key']).toContain('no manager has made access key')
    const waiting = check('--wait=1m')
    operator = await startOperator({
      kubeconfig: await plane.operatorKubeconfig(),
      flags: [issuer],
    })
    expect(await waiting).toMatchObject({ code: 0, stderr: '' })
  })
})

/** Creates a deleted object again. */
async function restore(path: string, object: unknown): Promise<void> {
  const { metadata, ...rest } = object as { readonly metadata: Readonly<Record<string, unknown>> }
  const { name, namespace, labels } = metadata
  const collection = path.slice(0, path.lastIndexOf('/'))
  await plane.raw('POST', collection, { ...rest, metadata: { name, namespace, labels } })
}
