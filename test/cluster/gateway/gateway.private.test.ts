// The gateway as a program: its certificate, rights, flags and end, on a cluster where nothing else of
// the product runs.
import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET } from '../../../src/api/names.ts'
import { kubeconfig as kubeconfigOf } from '../../../tools/control-plane/kubeconfig.ts'
import { auditOf } from '../../support/audit-log.ts'
import { serverPair } from '../../support/certificate-builder.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { writeOidcSources } from './oidc-sources.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)
const world = writeOidcSources(plane.raw)
const { namespace, name: account } = GATEWAY_ACCOUNT
const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)
const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
afterAll(() => rmSync(folder, { recursive: true }))

const BOUND = { withinMs: 20_000 }
const WRITES = { user: GATEWAY_USER }
const beginning = await audit.mark()
let gateways: readonly OwnGateway[] = []

beforeAll(async () => {
  const starting = [0, 1].map(() => startGateway({ kubeconfig, until: 'serving' }))
  gateways = await Promise.all(starting)
  await eventually('both serve', () => gateways.map((one) => one.url()), BOUND)
})
afterAll(() => Promise.all(gateways.map((one) => one.stop())))

/** The certificate that a gateway shows to a new connection. */
async function shown(gateway: OwnGateway): Promise<X509Certificate> {
  const { port } = new URL(gateway.url())
  const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  if (!certificate) throw new Error('no certificate was shown')
  return certificate
}

const fingerprints = async (): Promise<ReadonlySet<string>> =>
  new Set((await Promise.all(gateways.map(shown))).map(({ fingerprint256 }) => fingerprint256))

/** kubectl with a kubeconfig that knows this server and this authority: Go's own verifier. */
async function byKubectl(url: string, caPem: string, path: string) {
  const tokenFile = join(folder, 'token')
  const file = join(folder, 'kubeconfig')
  writeFileSync(tokenFile, 'no token')
  writeFileSync(file, kubeconfigOf('gateway', { url, caPem }, { tokenFile }))
  return plane.kubectl(['get', '--raw', path], { kubeconfig: file })
}

describe('the certificate of our own (9.7)', () => {
  test('two gateways that start on an empty cluster share one', async () => {
    expect((await fingerprints()).size).toBe(1)
    const stored = gateways
      .flatMap((one) => one.logs())
      .filter(({ msg }) => msg === 'certificate stored')
    expect(stored).toHaveLength(2)
    const writes = await audit.writesSince(beginning, WRITES)
    const won = writes.filter(({ code, resource }) => code < 400 && resource === 'secrets')
    expect(won).toMatchObject([
      { verb: 'patch', resource: 'secrets', name: GATEWAY_CA_SECRET, code: 201 },
      { verb: 'patch', resource: 'secrets', name: GATEWAY_TLS_SECRET, code: 201 },
    ])
  })

  test('has an authority that Node and Go trust it by', async () => {
    const ca = await gatewayCa(plane.admin)
    const url = gateways[0]?.url() ?? ''
    expect(await ask(`${url}/healthz`, { ca })).toMatchObject({ code: 200, body: 'ok\n' })
    expect(await byKubectl(url, ca, '/healthz')).toMatchObject({ code: 0, stdout: 'ok\n' })
    const byName = url.replace('127.0.0.1', 'localhost')
    expect(await byKubectl(byName, ca, '/healthz')).toMatchObject({ code: 0, stdout: 'ok\n' })
  })

  test('is not trusted by who knows another authority', async () => {
    const { caPem } = serverPair('another')
    const { code, stderr } = await byKubectl(gateways[0]?.url() ?? '', caPem, '/healthz')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/x509|certificate/) })
  })

  test('takes the host of the platform in once it is known, under the same authority', async () => {
    const ca = await gatewayCa(plane.admin)
    await world.settings({ platformHost: 'platform.example.com' })
    const isGood = async (gateway: OwnGateway): Promise<boolean> =>
      (await shown(gateway)).checkHost('platform.example.com') !== undefined
    await eventually(
      'both gateways show it',
      async () => (await Promise.all(gateways.map(isGood))).every(Boolean) || undefined,
      BOUND,
    )
    expect((await fingerprints()).size).toBe(1)
    expect(await gatewayCa(plane.admin)).toBe(ca)
    for (const gateway of gateways) {
      expect(await byKubectl(gateway.url(), ca, '/healthz')).toMatchObject({ code: 0 })
      expect((await ask(`${gateway.url()}/healthz`, { ca })).code).toBe(200)
    }
  })
})

