// The algorithms that a signature may have (contract 25.6 "saml"): RSA or ECDSA, with SHA-256 or better. Pure.

/** Names of algorithms in XML. */
export const EXCLUSIVE_C14N = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

type HashName = 'sha256' | 'sha384' | 'sha512'

/** How a signature is verified. */
export interface SignatureMethod {
  readonly hash: HashName
  /** Padding of RSA; null = ECDSA. */
  readonly padding: 'pkcs1' | 'pss' | null
}

const method = (hash: HashName, padding: SignatureMethod['padding']): SignatureMethod => ({
  hash,
  padding,
})

/** By their names in SignatureMethod (RFC 9231). */
export const SIGNATURE_METHODS: ReadonlyMap<string, SignatureMethod> = new Map([
  ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', method('sha256', 'pkcs1')],
  ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha384', method('sha384', 'pkcs1')],
  ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha512', method('sha512', 'pkcs1')],
  ['http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1', method('sha256', 'pss')],
  ['http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1', method('sha384', 'pss')],
  ['http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1', method('sha512', 'pss')],
  ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256', method('sha256', null)],
  ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384', method('sha384', null)],
  ['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512', method('sha512', null)],
])

/** By their names in DigestMethod. */
export const DIGEST_METHODS: ReadonlyMap<string, HashName> = new Map([
  ['http://www.w3.org/2001/04/xmlenc#sha256', 'sha256'],
  ['http://www.w3.org/2001/04/xmldsig-more#sha384', 'sha384'],
  ['http://www.w3.org/2001/04/xmlenc#sha512', 'sha512'],
])
