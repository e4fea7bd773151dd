import type { JsonMap } from './json.ts'
import { treatments } from './secrecy.ts'
import { mapLeaves } from './walk.ts'

/**
 * The settings as status and the ConfigMap show them: every secret is `REDACTED`, be it a whole
 * value, the user information of a URL anywhere in a text, or a data source name that is no URL
 * (contract 6.3). Hiding twice changes nothing.
 */
export const hide = (settings: JsonMap): JsonMap =>
  mapLeaves(settings, ({ value, rule }) => {
    if (typeof value === 'string') return treatments[rule.secrecy].hide(value)
    return rule.secrecy === 'whole' && value !== null ? treatments.whole.hide('') : value
  })
