// Manager and gateway in containers with more restrictions than our manifests, with their ServiceAccounts, against a
// control plane in a container.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GATEWAY_TLS_SECRET } from '../../src/api/names.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { type Cluster, startCluster } from './container-cluster.ts'
import { deployDirect, probe } from './direct-deployment.ts'
import {
  BASE_IMAGE,
  MOST_RESTRICTED,
  NODE,
  type RunningContainer,
  restrictedContainer,
  containersOrSkip,
  launch,
  runToEnd,
} from './docker-containers.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAMESPACE = 'platform-system'
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
/** The program's limit for a shutdown, plus some time for a busy machine. */
const STOPS_WITHIN_MS = 40_000
const PORTS = { manager: [8080, 8081], gateway: [8080, 8081, 8443] } as const
type Command = keyof typeof PORTS

const containers = containersOrSkip()
let cluster: Cluster
let folder: string
const running = new Map<Command, RunningContainer>()

beforeAll(async () => {
  if (containers === null) return
  folder = await mkdtemp(join(tmpdir(), 'management-operator-accounts-'))
  cluster = await startCluster(containers)
  await cluster.must(['apply', '--server-side', '-k', join(ROOT, 'config/base')])
  await cluster.must(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s'])
  const issuer = '--issuer-url=https://platform.example.com/oidc'
  await Promise.all([
    start('manager', ['--leader-elect']).then((one) => running.set('manager', one)),
    start('gateway', [issuer]).then((one) => running.set('gateway', one)),
  ])
  // The image of the control plane may have to be built first.
}, 300_000)

afterAll(async () => {
  await Promise.all([...running.values()].map((one) => one.end(0)))
  await cluster?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** Writes token, CA and namespace of a ServiceAccount as kubelet would mount them; returns the folder. */
async function accountOf(name: Command): Promise<string> {
  const mount = join(folder, name)
  await mkdir(mount, { mode: 0o755 })
  const ca = ['get', 'configmap', 'kube-root-ca.crt', '-n', NAMESPACE, '-o', 'json']
  // A controller creates it in each new namespace.
  const text = await eventually('the CA exists', () => cluster.must(ca), { withinMs: 30_000 })
  const { data } = JSON.parse(text) as { data: { 'ca.crt': string } }
  const token = await cluster.must(['create', 'token', name, '-n', NAMESPACE])
  const files = { token: token.trim(), namespace: NAMESPACE, 'ca.crt': data['ca.crt'] }
  for (const [file, content] of Object.entries(files)) await writeFile(join(mount, file), content)
  return mount
}

async function start(command: Command, flags: readonly string[]): Promise<RunningContainer> {
  const { host, ip, port } = cluster.address
  const container = restrictedContainer(containers?.image ?? '', MOST_RESTRICTED)
    .withCommand([command, ...flags])
    .withEnvironment({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: String(port) })
    .withExtraHosts([{ host, ipAddress: ip }])
    .withExposedPorts(...PORTS[command])
    .withBindMounts([{ source: await accountOf(command), target: ACCOUNT_FOLDER, mode: 'ro' }])
  return launch(container)
}

function of(command: Command): RunningContainer {
  const found = running.get(command)
  if (!found) throw new Error(`${command} is not running`)
  return found
}

const addressOf = ({ container }: RunningContainer, port: number): string =>
  `${container.getHost()}:${container.getMappedPort(port)}`

const page = async (command: Command, port: number, path: string): Promise<string> => {
  const answer = await fetch(`http://${addressOf(of(command), port)}${path}`)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status}: ${text}`)
  return text
}

test.each<{ command: Command }>([{ command: 'manager' }, { command: 'gateway' }])(
  '$command becomes ready (8.2)',
  async ({ command }) => {
    const isReady = async () => (await page(command, 8081, '/readyz')).includes('ok') || undefined
    await eventually(`${command} is ready`, isReady, { withinMs: 60_000 })
    expect(of(command).log()).not.toContain('"level":"error"')
  },
)

test('the samples become Ready, and kubectl wait supports it (4.4)', async () => {
  const samples = ['-k', join(ROOT, 'config/samples')]
  await cluster.must(['apply', '--server-side', ...samples])
  const seen = '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}'
  await cluster.must(['wait', seen, '--timeout=30s', 'config,oak,dcet', '--all'])
  const named = ['oak/ci-deploy', 'oak/laptop-cli', 'oak/year-long']
  const waited = await cluster.must(['wait', '--for=condition=Ready', '--timeout=30s', ...named])
  expect(waited.match(/condition met/g)).toHaveLength(named.length)
  // The Config was applied at the same time: a key may be Ready before the cap is in force.
  const capped = '--for=jsonpath={.status.effectiveTTLSeconds}=7776000'
  expect(await cluster.must(['wait', capped, '--timeout=30s', 'oak/year-long'])).toContain('met')
})

test('the manager and the gateway serve metrics (8.4)', async () => {
  expect(await page('manager', 8080, '/metrics')).toMatch(
    /^platform_access_keys\{state="active"\} [1-9]/m,
  )
  expect(await page('gateway', 8080, '/metrics')).toMatch(
    /^rest_client_requests_total\{.*\} [1-9]/m,
  )
})

test('the gateway serves the public keys with a certificate of its CA (7.3, 9.7)', async () => {
  const jsonpath = '-o=jsonpath={.data.ca\\.crt}'
  const secret = await cluster.must([
    'get',
    'secret',
    GATEWAY_TLS_SECRET,
    '-n',
    NAMESPACE,
    jsonpath,
  ])
  const ca = Buffer.from(secret, 'base64')
  const url = `https://${addressOf(of('gateway'), 8443)}/oidc/keys`
  const { status, body } = await new Promise<{ status: number; body: string }>(
    (resolve, reject) => {
      request(url, { ca, servername: 'gateway.platform-system.svc', agent: false }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: text }))
      })
        .once('error', reject)
        .end()
    },
  )
  expect(status).toBe(200)
  expect((JSON.parse(body) as { keys: readonly object[] }).keys).toHaveLength(1)
})

