// X.509 certificates (RFC 5280) for a gateway without certificate files. Node makes keys and signatures,
// but no certificates: this file encodes them.
import {
  type KeyObject,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import {
  TRUE,
  bits,
  integer,
  octets,
  oid,
  pem,
  sequence,
  set,
  time,
  tlv,
  utf8String,
} from './der.ts'
import { type CertificatePair, shortIPv6 } from './key-pair.ts'

/** Subject and end of a certificate. Times in epoch milliseconds. */
export interface Subject {
  readonly commonName: string
  readonly nowMs: number
  readonly untilMs: number
}

/** For clients with a clock that is behind. */
const BACKDATED_MS = 3_600_000

const OID = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  subjectKeyId: '551d0e',
  keyUsage: '551d0f',
  alternativeNames: '551d11',
  basicConstraints: '551d13',
  authorityKeyId: '551d23',
  extendedKeyUsage: '551d25',
  serverAuth: '2b06010505070301',
}

/** A new CA: its key on P-256 and its certificate, which may sign server certificates. */
export function newAuthority(subject: Subject): CertificatePair {
  const { privateKey } = newKey()
  const isAuthority = sequence(TRUE, integer(0))
  const extensions = [
    extension(OID.basicConstraints, isAuthority, 'critical'),
    // keyCertSign and cRLSign, the sixth and seventh bit: one of the eight is unused.
    extension(OID.keyUsage, bits(Uint8Array.of(0b0000_0110), 1), 'critical'),
    extension(OID.subjectKeyId, octets(keyIdOf(privateKey))),
  ]
  return {
    certificatePem: certificate(subject, privateKey, extensions, {
      commonName: subject.commonName,
      key: privateKey,
    }),
    keyPem: keyText(privateKey),
  }
}

/**
 * A new key and a server certificate signed by a CA. Go reads host names from the alternative names only.
 *
 * @param authority common name and key of the CA, from newAuthority
 * @param hosts host names and IP addresses, at least one
 */
export function issueFor(
  subject: Subject,
  hosts: readonly string[],
  authority: { readonly commonName: string; readonly keyPem: string },
): CertificatePair {
  const signer = createPrivateKey(authority.keyPem)
  const { privateKey } = newKey()
  const extensions = [
    extension(OID.basicConstraints, sequence(), 'critical'),
    // digitalSignature, the first of eight bits.
    extension(OID.keyUsage, bits(Uint8Array.of(0b1000_0000), 7), 'critical'),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
    extension(OID.subjectKeyId, octets(keyIdOf(privateKey))),
    extension(OID.authorityKeyId, sequence(tlv(0x80, keyIdOf(signer)))),
    extension(OID.alternativeNames, sequence(...hosts.map(alternativeName))),
  ]
  return {
    certificatePem: certificate(subject, privateKey, extensions, {
      commonName: authority.commonName,
      key: signer,
    }),
    keyPem: keyText(privateKey),
  }
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const keyText = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

function certificate(
  { commonName, nowMs, untilMs }: Subject,
  key: KeyObject,
  extensions: readonly Uint8Array[],
  issuer: { readonly commonName: string; readonly key: KeyObject },
): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const body = sequence(
    tlv(0xa0, integer(2)),
    serial(),
    algorithm,
    name(issuer.commonName),
    sequence(time(nowMs - BACKDATED_MS), time(untilMs)),
    name(commonName),
    spkiOf(key),
    tlv(0xa3, sequence(...extensions)),
  )
  return pem('CERTIFICATE', sequence(body, algorithm, bits(sign('sha256', body, issuer.key))))
}

const name = (commonName: string): Uint8Array =>
  sequence(set(sequence(oid(OID.commonName), utf8String(commonName))))

const extension = (id: string, value: Uint8Array, critical?: 'critical'): Uint8Array =>
  sequence(oid(id), ...(critical ? [TRUE] : []), octets(value))

const spkiOf = (key: KeyObject): Uint8Array =>
  createPublicKey(key).export({ type: 'spki', format: 'der' })

const keyIdOf = (key: KeyObject): Uint8Array =>
  createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20)

/** 16 bytes, positive and without a leading zero. */
function serial(): Uint8Array {
  const [first = 0, ...rest] = randomBytes(16)
  return integer((first & 0x3f) | 0x40, ...rest)
}

function alternativeName(host: string): Uint8Array {
  if (isIPv4(host)) return tlv(0x87, Uint8Array.from(host.split('.').map(Number)))
  if (isIPv6(host)) return tlv(0x87, ipv6Bytes(host))
  return tlv(0x82, Buffer.from(host, 'ascii'))
}

function ipv6Bytes(host: string): Uint8Array {
  // The short form has groups of hexadecimal digits only, and one `::` at most.
  const [head = '', tail = ''] = shortIPv6(host).split('::')
  const groupsOf = (part: string): readonly string[] => part.split(':').filter(Boolean)
  const zeros = Array<string>(8 - groupsOf(head).length - groupsOf(tail).length).fill('0')
  const groups = [...groupsOf(head), ...zeros, ...groupsOf(tail)]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
