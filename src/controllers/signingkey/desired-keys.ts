// What ConfigMap `platform-jwks` should say (contract 7.3): each rule is a step from the keys known to
// those wanted. Applied to its own result it changes nothing, so the operator comes to rest.
import type { PublishedKeys } from '../../domain/signingkey/published-keys.ts'
import {
  HAND_OVER_AFTER_MS,
  type PublishedKeyRecord,
  type SigningKeySecret,
  type PublicJwk,
  SETTLING_MS,
  deleteRecordAtMs,
  hasUsableKey,
  unpublishAtMs,
  currentSigner,
} from '../../domain/signingkey/signing-key.ts'
import type { SigningAlgorithm } from '../../domain/token/token-claims.ts'

/** What the plan stands on. */
export interface SigningKeyCircumstances {
  readonly secrets: readonly SigningKeySecret[]
  /** null = there is no ConfigMap. */
  readonly published: PublishedKeys | null
  /** The set as this process last saw it whole: a deleted or garbled entry is put back. */
  readonly remembered: RememberedKeys
  /** Generation numbers whose names something else has. */
  readonly taken: readonly number[]
  readonly algorithm: SigningAlgorithm
  readonly tokenMaxTtlMs: number
  /** The latest `exp` known under that key's signature; null = none is. */
  readonly lastExpMs: (kid: string) => number | null
  readonly nowMs: number
}

/** Public keys with their notes. */
export type RememberedKeys = Pick<PublishedKeys, 'jwks' | 'notes'>

/** A key of the set. */
export interface DesiredKey {
  readonly note: PublishedKeyRecord
  /** null = withdrawn. */
  readonly jwk: PublicJwk | null
  /** Whether its private half is at hand and sound. */
  readonly canSign: boolean
}

/** The wanted set. */
interface DesiredKeys {
  /** Oldest first. */
  readonly entries: readonly DesiredKey[]
  /** Whether a newer key than the one that signed until now takes over: what a rotation asks for. */
  readonly isRotated: boolean
}

/** The set that should be published. */
export function desiredKeysOf(found: SigningKeyCircumstances): DesiredKeys {
  const steps = [withdraw, join, fallBack]
  const entries = steps.reduce((before, step) => step(before, found), knownOf(found))
  const waiting = waitingIn(entries, found)
  const hurried = waiting ? hurry(entries, waiting, found) : entries
  return { entries: leave(hurried, found), isRotated: waiting !== undefined }
}

/** The notes of those that may sign, oldest first. */
export const signersIn = (entries: readonly DesiredKey[]): readonly PublishedKeyRecord[] =>
  entries.filter(({ canSign }) => canSign).map(({ note }) => note)

/** The newest of those that may sign. */
export const newestIn = (entries: readonly DesiredKey[]): DesiredKey | undefined =>
  entries.findLast(({ canSign }) => canSign)

/** The one that signs once these are published. */
export function signingIn(entries: readonly DesiredKey[], nowMs: number): DesiredKey | undefined {
  const signing = currentSigner(signersIn(entries), nowMs)
  return entries.find(({ note }) => note.kid === signing?.kid)
}

/** When the key leaves the set; null while that is unknown. */
export function withdrawnAtMs(
  entry: DesiredKey,
  entries: readonly DesiredKey[],
  found: SigningKeyCircumstances,
): number | null {
  const { note } = entry
  if (note.withdrawnMs === null)
    return unpublishAtMs(note, signersIn(entries), found.tokenMaxTtlMs, found.lastExpMs(note.kid))
  return found.secrets.some(({ kid }) => kid === note.kid) ? null : deleteRecordAtMs(note)
}

/** Noted keys whose public half is at hand. A key without a note is foreign, and leaves the set (threats D6). */
function knownOf({
  published,
  remembered,
  secrets,
  nowMs,
}: SigningKeyCircumstances): readonly DesiredKey[] {
  const withdrawn = remembered.notes.filter(({ withdrawnMs }) => withdrawnMs !== null)
  const lost = published?.isSound ? [] : remembered.notes
  // The last of a kid wins: withdrawn over all else, what is published over what is remembered.
  const notes = byKid([...lost, ...(published?.notes ?? []), ...withdrawn])
  const jwks = byKid([...remembered.jwks, ...(published?.jwks ?? [])])
  const usable = byKid(secrets.filter(hasUsableKey))
  const entries = [...notes.values()].map((note) => {
    const secret = usable.get(note.kid)
    return entryOf(timely(note, secret, nowMs), secret?.jwk ?? jwks.get(note.kid), secret)
  })
  return ordered(entries.filter(({ note, jwk }) => jwk !== null || note.withdrawnMs !== null))
}

function entryOf(
  note: PublishedKeyRecord,
  jwk: PublicJwk | null = null,
  secret?: SigningKeySecret,
): DesiredKey {
  const isWithdrawn = note.withdrawnMs !== null
  return { note, jwk: isWithdrawn ? null : jwk, canSign: secret !== undefined && !isWithdrawn }
}

/** A restored Secret is younger than its key; a clock that was ahead must not keep a key waiting. */
const timely = (
  note: PublishedKeyRecord,
  secret: SigningKeySecret | undefined,
  nowMs: number,
): PublishedKeyRecord => ({
  ...note,
  generation: secret?.generation ?? note.generation,
  createdMs: Math.min(note.createdMs, nowMs),
  publishedMs: Math.min(note.publishedMs, nowMs),
})

