import { expect, test } from 'vitest'
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import { isOwnKind } from '../../../../src/gateway/selfservice/handler.ts'
import { selfServiceInfoOf } from '../../../../src/gateway/selfservice/request.ts'

const GROUP = '/apis/management.platform.sh'
const MANAGEMENT: RequestTarget = { kind: 'Management' }

/** Verb, plural, name and subresource of a request of our kinds; or why it is forwarded or refused. */
function understood(method: string, path: string, target = MANAGEMENT): string {
  const read = parseRequest(method, target, path)
  if (!read.ok) return 'unread'
  if (!isOwnKind(read.request)) return 'not ours'
  const asked = selfServiceInfoOf(read.request)
  if (asked === null) return 'unknown'
  const { verb, resource, name, isStatus } = asked
  return [verb, resource.plural, name, isStatus ? 'status' : ''].filter(Boolean).join(' ')
}

test.each([
  ['GET', `${GROUP}/v1/ownedaccesskeys`, 'list ownedaccesskeys'],
  ['GET', `${GROUP}/v1/ownedaccesskeys/`, 'list ownedaccesskeys'],
  ['GET', `${GROUP}/v1/ownedaccesskeys?watch=1`, 'watch ownedaccesskeys'],
  ['GET', `${GROUP}/v1/ownedaccesskeys?fieldSelector=metadata.name%3Dci`, 'list ownedaccesskeys'],
  ['GET', `${GROUP}/v1/ownedaccesskeys/ci`, 'get ownedaccesskeys ci'],
  ['GET', `${GROUP}/v1/ownedaccesskeys/ci?watch=1`, 'get ownedaccesskeys ci'],
  ['GET', `${GROUP}/v1/ownedaccesskeys/ci/status`, 'get ownedaccesskeys ci status'],
  ['PUT', `${GROUP}/v1/ownedaccesskeys/ci/status`, 'update ownedaccesskeys ci status'],
  ['POST', `${GROUP}/v1/directclusterendpointtokens`, 'create directclusterendpointtokens'],
  ['PATCH', `${GROUP}/v1/directclusterendpointtokens/t`, 'patch directclusterendpointtokens t'],
  ['DELETE', `${GROUP}/v1/configs`, 'deletecollection configs'],
  ['DELETE', `${GROUP}/v1/configs/c`, 'delete configs c'],
  ['GET', `${GROUP}/v1/config`, 'list configs'],
  ['GET', `${GROUP}/v1/config/c`, 'get configs c'],
  ['HEAD', `${GROUP}/v1/ownedaccesskeys/ci`, 'unknown'],
  ['POST', `${GROUP}/v1/ownedaccesskeys/ci`, 'unknown'],
  ['PUT', `${GROUP}/v1/ownedaccesskeys`, 'unknown'],
  ['PATCH', `${GROUP}/v1/ownedaccesskeys`, 'unknown'],
  ['POST', `${GROUP}/v1/ownedaccesskeys/ci/status`, 'unknown'],
  ['DELETE', `${GROUP}/v1/ownedaccesskeys/ci/status`, 'unknown'],
  ['GET', `${GROUP}/v1/ownedaccesskeys/ci/scale`, 'unknown'],
  ['PUT', `${GROUP}/v1/ownedaccesskeys/ci/finalizers`, 'unknown'],
  ['GET', `${GROUP}/v1/namespaces/x/ownedaccesskeys`, 'unknown'],
  ['GET', `${GROUP}/v1/namespaces/x/ownedaccesskeys/ci`, 'unknown'],
  ['GET', `${GROUP}/v2/ownedaccesskeys`, 'unknown'],
  ['GET', `${GROUP}/v1/OwnedAccessKeys`, 'unknown'],
  ['GET', `${GROUP}/v1/secrets`, 'unknown'],
  ['GET', `${GROUP}/v1`, 'not ours'],
  ['GET', GROUP, 'not ours'],
  ['GET', '/apis/other.management.platform.sh/v1/ownedaccesskeys', 'not ours'],
  ['GET', '/api/v1/ownedaccesskeys', 'not ours'],
] as const)('%s %s is %s (12, B3)', (method, path, is) => {
  expect(understood(method, path)).toBe(is)
})

test('objects of that group in other clusters belong to those clusters', () => {
  const path = `${GROUP}/v1/ownedaccesskeys`
  expect(understood('GET', path, { kind: 'Cluster', cluster: 'c' })).toBe('not ours')
})
