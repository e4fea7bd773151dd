// Sign-in through Google (contract 25.6): OpenID Connect, with domains, and groups of the directory of the company.
import type { IdpAProvider } from '../../../api/config.gen.ts'
import { type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { requireGroup } from '../groups.ts'
import { personOf } from '../oidc/claims.ts'
import { createOidcClient } from '../oidc/client.ts'
import { clientFields, type OidcDialect, oneIssuer } from '../oidc/dialect.ts'
import type { ProviderGroupName, ProviderOptions, SignInProvider } from '../provider.ts'
import { createDirectory, type Directory } from './directory.ts'

/** Creates a provider of field `idpA`. It calls none until it is used; unusable settings are refused then. */
export const createIdpAProvider = (options: ProviderOptions<IdpAProvider>): SignInProvider =>
  createOidcClient(options, dialectOf(options))

const DEFAULT_SCOPES = ['profile', 'email']

function dialectOf(options: ProviderOptions<IdpAProvider>): OidcDialect {
  const { addresses, settings } = options
  const { scopes, hostedDomains = [], groups = [] } = settings
  const directory = settings.serviceAccountFilePath ? createDirectory(options) : null
  const admitsAll = hostedDomains.length === 0 && groups.length === 0
  return {
    kind: 'idpA',
    label: `Google (${new URL(addresses.idpA).host})`,
    client: {
      ...clientFields(settings),
      issuerUrl: addresses.idpA,
      scopes: scopes?.length ? scopes : DEFAULT_SCOPES,
    },
    fault: faultIn(settings),
    issuers: oneIssuer('its address', addresses.idpA),
    parameters: parametersFor(hostedDomains),
    warnings: admitsAll
      ? ['it admits everybody who has an account there: set hostedDomains or groups']
      : [],
    identify: async ({ claims }, signal) => {
      requireDomain(claims, hostedDomains)
      const person = personOf(claims, { platformUsernameClaim: 'email' })
      if (person.email !== null && !person.emailVerified)
        throw new SignInRefused('name_refused', 'the name is claim email, which is not verified')
      const found = await groupsOf(person.email, claims, directory, signal)
      requireGroup(namesOf(found), groups)
      return { ...person, groups: found, groupsPrefix: '' }
    },
    tryLookUps: async (signal) => directory?.connect(signal),
  }
}

const namesOf = (groups: readonly ProviderGroupName[]): readonly string[] =>
  groups.map(({ name }) => name)

/** What Google is sent besides. One domain makes its page offer only accounts of it; that proves nothing. */
const parametersFor = ([domain, ...others]: readonly string[]) => ({
  access_type: 'offline',
  // Without it, only the first sign-in of a person has a refresh token.
  prompt: 'consent',
  ...(domain !== undefined && others.length === 0 ? { hd: domain } : {}),
})

function faultIn({ groups, serviceAccountFilePath, adminEmail }: IdpAProvider): string | null {
  if (groups?.length && !serviceAccountFilePath) return 'groups needs serviceAccountFilePath'
  return serviceAccountFilePath && !adminEmail ? 'serviceAccountFilePath needs adminEmail' : null
}

function requireDomain(claims: JsonMap, hostedDomains: readonly string[]): void {
  const domain = ownValue(claims, 'hd')
  if (hostedDomains.length > 0 && !hostedDomains.some((one) => one === domain))
    throw new SignInRefused('domain_refused', 'claim hd is none of hostedDomains', {
      detail: 'hostedDomains',
    })
}

/**
 * The groups that have the person's address as a member. An address that Google does not host may have another owner by
 * now: it is not looked up.
 */
async function groupsOf(
  email: string | null,
  claims: JsonMap,
  directory: Directory | null,
  signal: AbortSignal,
): Promise<readonly ProviderGroupName[]> {
  if (email === null || directory === null) return []
  const isHosted = typeof ownValue(claims, 'hd') === 'string' || GOOGLE_ADDRESS.test(email)
  return isHosted ? directory.groupsOf(email, signal) : []
}

const GOOGLE_ADDRESS = /@(?:gmail|googlemail)\.com$/i
