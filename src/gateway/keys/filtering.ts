// Lists and watches that the gateway filters, because no selector on the API server can. Each reads the objects
// of all users, however few the caller may see, on the event loop of all requests: so few may run at a time.
import { CONFIGS, TOKENS } from '../../api/names.ts'
import type { Admission, AdmissionKind } from '../stages/limits.ts'
import type { Exchange } from './exchange.ts'

/** The objects of a collection that a request is about: those that RBAC shows the caller, or their own. */
export type Whose = 'all' | 'own'

/** Whether the gateway filters every page or event itself (contract 12.1, 12.3). */
export const isFiltered = (
  { asked, standing }: Pick<Exchange, 'asked' | 'standing'>,
  whose: Whose,
): boolean =>
  asked.resource !== CONFIGS &&
  (standing.scope !== null || (whose === 'own' && asked.resource === TOKENS))

const FREE: Admission = { ok: true, release: () => undefined }

/** Whether the request may filter now; always, where a selector on the API server does it (contract 13.3). */
export const admitted = (
  exchange: Exchange,
  whose: Whose,
  kind: Extract<AdmissionKind, 'filteredList' | 'filteredWatch'>,
): Admission =>
  isFiltered(exchange, whose) ? exchange.limits.admit(exchange.caller.key.uid, kind) : FREE
