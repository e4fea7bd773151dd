// Which objects of a collection a request is about (contract 12.1, 12.3).
import { ACCESS_KEYS, CONFIGS, TOKENS } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { nestedString } from '../../domain/json/nested-fields.ts'
import type { Query } from '../request/query.ts'
import type { Admission, AdmissionKind } from '../stages/max-in-flight.ts'
import { type SelfServiceRequest, isHidden, parameter, pick } from './request.ts'
import { isOwn, isVisible } from './visibility.ts'

/** Teams and subjects have no keys of their own. */
export const hasOwn = ({
  asked,
  standing,
}: Pick<SelfServiceRequest, 'asked' | 'standing'>): boolean =>
  asked.resource === TOKENS || (asked.resource === ACCESS_KEYS && standing.user !== null)

/** Whether an object belongs to what a request is about. */
export const isListed =
  ({ asked, standing, find }: SelfServiceRequest, whose: Whose) =>
  (object: JsonMap): boolean =>
    !isHidden(asked.resource, nestedString(object, ['metadata', 'name'])) &&
    isVisible(asked, object, standing, find) &&
    (whose === 'all' || isOwn(asked, object, standing, find))

const SELECTS = ['labelSelector', 'fieldSelector', 'timeoutSeconds']

/** What selects the objects: the client's selectors, and, of own keys, a selector on their user. */
export function selecting({ asked, query, standing }: SelfServiceRequest, whose: Whose): Query {
  const chosen = pick(query, SELECTS)
  if (whose === 'all' || asked.resource !== ACCESS_KEYS || standing.user === null) return chosen
  const mine = `spec.user=${standing.user.replace(/[\\,=]/g, '\\$&')}`
  const theirs = parameter(chosen, 'fieldSelector')
  return [
    ...chosen.filter(([name]) => name !== 'fieldSelector'),
    ['fieldSelector', theirs === '' ? mine : `${mine},${theirs}`],
  ]
}

// Lists and watches that the gateway filters, because no selector on the API server can. Each reads the objects
// of all users, however few the caller may see, on the event loop of all requests: so few may run at a time.

/** The objects of a collection that a request is about: those that RBAC shows the caller, or their own. */
export type Whose = 'all' | 'own'

/** Whether the gateway filters every page or event itself (contract 12.1, 12.3). */
export const isFiltered = (
  { asked, standing }: Pick<SelfServiceRequest, 'asked' | 'standing'>,
  whose: Whose,
): boolean =>
  asked.resource !== CONFIGS &&
  (standing.scope !== null || (whose === 'own' && asked.resource === TOKENS))

const FREE: Admission = { ok: true, release: () => undefined }

/** Whether the request may filter now; always, where a selector on the API server does it (contract 13.3). */
export const admitted = (
  exchange: SelfServiceRequest,
  whose: Whose,
  kind: Extract<AdmissionKind, 'filteredList' | 'filteredWatch'>,
): Admission =>
  isFiltered(exchange, whose) ? exchange.limits.admit(exchange.caller.key.uid, kind) : FREE
