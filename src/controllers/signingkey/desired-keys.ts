// The desired content of ConfigMap `platform-jwks` (contract 7.3), computed from the known keys in steps. The steps
// are idempotent: applied to their own result they change nothing, so the controller settles.
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

/** Everything that the plan is computed from. */
export interface SigningKeyPlanInput {
  readonly secrets: readonly SigningKeySecret[]
  /** The content of the ConfigMap; null = it does not exist. */
  readonly published: PublishedKeys | null
  /** The last undamaged key set that this process has read: deleted or damaged entries are restored from it. */
  readonly lastSound: LastSoundKeys
  /** Generations whose Secret name belongs to an object that is no signing key. */
  readonly unavailableGenerations: readonly number[]
  readonly algorithm: SigningAlgorithm
  readonly tokenMaxTtlMs: number
  /** The latest `exp` of the live tokens that a key signed; null = it signed none. */
  readonly lastExpMs: (kid: string) => number | null
  readonly nowMs: number
}

/** Public keys with their records. */
export type LastSoundKeys = Pick<PublishedKeys, 'jwks' | 'notes'>

/** A key of the published set. */
export interface DesiredKey {
  readonly record: PublishedKeyRecord
  /** The public key; null = the key is withdrawn, and only its record stays. */
  readonly jwk: PublicJwk | null
  /** Whether a Secret with its private key exists and is sound, and the key is not withdrawn. */
  readonly canSign: boolean
}

/** The key set to publish. */
interface DesiredKeys {
  /** Oldest first. */
  readonly entries: readonly DesiredKey[]
  /** Whether a newer key than the current signer is about to take over, which fulfils a requested rotation. */
  readonly isRotated: boolean
}

/** Computes the key set to publish. */
export function desiredKeysOf(input: SigningKeyPlanInput): DesiredKeys {
  const steps = [withdrawLeakedKey, addNewKeys, ensureSigner]
  const entries = steps.reduce((before, step) => step(before, input), knownKeys(input))
  const successor = successorIn(entries, input)
  const advanced = successor ? advanceHandOver(entries, successor, input) : entries
  return { entries: removeExpired(advanced, input), isRotated: successor !== undefined }
}

/** Records of the keys that can sign, oldest first. */
export const signerRecords = (entries: readonly DesiredKey[]): readonly PublishedKeyRecord[] =>
  entries.filter(({ canSign }) => canSign).map(({ record }) => record)

/** The newest key that can sign; undefined = no key can. */
export const newestSigner = (entries: readonly DesiredKey[]): DesiredKey | undefined =>
  entries.findLast(({ canSign }) => canSign)

/** The key that signs at that time, once these entries are published; undefined = no key can sign. */
export function currentSignerIn(
  entries: readonly DesiredKey[],
  nowMs: number,
): DesiredKey | undefined {
  const signer = currentSigner(signerRecords(entries), nowMs)
  return entries.find(({ record }) => record.kid === signer?.kid)
}

/** When a key, or the record of a withdrawn key, leaves the set; null = not known yet. */
export function removalAtMs(
  entry: DesiredKey,
  entries: readonly DesiredKey[],
  input: SigningKeyPlanInput,
): number | null {
  const { record } = entry
  if (record.withdrawnMs === null)
    return unpublishAtMs(
      record,
      signerRecords(entries),
      input.tokenMaxTtlMs,
      input.lastExpMs(record.kid),
    )
  return input.secrets.some(({ kid }) => kid === record.kid) ? null : deleteRecordAtMs(record)
}

/** Keys with a record and a known public key. A published key without a record is foreign, and leaves the set. */
function knownKeys({
  published,
  lastSound,
  secrets,
  nowMs,
}: SigningKeyPlanInput): readonly DesiredKey[] {
  const withdrawn = lastSound.notes.filter(({ withdrawnMs }) => withdrawnMs !== null)
  const restored = published?.isSound ? [] : lastSound.notes
  // For each kid the last record wins: withdrawn before published before restored.
  const notes = byKid([...restored, ...(published?.notes ?? []), ...withdrawn])
  const jwks = byKid([...lastSound.jwks, ...(published?.jwks ?? [])])
  const usable = byKid(secrets.filter(hasUsableKey))
  const entries = [...notes.values()].map((record) => {
    const secret = usable.get(record.kid)
    return entryOf(
      correctedRecord(record, secret, nowMs),
      secret?.jwk ?? jwks.get(record.kid),
      secret,
    )
  })
  return byGeneration(
    entries.filter(({ record, jwk }) => jwk !== null || record.withdrawnMs !== null),
  )
}

function entryOf(
  record: PublishedKeyRecord,
  jwk: PublicJwk | null = null,
  secret?: SigningKeySecret,
): DesiredKey {
  const isWithdrawn = record.withdrawnMs !== null
  return { record, jwk: isWithdrawn ? null : jwk, canSign: secret !== undefined && !isWithdrawn }
}

/** A restored Secret is younger than its key, and times from a clock that was ahead must not delay the key. */
const correctedRecord = (
  record: PublishedKeyRecord,
  secret: SigningKeySecret | undefined,
  nowMs: number,
): PublishedKeyRecord => ({
  ...record,
  generation: secret?.generation ?? record.generation,
  createdMs: Math.min(record.createdMs, nowMs),
  publishedMs: Math.min(record.publishedMs, nowMs),
})

