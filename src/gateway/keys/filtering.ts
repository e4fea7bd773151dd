// What is picked out here of everybody's objects, because no selector says what a caller may see. It costs
// the same however little he is shown, and runs beside the requests of all others: so there is room for few.
import { CONFIGS, TOKENS } from '../../api/group.ts'
import type { Admission, AdmissionKind } from '../stages/limits.ts'
import type { Exchange } from './exchange.ts'

/** Which objects of a collection a request is about: what RBAC lets the caller see, or his own. */
export type Whose = 'all' | 'own'

/** Whether whole pages and every event are filtered here (contract 12.1, 12.3). */
export const isFiltered = (
  { asked, standing }: Pick<Exchange, 'asked' | 'standing'>,
  whose: Whose,
): boolean =>
  asked.resource !== CONFIGS &&
  (standing.scope !== null || (whose === 'own' && asked.resource === TOKENS))

const FREE: Admission = { ok: true, release: () => undefined }

/** Whether there is room for it; always where the API server does the picking (contract 13.3). */
export const admitted = (
  exchange: Exchange,
  whose: Whose,
  kind: Extract<AdmissionKind, 'filteredList' | 'filteredWatch'>,
): Admission =>
  isFiltered(exchange, whose) ? exchange.limits.admit(exchange.caller.key.uid, kind) : FREE
