import { type KeySecret, activeFromMs } from '../../domain/signingkey/signing-key.ts'
import { formatTimestamp } from '../../domain/time/time.ts'
import { type DesiredKey, type Found, signingIn } from './desired-keys.ts'

/** Something that an event tells once: `of` says what changed, so that a restart repeats none. */
export interface TransitionEvent {
  readonly reason: 'SigningKeyRotated' | 'SigningKeyCorrupt' | 'UnknownSigningKey'
  readonly note: string
  readonly of: string
}

/** What publishing these keys changes for people: keys withdrawn, and keys with a new time. */
export function transitionEventsOf(
  wanted: readonly DesiredKey[],
  found: Found,
): readonly TransitionEvent[] {
  // At the very first publication, and where a damaged set is put back, nothing is rotated.
  if (!found.published?.isSound) return withdrawalsIn(wanted, found)
  return [...withdrawalsIn(wanted, found), ...rotationsIn(wanted, found)]
}

/** What corrupt Secrets tell: no write comes with it, so whoever asks tells each but once. */
export const corruptionsOf = (secrets: readonly KeySecret[]): readonly TransitionEvent[] =>
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
  { published, nowMs }: Found,
): readonly TransitionEvent[] {
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
  { published, nowMs }: Found,
): readonly TransitionEvent[] {
  const before = new Map(published?.notes.map((note) => [note.kid, note.useFromMs]))
  const signing = signingIn(wanted, nowMs)
  return wanted
    .filter((entry) => entry.canSign && before.get(entry.note.kid) !== entry.note.useFromMs)
    .map((entry) => {
      const { kid, generation } = entry.note
      const atMs = entry === signing ? nowMs : activeFromMs(entry.note)
      const note = `Signing key ${kid} (generation ${generation}) is published and signs from ${formatTimestamp(atMs)}.`
      return { reason: 'SigningKeyRotated', note, of: `${kid} ${atMs}` }
    })
}
