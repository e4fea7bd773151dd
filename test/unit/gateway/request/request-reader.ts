// Parses requests in a short form, for tables.
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import {
  type ParsedRequest,
  type RequestParsing,
  parseRequest,
} from '../../../../src/gateway/request/parse.ts'
import type { BufferedAnswer } from '../../../../src/serving/http/answer.ts'

const MANAGEMENT: RequestTarget = { kind: 'Management' }

/** Parses `METHOD rest`; GET when there is no method. */
export function parsing(sent: string, target: RequestTarget = MANAGEMENT): RequestParsing {
  const [, method = 'GET', rest = ''] = /^(?:(\S+) )?(.*)$/s.exec(sent) ?? []
  return parseRequest(method, target, rest)
}

const messageIn = ({ body }: BufferedAnswer): string =>
  (JSON.parse(body.toString()) as { readonly message: string }).message

/** The parsed request. @throws Error when it is refused */
export function parsedRequest(sent: string, target: RequestTarget = MANAGEMENT): ParsedRequest {
  const result = parsing(sent, target)
  if (!result.ok) throw new Error(`${sent} is refused: ${messageIn(result.answer)}`)
  return result.request
}

/**
 * The RequestInfo of a request in one line: `verb resource/sub.group/version namespace name`, with a dash
 * for what is empty; `verb path` for a path; code and message when it is refused.
 */
export function requestInfoLine(sent: string, target: RequestTarget = MANAGEMENT): string {
  const result = parsing(sent, target)
  if (!result.ok) return `${result.answer.status} ${messageIn(result.answer)}`
  const { attributes } = result.request
  if ('path' in attributes) return `${attributes.verb} ${attributes.path}`
  const { verb, group, version, resource, subresource, namespace, name } = attributes
  const kind = `${resource}${subresource === '' ? '' : `/${subresource}`}.${group}/${version}`
  return `${verb} ${kind} ${namespace || '-'} ${name || '-'}`
}
