// The keys that sign tokens: the current signer, and how long each key stays published (contract 7.3). The private
// key is in a Secret, the public key in ConfigMap `platform-jwks`. Times are epoch milliseconds.

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** A signing key's life, from the creation of its Secret. */
const KEY_LIFE_MS = 30 * DAY_MS

/** Age at which the next key is created and published, long before it signs. */
export const SUCCESSOR_AFTER_MS = KEY_LIFE_MS / 2

/** Age at which the next key starts to sign; the last tokens of the old key expire within the rest of its life. */
export const HAND_OVER_AFTER_MS = (KEY_LIFE_MS * 5) / 6

/** Longest life of a token: it always ends before its signing key does (contract 2.4). */
export const LONGEST_TOKEN_TTL_MS = KEY_LIFE_MS - HAND_OVER_AFTER_MS

/** Verifiers cache the public set for five minutes: a key published less than this ago signs only when no other can. */
export const SETTLING_MS = 10 * MINUTE_MS

/** How long a public key stays published after the last `exp` that it signed. */
export const KEPT_AFTER_LAST_EXP_MS = DAY_MS

/** A public key as published: these members (RFC 7517, 7518) and no others, in this order. */
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
  /** Number of its Secret; a higher one is newer. */
  readonly generation: number
  readonly createdMs: number
  readonly publishedMs: number
  /** When it replaces the previous key as the signer. */
  readonly useFromMs: number
  /** When it was withdrawn because it leaked; null = it was not. A withdrawn key never returns. */
  readonly withdrawnMs: number | null
}

/** A Secret with a signing key, without the private part. */
export interface SigningKeySecret {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Number in its name; null = it has another name. */
  readonly generation: number | null
  /** The kid in its data, else that of its key; null = neither is readable. */
  readonly kid: string | null
  readonly createdMs: number
  readonly isDeleting: boolean
  /** The public half of the key; null = it holds no usable key. */
  readonly jwk: PublicJwk | null
  /** Why it can not sign, as a clause after its name; null = it can. */
  readonly fault: string | null
}

/** Whether the key in the Secret may sign. */
export const hasUsableKey = ({ jwk, fault, isDeleting }: SigningKeySecret): boolean =>
  jwk !== null && fault === null && !isDeleting

/** When the key starts to sign, provided that an older one signs until then. */
export const signsFromMs = ({ useFromMs, publishedMs }: PublishedKeyRecord): number =>
  Math.max(useFromMs, publishedMs + SETTLING_MS)

/** When the key's life ends: tokens signed at its hand-over end before it. */
export const keyEndMs = ({ createdMs }: Pick<PublishedKeyRecord, 'createdMs'>): number =>
  createdMs + KEY_LIFE_MS

/** Start and end of a key's life. */
export interface KeyLife {
  readonly kid: string
  readonly createdMs: number
  readonly endMs: number
}

/** The life of a key; the rest of it shows whether its successor is overdue. */
export const keyLifeOf = (record: PublishedKeyRecord): KeyLife => ({
  kid: record.kid,
  createdMs: record.createdMs,
  endMs: keyEndMs(record),
})

/**
 * The keys that may sign, oldest first: published, recorded, not withdrawn, with a usable private key.
 *
 * @param publishedKids of the set as read back from the API server
 * @param soundKids of the Secrets that passed their self-test
 */
export function eligibleSigners(
  records: readonly PublishedKeyRecord[],
  publishedKids: ReadonlySet<string>,
  soundKids: ReadonlySet<string>,
): readonly PublishedKeyRecord[] {
  return records
    .filter(
      ({ kid, withdrawnMs }) =>
        withdrawnMs === null && publishedKids.has(kid) && soundKids.has(kid),
    )
    .toSorted((a, b) => a.generation - b.generation)
}

/**
 * The key that signs now: the newest with useFromMs in the past, else the one with the earliest. null without keys.
 * A key published less than ten minutes ago signs only when all are that young.
 *
 * @param signers as `eligibleSigners` returns them
 */
export function currentSigner(
  signers: readonly PublishedKeyRecord[],
  nowMs: number,
): PublishedKeyRecord | null {
  const settled = signers.filter(({ publishedMs }) => publishedMs + SETTLING_MS <= nowMs)
  const candidates = settled.length > 0 ? settled : signers
  const due = candidates.findLast(({ useFromMs }) => useFromMs <= nowMs)
  return due ?? candidates.toSorted((a, b) => a.useFromMs - b.useFromMs)[0] ?? null
}

/**
 * When the public key is removed from the published set; null while no newer key can sign. The rule also holds for a
 * key without its private key, and for one whose successor has lost it.
 *
 * @param tokenMaxTtlMs longest life of the tokens that it signed last
 * @param lastExpMs the latest known `exp` that it signed, because tokenMaxTtlMs may have been lowered; null = none
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

/** When the record of a withdrawn key may be deleted: every token that it signed has expired. */
export const deleteRecordAtMs = ({ createdMs, withdrawnMs }: PublishedKeyRecord): number =>
  Math.max(createdMs + KEY_LIFE_MS, withdrawnMs ?? 0) +
  LONGEST_TOKEN_TTL_MS +
  KEPT_AFTER_LAST_EXP_MS
