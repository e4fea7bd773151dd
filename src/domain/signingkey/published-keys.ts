// The data of ConfigMap `platform-jwks` (contract 7.3): `jwks.json` is the public key set for verifiers; `keys.json`
// has the operator's record of each key.
import { type Json, isMap, ownValue, parseJson } from '../json/json.ts'
import { formatTimestamp, parseTimestamp } from '../time.ts'
import type { PublishedKeyRecord, PublicJwk } from './signing-key.ts'

/** Data key of the public set. */
export const JWKS_DATA_KEY = 'jwks.json'

/** Data key of the records. */
export const KEY_RECORDS_DATA_KEY = 'keys.json'

/** The data keys of the ConfigMap that are ours. */
export interface PublishedKeysData {
  readonly [JWKS_DATA_KEY]: string
  readonly [KEY_RECORDS_DATA_KEY]: string
}

/** The ConfigMap as read back from the API server. */
export interface PublishedKeys {
  readonly data: Readonly<Partial<PublishedKeysData>>
  /** The valid entries of the public set, of any author. */
  readonly jwks: readonly PublicJwk[]
  /** The valid records, withdrawn keys included. */
  readonly notes: readonly PublishedKeyRecord[]
  /** Whether every entry of both is valid. */
  readonly isSound: boolean
  /** Whether the annotation asks for a rotation. */
  readonly isToRotate: boolean
  /** The kid to withdraw, by the annotation; null = none. */
  readonly toWithdraw: string | null
}

/** The public key set as stored and served: equal keys give equal bytes. */
export const jwksText = (jwks: readonly PublicJwk[]): string => JSON.stringify({ keys: jwks })

/** The records as stored, indented. */
export function keyRecordsText(notes: readonly PublishedKeyRecord[]): string {
  const entries = notes.map(
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

/** The valid records, and whether all of them are valid. */
export function parseKeyRecords(text: string | undefined): {
  readonly notes: readonly PublishedKeyRecord[]
  readonly isSound: boolean
} {
  const value = parseJson(text)
  if (!isMap(value)) return { notes: [], isSound: false }
  const read = Object.entries(value).map(([kid, note]) => recordOf(kid, note))
  const notes = read.filter((note) => note !== null)
  return { notes, isSound: notes.length === read.length }
}

/** A thumbprint is 32 bytes in base64url. */
const KID = /^[A-Za-z0-9_-]{43}$/

function recordOf(kid: string, note: Json): PublishedKeyRecord | null {
  if (!isMap(note) || !KID.test(kid)) return null
  const generation = ownValue(note, 'generation')
  const createdMs = timeOf(ownValue(note, 'created'))
  const publishedMs = timeOf(ownValue(note, 'published'))
  const useFromMs = timeOf(ownValue(note, 'useFrom'))
  const withdrawn = ownValue(note, 'withdrawn')
  const withdrawnMs = withdrawn === undefined ? null : timeOf(withdrawn)
  if (typeof generation !== 'number' || !Number.isSafeInteger(generation) || generation < 1)
    return null
  if (createdMs === null || publishedMs === null || useFromMs === null) return null
  // A malformed time still counts: a withdrawn key must not return.
  const isWithdrawn = withdrawn !== undefined
  const recordedMs = isWithdrawn ? (withdrawnMs ?? publishedMs) : null
  return { kid, generation, createdMs, publishedMs, useFromMs, withdrawnMs: recordedMs }
}

const timeOf = (value: Json | undefined): number | null =>
  typeof value === 'string' ? parseTimestamp(value) : null