test('the Deployment of config/direct is alive without an issuer, and its readiness says what it lacks (8.2, 9.2)', async () => {
  const { node, pod } = await deployDirect(cluster, containers?.image ?? '')
  const checks = [
    '[+]not-stopping ok',
    '[-]signing-keys-known failed',
    '[-]revocations-known failed',
    '[-]project-prefix-known failed',
    '[+]may-act ok',
    '[+]certificate ok',
  ]
  const lacksTheIssuer = async (): Promise<void> => {
    const { code, text } = await probe(pod, '/readyz?verbose')
    expect(code).toBe(500)
    expect(checks.filter((check) => !text.includes(check))).toEqual([])
  }
  await eventuallyPasses('only the issuer is missing', lacksTheIssuer, { withinMs: 30_000 })
  expect(pod.log()).not.toContain('"level":"error"')
  expect(node.problems).toEqual([])
  expect(node.ended).toEqual([])
})

describe.each<{ command: Command }>([{ command: 'manager' }, { command: 'gateway' }])(
  'the process of $command',
  ({ command }) => {
    const inside = (line: string) =>
      of(command).container.exec([NODE, '-e', `const fs = require('node:fs'); ${line}`])

    test('is process 1, without root, capabilities and privilege escalation, and handles signals', async () => {
      const { output } = await inside(
        `for (const name of ['status', 'cmdline']) console.log(fs.readFileSync('/proc/1/' + name, 'utf8'))`,
      )
      const field = (name: string): string =>
        new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(output)?.[1] ?? ''
      expect(output).toContain('/app/src/main.js')
      expect(field('Uid')).toBe('65532\t65532\t65532\t65532')
      expect(field('Gid')).toBe('65532\t65532\t65532\t65532')
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        expect([set, Number.parseInt(field(set), 16)]).toEqual([set, 0])
      expect(field('NoNewPrivs')).toBe('1')
      const has = (set: string, signal: number): boolean =>
        (BigInt(`0x${field(set)}`) & (1n << BigInt(signal - 1))) !== 0n
      for (const signal of [2, 15]) {
        expect(has('SigCgt', signal)).toBe(true)
        expect(has('SigIgn', signal)).toBe(false)
      }
    })

    test.concurrent.each(['/app/x', '/tmp/x', '/x', '/var/tmp/x', `${ACCOUNT_FOLDER}/token`])(
      "can't write to %s",
      async (path) => {
        const { exitCode, output } = await inside(`fs.appendFileSync('${path}', 'x')`)
        expect(exitCode).not.toBe(0)
        expect(output).toMatch(/EROFS|EACCES|ENOENT/)
      },
    )

    test.concurrent.each([
      'sh',
      '/bin/sh',
      'bash',
      'busybox',
      'env',
      'npm',
      'npx',
      'corepack',
      'yarn',
      'apt-get',
    ])('has no %s in its container', async (program) => {
      const { exitCode, output } = await of(command).container.exec([program, '--version'])
      expect(output).toMatch(/executable file not found|no such file or directory/)
      expect(exitCode).not.toBe(0)
    })

    test('can be inspected from a container with a shell, as by kubectl debug', async () => {
      const target = of(command).container.getId()
      const health = `fetch('http://127.0.0.1:8081/healthz').then((answer) => console.log(answer.status))`
      const debugContainer = restrictedContainer(BASE_IMAGE, {
        ...MOST_RESTRICTED,
        user: '65532:65532',
      })
        .withProcessesOf(target)
        .withNetworkMode(`container:${target}`)
        .withEntrypoint(['sh', '-c'])
        .withCommand([`cat /proc/1/root/app/src/main.js && echo && exec node -e "${health}"`])
      const { code, log } = await runToEnd(debugContainer)
      expect(log).toContain('Usage: management-operator <command> [flags]')
      expect(log).toMatch(/^200$/m)
      expect(code).toBe(0)
    })
  },
)

describe('SIGTERM shuts down in order (8.3)', () => {
  test.each<{ command: Command }>([{ command: 'gateway' }, { command: 'manager' }])(
    '$command',
    async ({ command }) => {
      const one = of(command)
      const code = await one.end(STOPS_WITHIN_MS)
      running.delete(command)
      expect(code).toBe(0)
      const lines = one
        .log()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Line)
      expect(lines.find(({ msg }) => msg === 'stopping')).toMatchObject({ because: 'SIGTERM' })
      expect(lines.at(-1)).toMatchObject({ msg: 'stopped', exitCode: 0 })
      expect(lines.filter(({ level }) => level === 'error')).toEqual([])
    },
  )

  test('the manager releases its Lease', async () => {
    const holder = '-o=jsonpath={.spec.holderIdentity}'
    const lease = ['get', 'lease', 'management-operator', '-n', NAMESPACE, holder]
    expect(await cluster.must(lease)).toBe('')
  })
})

interface Line {
  readonly level: string
  readonly msg: string
}
