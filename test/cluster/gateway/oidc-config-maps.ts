// Writes the ConfigMaps from which a gateway serves its OIDC endpoints, as the processes that own them would.
import { generateKeyPairSync } from 'node:crypto'
import {
  CONFIG_MAPS,
  IN_FORCE_CONFIG_MAP,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
} from '../../../src/api/names.ts'
import { JWKS_DATA_KEY } from '../../../src/domain/signingkey/published-keys.ts'
import type { Raw } from '../../support/raw-client.ts'

const NAMESPACE = 'platform-system'
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`

/** ConfigMaps of the platform's namespace. */
export interface OidcSources {
  /** Creates or replaces a ConfigMap. */
  put(name: string, data: Readonly<Record<string, string>>): Promise<void>
  remove(name: string): Promise<void>
  /** The settings in force. */
  settings(settings: object): Promise<void>
  /** The JWK Set, as text. */
  keys(text: string): Promise<void>
  /** Revoked tokens that expire in this hour: expiry by token ID. */
  revoked(hour: string, tokens: Readonly<Record<string, string>>): Promise<void>
}

/** A writer with an administrator's rights. */
export function writeOidcSources(raw: Raw): OidcSources {
  const put: OidcSources['put'] = async (name, data) => {
    const body = { apiVersion: 'v1', kind: CONFIG_MAPS.kind, metadata: { name }, data }
    const created = await raw('POST', COLLECTION, body)
    if (created.code === 201) return
    const { code } = await raw('PUT', `${COLLECTION}/${name}`, body)
    if (code !== 200) throw new Error(`ConfigMap ${name} could not be written: ${code}`)
  }
  return {
    put,
    remove: async (name) => void (await raw('DELETE', `${COLLECTION}/${name}`)),
    settings: (settings) => put(IN_FORCE_CONFIG_MAP, { config: JSON.stringify(settings) }),
    keys: (text) => put(JWKS_CONFIG_MAP, { [JWKS_DATA_KEY]: text }),
    revoked: (hour, tokens) => put(`${REVOKED_TOKENS_PREFIX}${hour}`, tokens),
  }
}

/** A new P-256 key pair as a private JWK without a kid. */
export function newJwk(): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ format: 'jwk' }) as Readonly<Record<string, string>>
}
