// The control plane of all tests on a cluster, without the product's manifests.
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'

const WITHIN_A_MINUTE = { withinMs: 60_000 }
/** A refused TLS client gets an alert or only a closed connection. */
const TLS_REFUSAL = /alert|certificate|socket|ECONNRESET|EPIPE|other side closed/i

describe('a control plane', () => {
  const lines: string[] = []
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({
      audit: 'RequestResponse',
      apiServerFlags: ['--event-ttl=10m'],
      log: (line) => lines.push(line),
    })
  })
  afterAll(() => plane.stop())

  test('serves kubectl', async () => {
    await applied(configMap('written', {}))
    const { code, stdout } = await plane.kubectl(['get', 'cm', 'written', '-o', 'name'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'configmap/written\n' })
  })

  test('returns the result of a kubectl command that fails', async () => {
    const { code, stderr } = await plane.kubectl(['get', 'cm', 'absent'])
    expect(code).toBe(1)
    expect(stderr).toContain('configmaps "absent" not found')
  })

  test('passes flags to the API server', async () => {
    const ps = ['-ww', '-o', 'command=', '-p', String(plane.apiServer.pid)]
    const { stdout: command } = await promisify(execFile)('ps', ps)
    expect(command).toContain('--event-ttl=10m')
  })

  test('logs a write in the audit log when it is received, and with both bodies when it is answered', async () => {
    await applied(configMap('audited', {}))
    const events = await auditOf('audited', 'create')
    expect(events).toHaveLength(0)
    const writes = await auditOf('audited', 'patch')
    expect(writes.map(({ stage, level }) => ({ stage, level }))).toEqual([
      { stage: 'RequestReceived', level: 'RequestResponse' },
      { stage: 'ResponseComplete', level: 'RequestResponse' },
    ])
    expect(writes[1]).toMatchObject({ responseObject: { metadata: { name: 'audited' } } })
  })

  test('garbage collects an object whose owner is deleted', async () => {
    await applied(configMap('owner', {}))
    const uid = await jsonPath('cm/owner', '{.metadata.uid}')
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }
    await applied(configMap('owned', { ownerReferences: [owner] }))
    await plane.kubectl(['delete', 'cm', 'owner'])
    await eventuallyPasses(
      'the owned object is deleted',
      () => expectGone('cm/owned'),
      WITHIN_A_MINUTE,
    )
  })

  test('creates the ServiceAccount of a namespace, and deletes a namespace with its objects', async () => {
    await plane.kubectl(['create', 'namespace', 'short'])
    await eventuallyPasses(
      'the default ServiceAccount exists',
      async () => {
        expect(await jsonPath('sa/default --namespace=short', '{.metadata.name}')).toBe('default')
      },
      WITHIN_A_MINUTE,
    )
    await plane.kubectl(['delete', 'namespace', 'short', '--wait=false'])
    await eventuallyPasses(
      'the namespace is deleted',
      () => expectGone('ns/short'),
      WITHIN_A_MINUTE,
    )
  })

  test('authenticates client certificates of any user and groups, with their RBAC rights', async () => {
    const groups = ['team:a', 'team, "b"']
    const kubeconfig = await plane.clientKubeconfig({ name: 'ada', user: 'ada=é,O=x', groups })
    const who = await plane.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig })
    const { userInfo } = (JSON.parse(who.stdout) as { status: { userInfo: object } }).status
    expect(userInfo).toMatchObject({
      username: 'ada=é,O=x',
      groups: [...groups, 'system:authenticated'],
    })
    const { code, stderr } = await plane.kubectl(['get', 'cm'], { kubeconfig })
    expect(code).toBe(1)
    expect(stderr).toContain('forbidden')
  })

  test('issues tokens of existing ServiceAccounts only', async () => {
    await plane.kubectl(['create', 'serviceaccount', 'robot'])
    const kubeconfig = await plane.serviceAccountKubeconfig('default', 'robot')
    const who = await plane.kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig })
    expect(who.stdout).toContain('"system:serviceaccount:default:robot"')
    await expect(plane.serviceAccountKubeconfig('default', 'nobody')).rejects.toThrow('not found')
  })

  test('makes keys and kubeconfigs readable for the owner only', async () => {
    for (const path of [
      plane.dataDir,
      plane.adminKubeconfig,
      join(plane.dataDir, 'pki', 'ca.key'),
    ]) {
      expect({ path, others: (await stat(path)).mode & 0o077 }).toEqual({ path, others: 0 })
    }
  })

  test.each([
    { name: 'no certificate', client: null },
    { name: 'the certificate of a Kubernetes admin', client: 'admin' },
  ])('runs an etcd that refuses $name', async ({ client }) => {
    const ports = JSON.parse(await readFile(join(plane.dataDir, 'ports.json'), 'utf8')) as {
      readonly etcdClient: number
      readonly etcdPeer: number
    }
    for (const port of [ports.etcdClient, ports.etcdPeer]) {
      await expect(askEtcd(port, client)).rejects.toThrow(TLS_REFUSAL)
    }
    expect(await askEtcd(ports.etcdClient, 'etcd-client')).toBe(200)
  })

  test('keeps address and data over a restart of the API server', async () => {
    await applied(configMap('kept', {}))
    const before = plane.apiServer.pid
    await plane.apiServer.stop()
    expect(plane.apiServer.pid).toBeNull()
    expect((await plane.kubectl(['get', 'cm', 'kept'])).code).toBe(1)
    await plane.apiServer.start()
    expect(plane.apiServer.pid).not.toBe(before)
    expect((await plane.kubectl(['get', 'cm', 'kept'])).code).toBe(0)
    expect(lines.filter((line) => line.includes('by itself'))).toEqual([])
  })

  test('stops the API server despite open watches', async () => {
    const watch = plane.kubectl(['get', 'cm', '--watch'])
    await eventuallyPasses('the watch is open', expectKubectlWatches, WITHIN_A_MINUTE)
    await plane.apiServer.stop()
    expect((await watch).stdout).toContain('kube-root-ca.crt')
    expect(lines.filter((line) => line.includes('kube-apiserver did not end'))).toEqual([])
    await plane.apiServer.start()
  })

  test('stops a suspended daemon', async () => {
    process.kill(plane.controllerManager.pid ?? 0, 'SIGSTOP')
    await plane.controllerManager.stop()
    expect(lines.at(-1)).toContain('kube-controller-manager did not end in time: killed')
    expect(plane.controllerManager.pid).toBeNull()
    await plane.controllerManager.start()
  })

  test('reports a daemon that is killed from outside', async () => {
    process.kill(plane.controllerManager.pid ?? 0, 'SIGKILL')
    await eventually(
      'a log line about it',
      () => lines.find((line) => line.includes('by itself')),
      WITHIN_A_MINUTE,
    )
    expect(lines.at(-1)).toContain('kube-controller-manager ended by itself (SIGKILL)')
    await plane.controllerManager.start()
  })

  test('serves again after a restart of etcd', async () => {
    const before = plane.apiServer.pid
    await plane.etcd.stop()
    await plane.etcd.start()
    const write = () => applied(configMap('after', {}))
    await eventuallyPasses('a write succeeds', write, WITHIN_A_MINUTE)
    expect(plane.apiServer.pid).toBe(before)
  })

  test('answers 410 to a watch from a compacted revision', async () => {
    await applied(configMap('old', {}))
    const revision = await jsonPath('cm/old', '{.metadata.resourceVersion}')
    await applied(configMap('new', {}))
    await plane.compactEtcd()
    await plane.apiServer.stop()
    await plane.apiServer.start()
    const query = `watch=1&resourceVersion=${revision}&timeoutSeconds=5`
    const watch = await plane.kubectl(['get', '--raw', `/api/v1/configmaps?${query}`])
    expect(JSON.parse(watch.stdout)).toMatchObject({
      type: 'ERROR',
      object: { reason: 'Expired', code: 410 },
    })
  })

  async function applied(object: object): Promise<void> {
    const input = JSON.stringify(object)
    const result = await plane.kubectl(['apply', '--server-side', '-f', '-'], { input })
    expect(result).toMatchObject({ code: 0 })
  }

  async function jsonPath(what: string, path: string): Promise<string> {
    const args = ['get', ...what.split(' '), '-o', `jsonpath=${path}`]
    return (await plane.kubectl(args)).stdout
  }

  async function expectGone(what: string): Promise<void> {
    expect((await plane.kubectl(['get', what])).stderr).toContain('(NotFound)')
  }

  async function auditOf(name: string, verb: string): Promise<readonly AuditEvent[]> {
    const events = await auditEvents()
    return events.filter((event) => event.verb === verb && event.objectRef?.name === name)
  }

  async function expectKubectlWatches(): Promise<void> {
    const watches = (await auditEvents()).filter(
      ({ verb, stage, userAgent }) =>
        verb === 'watch' && stage === 'ResponseStarted' && userAgent.startsWith('kubectl/'),
    )
    expect(watches).not.toEqual([])
  }

  async function auditEvents(): Promise<readonly AuditEvent[]> {
    const text = await readFile(plane.auditLog ?? '', 'utf8')
    const whole = text.slice(0, text.lastIndexOf('\n'))
    return whole.split('\n').map((line) => JSON.parse(line) as AuditEvent)
  }

  function pki(file: string): string {
    return join(plane.dataDir, 'pki', file)
  }

  async function askEtcd(port: number, client: string | null): Promise<number> {
    const ca = await readFile(pki('etcd-ca.crt'))
    const own = client && {
      cert: await readFile(pki(`${client}.crt`)),
      key: await readFile(pki(`${client}.key`)),
    }
    const dispatcher = new Agent({ connect: { ca, ...own } })
    onTestFinished(() => dispatcher.close())
    const answer = await request(`https://127.0.0.1:${port}/health`, { dispatcher })
    await answer.body.dump()
    return answer.statusCode
  }
})

interface AuditEvent {
  readonly stage: string
  readonly level: string
  readonly verb: string
  readonly userAgent: string
  readonly objectRef?: { readonly name?: string }
}

function configMap(name: string, metadata: object): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...metadata },
  }
}
