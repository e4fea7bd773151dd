// What the gateway serves from, written by hand: its sources are ConfigMaps that other processes keep.
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

/** Writes ConfigMaps of the platform's namespace as their keepers would. */
export interface OidcSources {
  /** Data of a ConfigMap, whether it is there or not. */
  put(name: string, data: Readonly<Record<string, string>>): Promise<void>
  remove(name: string): Promise<void>
  settings(settings: object): Promise<void>
  keys(text: string): Promise<void>
  /** Revoked tokens that end in the hour of the name. */
  revoked(hour: string, tokens: Readonly<Record<string, string>>): Promise<void>
}

/** By an administrator's raw calls. */
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

/** A new public key on P-256 with its private one, as a JWK without a kid. */
export function newJwk(): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ format: 'jwk' }) as Readonly<Record<string, string>>
}
