import {
  JWKS_DATA_KEY,
  NOTES_DATA_KEY,
  type RecordData,
  jwksText,
  notesText,
} from '../../domain/signingkey/published-keys.ts'
import {
  type KeySecret,
  SUCCESSOR_AFTER_MS,
  activeFromMs,
} from '../../domain/signingkey/signing-key.ts'
import {
  type DesiredKey,
  type Found,
  withdrawnAtMs,
  newestIn,
  signersIn,
  desiredKeysOf,
} from './desired-keys.ts'
import { type TransitionEvent, transitionEventsOf } from './transition-events.ts'

/** The next step for the signing keys. */
export type Step =
  | {
      readonly kind: 'publish'
      readonly data: RecordData
      /** Whether the wish to rotate is met; that to withdraw always is. */
      readonly isRotated: boolean
      readonly announce: readonly TransitionEvent[]
    }
  | { readonly kind: 'create'; readonly generation: number }
  | {
      readonly kind: 'delete'
      readonly secret: KeySecret
      readonly because: 'withdrawn' | 'retired'
    }
  | { readonly kind: 'wait'; readonly untilMs: number }

/**
 * What the signing keys need next (contract 7.3). First the published set, where a leaked key leaves
 * before anything else happens; then a key where one is missing; and Secrets go only when their key
 * is seen to have left the set.
 */
export function plan(found: Found): Step {
  const { entries, isRotated } = desiredKeysOf(found)
  const data = dataOf(entries)
  if (!isPublished(data, isRotated, found))
    return { kind: 'publish', data, isRotated, announce: transitionEventsOf(entries, found) }
  if (isKeyMissing(entries, found) && !isFutile(found))
    return { kind: 'create', generation: nextGeneration(entries, found) }
  const spent = spentSecret(entries, found)
  if (spent) return { kind: 'delete', ...spent }
  return { kind: 'wait', untilMs: wakeMs(entries, found) }
}

const dataOf = (wanted: readonly DesiredKey[]): RecordData => ({
  [JWKS_DATA_KEY]: jwksText(wanted.map(({ jwk }) => jwk).filter((jwk) => jwk !== null)),
  [NOTES_DATA_KEY]: notesText(wanted.map(({ note }) => note)),
})

function isPublished(data: RecordData, isRotated: boolean, { published }: Found): boolean {
  // Before the first key there is nothing to say.
  if (published === null) return data[NOTES_DATA_KEY] === NO_NOTES
  const isSame = ([JWKS_DATA_KEY, NOTES_DATA_KEY] as const).every(
    (key) => data[key] === published.data[key],
  )
  return isSame && published.toWithdraw === null && !(published.isToRotate && isRotated)
}

const NO_NOTES = notesText([])

function isKeyMissing(wanted: readonly DesiredKey[], found: Found): boolean {
  const newest = newestIn(wanted)
  if (!newest || newest.jwk?.alg !== found.algorithm) return true
  const isOld = newest.note.createdMs + SUCCESSOR_AFTER_MS <= found.nowMs
  return isOld || (found.published?.isToRotate ?? false)
}

/** Where each new Secret is spoilt at once, by an admission webhook perhaps, more of them help nobody. */
const isFutile = ({ secrets, nowMs }: Found): boolean =>
  secrets.filter((secret) => isSpoilt(secret) && secret.createdMs > nowMs - PATIENCE_MS).length >=
  MOST_SPOILT

const PATIENCE_MS = 60 * 60_000
const MOST_SPOILT = 3

const isSpoilt = ({ fault, isDeleting }: KeySecret): boolean => fault !== null || isDeleting

/** One more than any ever seen, so that no number is used twice. */
function nextGeneration(wanted: readonly DesiredKey[], { secrets, taken }: Found): number {
  const noted = wanted.map(({ note }) => note)
  const numbers = [...secrets, ...noted].map(({ generation }) => generation ?? 0)
  return Math.max(0, ...numbers, ...taken) + 1
}

/**
 * A Secret whose key has left the set. A corrupt one stays for people to look at. The newest goes
 * first: a copy must not outlive its original, and come back as a new key.
 */
function spentSecret(wanted: readonly DesiredKey[], { secrets }: Found) {
  for (const secret of secrets.filter(({ isDeleting }) => !isDeleting).toReversed()) {
    const note = wanted.find((entry) => entry.note.kid === secret.kid)?.note
    if (note && note.withdrawnMs !== null) return { secret, because: 'withdrawn' } as const
    if (!note && secret.jwk) return { secret, because: 'retired' } as const
  }
  return null
}

/** The next moment at which the answer changes by itself. */
function wakeMs(wanted: readonly DesiredKey[], found: Found): number {
  const signers = signersIn(wanted)
  const moments = [
    ...found.secrets.filter(isSpoilt).map(({ createdMs }) => createdMs + PATIENCE_MS),
    ...signers.map(({ createdMs }) => createdMs + SUCCESSOR_AFTER_MS),
    ...signers.map(activeFromMs),
    ...wanted.map((entry) => withdrawnAtMs(entry, wanted, found) ?? 0),
  ]
  return Math.min(...moments.filter((atMs) => atMs > found.nowMs))
}
