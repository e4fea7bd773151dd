// The peers of the benchmarks, bench/peers, do what the product is compared by: else their figures would say nothing.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type PeerName, ensurePeers } from '../../bench/peers.ts'
import { ACCESS_KEYS } from '../../src/api/names.ts'
import { tether } from '../../tools/tether.ts'
import { paths } from '../../tools/control-plane/commands.ts'
import { startOperator } from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { mustKubectl } from '../support/kubectl.ts'

const NAMESPACE = 'platform-system'
const RIGHTS = join(import.meta.dirname, '../../bench/peers/rights.yaml')
const COUNT = 20

const peers = await ensurePeers(console.log)
const plane = await ownControlPlane()
const kubectl = (...args: readonly string[]) => mustKubectl(plane, args)
await kubectl('apply', '-f', RIGHTS)
const account = await plane.serviceAccountKubeconfig(NAMESPACE, 'bench-peer')

/** Runs `load`; resolves with the figures that it prints. */
async function load(...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  return JSON.parse((await promisify(execFile)(peers.load, args)).stdout) as Record<string, unknown>
}
const asAdmin = (prefix: string) => ['--kubeconfig', plane.adminKubeconfig, '--prefix', prefix]

/** Starts a peer and waits until it is ready. `stop` resolves with its exit code and the time that it took. */
async function startPeer(
  name: PeerName,
  ...args: readonly string[]
): Promise<{ readonly stop: () => Promise<{ readonly code: unknown; readonly tookMs: number }> }> {
  const child = spawn(peers[name], ['--kubeconfig', account, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  tether(child)
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  expect(printed.toString()).toBe('ready\n')
  return {
    stop: async () => {
      const sinceMs = performance.now()
      child.kill('SIGTERM')
      const [code] = (await once(child, 'exit')) as [unknown]
      return { code, tookMs: performance.now() - sinceMs }
    },
  }
}

/** One of the keys without what differs from key to key, or from minute to minute. */
async function shapeOf(prefix: string): Promise<unknown> {
  const text = await kubectl('get', ACCESS_KEYS.plural, `${prefix}-7`, '-o', 'json')
  const { metadata, spec, status } = JSON.parse(text)
  const { annotations, finalizers, generation } = metadata
  return JSON.parse(
    JSON.stringify({ annotations, finalizers, generation, spec, status })
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME')
      .replaceAll(/pak_[0-9a-f]+|(?<="keyID":")[0-9a-f]{16}/g, 'KEY'),
  )
}

/** A burst through whoever runs, and the shape of its keys; they are deleted through it again. */
async function burst(prefix: string, ...flags: readonly string[]): Promise<unknown> {
  const figures = await load('keys', ...asAdmin(prefix), '--count', String(COUNT), ...flags)
  expect(figures).toMatchObject({ count: COUNT, perSecond: expect.any(Number) })
  const shape = await shapeOf(prefix)
  expect(await load('delete', ...asAdmin(prefix))).toMatchObject({ count: COUNT })
  return shape
}

const ofProduct = await (async () => {
  await using _ = await startOperator({ kubeconfig: await plane.operatorKubeconfig() })
  return { forever: await burst('product'), aDay: await burst('product-day', '--ttl', '86400') }
})()

test.each<{ readonly name: PeerName; readonly args: readonly string[] }>([
  { name: 'controller-runtime', args: ['--namespace', NAMESPACE] },
  { name: 'echo', args: [] },
  { name: 'echo', args: ['--writes', 'apply'] },
])(
  '$name $args leaves keys like those of the product, and ends within a second',
  async ({ name, args }) => {
    const peer = await startPeer(name, ...args)
    expect(await burst(name)).toEqual(ofProduct.forever)
    expect(await burst(`${name}-day`, '--ttl', '86400')).toEqual(ofProduct.aDay)
    const { code, tookMs } = await peer.stop()
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(1000)
  },
)

test.each(['update', 'apply'])('load floor leaves such keys too, by %s', async (writes) => {
  const prefix = `floor-${writes}`
  await load('floor', ...asAdmin(prefix), '--count', String(COUNT), '--writes', writes)
  expect(await shapeOf(prefix)).toEqual(ofProduct.forever)
  const deleted = await load('delete', ...asAdmin(prefix), '--strip-finalizers')
  expect(deleted).toMatchObject({ count: COUNT })
})

test('controller-runtime publishes the end of a key', async () => {
  const peer = await startPeer('controller-runtime', '--namespace', NAMESPACE)
  await load('keys', ...asAdmin('short'), '--count', '1', '--ttl', '3')
  const isExpired = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Expired'
  const waited = await kubectl('wait', ACCESS_KEYS.plural, 'short-0', isExpired, '--timeout=20s')
  expect(waited).toContain('condition met')
  await load('delete', ...asAdmin('short'))
  await peer.stop()
})

test.each(['update', 'apply'])('load status publishes the end of keys, by %s', async (writes) => {
  const prefix = `ended-${writes}`
  const count = ['--count', String(COUNT)]
  // All are Ready before the first one ends, also on a busy machine.
  await load('floor', ...asAdmin(prefix), ...count, '--ttl', '4')
  const reason = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].reason}'
  await eventually(
    'all statuses say so',
    async () => {
      await load('status', ...asAdmin(prefix), ...count, '--writes', writes)
      const selected = [ACCESS_KEYS.plural, '-l', `bench=${prefix}`]
      const reasons = (await kubectl('get', ...selected, '-o', reason)).split(' ')
      return reasons.every((one) => one === 'Expired') || undefined
    },
    { withinMs: 20_000 },
  )
  await load('delete', ...asAdmin(prefix), '--strip-finalizers')
})

test('load says what did not become ready', async () => {
  const run = load('keys', ...asAdmin('nobody'), '--count', '2', '--timeout', '1s')
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: '2 of 2 keys are not Ready after 1s\n',
  })
  await load('delete', ...asAdmin('nobody'), '--strip-finalizers')
})

