import type { ScopedRequest } from '../../domain/scope/request-info.ts'

/** A request to the API of a target, read from its bytes (contract 11.6). */
export interface ApiRequest {
  /** What scope decides on: what the API server computes from `path` and `query`, and audits. */
  readonly attributes: ScopedRequest
  readonly method: string
  /** The path on the target, decoded and split, every segment checked; the last is empty where a slash trailed. */
  readonly segments: readonly string[]
  /** The path to send, built anew from `segments`; begins with `/`. */
  readonly path: string
  /** Decoded pairs, in the order of the request. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** The query to send, built anew from `query`, without the question mark; may be empty. */
  readonly search: string
}

/** The request, or why it is refused before anybody is asked. */
export type ReadApiRequest =
  | { readonly ok: true; readonly request: ApiRequest }
  | { readonly ok: false; readonly code: 400 | 405; readonly because: string }
