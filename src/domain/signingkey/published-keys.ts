// The data of ConfigMap `platform-jwks` (contract 7.3): `jwks.json` is the public key set for verifiers; `keys.json`
// has the operator's record of each key.
import { type Json, isMap, ownValue, parseJson } from '../json/json.ts'
import { formatTimestamp, parseTimestamp } from '../time.ts'
import type { PublishedKeyRecord, PublicJwk } from './signing-key.ts'

/** Data key of the public key set. */
export const JWKS_DATA_KEY = 'jwks.json'

/** Data key of the operator's records. */
export const KEY_RECORDS_DATA_KEY = 'keys.json'

/** The data keys of the ConfigMap that the operator writes. */
export interface PublishedKeysData {
  readonly [JWKS_DATA_KEY]: string
  readonly [KEY_RECORDS_DATA_KEY]: string
}

/** The ConfigMap as read back from the API server. */
export interface PublishedKeys {
  readonly data: Readonly<Partial<PublishedKeysData>>
  /** The valid entries of the public set, whoever wrote them. */
  readonly jwks: readonly PublicJwk[]
  /** The valid records, also of withdrawn keys. */
  readonly notes: readonly PublishedKeyRecord[]
  /** Whether every entry of the public set and every record is valid. */
  readonly isSound: boolean
  /** Whether the annotation asks for a rotation. */
  readonly isToRotate: boolean
  /** The kid that the annotation asks to withdraw; null = none. */
  readonly toWithdraw: string | null
}

/** The public key set as stored and served: the same keys always give the same bytes. */
export const jwksText = (jwks: readonly PublicJwk[]): string => JSON.stringify({ keys: jwks })

/** The records as stored: indented JSON. */
export function keyRecordsText(records: readonly PublishedKeyRecord[]): string {
  const entries = records.map(
    ({ kid, generation, createdMs, publishedMs, useFromMs, withdrawnMs }) =>
      [
        kid,
        {
          generation,
          created: formatTimestamp(createdMs),
          published: formatTimestamp(publishedMs),
          useFrom: formatTimestamp(useFromMs),
          ...(withdrawnMs === null ? {} : { withdrawn: formatTimestamp(withdrawnMs) }),
        },
      ] as const,
  )
  return JSON.stringify(Object.fromEntries(entries), null, 2)
}

/** The valid records, and whether every stored record is valid. */
type ParsedKeyRecords = Pick<PublishedKeys, 'notes' | 'isSound'>

/** Parses the stored records. Never throws. */
export function parseKeyRecords(text: string | undefined): ParsedKeyRecords {
  const value = parseJson(text)
  if (!isMap(value)) return { notes: [], isSound: false }
  const parsed = Object.entries(value).map(([kid, entry]) => recordOf(kid, entry))
  const notes = parsed.filter((record) => record !== null)
  return { notes, isSound: notes.length === parsed.length }
}

/** A kid is a thumbprint: 32 bytes in base64url. */
const KID = /^[A-Za-z0-9_-]{43}$/

function recordOf(kid: string, entry: Json): PublishedKeyRecord | null {
  if (!isMap(entry) || !KID.test(kid)) return null
  const generation = ownValue(entry, 'generation')
  const createdMs = timeOf(ownValue(entry, 'created'))
  const publishedMs = timeOf(ownValue(entry, 'published'))
  const useFromMs = timeOf(ownValue(entry, 'useFrom'))
  const withdrawn = ownValue(entry, 'withdrawn')
  const withdrawnMs = withdrawn === undefined ? null : timeOf(withdrawn)
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 1)
    return null
  if (createdMs === null || publishedMs === null || useFromMs === null) return null
  // A malformed withdrawal time still counts: a withdrawn key must never be published again.
  const isWithdrawn = withdrawn !== undefined
  const effectiveWithdrawnMs = isWithdrawn ? (withdrawnMs ?? publishedMs) : null
  return { kid, generation, createdMs, publishedMs, useFromMs, withdrawnMs: effectiveWithdrawnMs }
}

const timeOf = (value: Json | undefined): number | null =>
  typeof value === 'string' ? parseTimestamp(value) : null
