// The next step of a token, confirmed by the API server where it cannot be undone.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { KeyLookup } from '../../domain/accesskey/owner-chain.ts'
import type { People } from '../../domain/people/people.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { Store } from '../../kube/informer/store.ts'
import { keysIn } from '../indexes/access-keys.ts'
import type { IssuesInProgress } from '../indexes/tokens.ts'
import { type TokenStep, plan } from './plan.ts'
import { type TokenPlanSources, planInputOf } from './plan-input.ts'

/** Dependencies of confirmedStep. */
export interface ConfirmationDeps extends TokenPlanSources {
  readonly keys: Store<AccessKey>
  readonly people: People
  /**
   * Reads the keys of these names, the keys that their state depends on, the people that they act as, and these and
   * their other teams, from the API server.
   */
  readonly readKeys: (names: readonly string[], teamNames: readonly string[]) => Promise<KeyLookup>
  readonly issues: IssuesInProgress
}

/**
 * Plans the next step. Keys, people, teams and tokens arrive by watches of their own, and each may be late: an
 * irreversible step, a signature or a revocation record, is done only if what the API server has leads to the same step.
 *
 * @returns null = they lead to another step, so the stores have to catch up first
 */
export async function confirmedStep(
  token: TokenObject,
  deps: ConfirmationDeps,
): Promise<TokenStep | null> {
  const step = plan(token, planInputOf(token, keysIn(deps.keys, deps.people), deps))
  // Before the owner is read from the API server, as it may be deleted during that read.
  if (step.kind === 'issue') deps.issues.begin(token)
  if (!isIrreversible(step, token, deps) || token.ownerRef === null) return step
  const { issued } = token.published
  const teams = issued === null || issued === 'damaged' ? [] : issued.teams
  const live = await deps.readKeys([token.ownerRef.name], teams)
  const confirmed = plan(token, planInputOf(token, live, deps))
  return isSameStep(step, confirmed) ? confirmed : null
}

/** Whether a step is irreversible and not done yet. A record that was requested before counts as done. */
const isIrreversible = (
  { kind }: TokenStep,
  { uid, isDeleting }: TokenObject,
  { revocations }: ConfirmationDeps,
): boolean =>
  kind === 'issue' || (kind === 'record' && !isDeleting && revocations.requestedForMs(uid) === null)

/** Whether both plans lead to the same step, for an issue with identical claims. Either plan may use older keys. */
const isSameStep = (step: TokenStep, other: TokenStep): boolean =>
  step.kind === 'issue' && other.kind === 'issue'
    ? JSON.stringify(step.claims) === JSON.stringify(other.claims)
    : step.kind === other.kind
