import type {
  AuthSettings,
  Connector,
  IdpAProvider,
  SamlProvider,
} from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { PROVIDERS, type ProviderName, indexedMaps, configuredProviders } from '../entries.ts'
import type { UnsourcedFault } from './faults.ts'
import { connectorId, webUrl } from './formats.ts'

type Providers = Pick<Connector, ProviderName>

/** What is wrong between the values of auth and its connectors (contract 6.5). */
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
  const given = configuredProviders(connector)
  const state = given.length === 0 ? 'sets none of them' : `sets ${given.join(' and ')}`
  const message = `${state}: set exactly one of ${PROVIDERS.join(', ')}`
  // Of an id that is at fault nobody knows what it is to be.
  const isRoute = typeof id === 'string' && connectorId(id) === null
  return [
    ...(given.length === 1 ? [] : [{ path, message }]),
    ...providerFaults(path, connector),
    ...given.flatMap((name) =>
      isRoute ? callbackFaults([...path, name], connector[name], id) : [],
    ),
  ]
}

/** The part of a URL between its host and its query, as it is sent to the provider: not resolved. */
const PATH_OF_URL = /^[^:/]+:\/\/[^/?#]*([^?#]*)/

/** A provider answers where it was told to, and only this route takes the answer. */
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

const TRUSTS = ['caData', 'ca', 'insecureSkipSignatureValidation'] as const

function samlFaults(path: FieldPath, saml: SamlProvider): readonly UnsourcedFault[] {
  const given = TRUSTS.filter((name) => saml[name] !== undefined)
  if (given.length === 1) return []
  const state = given.length === 0 ? 'sets none of them' : `sets ${given.join(' and ')}`
  return [{ path, message: `${state}: set exactly one of ${TRUSTS.join(', ')}` }]
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

// HTTP takes header names in any case: of two spellings one would be lost.
function headerFaults(headers: AuthSettings['customHttpHeaders']): readonly UnsourcedFault[] {
  const seen = new Set<string>()
  return Object.keys(headers ?? {}).flatMap((name) => {
    const isSecond = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    const message = 'is there in another spelling too: name each header once'
    return isSecond ? [{ path: ['auth', 'customHttpHeaders', name], message }] : []
  })
}
