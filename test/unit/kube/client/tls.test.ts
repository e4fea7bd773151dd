import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { CertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import {
  createAuthority,
  issueClient,
  issueServing,
} from '../../../../tools/control-plane/certificates.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type Answer,
  type Connected,
  THINGS,
  connectTo,
  json,
  scratchFolder,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const SOON = { withinMs: 20_000 }
const MINUTE_MS = 60_000
const good = json(200, thing('a', 5))
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })

let authority: CertificatePair
let serving: CertificatePair
let ann: CertificatePair
let bob: CertificatePair
beforeAll(() => {
  authority = createAuthority('test')
  serving = issueServing(authority, ['127.0.0.1', 'api.test'])
  ann = issueClient(authority, { user: 'ann', groups: [] })
  bob = issueClient(authority, { user: 'bob', groups: [] })
})

/** A server that authenticates clients by their certificates. */
const startCertified = (answer: Answer, certificate = serving) =>
  startScriptedServer(answer, {
    cert: certificate.certificatePem,
    key: certificate.keyPem,
    ca: authority.certificatePem,
    requestCert: true,
    // Like the API server: a client without a certificate may send a token.
    rejectUnauthorized: false,
  })
const trusting = () => ({ 'certificate-authority-data': base64(authority.certificatePem) })
const inline = ({ certificatePem, keyPem }: CertificatePair) => ({
  'client-certificate-data': base64(certificatePem),
  'client-key-data': base64(keyPem),
})

test.each([
  { name: 'none', user: () => ({}), caller: null },
  { name: 'in the kubeconfig', user: () => inline(ann), caller: 'ann' },
])('a connection presents its client certificate: $name', async ({ user, caller }) => {
  const { url, received } = await startCertified(good)
  await read(
    await connectTo(await writeKubeconfig({ server: url, cluster: trusting(), user: user() })),
  )
  expect(received.map(({ certifiedUser }) => certifiedUser)).toEqual([caller])
})

test('a connection presents its client certificate: of a credential plugin', async () => {
  const { url, received } = await startCertified(good)
  const folder = await scratchFolder()
  const status = { clientCertificateData: ann.certificatePem, clientKeyData: ann.keyPem }
  await writeFile(join(folder, 'credential'), JSON.stringify({ status }))
  const exec = { command: 'cat', args: [join(folder, 'credential')] }
  await read(
    await connectTo(await writeKubeconfig({ server: url, cluster: trusting(), user: { exec } })),
  )
  expect(received.map(({ certifiedUser }) => certifiedUser)).toEqual(['ann'])
})

test('a connection follows rotated certificate files, and cuts watches of the former certificate', async () => {
  const server = await startCertified((response, request) => {
    if (request.query['watch'] === undefined) good(response, request)
    else response.writeHead(200).write('{}\n')
  })
  const folder = await scratchFolder()
  const rotate = async ({ certificatePem, keyPem }: CertificatePair): Promise<void> => {
    await writeFile(join(folder, 'tls.crt'), certificatePem)
    await writeFile(join(folder, 'tls.key'), keyPem)
  }
  await rotate(ann)
  const it = await connectTo(
    await writeKubeconfig({
      server: server.url,
      cluster: trusting(),
      user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
      folder,
    }),
  )
  const { signal } = new AbortController()
  const watch = await it.client.watch(THINGS, { watch: 'true' }, undefined, signal)
  const cut = watch.toArray().then(
    () => 'ended',
    () => 'cut',
  )
  await read(it)
  await rotate(bob)
  await it.clock.advance(MINUTE_MS)
  await read(it)
  expect(server.received.map(({ certifiedUser }) => certifiedUser)).toEqual(['ann', 'ann', 'bob'])
  expect(await cut).toBe('cut')
})

test('a call in flight outlives the rotation', async () => {
  const held: (() => void)[] = []
  const server = await startCertified((response, request) => {
    if (request.certifiedUser === 'ann') held.push(() => good(response, request))
    else good(response, request)
  })
  const folder = await scratchFolder()
  const path = await writeKubeconfig({
    server: server.url,
    cluster: trusting(),
    user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
    folder,
  })
  const rotate = async ({ certificatePem, keyPem }: CertificatePair): Promise<void> => {
    await writeFile(join(folder, 'tls.crt'), certificatePem)
    await writeFile(join(folder, 'tls.key'), keyPem)
  }
  await rotate(ann)
  const it = await connectTo(path)
  const underWay = read(it)
  await eventually('the call arrives', () => held[0], SOON)
  await rotate(bob)
  await it.clock.advance(MINUTE_MS)
  await read(it)
  held[0]?.()
  expect(await underWay).toEqual(thing('a', 5))
})

test.each<{ name: string; cluster: () => object; works: boolean }>([
  { name: 'a server of a known authority', cluster: trusting, works: true },
  { name: 'a server of an unknown authority', cluster: () => ({}), works: false },
  {
    name: 'a server of any authority, with insecure-skip-tls-verify',
    cluster: () => ({ 'insecure-skip-tls-verify': true }),
    works: true,
  },
  {
    name: 'a name in its certificate',
    cluster: () => ({ ...trusting(), 'tls-server-name': 'api.test' }),
    works: true,
  },
  {
    name: 'a name that is not in its certificate',
    cluster: () => ({ ...trusting(), 'tls-server-name': 'other.test' }),
    works: false,
  },
])('a connection trusts $name: $works', async ({ cluster, works }) => {
  const server = await startCertified(good)
  const it = await connectTo(
    await writeKubeconfig({
      server: server.url,
      cluster: { ...cluster() },
      user: { token: 'abc' },
    }),
  )
  const outcome = await read(it).then(
    () => true,
    () => false,
  )
  expect(outcome).toBe(works)
  expect(server.received).toHaveLength(works ? 1 : 0)
})
