// A stand-in of Microsoft, after learn.microsoft.com: the v2.0 endpoints of a tenant, whose documents name all tenants by a
// placeholder, and the methods of Graph. It checks what the real one checks.
import type { IdpBProvider } from '../../../src/api/config.gen.ts'
import { createIdpBProvider } from '../../../src/signin/providers/idp-b/provider.ts'
import type { ProviderIdentity, SignInProvider } from '../../../src/signin/providers/provider.ts'
import { CLIENT_ID, type ForgedProvider, startForgedProvider } from '../oidc/forged-provider.ts'
import { type ApiAnswer, type ApiRequest, type JsonApi, startJsonApi } from './json-api.ts'
import { optionsFor } from './options.ts'
import { finishAt } from './sign-in.ts'

/** The tenant of a company. */
export const COMPANY = '11111111-aaaa-4bbb-8ccc-0123456789ab'
/** The tenant of another one. */
export const STRANGERS = '22222222-aaaa-4bbb-8ccc-0123456789ab'
/** The tenant of personal accounts, as Microsoft documents it. */
export const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
/** Ada's object. */
export const ADA = 'aaaaaaaa-0000-4000-8000-000000000001'

/** The id of a group. */
export const groupId = (at: number): string =>
  `bbbbbbbb-0000-4000-8000-${String(at).padStart(12, '0')}`

/** A running stand-in; a test replaces what it wants. */
export interface IdpB {
  /** The endpoints of one tenant. */
  readonly forger: ForgedProvider
  /** What all tenants are below. */
  readonly base: string
  readonly graph: JsonApi
  /** Ids of the groups of each page; security groups have even numbers. */
  pages: readonly (readonly number[])[]
  /** The person of the access token. */
  me: Readonly<Record<string, unknown>>
  /** Replaces answers of Graph; undefined = the usual one. */
  answer: (request: ApiRequest) => ApiAnswer | undefined
}

/** The issuer that a tenant's documents and tokens name. */
export const issuerOf = ({ base }: Pick<IdpB, 'base'>, tenant: string): string =>
  `${base}/${tenant}/v2.0`

/** Starts one, which stops when the test ends. @param named the tenant that the discovery document names */
export async function startIdpB(tenant: string, named = '{tenantid}'): Promise<IdpB> {
  const forger = await startForgedProvider(null, `/${tenant}/v2.0`)
  const base = new URL(forger.issuer).origin
  forger.discovery = { issuer: issuerOf({ base }, named), userinfo_endpoint: undefined }
  forger.keys = forger.keys.map((key) => ({ ...key, issuer: issuerOf({ base }, '{tenantid}') }))
  const microsoft: IdpB = {
    forger,
    base,
    graph: await startJsonApi(
      (request) => microsoft.answer(request) ?? graphAnswer(microsoft, request),
    ),
    pages: [[1, 2, 3]],
    me: { id: ADA, userPrincipalName: 'ada@example.com' },
    answer: () => undefined,
  }
  return microsoft
}

function graphAnswer(microsoft: IdpB, request: ApiRequest): ApiAnswer {
  const { method, path, headers } = request
  if (headers.authorization !== 'Bearer an access token')
    return { status: 401, body: { error: { code: 'InvalidAuthenticationToken' } } }
  const methods: Readonly<Record<string, () => ApiAnswer>> = {
    'GET /v1.0/me': () => ({ body: { '@odata.context': 'x', ...microsoft.me } }),
    'POST /v1.0/me/getMemberGroups': () => groupsAnswer(microsoft, request),
    'POST /v1.0/directoryObjects/getByIds': () => namesAnswer(request),
  }
  return methods[`${method} ${path}`]?.() ?? { status: 404, body: { error: { code: 'NotFound' } } }
}

function groupsAnswer({ pages, graph }: IdpB, { query, body, headers }: ApiRequest): ApiAnswer {
  const { securityEnabledOnly } = JSON.parse(body) as { securityEnabledOnly?: unknown }
  if (typeof securityEnabledOnly !== 'boolean' || headers['content-type'] !== 'application/json')
    return { status: 400, body: { error: { code: 'Request_BadRequest' } } }
  const at = Number(query.get('$skiptoken') ?? 0)
  const found = (pages[at] ?? []).filter((group) => !securityEnabledOnly || group % 2 === 0)
  const next = `${graph.origin}/v1.0/me/getMemberGroups?$skiptoken=${at + 1}`
  const link = at + 1 < pages.length ? { '@odata.nextLink': next } : {}
  return { body: { '@odata.context': 'x', ...link, value: found.map(groupId) } }
}

function namesAnswer({ body }: ApiRequest): ApiAnswer {
  const { ids, types } = JSON.parse(body) as { ids: readonly string[]; types: unknown }
  if (ids.length === 0 || ids.length > 1000 || JSON.stringify(types) !== '["group"]')
    return { status: 400, body: { error: { code: 'Request_BadRequest' } } }
  const value = ids.map((id) => ({
    '@odata.type': '#microsoft.graph.group',
    id,
    displayName: `Group ${Number(id.split('-')[4])}`,
  }))
  return { body: { value } }
}

/** A provider of this product for the stand-in. */
export const idpB = ({ base, graph }: IdpB, settings: IdpBProvider = {}): SignInProvider =>
  createIdpBProvider({
    ...optionsFor('idpB', { idpB: base, idpBGraph: graph.origin }),
    settings: { clientId: CLIENT_ID, clientSecret: 'a secret', ...settings },
  })

/** Signs in at a stand-in, with an ID token of the tenant. @param parameters of the callback */
export const signInAtB = (
  microsoft: IdpB,
  settings: IdpBProvider = {},
  { tenant = COMPANY, ...claims }: Readonly<Record<string, unknown>> & { tenant?: string } = {},
  parameters: Readonly<Record<string, string>> = {},
): Promise<ProviderIdentity> => {
  const usual = {
    iss: issuerOf(microsoft, tenant),
    tid: tenant,
    oid: ADA,
    sub: 'pairwise-1',
    ver: '2.0',
    name: 'Ada Lovelace',
    preferred_username: 'ada.l@example.com',
    email: 'ceo@example.com',
    email_verified: true,
    groups: undefined,
  }
  const provider = idpB(microsoft, settings)
  return finishAt(provider, microsoft.forger, { ...usual, ...claims }, parameters)
}
