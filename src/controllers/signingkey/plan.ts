import type { EventReason } from '../../api/reasons.ts'
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
  type SigningKeyPlanInput,
  desiredKeysOf,
  newestSigner,
  signerRecords,
  currentSignerIn,
  removalAtMs,
} from './desired-keys.ts'

/** The next step for the signing keys. */
export type SigningKeyStep =
  | {
      readonly kind: 'publish'
      readonly data: PublishedKeysData
      /** Whether the requested rotation is fulfilled, so its annotation goes; a requested withdrawal always is. */
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
 * The next step for the signing keys (contract 7.3): publish the set, so that a leaked key leaves it before anything
 * else; then create a missing key; delete a Secret only after its key has left the published set.
 */
export function plan(input: SigningKeyPlanInput): SigningKeyStep {
  const { entries, isRotated } = desiredKeysOf(input)
  const data = dataOf(entries)
  if (!isPublished(data, isRotated, input))
    return { kind: 'publish', data, isRotated, announce: transitionEventsOf(entries, input) }
  if (isKeyMissing(entries, input) && !isCreationFutile(input))
    return { kind: 'create', generation: nextGeneration(entries, input) }
  const toDelete = secretToDelete(entries, input)
  if (toDelete) return { kind: 'delete', ...toDelete }
  return { kind: 'wait', untilMs: wakeMs(entries, input) }
}

const dataOf = (wanted: readonly DesiredKey[]): PublishedKeysData => ({
  [JWKS_DATA_KEY]: jwksText(wanted.map(({ jwk }) => jwk).filter((jwk) => jwk !== null)),
  [KEY_RECORDS_DATA_KEY]: keyRecordsText(wanted.map(({ record }) => record)),
})

function isPublished(
  data: PublishedKeysData,
  isRotated: boolean,
  { published }: SigningKeyPlanInput,
): boolean {
  // Before the first key no ConfigMap is needed.
  if (published === null) return data[KEY_RECORDS_DATA_KEY] === NO_RECORDS
  const isSame = ([JWKS_DATA_KEY, KEY_RECORDS_DATA_KEY] as const).every(
    (key) => data[key] === published.data[key],
  )
  return isSame && published.toWithdraw === null && !(published.isToRotate && isRotated)
}

const NO_RECORDS = keyRecordsText([])

function isKeyMissing(wanted: readonly DesiredKey[], input: SigningKeyPlanInput): boolean {
  const newest = newestSigner(wanted)
  if (!newest || newest.jwk?.alg !== input.algorithm) return true
  const isOld = newest.record.createdMs + SUCCESSOR_AFTER_MS <= input.nowMs
  return isOld || (input.published?.isToRotate ?? false)
}

/**
 * If several recent Secrets are corrupt or being deleted, perhaps by an admission webhook, more Secrets do not help.
 */
const isCreationFutile = ({ secrets, nowMs }: SigningKeyPlanInput): boolean =>
  secrets.filter((secret) => isSpoiled(secret) && secret.createdMs > nowMs - SPOILED_WITHIN_MS)
    .length >= MAX_SPOILED

const SPOILED_WITHIN_MS = 60 * 60_000
const MAX_SPOILED = 3

const isSpoiled = ({ fault, isDeleting }: SigningKeySecret): boolean => fault !== null || isDeleting

/** One more than the highest known generation, so that no number is used twice. */
function nextGeneration(
  wanted: readonly DesiredKey[],
  { secrets, unavailableGenerations }: SigningKeyPlanInput,
): number {
  const recorded = wanted.map(({ record }) => record)
  const numbers = [...secrets, ...recorded].map(({ generation }) => generation ?? 0)
  return Math.max(0, ...numbers, ...unavailableGenerations) + 1
}

/**
 * A Secret to delete, because its key has left the set; null = none. A corrupt Secret stays for people to examine.
 * The newest is deleted first: a copy that outlived its original would be published as a new key.
 */
function secretToDelete(wanted: readonly DesiredKey[], { secrets }: SigningKeyPlanInput) {
  for (const secret of secrets.filter(({ isDeleting }) => !isDeleting).toReversed()) {
    const record = wanted.find((entry) => entry.record.kid === secret.kid)?.record
    if (record && record.withdrawnMs !== null) return { secret, because: 'withdrawn' } as const
    if (!record && secret.jwk) return { secret, because: 'retired' } as const
  }
  return null
}

/** When to plan again: the next time at which the step changes without any event. */
function wakeMs(wanted: readonly DesiredKey[], input: SigningKeyPlanInput): number {
  const signers = signerRecords(wanted)
  const moments = [
    ...input.secrets.filter(isSpoiled).map(({ createdMs }) => createdMs + SPOILED_WITHIN_MS),
    ...signers.map(({ createdMs }) => createdMs + SUCCESSOR_AFTER_MS),
    ...signers.map(signsFromMs),
    ...wanted.map((entry) => removalAtMs(entry, wanted, input) ?? 0),
  ]
  return Math.min(...moments.filter((atMs) => atMs > input.nowMs))
}

/** A change of the signing keys that an event reports. */
export type SigningKeyTransition = TransitionEvent<
  Extract<EventReason, 'SigningKeyRotated' | 'SigningKeyCorrupt' | 'UnknownSigningKey'>
>

/**
 * Events for the publication of these keys: one for a withdrawn key, one for each key with a new start of signing.
 */
function transitionEventsOf(
  wanted: readonly DesiredKey[],
  input: SigningKeyPlanInput,
): readonly SigningKeyTransition[] {
  // The first publication and the repair of a damaged set rotate no key.
  if (!input.published?.isSound) return withdrawalsIn(wanted, input)
  return [...withdrawalsIn(wanted, input), ...rotationsIn(wanted, input)]
}

/** A transition for each corrupt Secret. No write marks it as reported: the caller must record each only once. */
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
            discriminator: `${uid} ${fault}`,
          },
        ],
  )

