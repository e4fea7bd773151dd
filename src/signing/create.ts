import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { SECRETS, SIGNING_KEY_PREFIX, SIGNING_KEY_TYPE } from '../api/names.ts'
import type { Secret } from '../api/objects.ts'
import { checkJwk } from '../authn/jwks.ts'
import type { SigningAlgorithm } from '../domain/token/token-claims.ts'
import { isConflict } from '../kube/client/api-error.ts'
import type { KubeClient, NewObject } from '../kube/client/client.ts'
import { KID_DATA_KEY, PRIVATE_KEY_DATA_KEY } from './examine.ts'

/** Which Secret to create. */
export interface NewSigningKey {
  readonly client: KubeClient
  readonly namespace: string
  readonly generation: number
  readonly algorithm: SigningAlgorithm
}

/**
 * The outcome. `created`: by us; `raced`: another replica was first, and its key is as good; `taken`: an
 * object that is no signing key has the name.
 */
export type SigningKeyCreation = 'created' | 'raced' | 'taken'

/** Creates a signing key under the name of its generation, so that two replicas can't both win. */
export async function createSigningKey(order: NewSigningKey): Promise<SigningKeyCreation> {
  const { client, namespace, generation } = order
  try {
    await client.create(SECRETS, await newSecret(order), 'create')
    return 'created'
  } catch (error) {
    if (!isConflict(error)) throw error
    const name = `${SIGNING_KEY_PREFIX}${generation}`
    const there = await client.get<Secret>(SECRETS, { namespace, name })
    return there === null || there.type === SIGNING_KEY_TYPE ? 'raced' : 'taken'
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
