// The keys that sign tokens: what is known of each, which one signs, how long each stays
// (contract 7.3). A key signs in its own Secret; everybody verifies with its public half, published in
// ConfigMap `platform-jwks`. Times are epoch milliseconds.

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** A signing key's life, from the creation of its Secret. */
export const KEY_LIFE_MS = 30 * DAY_MS

/** Age at which the next key is created and published: long before anybody needs it. */
export const SUCCESSOR_AFTER_MS = KEY_LIFE_MS / 2

/** Age at which the next key takes over; the rest of the life is that of the last tokens. */
export const HAND_OVER_AFTER_MS = (KEY_LIFE_MS * 5) / 6

/** Longest life of a token, so that a signing key's end is never nearer (contract 2.4). */
export const LONGEST_TOKEN_TTL_MS = KEY_LIFE_MS - HAND_OVER_AFTER_MS

/** Verifiers keep the public set for five minutes: what is younger signs only where nothing else can. */
export const SETTLING_MS = 10 * MINUTE_MS

/** How long a public key stays behind the last `exp` that it signed. */
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

/** What the operator notes of a published key. */
export interface KeyNote {
  readonly kid: string
  /** Number of its Secret; a higher one is newer. */
  readonly generation: number
  readonly createdMs: number
  readonly publishedMs: number
  /** When it takes over from the one before. */
  readonly useFromMs: number
  /** When it was taken out because it leaked; null = it was not. A withdrawn key never returns. */
  readonly withdrawnMs: number | null
}

/** What is known of a Secret with a signing key. No private part of the key. */
export interface KeySecret {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** Number in its name; null = it has another name. */
  readonly generation: number | null
  /** The kid that it names, or else that of the key it holds; null = neither can be read. */
  readonly kid: string | null
  readonly createdMs: number
  readonly isDeleting: boolean
  /** The public half of the key; null = it holds none that may be used. */
  readonly jwk: PublicJwk | null
  /** Why nothing is signed with it, to be read behind its name; null = it is sound. */
  readonly fault: string | null
}

/** Whether something may be signed with what the Secret holds. */
export const isUsable = ({ jwk, fault, isDeleting }: KeySecret): boolean =>
  jwk !== null && fault === null && !isDeleting

/** From when on the key signs if there is an older one that can until then. */
export const activeFromMs = ({ useFromMs, publishedMs }: KeyNote): number =>
  Math.max(useFromMs, publishedMs + SETTLING_MS)

/** When the key should sign no more: tokens signed at its hand-over end before it. */
export const keyEndMs = ({ createdMs }: Pick<KeyNote, 'createdMs'>): number =>
  createdMs + KEY_LIFE_MS

/** From when to when a key lives. */
export interface KeyLife {
  readonly kid: string
  readonly createdMs: number
  readonly endMs: number
}

/** The life of a key: what is left of it tells whether the next one is late. */
export const lifeOf = (note: KeyNote): KeyLife => ({
  kid: note.kid,
  createdMs: note.createdMs,
  endMs: keyEndMs(note),
})

/**
 * The keys that may sign at all, oldest first: published, noted, not withdrawn, private half at hand
 * and sound.
 *
 * @param publishedKids of the set as read back from the API server
 * @param soundKids of the Secrets that passed their self-test
 */
export function signersOf(
  notes: readonly KeyNote[],
  publishedKids: ReadonlySet<string>,
  soundKids: ReadonlySet<string>,
): readonly KeyNote[] {
  return notes
    .filter(
      ({ kid, withdrawnMs }) =>
        withdrawnMs === null && publishedKids.has(kid) && soundKids.has(kid),
    )
    .toSorted((a, b) => a.generation - b.generation)
}

/**
 * The one that signs now; null when there are none. The newest whose time has come; before any has,
 * the one whose time comes first. A key published less than ten minutes ago only where all are.
 *
 * @param signers as signersOf gives them
 */
export function signingKeyAt(signers: readonly KeyNote[], nowMs: number): KeyNote | null {
  const settled = signers.filter(({ publishedMs }) => publishedMs + SETTLING_MS <= nowMs)
  const able = settled.length > 0 ? settled : signers
  const due = able.findLast(({ useFromMs }) => useFromMs <= nowMs)
  return due ?? able.toSorted((a, b) => a.useFromMs - b.useFromMs)[0] ?? null
}

/**
 * When the public key leaves the published set; null while no newer key can take over. A key that
 * lost its private half, or whose successor did, goes by the same rule.
 *
 * @param tokenMaxTtlMs bound of the tokens that it signed last
 * @param lastExpMs the latest `exp` that is known to stand under its signature; null = none is. The
 *   bound may have been lowered since.
 */
export function leavesMs(
  note: KeyNote,
  signers: readonly KeyNote[],
  tokenMaxTtlMs: number,
  lastExpMs: number | null,
): number | null {
  const newer = signers.filter(({ generation }) => generation > note.generation)
  if (newer.length === 0) return null
  const retiredMs = Math.min(...newer.map(activeFromMs))
  return Math.max(retiredMs + tokenMaxTtlMs, lastExpMs ?? 0) + KEPT_AFTER_LAST_EXP_MS
}

/** Until when a withdrawn key is remembered at least: no token that it signed is alive by then. */
export const forgottenMs = ({ createdMs, withdrawnMs }: KeyNote): number =>
  Math.max(createdMs + KEY_LIFE_MS, withdrawnMs ?? 0) +
  LONGEST_TOKEN_TTL_MS +
  KEPT_AFTER_LAST_EXP_MS