/** Removes the public key of the leaked key at once; its record stays, marked as withdrawn. */
function withdrawLeakedKey(
  entries: readonly DesiredKey[],
  { published, secrets, nowMs }: SigningKeyPlanInput,
) {
  const kid = published?.toWithdraw ?? null
  const leaked = entries.find(({ record }) => record.kid === kid)?.record
  const secret = secrets.find((one) => one.kid === kid)
  const record = leaked ?? (kid === null || !secret ? null : newRecord(kid, secret, nowMs, nowMs))
  if (record === null || record.withdrawnMs !== null) return entries
  const others = entries.filter((entry) => entry.record.kid !== kid)
  return byGeneration([...others, entryOf({ ...record, withdrawnMs: nowMs })])
}

/** The record of a key that is published for the first time. */
const newRecord = (
  kid: string,
  secret: SigningKeySecret,
  nowMs: number,
  useFromMs: number,
): PublishedKeyRecord => ({
  kid,
  generation: secret.generation ?? 1,
  createdMs: secret.createdMs,
  publishedMs: nowMs,
  useFromMs,
  withdrawnMs: null,
})

/** Adds the keys of Secrets without a record; each takes over from the one before it. */
function addNewKeys(
  known: readonly DesiredKey[],
  input: SigningKeyPlanInput,
): readonly DesiredKey[] {
  return input.secrets
    .filter((secret) => hasUsableKey(secret) && isNew(secret, known, input))
    .toSorted((a, b) => (a.generation ?? 0) - (b.generation ?? 0))
    .reduce((entries, secret) => {
      const { kid = '' } = secret.jwk ?? {}
      const firstSeen = { ...secret, createdMs: firstSeenMs(secret, input) }
      const record = newRecord(kid, firstSeen, input.nowMs, handOverMs(entries, input.nowMs))
      return byGeneration([...entries, entryOf(record, secret.jwk, secret)])
    }, known)
}

/**
 * The creation time by our own clock, if the set was sound before. The API server's clock may be weeks behind:
 * each new key would look old, and need a successor at once.
 */
const firstSeenMs = (
  { createdMs }: SigningKeySecret,
  { published, nowMs }: SigningKeyPlanInput,
): number => (published?.isSound ? nowMs : createdMs)

/**
 * Whether the key has never been published. A Secret restored from backup must not bring back an old key, which may
 * have been withdrawn so long ago that its record is gone. If all records are lost, every key counts as new.
 */
function isNew(
  { jwk, generation }: SigningKeySecret,
  known: readonly DesiredKey[],
  { published }: SigningKeyPlanInput,
) {
  if (known.some(({ record }) => record.kid === jwk?.kid)) return false
  const isListed = published?.jwks.some(({ kid }) => kid === jwk?.kid) ?? false
  if (isListed || !published?.isSound) return true
  return known.every(({ record }) => record.generation < (generation ?? 0))
}

/** When a new key takes over from the newest one, unless a rotation is requested. */
function handOverMs(entries: readonly DesiredKey[], nowMs: number): number {
  const newest = newestSigner(entries)
  return newest ? newest.record.createdMs + HAND_OVER_AFTER_MS : nowMs
}

/** If every key is scheduled to sign later, one signs all the same: its start time becomes now. */
function ensureSigner(
  entries: readonly DesiredKey[],
  { nowMs }: SigningKeyPlanInput,
): readonly DesiredKey[] {
  const signer = currentSignerIn(entries, nowMs)
  return signer ? signByAtLatest(entries, signer, nowMs) : entries
}

/** The newest key, if it has the configured algorithm and does not sign yet; undefined = there is no such key. */
function successorIn(
  entries: readonly DesiredKey[],
  { algorithm, nowMs }: SigningKeyPlanInput,
): DesiredKey | undefined {
  const newest = newestSigner(entries)
  const isSuccessor = newest?.jwk?.alg === algorithm && newest !== currentSignerIn(entries, nowMs)
  return isSuccessor ? newest : undefined
}

/** If a rotation is requested, or the algorithm changed, the successor takes over once verifiers have fetched it. */
function advanceHandOver(
  entries: readonly DesiredKey[],
  successor: DesiredKey,
  input: SigningKeyPlanInput,
): readonly DesiredKey[] {
  const { published, algorithm, nowMs } = input
  const isRequested =
    published?.isToRotate || currentSignerIn(entries, nowMs)?.jwk?.alg !== algorithm
  if (!isRequested) return entries
  return signByAtLatest(
    entries,
    successor,
    Math.max(nowMs, successor.record.publishedMs + SETTLING_MS),
  )
}

/** Drops the keys and records whose time in the set is over. */
const removeExpired = (
  entries: readonly DesiredKey[],
  input: SigningKeyPlanInput,
): readonly DesiredKey[] =>
  entries.filter((entry) => input.nowMs < (removalAtMs(entry, entries, input) ?? Infinity))

/** Entries in which the key signs from `byMs` on at the latest. */
const signByAtLatest = (
  entries: readonly DesiredKey[],
  { record }: DesiredKey,
  byMs: number,
): readonly DesiredKey[] => {
  const earlier = { ...record, useFromMs: Math.min(record.useFromMs, byMs) }
  return entries.map((entry) =>
    entry.record.kid === record.kid ? { ...entry, record: earlier } : entry,
  )
}

const byGeneration = (entries: readonly DesiredKey[]): readonly DesiredKey[] =>
  entries.toSorted((a, b) => a.record.generation - b.record.generation)

const byKid = <T extends { readonly kid: string | null }>(all: readonly T[]) =>
  new Map(all.map((one) => [one.kid, one]))
