// Parses a request to the API of a target, and builds the forwarded request from the parsed values: no bytes are
// forwarded as they came. A request that the API server could read differently is refused (contract 11.6).
import { CONFIGS } from '../../api/names.ts'
import { AUDIT_EVENTS_PATH } from '../../domain/audit/query.ts'
import type { RequestInfo, RequestTarget } from '../../domain/scope/request-info.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { AMBIGUITY_ERRORS } from './errors.ts'
import { formatPath, formatQuery, parsePath, parseQuery } from './path-and-query.ts'
import { METHODS, isMethod, proxyInfoOf, proxySegments, requestInfoOf } from './request-info.ts'

/**
 * Parses a request. `rest` is the raw request-target after the prefix of the target: a path, a query, both or nothing.
 */
export function parseRequest(method: string, target: RequestTarget, rest: string): RequestParsing {
  const refused = (answer: BufferedAnswer): RequestParsing => ({ ok: false, target, answer })
  if (/[^!-~]|#/.test(rest)) return refused(refuse(AMBIGUITY_ERRORS.targetCharacters))
  const [, rawPath = '', rawQuery = ''] = /^([^?]*)\??(.*)$/.exec(rest) ?? []
  const proxied = proxiedRequest(method, target, rawPath, rawQuery)
  if (proxied !== null) return { ok: true, request: proxied }
  if (!isMethod(method)) return refused(refuse(ERRORS.method, { methods: METHODS.join(', ') }))
  const parsed = parsePath(rawPath)
  if (!parsed.ok) return refused(parsed.answer)
  const segments = target.kind === 'Management' ? withPluralConfigs(parsed.value) : parsed.value
  const path = formatPath(segments)
  const pairs = parseQuery(rawQuery, { mayRepeat: isAuditQuestion(target, path) })
  if (!pairs.ok) return refused(pairs.answer)
  const query = pairs.value
  const attributes = requestInfoOf({ method, segments, query }, target)
  if (!attributes.ok) return refused(attributes.answer)
  const forwarded = { path, query, search: formatQuery(query) }
  return { ok: true, request: { attributes: attributes.value, method, segments, ...forwarded } }
}

/**
 * A request to whatever is behind a `proxy` subresource; null = it is another request. What follows `proxy` is passed
 * byte by byte, by any method (contract 11.6). The path up to there must be in the API server's own form, without
 * escapes; else all of it follows the usual rules. So does a path with a broken escape, which no API server reads.
 */
function proxiedRequest(
  method: string,
  target: RequestTarget,
  rawPath: string,
  rawQuery: string,
): ParsedRequest | null {
  const parts = rawPath.split('/')
  const count = proxySegments(parts.slice(1))
  if (count === null) return null
  const head = parts.slice(0, count + 1).join('/')
  const tail = rawPath.slice(head.length)
  const isUnreadable = head.includes('%') || BROKEN_ESCAPE.test(tail)
  const path = isUnreadable ? null : parsePath(head)
  if (!path?.ok) return null
  return {
    attributes: proxyInfoOf(method, path.value, target),
    method,
    segments: path.value,
    path: `${formatPath(path.value)}${tail}`,
    query: [],
    search: rawQuery,
  }
}

/** Whether the gateway is the only reader of the query, and says itself what is wrong with it (contract 22.4). */
const isAuditQuestion = ({ kind }: RequestTarget, path: string): boolean =>
  kind === 'Management' && path === AUDIT_EVENTS_PATH

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i

/** The specified path of Configs ends in the singular (contract 9.3); the API server knows the plural. */
const SINGULAR_CONFIG_PATH = ['apis', CONFIGS.group, CONFIGS.version, 'config'] as const

const withPluralConfigs = (segments: readonly string[]): readonly string[] =>
  SINGULAR_CONFIG_PATH.every((segment, at) => segments[at] === segment)
    ? segments.with(SINGULAR_CONFIG_PATH.length - 1, CONFIGS.plural)
    : segments

/** A request to the API of a target, read from its bytes (contract 11.6). */
export interface ParsedRequest {
  /** RequestInfo as the API server computes it from `path` and `query`, and audits it: the authorizer decides by it. */
  readonly attributes: RequestInfo
  readonly method: string
  /** The decoded, checked segments of the path on the target; the last one is empty after a trailing slash. */
  readonly segments: readonly string[]
  /** The path to forward, built from `segments`; begins with `/`. */
  readonly path: string
  /** Decoded pairs, in the order of the request. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** The query to forward, built from `query`, without the question mark; may be empty. */
  readonly search: string
}

/** The parsed request, or the answer that refuses it; `target` null = the path leads to no API. */
export type RequestParsing =
  | { readonly ok: true; readonly request: ParsedRequest }
  | { readonly ok: false; readonly target: RequestTarget | null; readonly answer: BufferedAnswer }
