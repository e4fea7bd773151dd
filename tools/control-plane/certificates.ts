// oxlint-disable-next-line import/no-unassigned-import -- it must run before @peculiar/x509 loads
import './reflect-metadata.ts'
import { randomBytes, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly certificatePem: string
  readonly keyPem: string
}

/** Whom a client certificate names: Kubernetes reads the user from CN and the groups from O. */
export interface ClientSubject {
  readonly user: string
  readonly groups: readonly string[]
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
/** A data folder that survives keeps its certificates, and nothing renews them. */
const VALID_DAYS = 3_650
const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags
const { serverAuth, clientAuth } = x509.ExtendedKeyUsage

/** A new certificate authority. */
export async function createAuthority(commonName: string): Promise<KeyPair> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...lifetime(),
    name: nameOf(commonName, []),
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return keyPair(certificate, keys)
}

/**
 * A certificate for a server that is reached under each of these host names and IP addresses. It
 * serves as a client certificate too, because an etcd member uses one certificate for both.
 */
export function issueServing(authority: KeyPair, hosts: readonly string[]): Promise<KeyPair> {
  const names = hosts.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const)
  return issue(authority, nameOf(hosts[0] ?? 'server', []), [
    new x509.SubjectAlternativeNameExtension(names),
    new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
  ])
}

/** A client certificate for any user in any groups. */
export function issueClient(authority: KeyPair, subject: ClientSubject): Promise<KeyPair> {
  return issue(authority, nameOf(subject.user, subject.groups), [
    new x509.ExtendedKeyUsageExtension([clientAuth]),
  ])
}

/** A key pair to sign and to verify ServiceAccount tokens with, both PEM. */
export async function createTokenKeys(): Promise<{
  readonly privatePem: string
  readonly publicPem: string
}> {
  const keys = await newKeys()
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey)
  return {
    privatePem: await privatePem(keys),
    publicPem: x509.PemConverter.encode(spki, 'PUBLIC KEY'),
  }
}

async function issue(
  authority: KeyPair,
  subject: x509.Name,
  extensions: readonly x509.Extension[],
): Promise<KeyPair> {
  const keys = await newKeys()
  const issuer = new x509.X509Certificate(authority.certificatePem)
  const pkcs8 = x509.PemConverter.decodeFirst(authority.keyPem)
  const signingKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign'])
  const certificate = await x509.X509CertificateGenerator.create({
    ...lifetime(),
    subject,
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(digitalSignature, true),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...extensions,
    ],
  })
  return keyPair(certificate, keys)
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

/** An hour back, for clocks that differ; the first bit of the serial number is 0: it is signed. */
function lifetime() {
  const nowMs = Date.now()
  const serial = randomBytes(16)
  serial[0] = (serial[0] ?? 0) & 0x7f
  return {
    serialNumber: serial.toString('hex'),
    notBefore: new Date(nowMs - DAY_MS / 24),
    notAfter: new Date(nowMs + VALID_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
  }
}

/** UTF-8 throughout: the library's choice by content would refuse or bend some user names. */
function nameOf(commonName: string, organizations: readonly string[]): x509.Name {
  return new x509.Name([
    ...organizations.map((utf8String) => ({ O: [{ utf8String }] })),
    { CN: [{ utf8String: commonName }] },
  ])
}

async function keyPair(
  certificate: x509.X509Certificate,
  keys: webcrypto.CryptoKeyPair,
): Promise<KeyPair> {
  return { certificatePem: `${certificate.toString('pem')}\n`, keyPem: await privatePem(keys) }
}

async function privatePem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`
}
