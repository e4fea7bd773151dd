// The certificates that may sign (contract 25.6 "saml"): the settings have all of them. None is trusted for who issued it.
import { type KeyObject, X509Certificate } from 'node:crypto'
import type { SamlProvider } from '../../../api/config.gen.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { readProviderBytes } from '../files.ts'

/** A provider has one, and two while it changes them. */
const MOST_CERTIFICATES = 20
const WEAKEST_RSA_BITS = 2048
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']
const DAY_MS = 86_400_000
/** How long before its end a certificate is reported. */
const REPORTED_BEFORE_MS = 30 * DAY_MS

/** What may sign now. */
export interface SigningCertificates {
  /** At least one. */
  readonly keys: readonly KeyObject[]
  /** Sentences about certificates that have ended or end within 30 days. */
  readonly warnings: readonly string[]
}

/**
 * Reads the certificates; a file is read at each call, so that a changed one takes effect.
 *
 * @param filesDir of `--files-dir`; null = the flag is absent
 * @throws SignInRefused `provider_unusable`, with the field
 */
export async function signingCertificates(
  { ca, caData }: SamlProvider,
  filesDir: string | null,
  nowMs: number,
): Promise<SigningCertificates> {
  const field = ca ? 'ca' : 'caData'
  const bytes = ca
    ? await readProviderBytes({ field, path: ca }, filesDir)
    : Buffer.from(caData ?? '', 'base64')
  return validCertificates(bytes, field, nowMs)
}

function validCertificates(bytes: Buffer, field: string, nowMs: number): SigningCertificates {
  const certificates = certificatesIn(bytes)
  const fault = faultOf(certificates)
  if (fault !== null) throw unusable(field, fault)
  const valid = certificates.filter(
    ({ validFromDate, validToDate }) =>
      validFromDate.getTime() <= nowMs && nowMs < validToDate.getTime(),
  )
  if (valid.length === 0) throw unusable(field, 'has no certificate that is valid now')
  const ending = certificates.filter(
    ({ validToDate }) => validToDate.getTime() < nowMs + REPORTED_BEFORE_MS,
  )
  const dates = ending.map(({ validToDate }) => validToDate.toISOString().slice(0, 10))
  return {
    keys: valid.map(({ publicKey }) => publicKey),
    warnings: [...new Set(dates)].map((date) => `a certificate of ${field} ends on ${date}`),
  }
}

const unusable = (field: string, fault: string): SignInRefused =>
  new SignInRefused('provider_unusable', `${field} ${fault}`, { detail: field })

const PEM_BEGINNING = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Certificates in PEM, or one in DER. A malformed one makes all of them none. */
function certificatesIn(bytes: Buffer): readonly X509Certificate[] {
  const text = bytes.toString('latin1')
  const found = text.match(PEM_CERTIFICATE) ?? [bytes]
  const begun = text.match(PEM_BEGINNING)?.length ?? found.length
  if (begun !== found.length || found.length > MOST_CERTIFICATES) return []
  try {
    const certificates = found.map((one) => new X509Certificate(one))
    // Of several in DER, Node reads the first alone.
    const isCut = found[0] === bytes && certificates[0]?.raw.length !== bytes.length
    return isCut ? [] : certificates
  } catch {
    return []
  }
}

function faultOf(certificates: readonly X509Certificate[]): string | null {
  if (certificates.length === 0)
    return `must have 1 to ${MOST_CERTIFICATES} certificates in PEM, or one in DER`
  return certificates.every(({ publicKey }) => isStrong(publicKey))
    ? null
    : `has a key that is neither RSA of ${WEAKEST_RSA_BITS} bits or more nor on P-256, P-384 or P-521`
}

function isStrong({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails
  if (asymmetricKeyType === 'rsa') return modulusLength >= WEAKEST_RSA_BITS
  return asymmetricKeyType === 'ec' && CURVES.includes(namedCurve)
}
