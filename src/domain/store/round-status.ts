// What condition SecretStoreReady says (contract 36.1). Pure.
import type { StoreSettings } from './store-settings.ts'
import type { StoreStatus } from './store-status.ts'

/** How the comparison of a Secret with the store ended, as a label value. */
export const SYNC_OUTCOMES = [
  'unchanged',
  'written',
  'not_found',
  'refused',
  'conflict',
  'denied',
  'unreachable',
  'failed',
] as const

/** One of SYNC_OUTCOMES. `failed`: the API server could not be asked. */
export type SyncOutcome = (typeof SYNC_OUTCOMES)[number]

/** Whether the Secret is in step with the store. */
export const isInStep = (outcome: SyncOutcome): boolean =>
  outcome === 'unchanged' || outcome === 'written'

/** The answer of a store that was only asked about its token, where there is no Secret to sync. */
type StoreAnswer = 'answers' | 'denied' | 'unreachable'

const sentences = (...texts: readonly string[]): string => texts.filter(Boolean).join(' ')

const notReady = (
  reason: StoreStatus['reason'],
  message: string,
  notes: readonly string[],
): StoreStatus => ({ status: 'False', reason, message: sentences(message, ...notes) })

/** The state of a store that can't be asked yet; null = it can. */
export function missingStatus(settings: StoreSettings): StoreStatus | null {
  const { address, token, tokenSecret, notes } = settings
  if (address === null)
    return notReady(
      'AddressMissing',
      'Set secretStore.address, or the variable VAULT_ADDR of the delivery process, to the URL of the store.',
      notes,
    )
  if (token !== null) return null
  if (tokenSecret === null)
    return notReady(
      'TokenMissing',
      'Set secretStore.auth.token, or the Secret with the token in secretStore.auth.tokenSecretRef.',
      notes,
    )
  const { name, key, isOptional } = tokenSecret
  const missing = `Secret ${name} of the platform namespace has no token at key ${key}.`
  return isOptional
    ? {
        status: 'Unknown',
        reason: 'TokenMissing',
        message: sentences(missing, 'The store waits for it.', ...notes),
      }
    : notReady('TokenMissing', missing, notes)
}

/**
 * The state of a store after a round.
 *
 * @param outcomes of all Secrets, with those that were not tried again
 * @param answer where there are none
 */
export function roundStatus(
  { notes }: Pick<StoreSettings, 'notes'>,
  outcomes: readonly SyncOutcome[],
  answer: StoreAnswer,
): StoreStatus {
  const count = (...some: readonly SyncOutcome[]): number =>
    outcomes.filter((one) => some.includes(one)).length
  const inStep = outcomes.filter(isInStep).length
  // Some that failed by themselves rest, and were not asked for in this round: only one in step shows that the store serves.
  const isServing = inStep > 0
  const isUnreachable = outcomes.length === 0 ? answer === 'unreachable' : count('unreachable') > 0
  const isDenied = outcomes.length === 0 ? answer === 'denied' : count('denied') > 0
  if (!isServing && isUnreachable)
    return notReady(
      'Unreachable',
      'The store does not answer; every Secret and entry stays as it is.',
      notes,
    )
  if (!isServing && isDenied)
    return notReady(
      'Denied',
      'The store refuses the token; every Secret and entry stays as it is.',
      notes,
    )
  if (inStep < outcomes.length)
    return notReady(
      'Partly',
      `Secrets not in step with the store: ${outcomes.length - inStep} of ${outcomes.length}; Events of each say why.`,
      notes,
    )
  const message = `Secrets in step with the store: ${outcomes.length}.`
  return { status: 'True', reason: 'Synced', message: sentences(message, ...notes) }
}