test.each(['as itself', 'as the caller'])(
  'delegate lets through, %s, what the caller may do',
  async (as) => {
    const address = `127.0.0.1:${await freePort()}`
    const pki = (file: string) => paths.pki(plane.dataDir, file)
    const served = ['--cert', pki('apiserver.crt'), '--key', pki('apiserver.key')]
    const flags = as === 'as itself' ? [] : ['--impersonate']
    const peer = await startPeer('delegate', '--listen', address, ...served, ...flags)
    const name = as.replaceAll(' ', '-')
    await kubectl('create', 'configmap', name, '-n', 'default', '--from-literal=text=small')
    await kubectl('create', 'serviceaccount', name, '-n', 'default')
    const subject = `--serviceaccount=default:${name}`
    await kubectl('create', 'rolebinding', name, '-n', 'default', '--clusterrole=view', subject)
    const tokenFile = join(plane.dataDir, `${name}.token`)
    await writeFile(tokenFile, await kubectl('create', 'token', name, '-n', 'default'))
    const ask = (path: string, ...args: readonly string[]) =>
      load('http', '--url', `https://${address}${path}`, '--ca', plane.caFile, ...args)
    const some = ['--connections', '2', '--seconds', '0.5']
    const token = ['--token-file', tokenFile]
    const of = '/api/v1/namespaces/default'

    const object = `${of}/configmaps/${name}`
    expect(Object.keys((await ask(object, ...some, ...token))['statuses'] ?? {})).toEqual(['200'])
    expect(Object.keys((await ask(object, ...some))['statuses'] ?? {})).toEqual(['401'])
    expect(Object.keys((await ask(`${of}/secrets`, ...some, ...token))['statuses'] ?? {})).toEqual([
      '403',
    ])
    const patched = ['--patch-configmap', `default/${name}`, '--kubeconfig', plane.adminKubeconfig]
    const watch = `${of}/configmaps?watch=1&fieldSelector=metadata.name%3D${name}`
    const watches = ['--mode', 'watch', '--connections', '3', '--events', '10', '--seconds', '20']
    expect(await ask(watch, ...watches, ...token, ...patched)).toMatchObject({
      watches: 3,
      events: 30,
    })
    expect((await peer.stop()).tookMs).toBeLessThan(1000)
  },
)

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
