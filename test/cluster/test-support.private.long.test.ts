import { expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION } from '../../src/api/names.ts'
import { auditOf } from '../support/audit-log.ts'
import { startOperator } from '../support/command-process.ts'
import { reset } from '../support/control-plane-reset.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { type Match, isWrite, startProxy } from '../support/fault-proxy.ts'
import { OPERATOR_USER } from '../support/installed-control-plane.ts'
import { newKey, uniqueName } from '../support/object-builder.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)

test('a raw request returns code, body and headers', async () => {
  const { code, body, headers } = await plane.raw('GET', '/version')
  expect(code).toBe(200)
  expect(body).toMatchObject({ major: '1' })
  expect(headers['content-type']).toBe('application/json')
})

test('the operator has its own ServiceAccount', async () => {
  const kubeconfig = await plane.operatorKubeconfig()
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { body } = await plane.raw('POST', path, review, { kubeconfig })
  expect(body).toMatchObject({ status: { userInfo: { username: OPERATOR_USER } } })
})

test('the audit log returns the writes since a mark and no earlier ones', async () => {
  await plane.admin.create(ACCESS_KEYS, newKey(), 'test')
  const mark = await audit.mark()
  // Kubernetes writes at any time: Leases, and the objects of a new namespace.
  expect(await audit.writesSince(mark, { user: 'kubernetes-admin' })).toEqual([])
  const { metadata } = await plane.admin.create(ACCESS_KEYS, newKey(), 'test')
  expect(await audit.writesSince(mark, { user: 'kubernetes-admin' })).toEqual([
    expect.objectContaining({
      verb: 'create',
      resource: 'ownedaccesskeys',
      name: metadata.name,
      code: 201,
    }),
  ])
  expect(await audit.writesSince(mark, { user: OPERATOR_USER })).toEqual([])
})

test('a proxy drops the response to a completed write', async () => {
  await using proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  const rule = proxy.on(isWrite, { kind: 'swallow' })
  const path = '/api/v1/namespaces/platform-system/configmaps'
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'swallowed' } }
  const answer = plane.raw('POST', path, configMap, { kubeconfig })
  await rule.reached({ withinMs: 30_000 })
  rule.release()
  await expect(answer).rejects.toThrow('other side closed')
  expect((await plane.raw('GET', `${path}/swallowed`)).code).toBe(200)
})

test('an operator killed during a write is followed by one that completes it', async () => {
  await using proxy = await startProxy(plane)
  const own = await plane.operatorKubeconfig()
  const key = newKey()
  const isStatusWrite: Match = (request) =>
    isWrite(request) && request.path.endsWith(`/${key.metadata.name}/status`)
  {
    await using operator = await startOperator({ kubeconfig: await proxy.kubeconfig(own) })
    expect(await operator.metrics()).toContain('rest_client_requests_total')
    const rule = proxy.on(isStatusWrite, { kind: 'hold' })
    await plane.admin.create(ACCESS_KEYS, key, 'test')
    await rule.reached({ withinMs: 30_000 })
    operator.kill('SIGKILL')
    expect(await operator.exited).toEqual({ code: null, signal: 'SIGKILL' })
    rule.remove()
  }
  await using operator = await startOperator({ kubeconfig: own })
  const awaited = ['wait', `oak/${key.metadata.name}`, '--for=condition=Ready', '--timeout=30s']
  expect(await plane.kubectl(awaited)).toMatchObject({ code: 0 })
  expect(await operator.stop()).toEqual({ code: 0, signal: null })
})

test('a reset removes what a test file left and restores what it changed', async () => {
  const { raw } = plane
  const keys = `/apis/${API_VERSION}/ownedaccesskeys`
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view'
  const platform = '/api/v1/namespaces/platform-system'
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const shipped = await raw<{ items: { metadata: { name: string } }[] }>('GET', policies)
  const policy = `${policies}/${shipped.body.items[0]?.metadata.name}`
  const { rules } = (await raw<{ rules: unknown }>('GET', role)).body
  const managersOf = async (path: string) =>
    (
      await raw<{ metadata: { managedFields: { manager: string }[] } }>('GET', path)
    ).body.metadata.managedFields.map(({ manager }) => manager)
  const managers = await managersOf(platform)
  const withFinalizer = { finalizers: ['example.com/for-ever'] }
  const name = uniqueName('left')
  const namespace = `/api/v1/namespaces/${name}`

  const answers = [
    await raw('POST', '/api/v1/namespaces', { metadata: { name } }),
    await raw('POST', `${namespace}/configmaps`, { metadata: { name: 'held', ...withFinalizer } }),
    await raw('POST', keys, newKey({}, withFinalizer)),
    await raw('PATCH', role, { rules: [] }),
    await raw('PATCH', platform, { metadata: { labels: { left: 'yes' } } }),
    await raw('DELETE', policy),
  ]
  expect(answers.map(({ code }) => code)).toEqual([201, 201, 201, 200, 200, 200])

  await reset(plane, raw)
  expect((await raw('GET', namespace)).code).toBe(404)
  expect((await raw<{ items: unknown[] }>('GET', keys)).body.items).toEqual([])
  expect((await raw('GET', role)).body).toMatchObject({ rules })
  expect((await raw('GET', platform)).body).not.toHaveProperty('metadata.labels.left')
  expect(await managersOf(platform)).toEqual(managers)
  expect((await raw('GET', policy)).code).toBe(200)
})
