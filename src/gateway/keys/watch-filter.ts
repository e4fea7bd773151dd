// What of a watch reaches a client that may see a part of the objects only.
import type { Json, JsonMap } from '../../domain/json/json.ts'
import { at, textAt, withAt } from '../../domain/json/nested-fields.ts'

/** The types of events that are about an object. */
export type Happening = 'ADDED' | 'MODIFIED' | 'DELETED'

/**
 * What an event is to somebody who sees only what is visible: objects come into sight and go out of it.
 * null = nothing. `known` holds the uids that he knows of, and is kept up to date.
 */
export function seen(
  known: Set<string>,
  type: Happening,
  uid: string,
  isVisible: boolean,
): Happening | null {
  const wasKnown = known.has(uid)
  if (type === 'DELETED' || !isVisible) return known.delete(uid) ? 'DELETED' : null
  known.add(uid)
  return wasKnown ? 'MODIFIED' : 'ADDED'
}

/** What is left to be said of an object that goes out of sight: nothing that he could not see before. */
export function outOfSight(told: JsonMap): JsonMap {
  const rows = at(told, ['rows'])
  if (textAt(told, ['kind']) !== 'Table' || !Array.isArray(rows)) return bare(told)
  return withAt(told, ['rows'], rows.map(bareRow))
}

function bareRow(row: Json): Json {
  const cells = at(row, ['cells'])
  const object = at(row, ['object']) as JsonMap
  const [name = '', ...others] = Array.isArray(cells) ? (cells as readonly Json[]) : []
  return { cells: [name, ...others.map(() => null)], object: bare(object) }
}

function bare(object: JsonMap): JsonMap {
  const names = ['name', 'uid', 'resourceVersion', 'creationTimestamp']
  const metadata = names.reduce<JsonMap>(
    (kept, name) => withAt(kept, [name], at(object, ['metadata', name])),
    {},
  )
  const { kind = '', apiVersion = '' } = object
  return { kind, apiVersion, metadata, spec: {} }
}
