// A request to the API of a target, from the bytes that came to the request that goes out. Either both mean
// the same to the API server, or it is refused here (contract 11.6): nothing is forwarded as it came.
import { CONFIGS } from '../../api/names.ts'
import type { RequestInfo, RequestTarget } from '../../domain/scope/request-info.ts'
import { type WholeAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { formatPath, formatQuery, parsePath, parseQuery } from './path-and-query.ts'
import { METHODS, isMethod, requestInfoOf } from './request-info.ts'

/**
 * Reads a request. `rest` is what follows the route of the target in the request-target, as it was sent:
 * a path, a query, both or nothing.
 *
 * A tail behind a `proxy` subresource is held to the same rules as any path, and its query too.
 */
export function parseRequest(method: string, target: RequestTarget, rest: string): RequestParsing {
  const refused = (answer: WholeAnswer): RequestParsing => ({ ok: false, target, answer })
  if (!isMethod(method)) return refused(refuse(ERRORS.method, { methods: METHODS.join(', ') }))
  if (/[^!-~]|#/.test(rest)) return refused(refuse(ERRORS.targetCharacters))
  const [, rawPath = '', rawQuery = ''] = /^([^?]*)\??(.*)$/.exec(rest) ?? []
  const path = parsePath(rawPath)
  if (!path.ok) return refused(path.answer)
  const pairs = parseQuery(rawQuery)
  if (!pairs.ok) return refused(pairs.answer)
  const segments = target.kind === 'Management' ? withConfigs(path.value) : path.value
  const query = pairs.value
  const attributes = requestInfoOf({ method, segments, query }, target)
  if (!attributes.ok) return refused(attributes.answer)
  const sent = { path: formatPath(segments), query, search: formatQuery(query) }
  return { ok: true, request: { attributes: attributes.value, method, segments, ...sent } }
}

/** The specified path of Configs ends in the singular (contract 9.3). */
const SPECIFIED = ['apis', CONFIGS.group, CONFIGS.version, 'config'] as const

const withConfigs = (segments: readonly string[]): readonly string[] =>
  SPECIFIED.every((segment, at) => segments[at] === segment)
    ? segments.with(SPECIFIED.length - 1, CONFIGS.plural)
    : segments

/** A request to the API of a target, read from its bytes (contract 11.6). */
export interface ParsedRequest {
  /** What scope decides on: what the API server computes from `path` and `query`, and audits. */
  readonly attributes: RequestInfo
  readonly method: string
  /** The path on the target, decoded and split, every segment checked; the last is empty where a slash trailed. */
  readonly segments: readonly string[]
  /** The path to send, built from `segments`; begins with `/`. */
  readonly path: string
  /** Decoded pairs, in the order of the request. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** The query to send, built from `query`, without the question mark; may be empty. */
  readonly search: string
}

/** The request, or the answer that refuses it; `target` null = it leads to no API. */
export type RequestParsing =
  | { readonly ok: true; readonly request: ParsedRequest }
  | { readonly ok: false; readonly target: RequestTarget | null; readonly answer: WholeAnswer }
