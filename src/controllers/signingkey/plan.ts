import type { EventReason } from '../../api/names.ts'
import {
  JWKS_DATA_KEY,
  KEY_RECORDS_DATA_KEY,
  type PublishedKeysData,
  jwksText,
  keyRecordsText,
} from '../../domain/signingkey/published-keys.ts'
import {
  SUCCESSOR_AFTER_MS,
  type SigningKeySecret,
  signsFromMs,
} from '../../domain/signingkey/signing-key.ts'
import { formatTimestamp } from '../../domain/time.ts'
import type { TransitionEvent } from '../../kube/event-recorder.ts'
import {
  type DesiredKey,
  type SigningKeyCircumstances,
  desiredKeysOf,
  newestIn,
  signersIn,
  signingIn,
  withdrawnAtMs,
} from './desired-keys.ts'

/** The next step for the signing keys. */
export type SigningKeyStep =
  | {
      readonly kind: 'publish'
      readonly data: PublishedKeysData
      /** Whether the wish to rotate is met; that to withdraw always is. */
      readonly isRotated: boolean
      readonly announce: readonly SigningKeyTransition[]
    }
  | { readonly kind: 'create'; readonly generation: number }
  | {
      readonly kind: 'delete'
      readonly secret: SigningKeySecret
      readonly because: 'withdrawn' | 'retired'
    }
  | { readonly kind: 'wait'; readonly untilMs: number }

/**
 * What the signing keys need next (contract 7.3). First the published set, where a leaked key leaves
 * before anything else happens; then a key where one is missing; and Secrets go only when their key
 * is seen to have left the set.
 */
