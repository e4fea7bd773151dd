// A worker thread that verifies the signatures of a Response: the only place where xml-crypto and its parser run (contract
// 25.6 "saml"). It may be ended at any moment, and answers nothing but the bytes that were signed.
import { constants, hash, type KeyObject, verify } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { DOMParser, type XmldomNode } from '@xmldom/xmldom/lib/index.js'
import { SignedXml } from 'xml-crypto'
import { ASSERTION, SIGNATURE } from './elements.ts'
import {
  DIGEST_METHODS,
  ENVELOPED,
  EXCLUSIVE_C14N,
  SIGNATURE_METHODS,
  type SignatureMethod,
} from './signature-algorithms.ts'
import type { SignatureAnswer, SignatureRequest, SignedPart } from './signature-protocol.ts'

function signedBytes({ xml, parts, keys }: SignatureRequest): SignatureAnswer {
  try {
    const written = withLineEndsOfXml10(xml)
    return parts.map((part) => signedBytesOf(part, written, keys))
  } catch {
    return null
  }
}

/** xmldom takes NEL and the line separator for line ends, as XML 1.1 has it. In XML 1.0 they are characters of a text. */
const withLineEndsOfXml10 = (xml: string): string =>
  xml.replaceAll(/[\u0085\u2028]/g, (character) => `&#${character.charCodeAt(0)};`)

/** @throws Error where the signature does not verify */
function signedBytesOf(part: SignedPart, xml: string, keys: readonly KeyObject[]): string {
  const signedXml = verifier(keys)
  signedXml.loadSignature(signatureNode(part, xml))
  const isVerified = signedXml.checkSignature(xml)
  const [bytes, ...others] = signedXml.getSignedReferences()
  if (!isVerified || bytes === undefined || others.length > 0) throw new Error('not verified')
  return bytes
}

/** A verifier that knows no other algorithms and keys. */
function verifier(keys: readonly KeyObject[]): SignedXml {
  const [anyKey] = keys
  if (!anyKey) throw new Error('no key')
  // It asks for one key, and hands it to the class of the signature, which tries all of them.
  const signedXml = new SignedXml({ publicCert: anyKey, getCertFromKeyInfo: () => null })
  const { CanonicalizationAlgorithms: known } = signedXml
  signedXml.CanonicalizationAlgorithms = Object.fromEntries(
    [ENVELOPED, EXCLUSIVE_C14N].map((name) => [name, known[name] as (typeof known)[string]]),
  )
  signedXml.HashAlgorithms = Object.fromEntries(
    [...DIGEST_METHODS].map(([name, hashName]) => [name, hashClass(name, hashName)]),
  )
  signedXml.SignatureAlgorithms = Object.fromEntries(
    [...SIGNATURE_METHODS].map(([name, method]) => [name, signatureClass(name, method, keys)]),
  )
  return signedXml
}

/** A class, as xml-crypto wants to have it. */
const hashClass = (name: string, hashName: string) =>
  class {
    readonly getAlgorithmName = (): string => name
    readonly getHash = (xml: string): string => hash(hashName, xml, 'base64')
  }

/** A class of signatures that one of the keys must have made. */
const signatureClass = (name: string, method: SignatureMethod, keys: readonly KeyObject[]) =>
  class {
    readonly getAlgorithmName = (): string => name
    readonly getSignature = (): never => {
      throw new Error('nothing is signed here')
    }
    readonly verifySignature = (material: string, _: unknown, value: string): boolean =>
      keys.some((key) => isSignedBy(key, method, material, Buffer.from(value, 'base64')))
  }

function isSignedBy(
  key: KeyObject,
  { hash: hashName, padding }: SignatureMethod,
  material: string,
  signature: Buffer,
): boolean {
  const data = Buffer.from(material)
  if (padding === null)
    return (
      key.asymmetricKeyType === 'ec' &&
      verify(hashName, data, { key, dsaEncoding: 'ieee-p1363' }, signature)
    )
  const isPss = padding === 'pss'
  if (key.asymmetricKeyType !== 'rsa') return false
  return verify(
    hashName,
    data,
    isPss
      ? {
          key,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        }
      : { key, padding: constants.RSA_PKCS1_PADDING },
    signature,
  )
}

function signatureNode(part: SignedPart, xml: string): XmldomNode {
  const parser = new DOMParser({
    errorHandler: () => {
      throw new Error('malformed')
    },
  })
  const root = parser.parseFromString(xml, 'text/xml').documentElement
  const signed = part === 'Response' ? root : childOf(root, ASSERTION, 'Assertion')
  const found = childOf(signed, SIGNATURE, 'Signature')
  if (!found) throw new Error('no signature')
  return found
}

const childOf = (parent: XmldomNode | null, namespace: string, name: string): XmldomNode | null =>
  Array.from(parent?.childNodes ?? []).find(
    ({ namespaceURI, localName }) => namespaceURI === namespace && localName === name,
  ) ?? null

if (!parentPort) throw new Error('signature-worker.ts runs in a worker thread')
const port = parentPort
/** Says something to the thread that started this one; the first message says that it is ready. */
const say = (message: SignatureAnswer): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
  port.postMessage(message)
}
port.on('message', (request: SignatureRequest) => say(signedBytes(request)))
say([])
