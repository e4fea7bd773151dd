import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuthority, issueCertificate } from '../../../../src/serving/tls/issue.ts'
import { validateCertificatePair, isSignedBy } from '../../../../src/serving/tls/key-pair.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { scratchFolder } from '../../kube/informer/scripted-server.ts'

const HOSTS = ['localhost', '127.0.0.1', '::1', '2001:db8::5:0', '::ffff:1.2.3.4', 'gateway.n.svc']

const hasOpenssl = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'openssl')))

describe('issued certificates (contract 9.7)', () => {
  test('belong to an authority and to a server that it signed, each with its own key', () => {
    const { certificatePem, keyPem, caPem } = serverPair('a gateway')
    const [authority, server] = [new X509Certificate(caPem), new X509Certificate(certificatePem)]
    expect(authority.verify(authority.publicKey)).toBe(true)
    expect(server.verify(authority.publicKey)).toBe(true)
    expect(server.checkIssued(authority)).toBe(true)
    expect(authority.ca).toBe(true)
    expect(server.ca).toBe(false)
    expect(server.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
    expect(server.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
    expect(validateCertificatePair({ certificatePem, keyPem })).toHaveProperty('keyPem')
    expect(validateCertificatePair({ certificatePem: caPem, keyPem })).toBe(
      'the private key does not match the certificate',
    )
    expect(isSignedBy(certificatePem, caPem)).toBe(true)
    expect(isSignedBy(certificatePem, serverPair('a gateway').caPem)).toBe(false)
    expect(isSignedBy(certificatePem, 'garbage')).toBe(false)
  })

  test('are valid for their names and addresses, and no others', () => {
    const server = new X509Certificate(serverPair('a gateway', { hosts: HOSTS }).certificatePem)
    expect(server.checkHost('localhost')).toBe('localhost')
    expect(server.checkHost('gateway.n.svc')).toBe('gateway.n.svc')
    for (const address of ['127.0.0.1', '::1', '2001:db8::5:0', '::ffff:102:304'])
      expect(server.checkIP(address)).toBe(address)
    expect(server.checkHost('a gateway')).toBeUndefined()
    expect(server.checkHost('other.n.svc')).toBeUndefined()
    expect(server.checkIP('127.0.0.2')).toBeUndefined()
  })

  test.each([
    {
      name: 'now',
      at: '2026-11-21T10:00:00.500Z',
      from: '2026-11-21T09:00:00Z',
      to: '2027-11-21T10:00:00Z',
    },
    {
      name: 'across the change of the time format in 2050',
      at: '2049-06-01T00:00:00Z',
      from: '2049-05-31T23:00:00Z',
      to: '2050-06-01T00:00:00Z',
    },
    {
      name: 'after that change',
      at: '2050-01-01T01:00:00Z',
      from: '2050-01-01T00:00:00Z',
      to: '2051-01-01T01:00:00Z',
    },
  ])('are valid from an hour before: $name', ({ at, from, to }) => {
    const times = { nowMs: Date.parse(at), validMs: Date.parse(to) - Date.parse(at) }
    const { certificatePem, caPem } = serverPair('a gateway', times)
    for (const certificate of [certificatePem, caPem].map((pem) => new X509Certificate(pem))) {
      expect(certificate.validFromDate).toEqual(new Date(from))
      expect(certificate.validToDate).toEqual(new Date(to))
    }
  })

  test('have positive serial numbers of 16 bytes, and new keys, each time', () => {
    const pairs = Array.from({ length: 50 }, () => serverPair('a gateway'))
    const serials = pairs.flatMap(({ certificatePem, caPem }) =>
      [certificatePem, caPem].map((pem) => new X509Certificate(pem).serialNumber),
    )
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/)
    expect(new Set(serials).size).toBe(100)
    expect(new Set(pairs.map(({ keyPem }) => keyPem)).size).toBe(50)
  })

  test('take many hosts, with DER lengths of more than one byte', () => {
    const hosts = Array.from({ length: 100 }, (_, index) => `host-${index}.example.com`)
    const server = new X509Certificate(serverPair('a gateway', { hosts }).certificatePem)
    expect(server.checkHost('host-99.example.com')).toBe('host-99.example.com')
  })
})

test('a client certificate names its user and groups, and is not valid for a server', () => {
  const times = { nowMs: Date.now(), untilMs: Date.now() + 60_000 }
  const authority = createAuthority({ ...times, commonName: 'us' })
  const subject = { ...times, commonName: 'jörg', organizations: ['a, b', 'c'] }
  const use = { hosts: [], purposes: ['client'] } as const
  const client = new X509Certificate(issueCertificate(subject, use, authority).certificatePem)
  expect(client.subject.split('\n')).toEqual(['O=a\\, b', 'O=c', 'CN=jörg'])
  expect(client.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  expect(client.subjectAltName).toBeUndefined()
  expect(client.checkIssued(new X509Certificate(authority.certificatePem))).toBe(true)
})

describe('a client that trusts only the authority', () => {
  const times = { nowMs: Date.now(), untilMs: Date.now() + 60_000 }

  /** Whether a client that trusts this authority accepts a server with this pair. */
  async function isTaken(ca: string, pair: { certificatePem: string; keyPem: string }) {
    const server = createServer({ cert: pair.certificatePem, key: pair.keyPem }, (_, response) =>
      response.end('hello'),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const outgoing = get({ host: '127.0.0.1', port, ca, agent: false })
    const [incoming] = await once(outgoing, 'response')
    incoming.resume()
    return incoming.statusCode === 200
  }

  test('accepts the server, and its next certificate as well', async () => {
    const authority = createAuthority({ ...times, commonName: 'us' })
    const issue = (host: string) => {
      const use = { hosts: [host, '127.0.0.1'], purposes: ['server'] } as const
      return issueCertificate({ ...times, commonName: 'a' }, use, authority)
    }
    expect(await isTaken(authority.certificatePem, issue('a.example.com'))).toBe(true)
    expect(await isTaken(authority.certificatePem, issue('b.example.com'))).toBe(true)
  })

  test('accepts no other server', async () => {
    const [one, other] = [serverPair('one'), serverPair('one')]
    await expect(isTaken(one.caPem, other)).rejects.toThrow(/certificate/)
  })

  test('accepts the server with the strictest checks of openssl', async ({ skip }) => {
    skip(!hasOpenssl, 'openssl is not on PATH')
    const folder = await scratchFolder()
    const { certificatePem, caPem } = serverPair('a gateway')
    const [server, ca] = [join(folder, 'tls.crt'), join(folder, 'ca.crt')]
    writeFileSync(server, certificatePem)
    writeFileSync(ca, caPem)
    const openssl = (...args: readonly string[]) =>
      execFileSync('openssl', args, { encoding: 'utf8' })
    const strict = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'localhost']
    expect(openssl('verify', ...strict, '-CAfile', ca, server)).toBe(`${server}: OK\n`)
    const text = (file: string): string => openssl('x509', '-in', file, '-noout', '-text')
    expect(text(ca)).toMatch(/Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
    expect(text(ca)).toMatch(/Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
    expect(text(server)).toMatch(/Basic Constraints: critical\s+CA:FALSE/)
    expect(text(server)).toMatch(/Key Usage: critical\s+Digital Signature\n/)
  })
})
