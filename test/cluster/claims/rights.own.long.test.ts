/** @module-tag no-retry */
// The rights of the delivery process, in use: from a first claim to the keys of one that is gone, and with a secret store, it asks for none that it lacks, and
// has none that it does not use (28.3, 36).
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuditedRequest } from '../../../tools/test/asked-rights.ts'
import {
  grantedRights,
  isAskedByPolicy,
  requestsIn,
  rightText,
  usageOf,
} from '../../../tools/test/rights.ts'
import {
  ISSUER,
  type OwnOperator,
  type OwnProcess,
  startCommand,
  startOperator,
} from '../../support/command-process.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import {
  type StorePlatform,
  createProject,
  startStorePlatform,
  storeProgram,
} from '../secret-store/store-world.ts'

const program = await storeProgram()
const plane = await ownControlPlane()
const SHOP = 'shop'
/** A look at the Secrets of a namespace comes every 30 s. */
const BOUND = { withinMs: 75_000 }
const kubectl = (...args: readonly string[]) => mustKubectl(plane, [...args, '-n', SHOP])
let manager: OwnOperator
let delivery: OwnProcess
let platform: StorePlatform

const start = async (): Promise<OwnProcess> =>
  startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig('platform-system', 'delivery'),
    flags: ['--leader-elect', `--secret-store-ca-file=${platform.store.caFile}`],
  })

const claim = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'management.platform.sh/v1',
    kind: 'AccessKeyClaim',
    metadata: { name, namespace: SHOP },
    spec,
  })

const apply = (name: string, spec: object): Promise<string> =>
  mustKubectl(plane, ['apply', '--server-side', '-f', '-'], { input: claim(name, spec) })

const delivered = (name: string): Promise<string> =>
  kubectl('wait', '--for=condition=Ready', `akc/${name}`, '--timeout=60s')

const statusOf = (name: string, field: string): Promise<string> =>
  kubectl('get', 'akc', name, '-o', `jsonpath={.status.${field}}`)

/** Waits until a field of status has another value. */
const changed = (name: string, field: string, before: string): Promise<string> =>
  eventually(
    `another ${field} of claim ${name}`,
    async () => {
      const now = await statusOf(name, field)
      return now !== before && now !== '' ? now : undefined
    },
    BOUND,
  )

const rotate = (name: string): Promise<string> =>
  kubectl('annotate', 'akc', name, 'management.platform.sh/rotate=now')

beforeAll(async () => {
  await mustKubectl(plane, ['create', 'namespace', SHOP])
  const kubeconfig = await plane.operatorKubeconfig()
  manager = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
  platform = await startStorePlatform(plane, program)
  delivery = await start()
})
afterAll(async () => {
  await Promise.all([manager?.stop(), delivery?.stop()])
  await platform?.store[Symbol.asyncDispose]()
})

test('a claim without a binding names the command that lets the process in (28.4)', async () => {
  await apply('deploy', { key: { ttl: 3600 } })
  await kubectl(
    'wait',
    'akc/deploy',
    '--timeout=30s',
    '--for=jsonpath={.status.conditions[0].reason}=DeliveryForbidden',
  )
  const message = await statusOf('deploy', 'conditions[0].message')
  const command =
    /kubectl (create rolebinding .+? --serviceaccount=\S+ (?:-n|--namespace)[ =]\S+|create rolebinding [^;.]+)/.exec(
      message,
    )
  expect(command?.[1]).toContain('--clusterrole=platform-secret-delivery')
  await mustKubectl(plane, command?.[1]?.split(/\s+/) ?? [])
  await delivered('deploy')
})

