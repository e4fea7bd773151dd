import type {
  AuthSettings,
  Connector,
  IdpAProvider,
  SamlProvider,
} from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { indexedMaps } from '../../json/json.ts'
import type { UnsourcedFault } from './faults.ts'
import { webUrl } from '../formats.ts'
import { PROVIDERS, type ProviderName, configuredProviders, connectorId } from '../providers.ts'

type Providers = Pick<Connector, ProviderName>

/** Faults between the values of auth and of its connectors (contract 6.5). */
export function authFaults(auth: AuthSettings): readonly UnsourcedFault[] {
  const connectors = indexedMaps(auth.connectors)
  return [
    ...providerFaults(['auth'], auth),
    ...PROVIDERS.flatMap((name) => callbackFaults(['auth', name], auth[name], name)),
    ...connectors.flatMap(([at, one]) => connectorFaults(['auth', 'connectors', at], one)),
    ...idFaults(connectors),
    ...headerFaults(auth.customHttpHeaders),
  ]
}

const providerFaults = (path: FieldPath, { saml, idpA }: Providers): readonly UnsourcedFault[] => [
  ...(saml ? samlFaults([...path, 'saml'], saml) : []),
  ...(idpA ? idpAFaults([...path, 'idpA'], idpA) : []),
]

function connectorFaults(path: FieldPath, connector: Connector): readonly UnsourcedFault[] {
  const { id } = connector
  const configured = configuredProviders(connector)
  const state = configured.length === 0 ? 'sets none of them' : `sets ${configured.join(' and ')}`
  const message = `${state}: set exactly one of ${PROVIDERS.join(', ')}`
  // While the id is malformed, the callback route is unknown.
  const hasValidId = typeof id === 'string' && connectorId(id) === null
  return [
    ...(configured.length === 1 ? [] : [{ path, message }]),
    ...providerFaults(path, connector),
    ...configured.flatMap((name) =>
      hasValidId ? callbackFaults([...path, name], connector[name], id) : [],
    ),
  ]
}

/** Captures the path of a URL as the provider receives it: dot segments are not resolved. */
const PATH_OF_URL = /^[^:/]+:\/\/[^/?#]*([^?#]*)/

/** A redirectURI must lead to the one route that handles the callback of the provider. */
function callbackFaults(
  path: FieldPath,
  provider: { readonly redirectURI?: string } | undefined,
  id: string,
): readonly UnsourcedFault[] {
  const uri = provider?.redirectURI
  if (typeof uri !== 'string' || webUrl(uri) !== null) return []
  if (PATH_OF_URL.exec(uri)?.[1] === `/auth/${id}/callback`) return []
  const shown = path.length > 2 ? '<id of the connector>' : id
  const message = `has another path: write https://<platformHost>/auth/${shown}/callback, or leave it out`
  return [{ path: [...path, 'redirectURI'], message }]
}

const SAML_TRUST_FIELDS = ['caData', 'ca', 'insecureSkipSignatureValidation'] as const

function samlFaults(path: FieldPath, saml: SamlProvider): readonly UnsourcedFault[] {
  const configured = SAML_TRUST_FIELDS.filter((name) => saml[name] !== undefined)
  if (configured.length === 1) return []
  const state = configured.length === 0 ? 'sets none of them' : `sets ${configured.join(' and ')}`
  return [{ path, message: `${state}: set exactly one of ${SAML_TRUST_FIELDS.join(', ')}` }]
}

function idpAFaults(path: FieldPath, { serviceAccountFilePath, adminEmail }: IdpAProvider) {
  if (!serviceAccountFilePath || adminEmail) return []
  const message = 'is missing: set the administrator whom the service account impersonates'
  const because = [...path, 'serviceAccountFilePath']
  return [{ path: [...path, 'adminEmail'], message, because }]
}

function idFaults(
  connectors: readonly (readonly [number, Connector])[],
): readonly UnsourcedFault[] {
  const first = new Map<string, number>()
  return connectors.flatMap(([at, { id }]) => {
    const path = ['auth', 'connectors', at, 'id']
    if (id === undefined) return [{ path, message: 'is missing: give each connector an id' }]
    const earlier = first.get(id)
    if (earlier === undefined) first.set(id, at)
    return earlier === undefined
      ? []
      : [{ path, message: `is the id of connectors[${earlier}] too: give each its own` }]
  })
}

// Header names are case-insensitive, so one of two spellings would be lost.
function headerFaults(headers: AuthSettings['customHttpHeaders']): readonly UnsourcedFault[] {
  const seen = new Set<string>()
  return Object.keys(headers ?? {}).flatMap((name) => {
    const isDuplicate = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    const message = 'is there in another spelling too: name each header once'
    return isDuplicate
      ? [{ path: ['auth', 'customHttpHeaders', name], message, isOfName: true }]
      : []
  })
}
