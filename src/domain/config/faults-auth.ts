import type { AuthSettings, Connector, IdpAProvider, SamlProvider } from '../../api/config.gen.ts'
import { entriesOf } from './entries.ts'
import type { SettingFault } from './fault.ts'
import type { Path } from './path.ts'

type Providers = Pick<Connector, 'saml' | 'idpA'>

/** What is wrong between the values of auth and its connectors (contract 6.5). */
export function authFaults(auth: AuthSettings): readonly SettingFault[] {
  const connectors = entriesOf(auth.connectors)
  return [
    ...providerFaults(['auth'], auth),
    ...connectors.flatMap(([at, one]) => providerFaults(['auth', 'connectors', at], one)),
    ...idFaults(connectors),
    ...headerFaults(auth.customHttpHeaders),
  ]
}

const providerFaults = (path: Path, { saml, idpA }: Providers): readonly SettingFault[] => [
  ...(saml ? samlFaults([...path, 'saml'], saml) : []),
  ...(idpA ? idpAFaults([...path, 'idpA'], idpA) : []),
]

const TRUSTS = ['caData', 'ca', 'insecureSkipSignatureValidation'] as const

function samlFaults(path: Path, saml: SamlProvider): readonly SettingFault[] {
  const given = TRUSTS.filter((name) => saml[name] !== undefined)
  if (given.length === 1) return []
  const state = given.length === 0 ? 'sets none of them' : `sets ${given.join(' and ')}`
  return [{ path, message: `${state}: set exactly one of ${TRUSTS.join(', ')}` }]
}

function idpAFaults(path: Path, { serviceAccountFilePath, adminEmail }: IdpAProvider) {
  if (!serviceAccountFilePath || adminEmail) return []
  const message = 'is missing: set the administrator whom the service account impersonates'
  const because = [...path, 'serviceAccountFilePath']
  return [{ path: [...path, 'adminEmail'], message, because }]
}

function idFaults(connectors: readonly (readonly [number, Connector])[]): readonly SettingFault[] {
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
function headerFaults(headers: AuthSettings['customHttpHeaders']): readonly SettingFault[] {
  const seen = new Set<string>()
  return Object.keys(headers ?? {}).flatMap((name) => {
    const isSecond = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    const message = 'is there in another spelling too: name each header once'
    return isSecond ? [{ path: ['auth', 'customHttpHeaders', name], message }] : []
  })
}
