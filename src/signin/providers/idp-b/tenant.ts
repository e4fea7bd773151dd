// The tenants of Microsoft (contract 25.6). Every organization is one, and all personal accounts are together in one. Each
// is an issuer of its own, behind discovery documents and keys that tenants share.
import { type JsonMap, ownValue } from '../../../domain/json/json.ts'
import type { IssuerRules } from '../oidc/dialect.ts'

/** The tenant of all personal accounts. */
export const CONSUMERS = '9188040d-6c67-4c5b-b112-36a304b66dad'

/** The values of field `tenant` that stand for many tenants. */
export const MANY_TENANTS: readonly string[] = ['common', 'organizations', 'consumers']

/** An id of Microsoft, in small letters as all of its tokens have it. */
export const isGuid = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** Where a tenant begins; a tenant is an id, a domain or one of MANY_TENANTS. */
export const authorityOf = (base: string, tenant: string): string =>
  [base, tenant, 'v2.0'].join('/')

/** What stands for the tenant in documents of many. */
const PLACEHOLDER = '{tenantid}'

/** The tenant that an issuer is of; null = it is not below the base. */
function tenantIn(base: string, issuer: string): string | null {
  const [, tenant = ''] = /\/([^/]+)\/v2\.0$/.exec(issuer) ?? []
  return issuer === authorityOf(base, tenant) ? tenant : null
}

/** The issuers behind a tenant. @param base of all tenants, without a slash at its end */
export function tenantIssuers(base: string, tenant: string): IssuerRules {
  const ofToken = (claims: JsonMap): string | null => {
    const id = ownValue(claims, 'tid')
    return isGuid(id) ? authorityOf(base, id) : null
  }
  return {
    field: 'tenant',
    isOwn: (named) => isDiscovered(tenant, tenantIn(base, named)),
    mayAnswer: (named) => isGuid(tenantIn(base, named)),
    ofToken,
    // Some keys sign for personal accounts alone, and say so.
    signs: ({ issuer: signer }, issuer) =>
      signer === undefined ||
      [issuer, authorityOf(base, PLACEHOLDER)].some((one) => one === signer),
  }
}

/** Whether the discovery document of a tenant may be of the named one. */
function isDiscovered(tenant: string, named: string | null): boolean {
  if (tenant === 'consumers') return named === PLACEHOLDER || named === CONSUMERS
  if (MANY_TENANTS.includes(tenant)) return named === PLACEHOLDER
  return isGuid(tenant) ? named === tenant : isGuid(named)
}

/** Whether people of a tenant may enter by field `tenant`. @param issuer of the discovery document */
export function isAdmitted(tenant: string, id: string, base: string, issuer: string): boolean {
  if (tenant === 'common') return true
  if (tenant === 'consumers') return id === CONSUMERS
  if (tenant === 'organizations') return id !== CONSUMERS
  return authorityOf(base, id) === issuer
}
