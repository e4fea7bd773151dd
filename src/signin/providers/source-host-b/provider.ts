// Sign-in through GitLab (contract 25.6): OpenID Connect, with names and groups in userinfo.
import type { SourceHostBProvider } from '../../../api/config.gen.ts'
import type { JsonMap } from '../../../domain/json/json.ts'
import { groupsWithoutTitle, listedGroups, requireGroup } from '../groups.ts'
import { groupsIn, personOf, textIn } from '../oidc/claims.ts'
import { createOidcClient } from '../oidc/client.ts'
import {
  clientFields,
  type OidcDialect,
  oneIssuer,
  type VerifiedClaims,
  type VerifiedIdentity,
} from '../oidc/dialect.ts'
import type { ProviderOptions, SignInProvider } from '../provider.ts'

/** Creates a provider of field `sourceHostB`. It calls none until it is used; unusable settings are refused then. */
export const createSourceHostBProvider = (
  options: ProviderOptions<SourceHostBProvider>,
): SignInProvider => createOidcClient(options, dialectOf(options))

function dialectOf({ settings, addresses, id }: ProviderOptions<SourceHostBProvider>): OidcDialect {
  const { baseURL, groups = [] } = settings
  const issuerUrl = baseURL || addresses.sourceHostB
  const admitsAll = groups.length === 0 && issuerUrl === addresses.sourceHostB
  return {
    kind: 'sourceHostB',
    label: `GitLab (${URL.parse(issuerUrl)?.host ?? id})`,
    client: {
      ...clientFields(settings),
      issuerUrl,
      scopes: ['profile', 'email'],
      getUserInfo: true,
    },
    fault: null,
    issuers: oneIssuer('baseURL', issuerUrl),
    parameters: {},
    warnings: admitsAll ? ['it admits everybody who has an account there: set groups'] : [],
    identify: async (verified) => identityOf(verified, groups),
    tryLookUps: async () => {},
  }
}

/** Who signs in. @param list field `groups` */
function identityOf(
  { claims, userinfo }: VerifiedClaims,
  list: readonly string[],
): VerifiedIdentity {
  const nameClaim = nameClaimIn(claims)
  // An e-mail is never the name: GitLab gives every account a user name.
  const names = { preferredUsername: nameClaim, platformUsernameClaim: nameClaim }
  const groups = groupsIn(userinfo ?? {}, 'groups')
  requireGroup(groups, list)
  return {
    ...personOf(claims, names),
    groups: groupsWithoutTitle(listedGroups(groups, list)),
    groupsPrefix: '',
  }
}

const nameClaimIn = (claims: JsonMap): string =>
  textIn(claims, 'preferred_username') === null ? 'nickname' : 'preferred_username'
