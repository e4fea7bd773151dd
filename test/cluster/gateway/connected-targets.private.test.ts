// A target by its Secret: the control plane itself, by the account of config/target, as docs/targets.md connects one.
// The gateway compares the Secrets every 5 s: tests with targets of their own wait for the same comparison.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { ISSUER, runProgram, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { findCanaries } from '../../support/canary.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { seriesOf } from '../../support/metrics-page.ts'
import { CONFIG } from '../install/installer.ts'

const SOON = { withinMs: 20_000 }
const NAMESPACE = 'platform-system-targets'
const METRIC = 'platform_gateway_target_ready'

const plane = await privateControlPlane()
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
afterAll(() => operator.stop())
const kubectl = (args: readonly string[], input = '') => mustKubectl(plane, args, { input })
const folder = mkdtempSync(join(tmpdir(), 'targets-'))
afterAll(() => rmSync(folder, { recursive: true }))
let gateway: OwnGateway
let token: string
const KEY = uniqueName('k'.repeat(32))

/** The answer to a key's request to a cluster. */
async function asked(cluster = 'c1'): Promise<{ readonly code: number; readonly body: string }> {
  const headers = { authorization: `Bearer ${KEY}` }
  const ca = await gatewayCa(plane.admin)
  return ask(`${gateway.url()}/kubernetes/cluster/${cluster}/version`, { ca, headers })
}

/** The last Event of a Secret, as `reason: note`; an empty text without one. */
async function lastEvent(name: string): Promise<string> {
  const about = `--field-selector=involvedObject.name=${name}`
  const sorted = ['get', 'events', '-n', NAMESPACE, about, '--sort-by=.eventTime', '-o']
  const lines = await kubectl([
    ...sorted,
    'jsonpath={range .items[*]}{.reason}: {.message}{"\\n"}{end}',
  ])
  return lines.trimEnd().split('\n').at(-1) ?? ''
}

/** The series of the metric with their values; only those of these clusters where some are named. */
async function readiness(
  ...clusters: readonly string[]
): Promise<Readonly<Record<string, number>>> {
  const all = [...seriesOf(await gateway.metrics())].filter(([series]) => series.startsWith(METRIC))
  const named = clusters.map(seriesName)
  return Object.fromEntries(
    all.filter(([series]) => clusters.length === 0 || named.includes(series)),
  )
}

const seriesName = (cluster: string): string =>
  `${METRIC}{kind="cluster",project="",name="${cluster}"}`
const C1 = seriesName('c1')

