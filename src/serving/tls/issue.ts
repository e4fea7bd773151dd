// Issues X.509 certificates (RFC 5280). Node generates keys and signatures, @peculiar/asn1-x509 encodes the
// certificates. No other file issues any.
import {
  type KeyObject,
  X509Certificate,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP, isIPv6 } from 'node:net'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
} from '@peculiar/asn1-x509'
import { type CertificatePair, shortIPv6 } from './key-pair.ts'

/** Subject and lifetime of a certificate. Times in epoch milliseconds. */
export interface CertificateSubject {
  readonly commonName: string
  /** Kubernetes takes them as the groups of a client; absent = none. */
  readonly organizations?: readonly string[]
  /** Time of issue; the certificate is valid from an hour before it. */
  readonly nowMs: number
  /** End of validity. */
  readonly untilMs: number
}

/** Hosts and purposes of a leaf certificate. */
interface LeafUse {
  /** DNS names and IP addresses of a server, for the subject alternative name; empty for a client. */
  readonly hosts: readonly string[]
  readonly purposes: readonly ('server' | 'client')[]
}

/** Certificates are backdated for clients whose clock is behind. */
const BACKDATED_MS = 3_600_000

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
}
const PURPOSE_OIDS = { server: id_kp_serverAuth, client: id_kp_clientAuth }

/** A new CA: its key on P-256 and its certificate, which may sign certificates but no other CA. */
export function createAuthority(subject: CertificateSubject): CertificatePair {
  const { privateKey } = newKey()
  const name = nameOf(subject)
  const extensions = [
    critical(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
    critical(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdOf(privateKey))),
  ]
  return signed(subject, privateKey, extensions, { name, key: privateKey })
}

/** A new key on P-256 and a certificate for it, signed by a CA from createAuthority. */
export function issueCertificate(
  subject: CertificateSubject,
  { hosts, purposes }: LeafUse,
  authority: CertificatePair,
): CertificatePair {
  const signer = createPrivateKey(authority.keyPem)
  const { privateKey } = newKey()
  const { tbsCertificate: issuer } = certificateOf(authority)
  const keyIdentifier = subjectKeyIdOf(issuer) ?? new KeyIdentifier(keyIdOf(signer))
  const hostNames = new SubjectAlternativeName(hosts.map(alternativeName))
  const extensions = [
    critical(id_ce_basicConstraints, new BasicConstraints()),
    critical(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage(purposes.map((one) => PURPOSE_OIDS[one]))),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdOf(privateKey))),
    extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier })),
    ...(hosts.length === 0 ? [] : [extension(id_ce_subjectAltName, hostNames)]),
  ]
  return signed(subject, privateKey, extensions, { name: issuer.subject, key: signer })
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

function signed(
  subject: CertificateSubject,
  key: KeyObject,
  extensions: readonly Extension[],
  issuer: { readonly name: Name; readonly key: KeyObject },
): CertificatePair {
  const algorithm = new AlgorithmIdentifier({ algorithm: OID.ecdsaWithSha256 })
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: algorithm,
    issuer: issuer.name,
    validity: new Validity({
      notBefore: new Date(subject.nowMs - BACKDATED_MS),
      notAfter: new Date(subject.untilMs),
    }),
    subject: nameOf(subject),
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(key), SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  })
  const signature = sign('sha256', encoded(tbsCertificate), issuer.key)
  const signatureValue = new Uint8Array(signature).buffer
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue,
  })
  return {
    certificatePem: new X509Certificate(encoded(certificate)).toString(),
    keyPem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** The subject: each organization as an RDN of its own, then the common name, all as UTF8String. */
function nameOf({ commonName, organizations = [] }: CertificateSubject): Name {
  const relativeName = (type: string, utf8String: string) =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) }),
    ])
  return new Name([
    ...organizations.map((organization) => relativeName(OID.organization, organization)),
    relativeName(OID.commonName, commonName),
  ])
}

const encoded = (value: object): Buffer => Buffer.from(AsnConvert.serialize(value))

const extension = (extnID: string, value: object): Extension =>
  new Extension({ extnID, extnValue: new OctetString(encoded(value)) })

const critical = (extnID: string, value: object): Extension =>
  new Extension({ extnID, critical: true, extnValue: new OctetString(encoded(value)) })

const certificateOf = ({ certificatePem }: CertificatePair): Certificate =>
  AsnConvert.parse(new X509Certificate(certificatePem).raw, Certificate)

/** The subject key identifier of a certificate; null without one. */
function subjectKeyIdOf({ extensions }: TBSCertificate): KeyIdentifier | null {
  const found = extensions?.find(({ extnID }) => extnID === id_ce_subjectKeyIdentifier)
  return found ? AsnConvert.parse(found.extnValue, SubjectKeyIdentifier) : null
}

const spkiOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: 'spki', format: 'der' })

const keyIdOf = (key: KeyObject): Uint8Array =>
  createHash('sha256').update(spkiOf(key)).digest().subarray(0, 20)

/** A random serial number of 16 bytes, positive and without a leading zero byte. */
function serialNumber(): ArrayBuffer {
  const [first = 0, ...rest] = randomBytes(16)
  return Uint8Array.of((first & 0x3f) | 0x40, ...rest).buffer
}

function alternativeName(host: string): GeneralName {
  if (isIP(host) === 0) return new GeneralName({ dNSName: host })
  // The library can't read IPv6 that ends in a dotted IPv4 address; the short form never does.
  return new GeneralName({ iPAddress: isIPv6(host) ? shortIPv6(host) : host })
}
