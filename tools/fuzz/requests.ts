// Requests as the gateway parses them (threats B1 to B4): paths, queries, selectors.
import { isDeepStrictEqual } from 'node:util'
import { isResourceRequest } from '../../src/domain/scope/request-info.ts'
import { isLabelSelector } from '../../src/gateway/request/label-selector.ts'
import { type ParsedRequest, parseRequest } from '../../src/gateway/request/parse.ts'
import { type FuzzTarget, kindOf, mustHold, sizeClass } from './target.ts'

/** Parses a GET on the management cluster; null = it is refused. */
export type Parse = (rest: string) => ParsedRequest | string

const parseGet: Parse = (rest) => {
  const result = parseRequest('GET', { kind: 'Management' }, rest)
  return result.ok ? result.request : `${result.answer.status} ${result.answer.body.toString()}`
}

/** Whether what follows in the path is for another server, and passes as it came. */
const isProxied = ({ attributes }: ParsedRequest): boolean =>
  isResourceRequest(attributes) && attributes.subresource.startsWith('proxy')

/** The forwarded request is parsed as the same request again, and no server that normalizes it reads another one. */
function checkRebuilt(request: ParsedRequest, parse: Parse): void {
  const { path, search } = request
  if (isProxied(request)) return
  const again = parse(`${path}${search && `?${search}`}`)
  mustHold('the request that is forwarded is another one', isDeepStrictEqual(again, request))
  mustHold('a server may normalize the path', new URL(`http://server${path}`).pathname === path)
  mustHold('a sign has a second meaning', /^\/[\w.~%/-]*\?[\w.~%=&-]*$/.test(`${path}?${search}`))
}

function outcomeOf(request: ParsedRequest): string {
  const { attributes, query } = request
  const what = isResourceRequest(attributes)
    ? `${attributes.verb} ${attributes.subresource && 'sub'} ${attributes.name && 'name'} ${attributes.namespace && 'ns'}`
    : 'path'
  return `${what} ${sizeClass(query.length)}`
}

const target = (seeds: readonly string[], words: readonly string[], parse: Parse): FuzzTarget => ({
  seeds,
  words,
  run: (rest) => {
    const request = parse(rest)
    if (typeof request === 'string') return kindOf(request)
    checkRebuilt(request, parse)
    return outcomeOf(request)
  },
})

// biome-ignore format: words
const PATH_WORDS = ['/', '//', '.', '..', '%2e', '%2f', '%5c', '\\', '%00', '%25', ';', '?', '#', '@', ':', 'api', 'apis', 'v1', 'namespaces', 'pods', 'secrets', 'status', 'exec', 'proxy', 'watch', '\t', '\u00e9', '%c3%a9', '*']
// biome-ignore format: words
const QUERY_WORDS = ['&', '=', '?', '%', '%26', '%3d', '+', ';', 'watch', '%77atch', 'true', 'false', '0', '1', 'fieldSelector', 'labelSelector', 'metadata.name', '%3D', ',', 'limit', 'continue', 'dryRun', 'All', 'resourceVersion', '__proto__', '\u00ff']

/** The path of a request. */
export const pathTarget = (parse: Parse = parseGet): FuzzTarget =>
  target(
    [
      '/api/v1/namespaces/a/pods/x',
      '/apis/apps/v1/deployments',
      '/api/v1/nodes/x/proxy/y',
      '/version',
      '/api/v1/namespaces/allowed/%2e%2e/kube-system/secrets',
      '//evil.example/x',
    ],
    PATH_WORDS,
    parse,
  )

/** The query of a list. */
export const queryTarget = (parse: Parse = parseGet): FuzzTarget => {
  const ofPath = target(
    [
      'watch=1',
      'watch=0&limit=5',
      'fieldSelector=metadata.name%3Dx',
      'labelSelector=a+in+(b,c),!d',
      'watch=0&watch=1',
      'a=%zz',
    ],
    QUERY_WORDS,
    (rest) => parse(rest),
  )
  return { ...ofPath, run: (query) => ofPath.run(`/api/v1/pods?${query}`) }
}

/** A label selector: it stays one beside another one, and within white space. */
export const selectorTarget = (
  accepts: (text: string) => boolean = isLabelSelector,
): FuzzTarget => ({
  seeds: ['', 'a=b', 'a in (b,c),!d', 'example.com/a!=b,c', 'a>1', 'x notin ()', 'a,(', '=='],
  // biome-ignore format: words
  words: [',', '=', '==', '!=', '!', ' in ', ' notin ', '(', ')', '>', '<', ' ', '\t', '/', '.', '-', '_', '\0', 'a', 'example.com/', '1', '\u00e9'],
  run: (text) => {
    if (!accepts(text)) return `refused ${sizeClass(text.length)}`
    mustHold('a NUL ends what the API server reads', !text.includes('\0'))
    if (text.trim() !== '') mustHold('two selectors are one', accepts(`${text},${text}`))
    mustHold('white space does not count', accepts(` ${text} `))
    const signs = ['!=', '==', '!', ' in', 'notin', '>', '/'].filter((sign) => text.includes(sign))
    return `accepted ${signs.slice(0, 2).join(' ')} ${sizeClass(text.split(',').length)}`
  },
})