/** The leaked key's public half goes at once, and a mark stays. */
function withdraw(
  entries: readonly DesiredKey[],
  { published, secrets, nowMs }: SigningKeyCircumstances,
) {
  const kid = published?.toWithdraw ?? null
  const leaked = entries.find(({ note }) => note.kid === kid)?.note
  const secret = secrets.find((one) => one.kid === kid)
  const note = leaked ?? (kid === null || !secret ? null : noteOf(kid, secret, nowMs, nowMs))
  if (note === null || note.withdrawnMs !== null) return entries
  const others = entries.filter((entry) => entry.note.kid !== kid)
  return ordered([...others, entryOf({ ...note, withdrawnMs: nowMs })])
}

/** A note on a key that is published now. */
const noteOf = (
  kid: string,
  secret: SigningKeySecret,
  nowMs: number,
  fromMs: number,
): PublishedKeyRecord => ({
  kid,
  generation: secret.generation ?? 1,
  createdMs: secret.createdMs,
  publishedMs: nowMs,
  useFromMs: fromMs,
  withdrawnMs: null,
})

/** Keys of Secrets that have no note yet, each to take over from the one before. */
function join(known: readonly DesiredKey[], found: SigningKeyCircumstances): readonly DesiredKey[] {
  return found.secrets
    .filter((secret) => hasUsableKey(secret) && isNew(secret, known, found))
    .toSorted((a, b) => (a.generation ?? 0) - (b.generation ?? 0))
    .reduce((entries, secret) => {
      const { kid = '' } = secret.jwk ?? {}
      const seen = { ...secret, createdMs: firstSeenMs(secret, found) }
      const note = noteOf(kid, seen, found.nowMs, handOverMs(entries, found.nowMs))
      return ordered([...entries, entryOf(note, secret.jwk, secret)])
    }, known)
}

/**
 * By our own clock where we know that it was not there before: the API server's may be weeks behind,
 * and every new key would be an old one, for which another is made at once.
 */
const firstSeenMs = (
  { createdMs }: SigningKeySecret,
  { published, nowMs }: SigningKeyCircumstances,
): number => (published?.isSound ? nowMs : createdMs)

/**
 * An old key whose Secret outlives it, or is restored from backup, must not come back: it may have
 * been withdrawn so long ago that its note is gone. Where all notes are lost, all come back.
 */
function isNew(
  { jwk, generation }: SigningKeySecret,
  known: readonly DesiredKey[],
  { published }: SigningKeyCircumstances,
) {
  if (known.some(({ note }) => note.kid === jwk?.kid)) return false
  const isListed = published?.jwks.some(({ kid }) => kid === jwk?.kid) ?? false
  if (isListed || !published?.isSound) return true
  return known.every(({ note }) => note.generation < (generation ?? 0))
}

/** When a key that joins takes over, without a request to rotate. */
function handOverMs(entries: readonly DesiredKey[], nowMs: number): number {
  const newest = newestIn(entries)
  return newest ? newest.note.createdMs + HAND_OVER_AFTER_MS : nowMs
}

/** Where no key's time has come one signs all the same: its time has come, then. */
function fallBack(
  entries: readonly DesiredKey[],
  { nowMs }: SigningKeyCircumstances,
): readonly DesiredKey[] {
  const signing = signingIn(entries, nowMs)
  return signing ? useBy(entries, signing, nowMs) : entries
}

/** The newest, if it is of the wanted algorithm and its time has yet to come. */
function waitingIn(
  entries: readonly DesiredKey[],
  { algorithm, nowMs }: SigningKeyCircumstances,
): DesiredKey | undefined {
  const newest = newestIn(entries)
  const isWaiting = newest?.jwk?.alg === algorithm && newest !== signingIn(entries, nowMs)
  return isWaiting ? newest : undefined
}

/** A waiting key takes over as soon as verifiers know it, where a rotation is requested. */
function hurry(
  entries: readonly DesiredKey[],
  waiting: DesiredKey,
  found: SigningKeyCircumstances,
): readonly DesiredKey[] {
  const { published, algorithm, nowMs } = found
  const isAsked = published?.isToRotate || signingIn(entries, nowMs)?.jwk?.alg !== algorithm
  if (!isAsked) return entries
  return useBy(entries, waiting, Math.max(nowMs, waiting.note.publishedMs + SETTLING_MS))
}

const leave = (
  entries: readonly DesiredKey[],
  found: SigningKeyCircumstances,
): readonly DesiredKey[] =>
  entries.filter((entry) => found.nowMs < (withdrawnAtMs(entry, entries, found) ?? Infinity))

const useBy = (
  entries: readonly DesiredKey[],
  { note }: DesiredKey,
  byMs: number,
): readonly DesiredKey[] => {
  const sooner = { ...note, useFromMs: Math.min(note.useFromMs, byMs) }
  return entries.map((entry) => (entry.note.kid === note.kid ? { ...entry, note: sooner } : entry))
}

const ordered = (entries: readonly DesiredKey[]): readonly DesiredKey[] =>
  entries.toSorted((a, b) => a.note.generation - b.note.generation)

const byKid = <T extends { readonly kid: string | null }>(all: readonly T[]) =>
  new Map(all.map((one) => [one.kid, one]))