/** The Secret of a cluster for a kubeconfig with this user and server, as the command prints it. */
async function secretOf(user: object, name = 'c1', server = plane.url): Promise<string> {
  const file = join(folder, uniqueName('kubeconfig'))
  const ca = await kubectl([
    'config',
    'view',
    '--raw',
    '--flatten',
    '-o',
    'jsonpath={.clusters[0].cluster.certificate-authority-data}',
  ])
  writeFileSync(
    file,
    stringify({
      'current-context': 'it',
      clusters: [{ name: 'it', cluster: { server, 'certificate-authority-data': ca } }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
      users: [{ name: 'it', user }],
    }),
  )
  const args = ['target', `--name=${name}`, `--kubeconfig=${file}`, '--side=platform']
  const { code, stdout, stderr } = await runProgram(args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const apply = (manifest: string) => kubectl(['apply', '--server-side', '-f', '-'], manifest)

beforeAll(async () => {
  await keyClientOf(plane).create({ user: 'ada', key: KEY })
  await kubectl(['apply', '--server-side', '-k', join(CONFIG, 'target')])
  const secret = ['get', 'secret', 'gateway-token', '-n', 'platform-gateway', '-o']
  const encoded = await eventually(
    'the account has a token',
    async () => (await kubectl([...secret, 'jsonpath={.data.token}'])) || undefined,
    SOON,
  )
  token = Buffer.from(encoded, 'base64').toString()
  const { namespace, name } = GATEWAY_ACCOUNT
  gateway = await startGateway({
    kubeconfig: await plane.serviceAccountKubeconfig(namespace, name),
    flags: [`--issuer-url=${ISSUER}`, '--allow-target-cidr=127.0.0.0/8'],
  })
})
afterAll(async () => {
  await gateway?.stop()
  await kubectl(['delete', '-k', join(CONFIG, 'target'), '--ignore-not-found'])
})

test('a Secret becomes a target that works, in its Event and in the metric (9.5)', async () => {
  expect(await readiness()).toEqual({})
  await apply(await secretOf({ token }))
  await eventuallyPasses(
    'the Secret has its Event',
    async () => expect(await lastEvent('cluster-c1')).toBe('TargetReady: The cluster c1 is ready.'),
    SOON,
  )
  expect(await readiness()).toEqual({ [C1]: 1 })
  expect(await asked()).toMatchObject({ code: 200, body: expect.stringContaining('gitVersion') })
})

test.concurrent('a second Secret for the same target makes both unusable, until one is gone (9.5)', async () => {
  const other = (await secretOf({ token })).replace('cluster-c1', 'another')
  await apply(other)
  const conflict =
    'TargetConflict: The cluster c1 is defined by several Secrets, so none of them is used: another, cluster-c1.'
  await eventuallyPasses(
    'both Secrets have an Event',
    async () => {
      for (const name of ['another', 'cluster-c1']) expect(await lastEvent(name)).toBe(conflict)
    },
    SOON,
  )
  expect(await readiness('c1')).toEqual({ [C1]: 0 })
  const said = expect.stringContaining('several Secrets define it')
  expect(await asked()).toMatchObject({ code: 503, body: said })
  await kubectl(['delete', 'secret', 'cluster-c1', '-n', NAMESPACE])
  await eventuallyPasses(
    'the other one works',
    async () => expect(await readiness('c1')).toEqual({ [C1]: 1 }),
    SOON,
  )
})

test.concurrent('a credential that the API server does not know or that may not impersonate, and a refused address, are told (9.5)', async () => {
  const says = (name: string, clause: string) =>
    eventuallyPasses(
      clause,
      async () =>
        expect(await lastEvent(`cluster-${name}`)).toBe(
          `TargetUnusable: The cluster ${name} does not work: ${clause}.`,
        ),
      SOON,
    )
  await apply(
    [
      await secretOf({ token: 'not-a-token' }, 'c2'),
      await secretOf({ token }, 'c3', 'https://[::1]:6443'),
    ].join('---\n'),
  )
  await says('c2', 'its API server refuses the credential of the kubeconfig')
  await says('c3', 'the address of the API server is a loopback address')
  expect(await readiness('c2', 'c3')).toEqual({ [seriesName('c2')]: 0, [seriesName('c3')]: 0 })
  const powerless = await kubectl(['create', 'token', 'default', '-n', 'default'])
  await apply(await secretOf({ token: powerless.trim() }, 'c2'))
  await kubectl(['delete', 'secret', 'cluster-c3', '-n', NAMESPACE])
  await says('c2', 'the credential of the kubeconfig may not impersonate there')
  await eventuallyPasses(
    'one is gone',
    async () => expect(await readiness('c2', 'c3')).toEqual({ [seriesName('c2')]: 0 }),
    SOON,
  )
  expect(await asked('c3')).toMatchObject({ code: 404 })
})

test('faults of targets are no errors of the gateway, and the metric has the targets that are left (9.5)', async () => {
  expect(await readiness()).toEqual({ [C1]: 1, [seriesName('c2')]: 0 })
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([])
})

test('no credential of a target stands in a log, an Event or a metric (9.5)', async () => {
  const events = await kubectl(['get', 'events', '-n', NAMESPACE, '-o', 'json'])
  const places = {
    log: gateway
      .logs()
      .map((line) => JSON.stringify(line))
      .join('\n'),
    events,
    metrics: await gateway.metrics(),
  }
  expect(places.log).toContain('a target is ready')
  // All tokens of an issuer begin alike.
  const signature = token.split('.').at(-1) ?? ''
  expect(findCanaries(places, [{ label: 'token', secret: signature }])).toEqual([])
})
