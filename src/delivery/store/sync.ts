// Brings one Secret in step with the store, and remembers how that ended.
import { SECRETS } from '../../api/names.ts'
import { type SyncOutcome } from '../../domain/store/round-status.ts'
import { type StoreDirection, storeRequestOf } from '../../domain/store/stored-secret.ts'
import { NoResponseError, StatusError } from '../../kube/client/api-error.ts'
import { regardingOf } from '../../kube/controller/object-writes.ts'
import { recordTransitions } from '../../kube/event-recorder.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { SecretStoreError } from './store-error.ts'
import type { ListedSecret, SyncDeps, SyncFault, SyncRecord } from './deps.ts'
import { pull } from './pull.ts'
import { push } from './push.ts'
import { CHANGED, GONE, type SyncResult, answerIn, outOfStep } from './result.ts'

/** Why Secrets are written, for metrics. */
export const SYNC_WRITE_REASONS = ['pull', 'pushed'] as const

/** What a Secret is tried again after, where it fails by itself. */
const BACK_OFF = { firstMs: 10_000, longestMs: 300_000 }
/** A Secret that others change again and again waits for the next round. */
const MOST_TRIES = 3

const RESTLESS =
  'The Secret or its entry was another one at each try, or a webhook answers writes with 404 or 409.'

/** How a Secret has ended that failed a short time ago and is as it was, so that it is not tried again; null = it is to be tried. */
export const restingOutcome = (
  { resourceVersion }: ListedSecret,
  { fault, comparedVersion, retryMs }: SyncRecord,
  nowMs: number,
): SyncOutcome | null =>
  fault !== null && comparedVersion === resourceVersion && nowMs < retryMs ? fault.outcome : null

/**
 * Syncs a Secret.
 *
 * @param project of its namespace
 * @returns how it ended; null = it is gone, or asks for something else
 */
export async function sync(
  found: ListedSecret,
  project: string,
  record: SyncRecord,
  deps: SyncDeps,
): Promise<SyncOutcome | null> {
  const asked = storeRequestOf(found, project)
  const direction = asked.ok ? asked.request.direction : 'Pull'
  const result = asked.ok
    ? await tried(() => (direction === 'Pull' ? pull : push)(found, asked.request, record, deps))
    : outOfStep('refused', 'StorePathRefused', asked.fault)
  if (result === GONE) return null
  record.comparedVersion = found.resourceVersion
  if (result.kind === 'outOfStep') return failed(found, direction, result.fault, record, deps)
  record.inStep = result.inStep
  if (result.inStep !== null) record.comparedVersion = result.inStep.secretVersion
  record.fault = null
  record.failures = 0
  record.told = ''
  deps.observer.compared(direction, result.outcome)
  if (result.outcome === 'written')
    deps.log.info({ namespace: found.namespace, name: found.name, direction }, 'secret synced')
  return result.outcome
}

async function tried(act: () => Promise<SyncResult>): Promise<Exclude<SyncResult, typeof CHANGED>> {
  for (let tries = 1; ; tries += 1) {
    try {
      const result = await act()
      if (result !== CHANGED) return result
      if (tries === MOST_TRIES) return outOfStep('failed', null, RESTLESS)
    } catch (error) {
      return faultOf(error)
    }
  }
}

/** Errors of the store and of the API server; another one is a defect of this program. */
function faultOf(error: unknown): Exclude<SyncResult, typeof CHANGED> {
  if (error instanceof SecretStoreError) {
    const reason = error.kind === 'refused' ? 'StoreContentRefused' : null
    return outOfStep(error.kind, reason, error.sentence)
  }
  if (error instanceof StatusError)
    return outOfStep('failed', null, `The API server answers ${answerIn(error)}.`)
  if (error instanceof NoResponseError) return outOfStep('failed', null, 'No API server answers.')
  throw error
}

function failed(
  found: ListedSecret,
  direction: StoreDirection,
  fault: SyncFault,
  record: SyncRecord,
  { events, observer, clock, log }: SyncDeps,
): SyncOutcome {
  const { outcome, reason, message } = fault
  const isNew = record.fault?.message !== message
  record.failures = isNew ? 1 : record.failures + 1
  record.fault = fault
  // A store or an API server that is away says nothing of the Secret: each round tries again.
  const isOwn = outcome !== 'unreachable' && outcome !== 'failed'
  const nowMs = clock.nowMs()
  record.retryMs = isOwn ? nowMs + backoffMs(BACK_OFF, record.failures - 1) : nowMs
  observer.compared(direction, outcome)
  if (!isNew) return outcome
  const { namespace, name } = found
  log.warn({ namespace, name, direction, outcome, because: message }, 'secret not in step')
  if (reason === null || record.told === message) return outcome
  record.told = message
  recordTransitions(
    [{ reason, note: message, discriminator: `${found.resourceVersion} ${nowMs}` }],
    { regarding: regardingOf(SECRETS, found), normalReasons: [] },
    events,
  )
  return outcome
}
