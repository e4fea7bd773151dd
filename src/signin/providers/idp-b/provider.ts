// Sign-in through Microsoft (contract 25.6): OpenID Connect with many tenants, names and groups by Graph.
import type { IdpBProvider } from '../../../api/config.gen.ts'
import { type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { lookingUpGroups, requireGroup } from '../groups.ts'
import { personOf } from '../oidc/claims.ts'
import { createOidcClient } from '../oidc/client.ts'
import {
  clientFields,
  type OidcDialect,
  type VerifiedClaims,
  type VerifiedIdentity,
} from '../oidc/dialect.ts'
import { createOutgoing } from '../outgoing.ts'
import type { ProviderGroupName, ProviderOptions, SignInProvider } from '../provider.ts'
import { type Graph, graphGroups, graphNames, graphPerson } from './graph.ts'
import { faultIn, type IdpBRules, openness, rulesOf } from './rules.ts'
import { authorityOf, CONSUMERS, isAdmitted, isGuid, tenantIssuers } from './tenant.ts'

/** Creates a provider of field `idpB`. It calls none until it is used; unusable settings are refused then. */
export const createIdpBProvider = (options: ProviderOptions<IdpBProvider>): SignInProvider =>
  createOidcClient(options, dialectOf(options))

const SCOPES = ['profile', 'offline_access', 'User.Read', 'GroupMember.Read.All']

function dialectOf(options: ProviderOptions<IdpBProvider>): OidcDialect {
  const { addresses, settings } = options
  const rules = rulesOf(settings)
  const open = openness(rules)
  const graph = graphOf(options)
  return {
    kind: 'idpB',
    label: `Microsoft (${new URL(addresses.idpB).host})`,
    client: {
      ...clientFields(settings),
      issuerUrl: authorityOf(addresses.idpB, rules.tenant),
      scopes: SCOPES,
    },
    fault: faultIn(rules),
    issuers: tenantIssuers(addresses.idpB, rules.tenant),
    // prompt=consent would ask for an administrator at each sign-in: GroupMember.Read.All is theirs to grant.
    parameters: {},
    warnings: open === null ? [] : [open],
    identify: async (verified, signal) => {
      const ids = idsIn(verified.claims)
      requireTenant(ids, verified, rules, addresses.idpB)
      const { accessToken } = verified
      return identityOf(verified.claims, ids, rules, { ...graph, accessToken, signal })
    },
    tryLookUps: async () => {},
  }
}

function graphOf({ addresses, resolve, clock }: ProviderOptions<IdpBProvider>) {
  const base = addresses.idpBGraph
  return { base, send: createOutgoing({ configured: new URL(base), resolve, clock }) }
}

/** Which account it is. */
interface AccountIds {
  readonly issuer: string
  readonly tenant: string
  /** Of the account in its tenant: immutable, never used again. */
  readonly object: string
}

function idsIn(claims: JsonMap): AccountIds {
  const [issuer, tenant, object] = ['iss', 'tid', 'oid'].map((name) => ownValue(claims, name))
  if (typeof issuer !== 'string' || !isGuid(tenant) || !isGuid(object))
    throw new SignInRefused('provider_answer', 'claims tid and oid must be ids')
  return { issuer, tenant, object }
}

function requireTenant(
  { tenant }: AccountIds,
  { issuer }: VerifiedClaims,
  rules: IdpBRules,
  base: string,
): void {
  if (!isAdmitted(rules.tenant, tenant, base, issuer))
    throw new SignInRefused('domain_refused', 'the account is of another tenant', {
      detail: 'tenant',
    })
}

async function identityOf(
  claims: JsonMap,
  ids: AccountIds,
  rules: IdpBRules,
  graph: Graph,
): Promise<VerifiedIdentity> {
  const isPersonal = ids.tenant === CONSUMERS
  const { id, userPrincipalName } = await graphPerson(graph)
  // Graph has other ids for personal accounts.
  if (!isPersonal && id !== ids.object)
    throw new SignInRefused('provider_answer', 'the access token is of another person')
  return {
    ...personOf(claims, { usernameClaim: 'oid' }),
    subject: `${ids.issuer}#${ids.object}`,
    username: userPrincipalName,
    // An administrator of any tenant writes what they like into the e-mail.
    emailVerified: false,
    groups: await groupsOf(isPersonal, rules, graph),
    groupsPrefix: '',
  }
}

/** The groups that count, by their ids; personal accounts are in none. @throws SignInRefused */
async function groupsOf(
  isPersonal: boolean,
  rules: IdpBRules,
  graph: Graph,
): Promise<readonly ProviderGroupName[]> {
  const found = isPersonal ? [] : await lookingUpGroups(() => graphGroups(graph, rules))
  requireGroup(found, rules.groups)
  // Of an empty list, none are: no group must count that nobody has listed.
  const counted = rules.useGroupsAsWhitelist
    ? found.filter((id) => rules.groups.includes(id))
    : found
  const names = await graphNames(graph, counted)
  return counted.map((name) => ({ name, displayName: names.get(name) ?? null }))
}