export function plan(found: SigningKeyCircumstances): SigningKeyStep {
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

const dataOf = (wanted: readonly DesiredKey[]): PublishedKeysData => ({
  [JWKS_DATA_KEY]: jwksText(wanted.map(({ jwk }) => jwk).filter((jwk) => jwk !== null)),
  [KEY_RECORDS_DATA_KEY]: keyRecordsText(wanted.map(({ note }) => note)),
})

function isPublished(
  data: PublishedKeysData,
  isRotated: boolean,
  { published }: SigningKeyCircumstances,
): boolean {
  // Before the first key there is nothing to say.
  if (published === null) return data[KEY_RECORDS_DATA_KEY] === NO_NOTES
  const isSame = ([JWKS_DATA_KEY, KEY_RECORDS_DATA_KEY] as const).every(
    (key) => data[key] === published.data[key],
  )
  return isSame && published.toWithdraw === null && !(published.isToRotate && isRotated)
}

const NO_NOTES = keyRecordsText([])

function isKeyMissing(wanted: readonly DesiredKey[], found: SigningKeyCircumstances): boolean {
  const newest = newestIn(wanted)
  if (!newest || newest.jwk?.alg !== found.algorithm) return true
  const isOld = newest.note.createdMs + SUCCESSOR_AFTER_MS <= found.nowMs
  return isOld || (found.published?.isToRotate ?? false)
}

/** Where each new Secret is spoilt at once, by an admission webhook perhaps, more Secrets do not help. */
const isFutile = ({ secrets, nowMs }: SigningKeyCircumstances): boolean =>
  secrets.filter((secret) => isSpoilt(secret) && secret.createdMs > nowMs - PATIENCE_MS).length >=
  MOST_SPOILT

const PATIENCE_MS = 60 * 60_000
const MOST_SPOILT = 3

const isSpoilt = ({ fault, isDeleting }: SigningKeySecret): boolean => fault !== null || isDeleting

/** One more than any ever seen, so that no number is used twice. */
function nextGeneration(
  wanted: readonly DesiredKey[],
  { secrets, taken }: SigningKeyCircumstances,
): number {
  const noted = wanted.map(({ note }) => note)
  const numbers = [...secrets, ...noted].map(({ generation }) => generation ?? 0)
  return Math.max(0, ...numbers, ...taken) + 1
}

/**
 * A Secret whose key has left the set. A corrupt one stays for people to look at. The newest goes
 * first: a copy must not outlive its original, and come back as a new key.
 */
function spentSecret(wanted: readonly DesiredKey[], { secrets }: SigningKeyCircumstances) {
  for (const secret of secrets.filter(({ isDeleting }) => !isDeleting).toReversed()) {
    const note = wanted.find((entry) => entry.note.kid === secret.kid)?.note
    if (note && note.withdrawnMs !== null) return { secret, because: 'withdrawn' } as const
    if (!note && secret.jwk) return { secret, because: 'retired' } as const
  }
  return null
}

/** The next moment at which the answer changes by itself. */
function wakeMs(wanted: readonly DesiredKey[], found: SigningKeyCircumstances): number {
  const signers = signersIn(wanted)
  const moments = [
    ...found.secrets.filter(isSpoilt).map(({ createdMs }) => createdMs + PATIENCE_MS),
    ...signers.map(({ createdMs }) => createdMs + SUCCESSOR_AFTER_MS),
    ...signers.map(signsFromMs),
    ...wanted.map((entry) => withdrawnAtMs(entry, wanted, found) ?? 0),
  ]
  return Math.min(...moments.filter((atMs) => atMs > found.nowMs))
}

/** A change of the signing keys that an event reports. */
export type SigningKeyTransition = TransitionEvent<
  Extract<EventReason, 'SigningKeyRotated' | 'SigningKeyCorrupt' | 'UnknownSigningKey'>
>

/** What publishing these keys changes for people: keys withdrawn, and keys with a new time. */
function transitionEventsOf(
  wanted: readonly DesiredKey[],
  found: SigningKeyCircumstances,
): readonly SigningKeyTransition[] {
  // At the very first publication, and where a damaged set is put back, nothing is rotated.
  if (!found.published?.isSound) return withdrawalsIn(wanted, found)
  return [...withdrawalsIn(wanted, found), ...rotationsIn(wanted, found)]
}

/** Transitions of corrupt Secrets. No write comes with them: the caller records each only once. */
export const corruptionsOf = (
  secrets: readonly SigningKeySecret[],
): readonly SigningKeyTransition[] =>
  secrets.flatMap(({ name, uid, fault }) =>
    fault === null
      ? []
      : [
          {
            reason: 'SigningKeyCorrupt',
            note: `Secret ${name} ${fault}. Nothing is signed with it; tokens that it signed still verify. Delete the Secret once you have examined it.`,
            of: `${uid} ${fault}`,
          },
        ],
  )

function withdrawalsIn(
  wanted: readonly DesiredKey[],
  { published, nowMs }: SigningKeyCircumstances,
): readonly SigningKeyTransition[] {
  const kid = published?.toWithdraw ?? null
  if (kid === null) return []
  if (wanted.some(({ note }) => note.kid === kid)) {
    const next = signingIn(wanted, nowMs)?.note.kid
    const instead = next ? `${next} signs` : 'a new key is made'
    const note = `Signing key ${kid} was withdrawn; ${instead}. Its tokens are revoked.`
    return [{ reason: 'SigningKeyRotated', note, of: `withdrawn ${kid}` }]
  }
  const known = wanted.filter(({ jwk }) => jwk !== null).map((entry) => entry.note.kid)
  // What was asked for is not repeated: it may be anything, a private key as well.
  const note = `No signing key has the kid that the annotation names. There are: ${known.join(', ') || 'none'}.`
  return [{ reason: 'UnknownSigningKey', note, of: formatTimestamp(nowMs) }]
}

function rotationsIn(
  wanted: readonly DesiredKey[],
  { published, nowMs }: SigningKeyCircumstances,
): readonly SigningKeyTransition[] {
  const before = new Map(published?.notes.map((note) => [note.kid, note.useFromMs]))
  const signing = signingIn(wanted, nowMs)
  return wanted
    .filter((entry) => entry.canSign && before.get(entry.note.kid) !== entry.note.useFromMs)
    .map((entry) => {
      const { kid, generation } = entry.note
      const atMs = entry === signing ? nowMs : signsFromMs(entry.note)
      const note = `Signing key ${kid} (generation ${generation}) is published and signs from ${formatTimestamp(atMs)}.`
      return { reason: 'SigningKeyRotated', note, of: `${kid} ${atMs}` }
    })
}
