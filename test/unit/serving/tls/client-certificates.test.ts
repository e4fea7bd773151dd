// Certificates of clients at a server that asks for them (contract 9.6).
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import {
  type ClientAuthority,
  parseClientAuthority,
} from '../../../../src/serving/tls/client-certificates.ts'
import { createAuthority, issueCertificate } from '../../../../src/serving/tls/issue.ts'
import type { CertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import { serverPair, withoutPurpose } from '../../../support/certificate-builder.ts'
import { answersIn, served } from '../../gateway/listening-server.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Math.floor(Date.now() / 1000) * 1000
const times = { nowMs: NOW_MS, untilMs: NOW_MS + 2 * HOUR_MS }

const authorityOf = (commonName: string, untilMs = times.untilMs): CertificatePair =>
  createAuthority({ ...times, commonName, untilMs })

// Two authorities of one name, as a CA before and after its key was replaced.
const [OLD, NEW] = [authorityOf('clients'), authorityOf('clients')]

/** A client's certificate that ends in an hour. */
const clientOf = (
  authority: CertificatePair,
  purposes: readonly ('server' | 'client')[] = ['client'],
  { nowMs = NOW_MS, untilMs = NOW_MS + HOUR_MS } = {},
): CertificatePair =>
  issueCertificate({ commonName: 'api-server', nowMs, untilMs }, { hosts: [], purposes }, authority)

const parsed = (...pairs: readonly CertificatePair[]): ClientAuthority => {
  const authority = parseClientAuthority(pairs.map((one) => one.certificatePem).join(''))
  if (typeof authority === 'string') throw new Error(authority)
  return authority
}

const CLIENT = clientOf(OLD)

const options = ({ certificatePem, keyPem }: CertificatePair): ConnectionOptions => ({
  cert: certificatePem,
  key: keyPem,
})

/** A server that answers with what it knows of the client's certificate. */
async function asking(asksForCertificates = true) {
  const server = await served(
    async ({ clientCertificate }) => ({
      status: 200,
      headers: {},
      body: Buffer.from(JSON.stringify(clientCertificate)),
    }),
    {},
    { asksForCertificates },
  )
  /** What the server knows on this connection, now. */
  const known = async (socket: TLSSocket): Promise<unknown> => {
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    const [part] = await once(socket, 'data')
    return JSON.parse(answersIn(String(part))[0]?.body ?? '')
  }
  const knownOf = async (client: CertificatePair): Promise<unknown> =>
    known(await server.connect(options(client)))
  return { ...server.server, ...server, known, knownOf }
}

const VERIFIED = { notAfterMs: NOW_MS + HOUR_MS }

describe('the certificate of a client', () => {
  test('is accepted by the authority that signed it, and ends with the first of both', async () => {
    const { trust, knownOf } = await asking()
    trust(parsed(OLD))
    expect(await knownOf(CLIENT)).toEqual(VERIFIED)
    const short = authorityOf('short', NOW_MS + 1000 * 60)
    trust(parsed(OLD, short))
    expect(await knownOf(clientOf(short))).toEqual({ notAfterMs: NOW_MS + 1000 * 60 })
  })

  test.each<{ name: string; client: CertificatePair }>([
    { name: 'another authority of the same name signed it', client: clientOf(NEW) },
    { name: 'it signed itself', client: authorityOf('api-server') },
    { name: 'it is for servers', client: clientOf(OLD, ['server']) },
    { name: 'it is for nothing', client: clientOf(OLD, []) },
    { name: 'it does not say what for', client: withoutPurpose(CLIENT, OLD) },
    {
      name: 'it has expired',
      client: clientOf(OLD, ['client'], { untilMs: NOW_MS - 60_000 }),
    },
    {
      name: 'it begins later',
      client: clientOf(OLD, ['client'], {
        nowMs: NOW_MS + 2 * HOUR_MS,
        untilMs: NOW_MS + 3 * HOUR_MS,
      }),
    },
    { name: 'it is the authority', client: OLD },
  ])('is not known when $name, and its connection goes on', async ({ client }) => {
    const { trust, knownOf } = await asking()
    trust(parsed(OLD))
    expect(await knownOf(client)).toBe(null)
  })

  test('for servers and clients counts', async () => {
    const { trust, knownOf } = await asking()
    trust(parsed(OLD))
    expect(await knownOf(clientOf(OLD, ['server', 'client']))).toEqual(VERIFIED)
  })

  test('is not needed to connect', async () => {
    const { trust, connect, known } = await asking()
    trust(parsed(OLD))
    expect(await known(await connect())).toBe(null)
  })

  test('is accepted on an upgrade too', async () => {
    const { trust, connect } = await asking()
    trust(parsed(OLD))
    const socket = await connect(options(CLIENT))
    socket.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
    const [part] = await once(socket, 'data')
    expect(answersIn(String(part))[0]?.body).toBe(JSON.stringify(VERIFIED))
  })

  test('is not asked for by a server that has no use for it', async () => {
    const { trust, knownOf } = await asking(false)
    expect(() => trust(parsed(OLD))).toThrow('does not ask clients for certificates')
    expect(await knownOf(CLIENT)).toBe(null)
  })
})

describe('the authority', () => {
  test('is nobody before the first one, and again when it is taken away', async () => {
    const { trust, knownOf, connect, known } = await asking()
    expect(await knownOf(CLIENT)).toBe(null)
    trust(parsed(OLD))
    const socket = await connect(options(CLIENT))
    expect(await known(socket)).toEqual(VERIFIED)
    trust([])
    expect(await known(socket)).toBe(null)
    expect(await knownOf(CLIENT)).toBe(null)
  })

  test('counts for open connections when it changes', async () => {
    const { trust, connect, known, knownOf } = await asking()
    trust(parsed(OLD))
    const open = await connect(options(CLIENT))
    expect(await known(open)).toEqual(VERIFIED)
    trust(parsed(NEW))
    expect(await known(open)).toBe(null)
    expect(await knownOf(CLIENT)).toBe(null)
    expect(await knownOf(clientOf(NEW))).toEqual(VERIFIED)
    // As during a rotation, when both count: the handshake was good, and its signer counts again.
    trust(parsed(NEW, OLD))
    expect(await known(open)).toEqual(VERIFIED)
    expect(await knownOf(CLIENT)).toEqual(VERIFIED)
  })

  test('does not make a connection good whose handshake it came after', async () => {
    const { trust, connect, known, knownOf } = await asking()
    const open = await connect(options(CLIENT))
    trust(parsed(OLD))
    expect(await known(open)).toBe(null)
    expect(await knownOf(CLIENT)).toEqual(VERIFIED)
  })

  test("stays when the server's certificate changes, and the other way round", async () => {
    const { trust, show, connect, known, knownOf } = await asking()
    const next = serverPair('next')
    trust(parsed(OLD))
    show(next)
    const socket = await connect({ ...options(CLIENT), ca: next.caPem })
    expect(socket.getPeerCertificate().subject.CN).toBe('next')
    expect(await known(socket)).toEqual(VERIFIED)
    trust(parsed(NEW))
    await expect(knownOf(CLIENT)).rejects.toThrow(/certificate/)
    const other = await connect({ ...options(clientOf(NEW)), ca: next.caPem })
    expect(await known(other)).toEqual(VERIFIED)
  })
})

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('a session of %s', (version) => {
  /** Whether the second connection of a client resumes the session of the first. */
  async function isResumed(asks: boolean): Promise<boolean> {
    const { trust, connect, known } = await asking(asks)
    if (asks) trust(parsed(OLD))
    const common = { ...options(CLIENT), minVersion: version, maxVersion: version }
    const first = await connect(common)
    let session: Buffer | undefined = first.getSession()
    first.on('session', (given: Buffer) => (session = given))
    await known(first)
    first.end()
    await once(first, 'close')
    const second = await connect({ ...common, ...(session ? { session } : {}) })
    expect(await known(second)).toEqual(asks ? VERIFIED : null)
    return second.isSessionReused()
  }

  test('is not resumed where clients have certificates: it would keep the verdict of its time', async () => {
    expect(await isResumed(true)).toBe(false)
  })

  test('is resumed elsewhere', async () => {
    expect(await isResumed(false)).toBe(true)
  })
})

describe('the file of an authority', () => {
  const [old, fresh] = [OLD.certificatePem, NEW.certificatePem]
  test.each([
    { name: 'one certificate', pem: old, count: 1 },
    { name: 'several', pem: `${old}${fresh}`, count: 2 },
    { name: 'text around them', pem: `# ours\n${old}\nand\n\n${fresh}\n# end\n`, count: 2 },
    { name: 'line breaks of Windows', pem: old.replaceAll('\n', '\r\n'), count: 1 },
  ])('may have $name', ({ pem, count }) => {
    const authority = parseClientAuthority(pem)
    expect(authority).toHaveLength(count)
    expect(authority[0]).toBeInstanceOf(X509Certificate)
  })

  test.each([
    { name: 'nothing', pem: '', fault: 'it has no PEM certificate' },
    { name: 'a key', pem: OLD.keyPem, fault: 'it has no PEM certificate' },
    { name: 'half a certificate', pem: old.slice(0, 200), fault: 'it has no PEM certificate' },
    {
      name: 'a certificate and half of another',
      pem: old + fresh.slice(0, 200),
      fault: 'its last certificate is cut off',
    },
    {
      name: 'a damaged one',
      pem: `${old}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      fault: 'one of its certificates is malformed',
    },
    { name: 'a client', pem: CLIENT.certificatePem, fault: 'one of its certificates is not a CA' },
    {
      name: 'a CA and a client',
      pem: old + CLIENT.certificatePem,
      fault: 'one of its certificates is not a CA',
    },
  ])('is of no use with $name', ({ pem, fault }) => {
    expect(parseClientAuthority(pem)).toBe(fault)
  })
})
