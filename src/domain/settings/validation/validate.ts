import type { AuthSettings, OidcServer } from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { type JsonMap, jsonToSettings, isMap } from '../../json/json.ts'
import { type SettingLeaf, checkedMapKeys, leavesOf } from '../walk.ts'
import { auditFaults } from './audit.ts'
import { authFaults } from './auth.ts'
import type { UnsourcedFault } from './faults.ts'
import { missingFaults } from './missing.ts'
import { oidcClientFaults } from './oidc-clients.ts'
import { resourceFaults } from './resources.ts'

/**
 * Faults of single values: negative numbers, empty list entries, and texts in a wrong format (contract 6.5). Values of
 * a wrong type are skipped, because the check against the schema reports them.
 */
export const valueFaults = (settings: JsonMap): readonly UnsourcedFault[] => [
  ...leavesOf(settings).flatMap((leaf) => faultsAt(leaf.path, valueFault(leaf))),
  ...checkedMapKeys(settings).flatMap(({ path, name, check }) =>
    faultsAt(path, check(name)).map((fault) => ({ ...fault, isOfName: true })),
  ),
]

const faultsAt = (path: FieldPath, message: string | null): readonly UnsourcedFault[] =>
  message === null ? [] : [{ path, message }]

function valueFault({ path, value, rule }: SettingLeaf): string | null {
  if (typeof value === 'number') return numberFault(value)
  if (typeof value !== 'string') return null
  if (value === '' && rule.emptyCounts) return null
  const isEntry = typeof path.at(-1) === 'number'
  if (value === '' && isEntry) return 'is empty: leave the entry out'
  return rule.check?.(value) ?? null
}

function numberFault(value: number): string | null {
  if (!Number.isFinite(value)) return 'is not a finite number: write a number, 0 or more'
  return value < 0 ? `is negative (${value}): write 0 or more` : null
}

/**
 * Faults between several values (contract 6.5); values of a wrong type are skipped. Call it only when every source is
 * readable: a value that seems to be missing may be in an unreadable source.
 */
export function relationFaults(json: JsonMap): readonly UnsourcedFault[] {
  const settings = jsonToSettings(json)
  return [
    ...authFaults(groupOf<AuthSettings>(settings.auth)),
    ...auditFaults(groupOf(settings.audit)),
    ...oidcClientFaults(groupOf<OidcServer>(settings.oidc)),
    ...missingFaults(settings),
    ...resourceFaults(settings),
  ]
}

const groupOf = <T extends object>(group: T | undefined): Partial<T> => (isMap(group) ? group : {})