describe('certificate files (9.7)', () => {
  const files = { crt: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
  const put = (file: string, text: string): void => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  test('are served, read again when they change, and whole before they are shown', async () => {
    const [first, second] = [serverPair('first'), serverPair('second')]
    put(files.crt, first.certificatePem)
    put(files.key, first.keyPem)
    const flags = [`--tls-cert-file=${files.crt}`, `--tls-private-key-file=${files.key}`]
    await using gateway = await startGateway({ kubeconfig, flags, until: 'serving' })
    await eventually('it serves', () => gateway.url(), BOUND)
    const subject = async (): Promise<string> => (await shown(gateway)).subject
    expect(await subject()).toBe('CN=first')
    put(files.crt, second.certificatePem)
    await eventually(
      'the half is refused',
      () =>
        gateway
          .logs()
          .find(({ because }) => because === 'the key is not the one of the certificate'),
      BOUND,
    )
    expect(await subject()).toBe('CN=first')
    put(files.key, second.keyPem)
    await eventually(
      'the new pair is shown',
      async () => (await subject()) === 'CN=second' || undefined,
      BOUND,
    )
    expect(gateway.output().stdout).not.toMatch(/BEGIN|MII/)
  })

  test('that can not be served end it with a reason', async () => {
    put(files.key, 'no key')
    const flags = [`--tls-cert-file=${files.crt}`, `--tls-private-key-file=${files.key}`]
    await expect(startGateway({ kubeconfig, flags })).rejects.toThrow(
      /--tls-cert-file and --tls-private-key-file: the key is no PEM private key/,
    )
  })
})

describe('the program', () => {
  test('it has the rights that it uses and no more (8.1)', async () => {
    const may = async (...args: readonly string[]): Promise<string> =>
      (await plane.kubectl(['auth', 'can-i', ...args], { kubeconfig })).stdout.trim()
    const inNamespace = ['-n', namespace]
    expect(await may('get', `secrets/${GATEWAY_TLS_SECRET}`, ...inNamespace)).toBe('yes')
    expect(await may('get', 'secrets', ...inNamespace)).toBe('no')
    expect(await may('list', 'secrets', ...inNamespace)).toBe('no')
    expect(await may('create', 'secrets', ...inNamespace)).toBe('no')
    expect(await may('get', 'secrets/platform-signing-key-1', ...inNamespace)).toBe('no')
    expect(await may('create', 'configmaps', ...inNamespace)).toBe('no')
    expect(await may('patch', 'configmaps', ...inNamespace)).toBe('no')
    expect(await may('list', 'configmaps', '-n', 'kube-system')).toBe('no')
    expect(await may('patch', 'configs')).toBe('no')
    expect(await may('update', 'ownedaccesskeys', '--subresource=finalizers')).toBe('no')
    expect(await may('get', 'clusterroles')).toBe('no')
    expect(await may('impersonate', 'users')).toBe('no')
  })

  test('it can add no signing key, neither by a create nor by an apply (7.3, 8.1)', async () => {
    const collection = `/api/v1/namespaces/${namespace}/secrets`
    const name = 'platform-signing-key-9'
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name } }
    const apply = `${collection}/${name}?fieldManager=x`
    const contentType = 'application/apply-patch+yaml'
    // What the gateway itself never asks for is no use of its rights.
    const borrowed = { kubeconfig, headers: { 'user-agent': 'borrowed/test' } }
    const answers = [
      await plane.raw('POST', collection, secret, borrowed),
      await plane.raw('PATCH', apply, secret, { ...borrowed, contentType }),
      await plane.raw('PUT', `${collection}/${name}`, secret, borrowed),
    ]
    expect(answers.map(({ code }) => code)).toEqual([403, 403, 403])
  })

  test('no request of it was refused for a lack of rights (8.1)', async () => {
    const lines = await audit.linesSince(beginning, GATEWAY_USER)
    const own = lines.filter((line) => line.includes('"userAgent":"management-operator/'))
    expect(own.length).toBeGreaterThan(4)
    expect(own.filter((line) => line.includes('"code":403'))).toEqual([])
  })

  test('each log line is a sentence with fields, and nothing is on standard error (8.5)', () => {
    for (const gateway of gateways) {
      expect(gateway.output().stderr).toBe('')
      for (const { level, time, msg } of gateway.logs()) {
        expect([level, time, msg]).toEqual([
          expect.stringMatching(/^(debug|info|warn|error)$/),
          expect.stringMatching(/Z$/),
          expect.stringMatching(/^[a-z]/),
        ])
      }
      expect(gateway.output().stdout).not.toMatch(/BEGIN|MII|tls\.key/)
    }
  })

  test('SIGTERM ends it with exit code 0, in order (8.3)', async () => {
    const [first] = gateways
    expect(await first?.stop()).toEqual({ code: 0, signal: null })
    expect(
      first
        ?.logs()
        .slice(-2)
        .map(({ msg }) => msg),
    ).toEqual(['stopping', 'stopped'])
  })

  test('it starts and stops while there is no API server, healthy and not ready (8.2, 8.3)', async () => {
    await using nowhere = await startProxy(plane)
    nowhere.on(() => true, { kind: 'destroy' })
    await using lonely = await startGateway({
      kubeconfig: await nowhere.kubeconfig(kubeconfig),
      until: 'serving',
    })
    expect((await lonely.health('/healthz')).code).toBe(200)
    const { code, body } = await lonely.health('/readyz')
    expect(code).toBe(500)
    expect(body).toContain('[-]stores-synced failed: configs, configMaps not listed yet')
    expect(body).toContain('[-]certificate failed: waiting for the settings to be listed')
    expect(await lonely.stop()).toEqual({ code: 0, signal: null })
  })

  test('an address that is taken ends it with a reason (9.7)', async () => {
    const { port } = new URL(gateways[1]?.url() ?? '')
    const second = startGateway({ kubeconfig, flags: [`--bind-address=127.0.0.1:${port}`] })
    await expect(second).rejects.toThrow(/EADDRINUSE/)
  })
})
