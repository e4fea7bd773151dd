// The gateway command: its certificate, RBAC rights, log, flags and shutdown, on a cluster where no other part of the
// product runs.
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
import { writeOidcSources } from './oidc-config-maps.ts'

const plane = await privateControlPlane()
const audit = auditOf(plane)
const sources = writeOidcSources(plane.raw)
const { namespace, name: account } = GATEWAY_ACCOUNT
const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)
const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
afterAll(() => rmSync(folder, { recursive: true }))

const SOON = { withinMs: 20_000 }
const WRITES = { user: GATEWAY_USER }
const beginning = await audit.mark()
let gateways: readonly OwnGateway[] = []

beforeAll(async () => {
  const starting = [0, 1].map(() => startGateway({ kubeconfig, until: 'serving' }))
  gateways = await Promise.all(starting)
  await eventually('both gateways serve', () => gateways.map((one) => one.url()), SOON)
})
afterAll(() => Promise.all(gateways.map((one) => one.stop())))

/** The certificate that a gateway presents to a new connection. */
async function certificateOf(gateway: OwnGateway): Promise<X509Certificate> {
  const { port } = new URL(gateway.url())
  const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  if (!certificate) throw new Error('no certificate was presented')
  return certificate
}

const fingerprints = async (): Promise<ReadonlySet<string>> =>
  new Set(
    (await Promise.all(gateways.map(certificateOf))).map(({ fingerprint256 }) => fingerprint256),
  )

/** kubectl with a kubeconfig of this server and CA, so that Go verifies the certificate. */
async function byKubectl(url: string, caPem: string, path: string) {
  const tokenFile = join(folder, 'token')
  const file = join(folder, 'kubeconfig')
  writeFileSync(tokenFile, 'no token')
  writeFileSync(file, kubeconfigOf('gateway', { url, caPem }, { tokenFile }))
  return plane.kubectl(['get', '--raw', path], { kubeconfig: file })
}

