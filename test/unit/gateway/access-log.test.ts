// What the log says of a request, and what of it never gets there (contract 8.5, 3.5).
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { formatAccessKey } from '../../../src/domain/accesskey/access-key-format.ts'
import type { RequestInfo } from '../../../src/domain/scope/request-info.ts'
import { requestLogFields } from '../../../src/gateway/access-log.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { viewOf } from '../../support/access-key.ts'

const KEY = formatAccessKey(new Uint8Array(32).fill(7), crc32)
const PLACE = '/api/v1/namespaces/shop/pods'

/** What is told of a GET behind the route of the management cluster. */
function toldOfGet(rest: string) {
  const reading = parseRequest('GET', { kind: 'Management' }, rest)
  const asked: RequestInfo | null = reading.ok ? reading.request.attributes : null
  return requestLogFields('GET', { target: 'Management', caller: null, asked })
}

test.each([
  { name: 'what is not read', rest: '/api//v1', told: {} },
  { name: 'a path that is no object’s', rest: `/openapi/${KEY}`, told: { verb: 'get' } },
  { name: 'a list of all', rest: '/api/v1/pods', told: { verb: 'list', resource: 'pods' } },
  {
    name: 'a watch',
    rest: `${PLACE}?watch=1`,
    told: { verb: 'watch', resource: 'pods', namespace: 'shop' },
  },
  {
    name: 'a subresource',
    rest: `${PLACE}/web-0/log`,
    told: { verb: 'get', resource: 'pods/log', namespace: 'shop', name: 'web-0' },
  },
  {
    name: 'an object of a group, with a colon in its name',
    rest: '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    told: {
      verb: 'get',
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      name: 'system:node',
    },
  },
])('$name: no more than there is', ({ rest, told }) => {
  expect(toldOfGet(rest)).toEqual({ method: 'GET', target: 'Management', ...told })
})

test.each([KEY, 'f'.repeat(32), 'correct-horse-battery-staple_too', `sha256:${'0a'.repeat(32)}`])(
  'what may be a key is not told, wherever it stands: %s (3.5)',
  (secret) => {
    const places = [
      `/apis/${secret}/v1/things`,
      `/api/v1/${secret}`,
      `/api/v1/namespaces/${secret}/pods`,
      `${PLACE}/${secret}`,
      `${PLACE}/web-0/${secret}`,
      `${PLACE}?fieldSelector=metadata.name%3D${secret}`,
      `${PLACE}?labelSelector=key%3D${secret}`,
    ]
    const texts = places.map((rest) => JSON.stringify(toldOfGet(rest)))
    expect(texts.filter((text) => text.includes(secret) || !text.includes('"verb"'))).toEqual([])
  },
)

test('of its caller the name and ID of the key', () => {
  const key = viewOf({ metadata: { name: 'ci' }, spec: { key: KEY } })
  const caller = { key, identity: { user: 'ada', groups: [] }, scope: null, expiresMs: null }
  const told = requestLogFields('PUT', { target: 'Other', caller, asked: null })
  expect(told).toEqual({
    method: 'PUT',
    target: 'Other',
    keyName: 'ci',
    keyID: key.digest?.slice(0, 16),
  })
})