function withdrawalsIn(
  wanted: readonly DesiredKey[],
  { published, nowMs }: SigningKeyPlanInput,
): readonly SigningKeyTransition[] {
  const kid = published?.toWithdraw ?? null
  if (kid === null) return []
  if (wanted.some(({ record }) => record.kid === kid)) {
    const next = currentSignerIn(wanted, nowMs)?.record.kid
    const instead = next ? `${next} signs` : 'a new key is made'
    const note = `Signing key ${kid} was withdrawn; ${instead}. Its tokens are revoked.`
    return [{ reason: 'SigningKeyRotated', note, discriminator: `withdrawn ${kid}` }]
  }
  const known = wanted.filter(({ jwk }) => jwk !== null).map((entry) => entry.record.kid)
  // The event does not quote the annotation: its value may be anything, even a private key.
  const note = `No signing key has the kid that the annotation names. There are: ${known.join(', ') || 'none'}.`
  return [{ reason: 'UnknownSigningKey', note, discriminator: formatTimestamp(nowMs) }]
}

function rotationsIn(
  wanted: readonly DesiredKey[],
  { published, nowMs }: SigningKeyPlanInput,
): readonly SigningKeyTransition[] {
  const before = new Map(published?.notes.map((record) => [record.kid, record.useFromMs]))
  const signing = currentSignerIn(wanted, nowMs)
  return wanted
    .filter((entry) => entry.canSign && before.get(entry.record.kid) !== entry.record.useFromMs)
    .map((entry) => {
      const { kid, generation } = entry.record
      const atMs = entry === signing ? nowMs : signsFromMs(entry.record)
      const note = `Signing key ${kid} (generation ${generation}) is published and signs from ${formatTimestamp(atMs)}.`
      return { reason: 'SigningKeyRotated', note, discriminator: `${kid} ${atMs}` }
    })
}
