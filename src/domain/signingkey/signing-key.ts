// The life of signing keys: which one signs now, and how long each stays published (contract 7.3). Private keys are in
// Secrets, public keys in ConfigMap `platform-jwks`. Times are epoch milliseconds.

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Lifetime of a signing key, counted from the creation of its Secret. */
const KEY_LIFE_MS = 30 * DAY_MS

/** Age at which the next key is created and published, long before it signs. */
export const SUCCESSOR_AFTER_MS = KEY_LIFE_MS / 2

/** Age at which the next key starts to sign: all tokens of the old key expire before its life ends. */
export const HAND_OVER_AFTER_MS = (KEY_LIFE_MS * 5) / 6

/** Longest life of a token: it always ends before its signing key does (contract 2.4). */
export const LONGEST_TOKEN_TTL_MS = KEY_LIFE_MS - HAND_OVER_AFTER_MS

/** A key published less than this ago signs only when no other can: verifiers cache the set for five minutes. */
export const SETTLING_MS = 10 * MINUTE_MS

/** How long a public key stays published after the last `exp` that it signed. */
export const KEPT_AFTER_LAST_EXP_MS = DAY_MS

/** A public key as published: exactly these members (RFC 7517, 7518), in this order. */
export type PublicJwk =
  | {
      readonly kty: 'EC'
      readonly crv: 'P-256'
      readonly x: string
      readonly y: string
      /** RFC 7638 thumbprint. */
      readonly kid: string
      readonly alg: 'ES256'
      readonly use: 'sig'
    }
  | {
      readonly kty: 'RSA'
      readonly n: string
      readonly e: string
      /** RFC 7638 thumbprint. */
      readonly kid: string
      readonly alg: 'RS256'
      readonly use: 'sig'
    }

/** The operator's record of a published key. */
export interface PublishedKeyRecord {
  readonly kid: string
  /** Number in the name of the key's Secret; a higher number is newer. */
  readonly generation: number
  readonly createdMs: number
  readonly publishedMs: number
  /** When the key replaces the previous one as the signer. */
  readonly useFromMs: number
  /** When the key was withdrawn because it leaked; null = never. A withdrawn key is never published again. */
  readonly withdrawnMs: number | null
}

/** A Secret with a signing key, without the private part. */
export interface SigningKeySecret {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Number at the end of the name; null = the name has another form. */
  readonly generation: number | null
  /** The kid in the Secret's data, else the thumbprint of its key; null = neither is readable. */
  readonly kid: string | null
  readonly createdMs: number
  readonly isDeleting: boolean
  /** The public half of the key; null = the Secret has no usable key. */
  readonly jwk: PublicJwk | null
  /** Why the key cannot sign, as a clause that follows the Secret's name; null = it can. */
  readonly fault: string | null
}

/** Whether the key in the Secret may sign. */
export const hasUsableKey = ({ jwk, fault, isDeleting }: SigningKeySecret): boolean =>
  jwk !== null && fault === null && !isDeleting

/** When the key starts to sign if an older one signs until then. */
export const signsFromMs = ({ useFromMs, publishedMs }: PublishedKeyRecord): number =>
  Math.max(useFromMs, publishedMs + SETTLING_MS)

/** When the key's life ends; every token that it signed before its hand-over expires earlier. */
export const keyEndMs = ({ createdMs }: Pick<PublishedKeyRecord, 'createdMs'>): number =>
  createdMs + KEY_LIFE_MS

/** Start and end of a key's life. */
export interface KeyLife {
  readonly kid: string
  readonly createdMs: number
  readonly endMs: number
}

/** Start and end of a key's life, for metrics: little time left means that the successor is overdue. */
export const keyLifeOf = (record: PublishedKeyRecord): KeyLife => ({
  kid: record.kid,
  createdMs: record.createdMs,
  endMs: keyEndMs(record),
})

/**
 * The keys that may sign, oldest first: published, recorded, not withdrawn, with a usable private key.
 *
 * @param publishedKids kids in the public set as read back from the API server
 * @param usableKids kids of the Secrets that passed the self-test
 */
export function eligibleSigners(
  records: readonly PublishedKeyRecord[],
  publishedKids: ReadonlySet<string>,
  usableKids: ReadonlySet<string>,
): readonly PublishedKeyRecord[] {
  return records
    .filter(
      ({ kid, withdrawnMs }) =>
        withdrawnMs === null && publishedKids.has(kid) && usableKids.has(kid),
    )
    .toSorted((a, b) => a.generation - b.generation)
}

/**
 * The key that signs now: the newest whose useFromMs has passed, else the one with the earliest useFromMs. A key
 * published less than ten minutes ago signs only when all are that young. null without keys.
 *
 * @param signers the result of `eligibleSigners`
 */
export function currentSigner(
  signers: readonly PublishedKeyRecord[],
  nowMs: number,
): PublishedKeyRecord | null {
  const settled = signers.filter(({ publishedMs }) => publishedMs + SETTLING_MS <= nowMs)
  const candidates = settled.length > 0 ? settled : signers
  const newestDue = candidates.findLast(({ useFromMs }) => useFromMs <= nowMs)
  return newestDue ?? candidates.toSorted((a, b) => a.useFromMs - b.useFromMs)[0] ?? null
}

/**
 * When the public key is removed from the published set; null while no newer key can sign. The same rule applies when
 * this key or its successor has lost its private key.
 *
 * @param tokenMaxTtlMs current limit on the life of tokens
 * @param lastExpMs the latest known `exp` that the key signed, because the limit may have been lowered; null = none
 */
export function unpublishAtMs(
  record: PublishedKeyRecord,
  signers: readonly PublishedKeyRecord[],
  tokenMaxTtlMs: number,
  lastExpMs: number | null,
): number | null {
  const newer = signers.filter(({ generation }) => generation > record.generation)
  if (newer.length === 0) return null
  const retiredMs = Math.min(...newer.map(signsFromMs))
  return Math.max(retiredMs + tokenMaxTtlMs, lastExpMs ?? 0) + KEPT_AFTER_LAST_EXP_MS
}

/** When the record of a withdrawn key may be deleted: every token that the key signed has expired by then. */
export const deleteRecordAtMs = ({ createdMs, withdrawnMs }: PublishedKeyRecord): number =>
  Math.max(createdMs + KEY_LIFE_MS, withdrawnMs ?? 0) +
  LONGEST_TOKEN_TTL_MS +
  KEPT_AFTER_LAST_EXP_MS