test('a key and a token are delivered, replaced and mended, and a key is patched (28.4, 28.5)', async () => {
  await apply('edge', { key: { ttl: 3600 }, token: { ttl: 900 }, overlap: 0 })
  await delivered('edge')
  const [key, first] = await Promise.all([
    statusOf('deploy', 'key.name'),
    statusOf('edge', 'token.name'),
  ])
  const elder = await statusOf('edge', 'key.name')
  // Its key stays, so that nothing but this process deletes the replaced token.
  await apply('edge', { key: { ttl: 3600 }, token: { ttl: 1200 }, overlap: 0 })
  const second = await changed('edge', 'token.name', first)
  await kubectl('wait', `dcet/${first}`, '--for=delete', '--timeout=60s')
  expect(await statusOf('edge', 'key.name')).toBe(elder)
  await apply('deploy', { key: { ttl: 7200 }, overlap: 0, secret: { labels: { team: 'shop' } } })
  await kubectl('wait', `oak/${key}`, '--for=jsonpath={.spec.ttl}=7200', '--timeout=30s')
  await Promise.all([rotate('deploy'), rotate('edge')])
  await changed('edge', 'token.name', second)
  const deployed = await changed('deploy', 'key.name', key)
  await Promise.all(
    [key, elder].map((name) => kubectl('wait', `oak/${name}`, '--for=delete', '--timeout=60s')),
  )
  await kubectl('delete', 'secret', 'deploy')
  await changed('deploy', 'key.name', deployed)
  expect(await kubectl('get', 'secret', 'deploy', '-o', 'name')).toBe('secret/deploy\n')
})

test('a claim that is deleted ends its keys, and a key whose claim is gone ends at the next start (28.3, 28.6)', async () => {
  const lost = await statusOf('deploy', 'key.name')
  await kubectl('delete', 'akc', 'edge', '--timeout=60s')
  await delivery.stop()
  await kubectl(
    'patch',
    'akc',
    'deploy',
    '--type=json',
    '-p',
    '[{"op":"remove","path":"/metadata/finalizers"}]',
  )
  await kubectl('delete', 'akc', 'deploy', '--timeout=60s')
  delivery = await start()
  await eventually(
    'the key of the lost claim is gone',
    async () =>
      (await mustKubectl(plane, ['get', 'oak', lost, '--ignore-not-found'])) === '' || undefined,
    BOUND,
  )
  expect(await mustKubectl(plane, ['get', 'oak', '-l', 'management.platform.sh/claim'])).toBe('')
})

test('Secrets are pulled and pushed, refused ones have Events, and the state is reported twice (36)', async () => {
  await platform.says('Synced')
  const web = await createProject(plane)
  await platform.store.put(`${web.name}/pulled`, { a: '1' })
  await web.create('pulled', { direction: 'Pull' })
  await web.create('pushed', { direction: 'Push', data: { a: '1' } })
  await web.create('missing', { direction: 'Pull' })
  await web.has('pulled', { a: '1' })
  await web.event('missing', 'StoreNotFound')
  await platform.says('Partly')
  await eventually(
    'it is pushed',
    async () => (await platform.store.get(`${web.name}/pushed`)) ?? undefined,
    BOUND,
  )
})

/** These serve API servers without streaming lists (test/cluster/install/without-watch-list.own.long.test.ts). */
const WITHOUT_WATCH_LIST = [
  'delivery: list directclusterendpointtokens.management.platform.sh',
  'delivery: list configs.management.platform.sh',
  'delivery: list configmaps platform-config-in-force in platform-system',
  'delivery: list configmaps platform-gateway-ca in platform-system',
  'delivery: list secrets platform-settings-delivery in platform-system',
]

test('it lacks none of its rights, and uses each (28.3)', async () => {
  await Promise.all([manager.stop(), delivery.stop()])
  const granted = grantedRights().filter(
    (right) => right.account === 'delivery' && !isAskedByPolicy(right),
  )
  const requests: AuditedRequest[] = []
  for await (const request of requestsIn(plane.auditLog))
    if (request.user.username.endsWith(':delivery')) requests.push(request)
  const { used, refused } = await usageOf(requests, granted)
  const idle = granted.map(rightText).filter((right) => !used.includes(right))
  expect({ refused, idle }).toEqual({ refused: [], idle: WITHOUT_WATCH_LIST })
  expect(granted.length).toBeGreaterThan(20)
})
