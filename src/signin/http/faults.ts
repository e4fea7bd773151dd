// Requests that are wrong whoever sends them. A refusal of a person is in domain/signin/refusals.ts.

/** A malformed request. Its message says what would be right, and quotes nothing of the request. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault'

  /** HTTP status code. */
  readonly code: 400 | 404 | 405 | 413 | 415
  /** Methods that the path has, of a 405; empty for other codes. */
  readonly allow: readonly string[]

  constructor(code: HttpFault['code'], message: string, allow: readonly string[] = []) {
    super(message)
    this.code = code
    this.allow = allow
  }
}
