// What condition SecretStoreReady says (contract 36.1). Pure.
import { storeAddressOf } from './store-address.ts'
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

/** What a round over all Secrets has shown. */
export interface RoundResult {
  /** Of all Secrets, with those that were not tried again. */
  readonly outcomes: readonly SyncOutcome[]
  /** Why the store does not serve all, as a sentence without a value; empty = it does. */
  readonly because: string
}

/** The answer of a store that was only asked about its token, where there is no Secret to sync. */
export type StoreAnswer = 'answers' | 'denied' | 'unreachable'

const STAYS = 'every Secret and entry stays as it is.'

const sentences = (...texts: readonly string[]): string => texts.filter(Boolean).join(' ')

const notReady = (
  reason: StoreStatus['reason'],
  message: string,
  notes: readonly string[],
): StoreStatus => ({ status: 'False', reason, message: sentences(message, ...notes) })

/** The state of a store that can't be asked, as a setting is missing or unusable; null = it can. */
export function missingStatus(settings: StoreSettings): StoreStatus | null {
  const { address, token, tokenSecret, notes } = settings
  if (address === null)
    return notReady(
      'AddressMissing',
      'Set secretStore.address, or the variable VAULT_ADDR of the delivery process, to the URL of the store.',
      notes,
    )
  if (token !== null) return unusableStatus({ ...settings, address, token })
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

function unusableStatus(
  settings: StoreSettings & Parameters<typeof storeAddressOf>[0],
): StoreStatus | null {
  const found = storeAddressOf(settings)
  if (found.fault === null) return null
  const reason = found.setting === 'token' ? 'TokenMissing' : 'AddressMissing'
  return notReady(reason, `The settings cannot be used: ${found.fault}.`, settings.notes)
}

/** The state of a store after a round. @param answer where there are no Secrets */
export function roundStatus(
  { notes }: Pick<StoreSettings, 'notes'>,
  { outcomes, because }: RoundResult,
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
    return notReady('Unreachable', sentences(`The store does not answer; ${STAYS}`, because), notes)
  if (!isServing && isDenied)
    return notReady('Denied', sentences(`The store refuses the token; ${STAYS}`, because), notes)
  const withEvents = count('not_found', 'refused', 'conflict')
  if (inStep < outcomes.length)
    return notReady(
      'Partly',
      sentences(
        `Secrets not in step with the store: ${outcomes.length - inStep} of ${outcomes.length}.`,
        withEvents > 0 ? `Events say why for ${withEvents} of them.` : '',
        isDenied ? `The store refuses the token for ${count('denied')} of them.` : '',
        isUnreachable ? `The store does not answer for ${count('unreachable')} of them.` : '',
        count('failed') > 0 ? `The API server does not serve ${count('failed')} of them.` : '',
        because,
      ),
      notes,
    )
  const message = `Secrets in step with the store: ${outcomes.length}.`
  return { status: 'True', reason: 'Synced', message: sentences(message, ...notes) }
}