describe('the self-issued certificate (9.7)', () => {
  test('is shared by two gateways that start on an empty cluster', async () => {
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

  test('is trusted by Node and Go with its CA', async () => {
    const ca = await gatewayCa(plane.admin)
    const url = gateways[0]?.url() ?? ''
    expect(await ask(`${url}/healthz`, { ca })).toMatchObject({ code: 200, body: 'ok\n' })
    expect(await byKubectl(url, ca, '/healthz')).toMatchObject({ code: 0, stdout: 'ok\n' })
    const byName = url.replace('127.0.0.1', 'localhost')
    expect(await byKubectl(byName, ca, '/healthz')).toMatchObject({ code: 0, stdout: 'ok\n' })
  })

  test('is not trusted with another CA', async () => {
    const { caPem } = serverPair('another')
    const { code, stderr } = await byKubectl(gateways[0]?.url() ?? '', caPem, '/healthz')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/x509|certificate/) })
  })

  test('gets the host of the platform as a name once it is known, under the same CA', async () => {
    const ca = await gatewayCa(plane.admin)
    await sources.settings({ platformHost: 'platform.example.com' })
    const isGood = async (gateway: OwnGateway): Promise<boolean> =>
      (await certificateOf(gateway)).checkHost('platform.example.com') !== undefined
    await eventually(
      'both gateways present it',
      async () => (await Promise.all(gateways.map(isGood))).every(Boolean) || undefined,
      SOON,
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
  test('are served, and replaced once certificate and key have both changed', async () => {
    const [first, second] = [serverPair('first'), serverPair('second')]
    put(files.crt, first.certificatePem)
    put(files.key, first.keyPem)
    const flags = [`--tls-cert-file=${files.crt}`, `--tls-private-key-file=${files.key}`]
    await using gateway = await startGateway({ kubeconfig, flags, until: 'serving' })
    await eventually('the gateway serves', () => gateway.url(), SOON)
    const subject = async (): Promise<string> => (await certificateOf(gateway)).subject
    expect(await subject()).toBe('CN=first')
    put(files.crt, second.certificatePem)
    await eventually(
      'the certificate without its key is refused',
      () =>
        gateway
          .logs()
          .find(({ because }) => because === 'the private key does not match the certificate'),
      SOON,
    )
    expect(await subject()).toBe('CN=first')
    put(files.key, second.keyPem)
    await eventually(
      'the new pair is served',
      async () => (await subject()) === 'CN=second' || undefined,
      SOON,
    )
    expect(gateway.output().stdout).not.toMatch(/BEGIN|MII/)
  })

  test('end the program with a reason when they are invalid', async () => {
    put(files.key, 'no key')
    const flags = [`--tls-cert-file=${files.crt}`, `--tls-private-key-file=${files.key}`]
    await expect(startGateway({ kubeconfig, flags })).rejects.toThrow(
      /--tls-cert-file and --tls-private-key-file: the key is not a PEM private key/,
    )
  })
})

describe('the gateway command', () => {
  test('has the rights that it uses and no more (8.1)', async () => {
    const canI = async (...args: readonly string[]): Promise<string> =>
      (await plane.kubectl(['auth', 'can-i', ...args], { kubeconfig })).stdout.trim()
    const inNamespace = ['-n', namespace]
    expect(await canI('get', `secrets/${GATEWAY_TLS_SECRET}`, ...inNamespace)).toBe('yes')
    expect(await canI('get', 'secrets', ...inNamespace)).toBe('no')
    expect(await canI('list', 'secrets', ...inNamespace)).toBe('no')
    expect(await canI('create', 'secrets', ...inNamespace)).toBe('no')
    expect(await canI('get', 'secrets/platform-signing-key-1', ...inNamespace)).toBe('no')
    expect(await canI('create', 'configmaps', ...inNamespace)).toBe('no')
    expect(await canI('patch', 'configmaps', ...inNamespace)).toBe('no')
    expect(await canI('list', 'configmaps', '-n', 'kube-system')).toBe('no')
    expect(await canI('patch', 'configs')).toBe('no')
    expect(await canI('update', 'ownedaccesskeys', '--subresource=finalizers')).toBe('no')
    expect(await canI('get', 'clusterroles')).toBe('no')
    expect(await canI('impersonate', 'users')).toBe('no')
  })

  test('cannot create a signing key, by POST, apply or PUT (7.3, 8.1)', async () => {
    const collection = `/api/v1/namespaces/${namespace}/secrets`
    const name = 'platform-signing-key-9'
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name } }
    const apply = `${collection}/${name}?fieldManager=x`
    const contentType = 'application/apply-patch+yaml'
    // The next test looks for refused requests with the user agent of the gateway itself.
    const borrowed = { kubeconfig, headers: { 'user-agent': 'borrowed/test' } }
    const answers = [
      await plane.raw('POST', collection, secret, borrowed),
      await plane.raw('PATCH', apply, secret, { ...borrowed, contentType }),
      await plane.raw('PUT', `${collection}/${name}`, secret, borrowed),
    ]
    expect(answers.map(({ code }) => code)).toEqual([403, 403, 403])
  })

  test('has made no request that RBAC refused (8.1)', async () => {
    const lines = await audit.linesSince(beginning, GATEWAY_USER)
    const own = lines.filter((line) => line.includes('"userAgent":"management-operator/'))
    expect(own.length).toBeGreaterThan(4)
    expect(own.filter((line) => line.includes('"code":403'))).toEqual([])
  })

  test('logs a sentence with fields on each line, and nothing on standard error (8.5)', () => {
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

  test('stops in order with exit code 0 on SIGTERM (8.3)', async () => {
    const [first] = gateways
    expect(await first?.stop()).toEqual({ code: 0, signal: null })
    expect(
      first
        ?.logs()
        .slice(-2)
        .map(({ msg }) => msg),
    ).toEqual(['stopping', 'stopped'])
  })

  test('starts and stops without an API server, healthy but not ready (8.2, 8.3)', async () => {
    await using unreachable = await startProxy(plane)
    unreachable.on(() => true, { kind: 'destroy' })
    await using disconnected = await startGateway({
      kubeconfig: await unreachable.kubeconfig(kubeconfig),
      until: 'serving',
    })
    expect((await disconnected.health('/healthz')).code).toBe(200)
    const { code, body } = await disconnected.health('/readyz')
    expect(code).toBe(500)
    expect(body).toContain('[-]stores-synced failed: configs, configMaps not listed yet')
    expect(body).toContain('[-]certificate failed: waiting for the settings to be listed')
    expect(await disconnected.stop()).toEqual({ code: 0, signal: null })
  })

  test('ends with a reason when its address is in use (9.7)', async () => {
    const { port } = new URL(gateways[1]?.url() ?? '')
    const second = startGateway({ kubeconfig, flags: [`--bind-address=127.0.0.1:${port}`] })
    await expect(second).rejects.toThrow(/EADDRINUSE/)
  })
})
