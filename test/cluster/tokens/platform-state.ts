// What the operator keeps in the platform's namespace: signing keys, their public set, revoked tokens.
import { type JWK, compactVerify, createLocalJWKSet, decodeJwt } from 'jose'
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  SECRETS,
  SIGNING_KEY_TYPE,
} from '../../../src/api/names.ts'
import type { ConfigMap, Secret } from '../../../src/api/objects.ts'
import type { TokenClaims } from '../../../src/domain/token/token-claims.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import type { StoredToken } from './token-client.ts'

const { namespace } = OPERATOR_ACCOUNT
const SOON = { withinMs: 20_000 }

/** The path of ConfigMap `platform-jwks`. */
export const JWKS_PATH = pathOf(CONFIG_MAPS, { namespace, name: JWKS_CONFIG_MAP })
/** The path of the Secrets of the platform's namespace. */
export const SECRETS_PATH = pathOf(SECRETS, { namespace })
const CONFIG_MAPS_PATH = pathOf(CONFIG_MAPS, { namespace })

/** The objects of the platform's namespace, read as admin. */
export interface PlatformState {
  /** ConfigMap `platform-jwks`; null = absent. */
  record(): Promise<ConfigMap | null>
  /** Waits until the ConfigMap meets a condition. */
  recordUntil(what: string, isExpected: (record: ConfigMap) => boolean): Promise<ConfigMap>
  /** The published keys. */
  jwks(): Promise<readonly JWK[]>
  /** The Secrets of signing keys, lowest generation first. */
  secrets(): Promise<readonly Secret[]>
  /** Waits until exactly these generations exist. */
  secretsUntil(generations: readonly number[]): Promise<readonly Secret[]>
  /** Annotates the ConfigMap, as an admin does. */
  annotate(annotation: string, value: string): Promise<void>
  /** `exp` of the revoked tokens by `jti`. */
  revoked(): Promise<Readonly<Record<string, string>>>
  /** The same at an earlier resourceVersion. */
  revokedAt(resourceVersion: string): Promise<Readonly<Record<string, string>>>
}

/** The platform's namespace of a control plane. */
export function platformStateOf({ raw }: Pick<TestControlPlane, 'raw'>): PlatformState {
  const list = async <Item>(path: string): Promise<readonly Item[]> => {
    const { code, body } = await raw<{ readonly items: readonly Item[] }>('GET', path)
    if (code !== 200) throw new Error(`GET ${path}: ${code} ${JSON.stringify(body)}`)
    return body.items
  }
  const record = async (): Promise<ConfigMap | null> => {
    const { code, body } = await raw<ConfigMap>('GET', JWKS_PATH)
    return code === 200 ? body : null
  }
  const secrets = async (): Promise<readonly Secret[]> => {
    const selector = encodeURIComponent(`type=${SIGNING_KEY_TYPE}`)
    const found = await list<Secret>(`${SECRETS_PATH}?fieldSelector=${selector}`)
    return found.toSorted((a, b) => generationOf(a) - generationOf(b))
  }
  const revokedIn = (configMaps: readonly ConfigMap[]): Readonly<Record<string, string>> =>
    Object.assign(
      {},
      ...configMaps
        .filter(({ metadata }) => metadata.name.startsWith(REVOKED_TOKENS_PREFIX))
        .map(({ data }) => data),
    )
  return {
    record,
    recordUntil: (what, isExpected) =>
      eventually(
        what,
        async () => {
          const now = await record()
          if (now && isExpected(now)) return now
          throw new Error(JSON.stringify(now?.data ?? now))
        },
        SOON,
      ),
    jwks: async () => jwksIn(await record()),
    secrets,
    secretsUntil: (generations) =>
      eventually(
        `the signing keys are ${generations.join(', ')}`,
        async () => {
          const now = await secrets()
          if (now.map(generationOf).join() === generations.join()) return now
          throw new Error(`there are ${now.map(generationOf).join(', ')}`)
        },
        SOON,
      ),
    annotate: async (annotation, value) => {
      const { code, body } = await raw('PATCH', JWKS_PATH, {
        metadata: { annotations: { [annotation]: value } },
      })
      if (code !== 200) throw new Error(`${annotation}: ${code} ${JSON.stringify(body)}`)
    },
    revoked: async () => revokedIn(await list(CONFIG_MAPS_PATH)),
    revokedAt: async (resourceVersion) => {
      const exact = `?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
      return revokedIn(await list(`${CONFIG_MAPS_PATH}${exact}`))
    },
  }
}

/** The number in the name of a signing key's Secret. */
export const generationOf = ({ metadata }: Secret): number =>
  Number(metadata.name.split('-').at(-1))

/** The keys in the ConfigMap; empty when it is absent. */
export function jwksIn(record: ConfigMap | null): readonly JWK[] {
  return JSON.parse(record?.data?.['jwks.json'] ?? '{"keys":[]}').keys
}

/** The operator's notes on each key, by kid. */
export function notesIn(record: ConfigMap | null): Readonly<Record<string, KeyNoteText>> {
  return JSON.parse(record?.data?.['keys.json'] ?? '{}')
}

/** A note as it is stored; times are RFC 3339. */
export interface KeyNoteText {
  readonly generation: number
  readonly created: string
  readonly published: string
  readonly useFrom: string
  readonly withdrawn?: string
}

/** The token in status. @throws Error when it is absent */
export function bearerOf({ status }: StoredToken): string {
  if (!status.token) throw new Error('status holds no token')
  return status.token
}

/** The claims of the token in status, unverified. */
export const claimsIn = (token: StoredToken): TokenClaims =>
  decodeJwt(bearerOf(token)) as unknown as TokenClaims

/**
 * Verifies the token in status with published keys; returns its header and claims.
 *
 * @throws JWSSignatureVerificationFailed, JWKSNoMatchingKey
 */
export async function verified(token: StoredToken, keys: readonly JWK[]) {
  const { payload, protectedHeader } = await compactVerify(
    bearerOf(token),
    createLocalJWKSet({ keys: [...keys] }),
  )
  const claims: TokenClaims = JSON.parse(new TextDecoder().decode(payload))
  return { header: protectedHeader, claims }
}
