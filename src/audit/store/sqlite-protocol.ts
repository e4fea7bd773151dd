// What passes between the program and the worker thread of a SQLite connection. Pure.

/** What a worker opens. */
export interface SqliteSettings {
  readonly file: string
  /** Whether it may not write. */
  readonly isReader: boolean
}

/** A statement. */
export interface SqliteRequest {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Epoch milliseconds after which DEADLINE_FUNCTION ends the statement; null = never. */
  readonly deadlineMs: number | null
}

/** The rows of a statement, or the codes of its error. */
export type SqliteAnswer =
  | { readonly rows: readonly unknown[]; readonly changes: number }
  | { readonly code: string | undefined; readonly errcode: number | undefined }

/** A function of SQL that is 1, and an error once the deadline of its statement has passed. */
export const DEADLINE_FUNCTION = 'audit_within_deadline'
