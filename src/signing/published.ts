import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { parseJwks } from '../authn/jwks.ts'
import {
  JWKS_DATA_KEY,
  NOTES_DATA_KEY,
  type PublishedKeys,
  parseNotes,
} from '../domain/signingkey/published-keys.ts'

/** Reads ConfigMap `platform-jwks`. Never throws: unreadable parts are left out, and `isSound` is false. */
export function publishedKeysOf({ data = {}, metadata }: ConfigMap): PublishedKeys {
  const set = parseJwks(data[JWKS_DATA_KEY])
  const { notes, isSound } = parseNotes(data[NOTES_DATA_KEY])
  const { annotations = {} } = metadata
  return {
    data,
    jwks: set.ok ? set.jwks : [],
    notes,
    isSound: isSound && set.ok && set.faults.length === 0,
    isToRotate: annotations[ROTATE_ANNOTATION] !== undefined,
    toWithdraw: annotations[WITHDRAW_ANNOTATION]?.trim() ?? null,
  }
}
