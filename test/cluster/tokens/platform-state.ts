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

/** Where ConfigMap `platform-jwks` is. */
export const JWKS_PATH = pathOf(CONFIG_MAPS, { namespace, name: JWKS_CONFIG_MAP })
/** Where the Secrets of the platform are. */
export const SECRETS_PATH = pathOf(SECRETS, { namespace })
const CONFIG_MAPS_PATH = pathOf(CONFIG_MAPS, { namespace })

/** What the platform's namespace holds, by admin. */
export interface PlatformState {
  /** ConfigMap `platform-jwks`; null = there is none. */
  record(): Promise<ConfigMap | null>
  /** Waits until the record is as wanted. */
  recordUntil(what: string, isSo: (record: ConfigMap) => boolean): Promise<ConfigMap>
  /** The published keys. */
  jwks(): Promise<readonly JWK[]>
  /** The Secrets of signing keys, lowest generation first. */
  secrets(): Promise<readonly Secret[]>
  /** Waits until these are there, and no others. */
  secretsUntil(generations: readonly number[]): Promise<readonly Secret[]>
  /** Annotates the record, as a person does who wants something of the operator. */
  annotate(annotation: string, value: string): Promise<void>
  /** The revoked tokens, `jti` to `exp`. */
  revoked(): Promise<Readonly<Record<string, string>>>
  /** The same as of a moment in the past: that of an object's resourceVersion. */
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
    recordUntil: (what, isSo) =>
      eventually(
        what,
        async () => {
          const now = await record()
          if (now && isSo(now)) return now
          throw new Error(JSON.stringify(now?.data ?? now))
        },
        SOON,
      ),
    jwks: async () => jwksIn(await record()),
    secrets,
    secretsUntil: (generations) =>
      eventually(
        `there are signing keys ${generations.join(', ')}`,
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

/** The keys of the record; none where it can't be read. */
export function jwksIn(record: ConfigMap | null): readonly JWK[] {
  return JSON.parse(record?.data?.['jwks.json'] ?? '{"keys":[]}').keys
}

/** What the operator noted of each key, by kid. */
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

/** The token in status; fails where there is none. */
export function bearerOf({ status }: StoredToken): string {
  if (!status.token) throw new Error('status holds no token')
  return status.token
}

/** What the token in status says, unverified. */
export const claimsIn = (token: StoredToken): TokenClaims =>
  decodeJwt(bearerOf(token)) as unknown as TokenClaims

/**
 * Header and claims of the token in status, once its signature is verified by the published keys.
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
