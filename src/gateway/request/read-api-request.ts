// A request to the API of a target, from the bytes that came to the request that goes out. Either both mean
// the same to the API server, or it is refused here (contract 11.6): nothing is forwarded as it came.
import { CONFIGS } from '../../api/names.ts'
import type { Target } from '../../domain/scope/request-info.ts'
import type { ReadApiRequest } from './api-request.ts'
import { attributesOf } from './attributes.ts'
import { METHODS, isMethod } from './method.ts'
import { readPath, writtenPath } from './path.ts'
import { readQuery, writtenQuery } from './query.ts'

/**
 * Reads a request. `rest` is what follows the route of the target in the request-target, as it was sent:
 * a path, a query, both or nothing.
 *
 * A tail behind a `proxy` subresource is held to the same rules as any path, and its query too.
 */
export function readApiRequest(method: string, target: Target, rest: string): ReadApiRequest {
  if (!isMethod(method)) return refusal(405, `the method must be one of ${METHODS.join(', ')}`)
  if (/[^!-~]|#/.test(rest))
    return refusal(400, 'the request-target must be visible ASCII without a fragment')
  const [, rawPath = '', rawQuery = ''] = /^([^?]*)\??(.*)$/.exec(rest) ?? []
  const path = readPath(rawPath)
  if (!path.ok) return refusal(400, path.because)
  const pairs = readQuery(rawQuery)
  if (!pairs.ok) return refusal(400, pairs.because)
  const segments = target.kind === 'Management' ? withConfigs(path.value) : path.value
  const query = pairs.value
  const attributes = attributesOf({ method, segments, query }, target)
  if (!attributes.ok) return refusal(400, attributes.because)
  const sent = { path: writtenPath(segments), query, search: writtenQuery(query) }
  return { ok: true, request: { attributes: attributes.value, method, segments, ...sent } }
}

const refusal = (code: 400 | 405, because: string): ReadApiRequest => ({ ok: false, code, because })

/** The specified path of Configs ends in the singular (contract 9.3). */
const SPECIFIED = ['apis', CONFIGS.group, CONFIGS.version, 'config'] as const

const withConfigs = (segments: readonly string[]): readonly string[] =>
  SPECIFIED.every((segment, at) => segments[at] === segment)
    ? segments.with(SPECIFIED.length - 1, CONFIGS.plural)
    : segments
