// Begins the record of a request in the audit log, before it has any effect (contract 21.2, 22.2).
import { refuse } from '../../serving/http/answer.ts'
import type { RequestRecord } from '../audit/request-record.ts'
import { ERRORS } from '../errors.ts'
import type { Stage } from '../request-context.ts'
import { VERSION_ROUTE } from '../targets/routes.ts'

/** The dependency of the stage and of the handler around it. */
export interface AuditDeps {
  /** The record of a request that arrives now; null = nothing is recorded. */
  readonly receive: () => RequestRecord | null
  /** Whether it is known what must be recorded. */
  readonly isKnown: () => boolean
}

const SETTINGS_UNKNOWN = refuse(ERRORS.settingsUnknown)

/** Refuses a request that the policy names and that can't be recorded. */
export const audit: Stage<{ readonly audit: AuditDeps }> = (context, deps) => {
  const { record, path } = context
  if (path === VERSION_ROUTE) return null
  if (record === null) return deps.audit.isKnown() ? null : SETTINGS_UNKNOWN
  return record.begin(context)
}

/** Nothing is recorded. */
export const NO_AUDIT: AuditDeps = { receive: () => null, isKnown: () => true }
