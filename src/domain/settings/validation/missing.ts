// Fields that a setting needs as soon as it exists (contract 6.5).
import type { ConfigSettings, Connector } from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { indexedMaps, isMap } from '../../json/json.ts'
import { configuredProviders } from '../providers.ts'
import type { UnsourcedFault } from './faults.ts'
import { resourcesIn } from './resources.ts'

/** Faults of fields that are missing beside others. A whole setting that is absent needs none of its fields. */
export const missingFaults = (settings: ConfigSettings): readonly UnsourcedFault[] =>
  [...providersIn(settings), ...othersIn(settings)].flatMap(({ path, value, needs }) =>
    Object.entries(needs)
      .filter(([field]) => isMap(value) && value[field] === undefined)
      .map(([field, what]) => ({
        path: [...path, field],
        message: `is missing: ${what}`,
        because: path,
      })),
  )

/** A setting, and the fields that it needs, each with the advice. */
interface Needy {
  readonly path: FieldPath
  readonly value: unknown
  readonly needs: Readonly<Record<string, string>>
}

const CLIENT_ID = { clientId: 'set the client under which this service is registered' }

const PROVIDER_NEEDS = {
  oidc: { issuerUrl: 'set the URL that the provider signs ID tokens as', ...CLIENT_ID },
  sourceHostA: CLIENT_ID,
  sourceHostB: CLIENT_ID,
  idpA: CLIENT_ID,
  idpB: CLIENT_ID,
  saml: { ssoURL: 'set the URL that sign-in requests are sent to' },
} as const

function providersIn({ auth }: ConfigSettings): readonly Needy[] {
  if (!isMap(auth)) return []
  const { connectors } = auth as Readonly<{ connectors?: readonly Connector[] }>
  return [
    ...providersAt(['auth'], auth),
    ...indexedMaps(connectors).flatMap(([at, one]) => providersAt(['auth', 'connectors', at], one)),
  ]
}

function providersAt(path: FieldPath, providers: Connector): readonly Needy[] {
  return configuredProviders(providers).flatMap((name): readonly Needy[] => {
    const value: unknown = providers[name]
    const here = { path: [...path, name], value, needs: PROVIDER_NEEDS[name] }
    if (name !== 'sourceHostA' || !isMap(value)) return [here]
    const orgs = entriesOf([...path, name, 'orgs'], providers.sourceHostA?.orgs, {
      name: 'set the full name of the organization',
    })
    return [here, ...orgs]
  })
}

function othersIn(settings: ConfigSettings): readonly Needy[] {
  const { oidc, apps, secretStore } = settings
  const tokenSecretRef = {
    path: ['secretStore', 'auth', 'tokenSecretRef'],
    value: secretStore?.auth?.tokenSecretRef,
    needs: { name: 'set the name of the Secret' },
  }
  return [
    tokenSecretRef,
    ...entriesOf(['oidc', 'clients'], oidc?.clients, { name: 'give each client a name' }),
    ...entriesOf(['apps', 'predefinedApps'], apps?.predefinedApps, {
      chart: 'write repository/chart',
    }),
    ...resourcesIn(settings).flatMap(([path, { claims }]) =>
      entriesOf([...path, 'claims'], claims, {
        name: 'set the name of a claim of the Pod',
      }),
    ),
  ]
}

const entriesOf = (
  path: FieldPath,
  list: readonly object[] | undefined,
  needs: Needy['needs'],
): readonly Needy[] =>
  indexedMaps(list).map(([at, value]) => ({ path: [...path, at], value, needs }))
