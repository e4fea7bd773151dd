// Who may enter by the fields of `idpB` (contract 25.6).
import type { IdpBProvider } from '../../../api/config.gen.ts'
import { CONSUMERS, isGuid, MANY_TENANTS } from './tenant.ts'

/** The fields of `idpB` that are about people, with their defaults. */
export interface IdpBRules {
  /** An id, a domain, or one of MANY_TENANTS; in small letters, as Microsoft has it. */
  readonly tenant: string
  /** Ids in small letters; empty = none is required. */
  readonly groups: readonly string[]
  readonly onlySecurityGroups: boolean
  readonly useGroupsAsWhitelist: boolean
}

/** The rules of settings; absent, empty and false are the same. */
export function rulesOf(settings: IdpBProvider): IdpBRules {
  const tenant = (settings.tenant || 'common').toLowerCase()
  return {
    tenant: tenant === CONSUMERS ? 'consumers' : tenant,
    groups: (settings.groups ?? []).map((group) => group.toLowerCase()),
    onlySecurityGroups: settings.onlySecurityGroups === true,
    useGroupsAsWhitelist: settings.useGroupsAsWhitelist === true,
  }
}

/** An id or a domain: one segment of a path. */
const TENANT = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

/** Why the rules cannot be used, without their values; null = they can. */
export function faultIn({ tenant, groups }: IdpBRules): string | null {
  if (!TENANT.test(tenant))
    return `tenant must be ${MANY_TENANTS.join(', ')}, the id of a tenant, or a domain`
  return groups.every(isGuid) ? null : 'groups must be object ids: display names are not unique'
}

/** Why a provider of these rules admits everybody; null = it does not. */
export const openness = ({ tenant, groups }: IdpBRules): string | null =>
  MANY_TENANTS.includes(tenant) && groups.length === 0
    ? 'it admits everybody who has an account there: set tenant or groups'
    : null
