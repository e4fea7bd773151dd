// Creates the Secret of a new signing key (contract 7.3).
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { SECRETS, SIGNING_KEY_PREFIX, SIGNING_KEY_TYPE } from '../api/names.ts'
import type { Secret } from '../api/objects.ts'
import { checkJwk } from '../authn/jwks.ts'
import type { SigningAlgorithm } from '../domain/token/token-claims.ts'
import { isConflict } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../kube/client/client.ts'
import { KID_DATA_KEY, PRIVATE_KEY_DATA_KEY } from './examine.ts'

/** The signing key to create, and the client for it. */
interface NewSigningKey {
  readonly client: KubeClient
  readonly namespace: string
  readonly generation: number
  readonly algorithm: SigningAlgorithm
}

/**
 * The outcome. `created`: by this process; `raced`: another replica was first, and its key serves as well; `taken`:
 * an object that is no signing key has the name.
 */
type SigningKeyCreation = 'created' | 'raced' | 'taken'

/** Creates a signing key under the name of its generation: of two replicas only one succeeds. */
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
    data: {
      [PRIVATE_KEY_DATA_KEY]: base64(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      [KID_DATA_KEY]: base64(checked.jwk.kid),
    },
  }
}

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64')

const generate = promisify(generateKeyPair)

const GENERATORS = {
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  RS256: () => generate('rsa', { modulusLength: 3072 }),
} as const
