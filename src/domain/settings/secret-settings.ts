// The secret settings in force that another process needs (contract 6.8). The manager, which alone reads the sources and
// resolves `$NAME`, writes them into a Secret of that process, in the shape of status.
import type { ConfigSettings } from '../../api/config.gen.ts'
import { nestedString } from '../json/field-path.ts'
import {
  canonicalJson,
  type JsonMap,
  jsonToSettings,
  parseJsonMap,
  settingsToJson,
} from '../json/json.ts'

/** The settings that the gateway needs, as text for data key `config`; equal settings give equal text. */
export function gatewaySecretSettings({ audit }: ConfigSettings): string {
  const { dataStoreEndpoint } = audit ?? {}
  const settings: JsonMap = dataStoreEndpoint === undefined ? {} : { audit: { dataStoreEndpoint } }
  return canonicalJson(settings)
}

/** The text while no setting is secret. */
export const NO_SECRET_SETTINGS = gatewaySecretSettings({})

/**
 * The setting `audit.dataStoreEndpoint` in the text of data key `config`; empty = it is not set. null = the text is no JSON
 * object, so the caller keeps the previous one.
 */
export function dataStoreEndpointIn(text: string): string | null {
  const settings = parseJsonMap(text)
  return settings && nestedString(settings, ['audit', 'dataStoreEndpoint'])
}

/** The settings that the sign-in process needs (contract 24.5). */
export type SignInSettings = Pick<ConfigSettings, 'auth' | 'oidc' | 'platformHost' | 'uiSettings'>

/** The settings that the sign-in process needs, as text for data key `config`; equal settings give equal text. */
export const signInSecretSettings = ({
  auth,
  oidc,
  platformHost,
  uiSettings,
}: SignInSettings): string =>
  canonicalJson(
    settingsToJson({
      ...(auth === undefined ? {} : { auth }),
      ...(oidc === undefined ? {} : { oidc }),
      ...(platformHost === undefined ? {} : { platformHost }),
      ...(uiSettings === undefined ? {} : { uiSettings }),
    }),
  )

/** The settings in the text of data key `config`; null = the text is no JSON object, so the caller keeps the previous ones. */
export function signInSettingsIn(text: string): SignInSettings | null {
  const settings = parseJsonMap(text)
  return settings && jsonToSettings(settings)
}

/** The settings that the delivery process needs for the secret store (contract 36.1). */
export type DeliveryProcessSettings = Pick<ConfigSettings, 'projectNamespacePrefix' | 'secretStore'>

/**
 * These settings as text for data key `config`, while the store is switched on; equal settings give equal text.
 *
 * @param token of the Secret that tokenSecretRef names; null = there is none, or auth.token counts
 */
export function deliverySecretSettings(
  { projectNamespacePrefix, secretStore }: DeliveryProcessSettings,
  token: string | null,
): string {
  if (secretStore?.enabled !== true) return NO_SECRET_SETTINGS
  const { auth = {} } = secretStore
  const inForce = auth.token || token
  return canonicalJson(
    settingsToJson({
      ...(projectNamespacePrefix === undefined ? {} : { projectNamespacePrefix }),
      secretStore: { ...secretStore, auth: { ...auth, ...(inForce ? { token: inForce } : {}) } },
    }),
  )
}

/** The settings in the text of data key `config`; null = the text is no JSON object, so the caller keeps the previous ones. */
export function deliverySettingsIn(text: string): DeliveryProcessSettings | null {
  const settings = parseJsonMap(text)
  return settings && jsonToSettings(settings)
}
