// Creates the Secret of a new signing key (contract 7.3).
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import { SECRETS, SIGNING_KEY_PREFIX, SIGNING_KEY_TYPE } from '../api/names.ts'
import { type Secret, secretData, secretText } from '../api/objects.ts'
import { checkJwk } from '../authn/jwks.ts'
import type { PublicJwk, SigningKeySecret } from '../domain/signingkey/signing-key.ts'
import type { SigningAlgorithm } from '../domain/token/token-claims.ts'
import { isConflict } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../kube/client/client.ts'

/** The signing key to create, and the client for it. */
interface NewSigningKey {
  readonly client: KubeClient
  readonly namespace: string
  readonly generation: number
  readonly algorithm: SigningAlgorithm
}

/**
 * The outcome of createSigningKey. `raced`: another replica created the key first, and that one is used. `taken`: an
 * object that is not a signing key has the name.
 */
type SigningKeyCreation = 'created' | 'raced' | 'taken'

/** Creates a signing key. Its Secret is named by its generation, so only one of two replicas succeeds. */
export async function createSigningKey(key: NewSigningKey): Promise<SigningKeyCreation> {
  const { client, namespace, generation } = key
  try {
    await client.create(SECRETS, await newSecret(key), 'create')
    return 'created'
  } catch (error) {
    if (!isConflict(error)) throw error
    const name = `${SIGNING_KEY_PREFIX}${generation}`
    const existing = await client.get<Secret>(SECRETS, { namespace, name })
    return existing === null || existing.type === SIGNING_KEY_TYPE ? 'raced' : 'taken'
  }
}

async function newSecret({ namespace, generation, algorithm }: NewSigningKey): Promise<NewObject> {
  const { privateKey, publicKey } = await GENERATORS[algorithm]()
  const checked = checkJwk(publicKey.export({ format: 'jwk' }))
  if (!checked.ok) throw new Error(`the new signing key ${checked.because}`)
  return {
    apiVersion: 'v1',
    kind: SECRETS.kind,
    metadata: { name: `${SIGNING_KEY_PREFIX}${generation}`, namespace },
    type: SIGNING_KEY_TYPE,
    immutable: true,
    data: secretData({
      [PRIVATE_KEY_DATA_KEY]: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      [KID_DATA_KEY]: checked.jwk.kid,
    }),
  }
}

const generate = promisify(generateKeyPair)

const GENERATORS = {
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  RS256: () => generate('rsa', { modulusLength: 3072 }),
} as const

// Checks the Secret of a signing key (contract 7.3). The private half never leaves this folder.

/** Data key of the Secret: the private key in PKCS #8 PEM. */
const PRIVATE_KEY_DATA_KEY = 'private-key.pem'
/** Data key of the Secret: the thumbprint of its key, to detect a private key that was replaced. */
const KID_DATA_KEY = 'kid'

/** The result of examineSigningKey. Only the keyring may use the private key. */
export interface ExaminedSigningKey {
  readonly secret: SigningKeySecret
  /** null = the Secret has a fault and must not be used for signing. */
  readonly privateKey: KeyObject | null
}

/**
 * Examines a Secret: name, private key and kid, and a test signature. Never throws. A fault is described in our own
 * words, because a parser's message may quote the key.
 */
export function examineSigningKey(stored: Secret): ExaminedSigningKey {
  const { name, uid, resourceVersion, creationTimestamp, deletionTimestamp } = stored.metadata
  const generation = generationOf(name)
  const statedKid = secretText(stored, KID_DATA_KEY)
  const found =
    generation === null ? fault(MISNAMED) : signingKeyIn(secretText(stored, PRIVATE_KEY_DATA_KEY))
  const isMixUp = found.key !== null && found.key.jwk.kid !== statedKid
  const { key, because } = isMixUp ? fault('names a kid that does not match its key') : found
  const secret = {
    name,
    uid,
    resourceVersion,
    generation,
    kid: statedKid === null || !KID.test(statedKid) ? (key?.jwk.kid ?? null) : statedKid,
    createdMs: Date.parse(creationTimestamp),
    isDeleting: deletionTimestamp !== undefined,
    jwk: key?.jwk ?? null,
    fault: because,
  }
  return { secret, privateKey: key?.privateKey ?? null }
}

const MISNAMED = `is not named ${SIGNING_KEY_PREFIX}<number>`
const KID = /^[A-Za-z0-9_-]{43}$/
const NAME = new RegExp(`^${SIGNING_KEY_PREFIX}([1-9]\\d{0,8})$`)

function generationOf(name: string): number | null {
  const digits = NAME.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

type ParsedKey =
  | {
      readonly key: { readonly privateKey: KeyObject; readonly jwk: PublicJwk }
      readonly because: null
    }
  | { readonly key: null; readonly because: string }

const fault = (because: string): ParsedKey => ({ key: null, because })

function signingKeyIn(pem: string | null): ParsedKey {
  if (pem === null) return fault(`has no ${PRIVATE_KEY_DATA_KEY}`)
  const privateKey = privateKeyOf(pem)
  if (!privateKey) return fault(`holds no private key in PKCS #8 PEM under ${PRIVATE_KEY_DATA_KEY}`)
  const checked = checkJwk(publicMembersOf(privateKey))
  if (!checked.ok) return fault(`holds a key that ${checked.because}`)
  if (!passesSelfTest(privateKey, checked.jwk))
    return fault('holds a private key that does not fit its public half')
  return { key: { privateKey, jwk: checked.jwk }, because: null }
}

function privateKeyOf(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    return null
  }
}

function publicMembersOf(privateKey: KeyObject): unknown {
  try {
    return createPublicKey(privateKey).export({ format: 'jwk' })
  } catch {
    // JWK can't express this type of key.
    return {}
  }
}

/** Signs as the keyring does, and verifies as clients do: with the public members alone. */
function passesSelfTest(privateKey: KeyObject, jwk: PublicJwk): boolean {
  const dsaEncoding = 'ieee-p1363'
  const text = Buffer.from(jwk.kid)
  try {
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const signature = sign('sha256', text, { key: privateKey, dsaEncoding })
    return verify('sha256', text, { key: publicKey, dsaEncoding }, signature)
  } catch {
    return false
  }
}
