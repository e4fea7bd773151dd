// How the tables of manifests are read.

/** A manifest's spec: an object, or JSON text for what JavaScript would not write; absent, none. */
export type SpecOf = Fields | string

/** An object of any shape. */
export type Fields = Readonly<Record<string, unknown>>

/** A manifest that the API server takes. */
export interface Accepted {
  readonly name: string
  readonly spec: SpecOf
  /** What is stored where that is not what was sent. */
  readonly stored?: Fields
}

/** A manifest that it refuses. */
export interface Refused {
  readonly name: string
  readonly spec?: SpecOf
  /** The field that the answer blames; absent where it names it in the message only. */
  readonly field?: string
  /** What the answer says to write instead. */
  readonly says: RegExp
  /** 422 when absent. */
  readonly code?: 400
}

/** A change of a stored object that is taken. */
export interface Change {
  readonly name: string
  readonly from: Fields
  /** A merge patch; a list is a JSON patch. */
  readonly patch: object
  readonly to: Fields
}

/** A change that is refused. */
export interface RefusedChange extends Omit<Change, 'to'> {
  readonly says: RegExp
}

/** `count` times what `make` makes of 0, 1, 2... */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
