// The RequestInfo of requests (contract 11.6). That the API server computes the same
// is shown by test/cluster/gateway/audit-log-attribution.private.test.ts.
import { describe, expect, test } from 'vitest'
import { requestInfoLine } from './request-reader.ts'

type Row = readonly [sent: string, info: string]

const rows = (table: readonly Row[]) => table.map(([sent, is]) => ({ sent, is }))

// biome-ignore format: a table
describe('the verb in a RequestInfo (11.6, B5)', () => {
  test.each(rows([
    ['/api/v1/pods',                                     'list pods./v1 - -'],
    ['GET /api/v1/namespaces/a/pods',                    'list pods./v1 a -'],
    ['HEAD /api/v1/namespaces/a/pods',                   'list pods./v1 a -'],
    ['POST /api/v1/namespaces/a/pods',                   'create pods./v1 a -'],
    ['PUT /api/v1/namespaces/a/pods',                    'update pods./v1 a -'],
    ['PATCH /api/v1/namespaces/a/pods',                  'patch pods./v1 a -'],
    ['DELETE /api/v1/namespaces/a/pods',                 'deletecollection pods./v1 a -'],
    ['GET /api/v1/namespaces/a/pods/x',                  'get pods./v1 a x'],
    ['HEAD /api/v1/namespaces/a/pods/x',                 'get pods./v1 a x'],
    ['POST /api/v1/namespaces/a/pods/x',                 'create pods./v1 a x'],
    ['PUT /api/v1/namespaces/a/pods/x',                  'update pods./v1 a x'],
    ['PATCH /api/v1/namespaces/a/pods/x',                'patch pods./v1 a x'],
    ['DELETE /api/v1/namespaces/a/pods/x',               'delete pods./v1 a x'],
    ['GET /api/v1/namespaces/a/pods/x/log',              'get pods/log./v1 a x'],
    ['POST /api/v1/namespaces/a/pods/x/exec',            'create pods/exec./v1 a x'],
    ['GET /api/v1/namespaces/a/pods/x/exec?command=ls',  'get pods/exec./v1 a x'],
    ['POST /api/v1/namespaces/a/pods/x/eviction',        'create pods/eviction./v1 a x'],
    ['POST /api/v1/namespaces/a/pods/x/binding',         'create pods/binding./v1 a x'],
    ['POST /api/v1/namespaces/a/bindings',               'create bindings./v1 a -'],
    ['POST /api/v1/namespaces/a/serviceaccounts/x/token', 'create serviceaccounts/token./v1 a x'],
    ['DELETE /api/v1/namespaces/a/pods/x/status',        'delete pods/status./v1 a x'],
    ['/api/v1/nodes/n',                                  'get nodes./v1 - n'],
    ['/apis/apps/v1/deployments',                        'list deployments.apps/v1 - -'],
    ['/apis/apps/v1/namespaces/a/deployments/x/scale',   'get deployments/scale.apps/v1 a x'],
    ['PUT /apis/apps/v1/namespaces/a/deployments/x/scale', 'update deployments/scale.apps/v1 a x'],
    ['/apis/management.platform.sh/v1/ownedaccesskeys/k', 'get ownedaccesskeys.management.platform.sh/v1 - k'],
    ['/apis/no.such.group/v9/things/x/sub',              'get things/sub.no.such.group/v9 - x'],
    ['/api/v9/things',                                   'list things./v9 - -'],
    ['/api/apis/pods',                                   'list pods./apis - -'],
    ['/apis/api/v1/pods',                                'list pods.api/v1 - -'],
    ['/apis/namespaces/v1/namespaces/a/namespaces',      'list namespaces.namespaces/v1 a -'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

// biome-ignore format: a table
describe('the namespace in a RequestInfo (11.6)', () => {
  test.each(rows([
    ['/api/v1/namespaces',                       'list namespaces./v1 - -'],
    ['POST /api/v1/namespaces',                  'create namespaces./v1 - -'],
    ['DELETE /api/v1/namespaces',                'deletecollection namespaces./v1 - -'],
    ['/api/v1/namespaces/a',                     'get namespaces./v1 a a'],
    ['DELETE /api/v1/namespaces/a',              'delete namespaces./v1 a a'],
    ['PUT /api/v1/namespaces/a/status',          'update namespaces/status./v1 a a'],
    ['PUT /api/v1/namespaces/a/finalize',        'update namespaces/finalize./v1 a a'],
    ['PUT /api/v1/namespaces/a/finalize/x',      'update namespaces/finalize./v1 a a'],
    ['/api/v1/namespaces/a/status/x/y',          'get namespaces/status./v1 a a'],
    ['/api/v1/namespaces/a/statuses',            'list statuses./v1 a -'],
    ['/api/v1/namespaces/a/Status',              'list Status./v1 a -'],
    ['/api/v1/namespaces/a/token',               'list token./v1 a -'],
    ['/api/v1/namespaces/a/watch',               'list watch./v1 a -'],
    ['/api/v1/namespaces/a/proxy/x',             'get proxy./v1 a x'],
    ['/api/v1/namespaces/a/namespaces/b',        'get namespaces./v1 a b'],
    ['/api/v1/namespaces/a/namespaces/b/secrets', 'get namespaces/secrets./v1 a b'],
    ['/api/v1/namespaces/namespaces/secrets',    'list secrets./v1 namespaces -'],
    ['/api/v1/namespaces/status',                'get namespaces./v1 status status'],
    ['/api/v1/namespaces/status/status',         'get namespaces/status./v1 status status'],
    ['/api/v1/Namespaces/a/pods',                'get Namespaces/pods./v1 - a'],
    ['/apis/apps/v1/namespaces',                 'list namespaces.apps/v1 - -'],
    ['/apis/apps/v1/namespaces/a',               'get namespaces.apps/v1 a a'],
    ['/apis/apps/v1/namespaces/a/status',        'get namespaces/status.apps/v1 a a'],
    ['/api/v1/pods/x/namespaces',                'get pods/namespaces./v1 - x'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

// biome-ignore format: a table
describe('the RequestInfo of a path that names no object (11.6)', () => {
  test.each(rows([
    ['',                                    'get /'],
    ['/',                                   'get /'],
    ['?a=b',                                'get /'],
    ['/?a=b',                               'get /'],
    ['/api',                                'get /api'],
    ['/api/',                               'get /api/'],
    ['/api/v1',                             'get /api/v1'],
    ['/api/v1/',                            'get /api/v1/'],
    ['/apis',                               'get /apis'],
    ['/apis/apps',                          'get /apis/apps'],
    ['/apis/apps/v1',                       'get /apis/apps/v1'],
    ['/apis/apps/v1/',                      'get /apis/apps/v1/'],
    ['HEAD /apis/apps/v1',                  'head /apis/apps/v1'],
    ['POST /apis/apps/v1',                  'post /apis/apps/v1'],
    ['PUT /healthz',                        'put /healthz'],
    ['PATCH /healthz',                      'patch /healthz'],
    ['DELETE /healthz',                     'delete /healthz'],
    ['/healthz/ping',                       'get /healthz/ping'],
    ['/readyz?verbose&exclude=a&exclude=b', 'get /readyz'],
    ['/version/',                           'get /version/'],
    ['/openapi/v3/apis/apps/v1?hash=A',     'get /openapi/v3/apis/apps/v1'],
    ['/metrics',                            'get /metrics'],
    ['/logs/kube-apiserver.log',            'get /logs/kube-apiserver.log'],
    ['/API/v1/secrets',                     'get /API/v1/secrets'],
    ['/Apis/apps/v1/deployments',           'get /Apis/apps/v1/deployments'],
    ['/api%20/v1/secrets',                  'get /api /v1/secrets'],
    ['/apiv1/secrets/x',                    'get /apiv1/secrets/x'],
    ['/kubernetes/management/api/v1/pods',  'get /kubernetes/management/api/v1/pods'],
    ['/api/watch',                          'get /api/watch'],
    ['/apis/watch/v1',                      'get /apis/watch/v1'],
    ['/apis/apps/watch',                    'get /apis/apps/watch'],
    ['/v1/watch/pods',                      'get /v1/watch/pods'],
    ['/%c3%a9',                             'get /é'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

// biome-ignore format: a table
describe('the RequestInfo of a path in an unusual spelling (11.6, B1, B3)', () => {
  test.each(rows([
    ['/api/v1/%73ecrets',                          'list secrets./v1 - -'],
    ['/%61pi/v1/namespaces/%61/secrets',           'list secrets./v1 a -'],
    ['/api/v1/namespaces/a/secrets/',              'list secrets./v1 a -'],
    ['/api/v1/namespaces/a/secrets/x/',            'get secrets./v1 a x'],
    ['/api/v1/namespaces/a/',                      'get namespaces./v1 a a'],
    ['/api/v1/namespaces/',                        'list namespaces./v1 - -'],
    ['/api/v1/Secrets',                            'list Secrets./v1 - -'],
    ['/api/v1/secrets.',                           'list secrets../v1 - -'],
    ['/api/v1/secrets%20',                         'list secrets ./v1 - -'],
    ['/api/v1/secret',                             'list secret./v1 - -'],
    ['/api/v1/%2A',                                'list *./v1 - -'],
    ['/api/v1/pods/...',                           'get pods./v1 - ...'],
    ['/api/v1/pods/.a',                            'get pods./v1 - .a'],
    ['/api/v1/pods/a+b',                           'get pods./v1 - a+b'],
    ['/api/v1/pods/a%2bb',                         'get pods./v1 - a+b'],
    ['/api/v1/pods/a%3fb?watch=1',                 'get pods./v1 - a?b'],
    ['/api/v1/pods/a%23b',                         'get pods./v1 - a#b'],
    ['/api/v1/pods/a;b',                           'get pods./v1 - a;b'],
    ['/api/v1/pods/a%26watch=1',                   'get pods./v1 - a&watch=1'],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node', 'get clusterroles.rbac.authorization.k8s.io/v1 - system:node'],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3anode', 'get clusterroles.rbac.authorization.k8s.io/v1 - system:node'],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles/%C3%A9', 'get clusterroles.rbac.authorization.k8s.io/v1 - é'],
    ['/api/v1/pods/e%cc%81',                       'get pods./v1 - e\u0301'],
    ['/api/v1/pods/%f0%9f%99%82',                  'get pods./v1 - 🙂'],
    ['/api/v1/%ef%bd%90ods',                       'list ｐods./v1 - -'],
    ['/api/v1/pods/%ef%bb%bfa',                    'get pods./v1 - \ufeffa'],
    ['/api/v1/__proto__/constructor/toString',     'get __proto__/toString./v1 - constructor'],
    ['/toString/constructor/x/y',                  'get /toString/constructor/x/y'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

// biome-ignore format: a table
describe('list or watch: the first value counts, and only false and 0 are false (11.6, B4)', () => {
  test.each(rows([
    ...['', '=', '=1', '=true', '=True', '=TRUE', '=yes', '=no', '=off', '=2', '=-1', '=00', '=f', '=0.0', '=null', '=+0', '=0+', '=%20false', '=false%20', '=%30%30']
      .map((value): Row => [`/api/v1/pods?watch${value}`, 'watch pods./v1 - -']),
    ...['=0', '=false', '=False', '=FALSE', '=fAlSe', '=%30', '=%66alse', '=fals%65']
      .map((value): Row => [`/api/v1/pods?watch${value}`, 'list pods./v1 - -']),
    ['/api/v1/pods?%77atch=1',                   'watch pods./v1 - -'],
    ['/api/v1/pods/?watch=1',                    'watch pods./v1 - -'],
    ['HEAD /api/v1/pods?watch=1',                'watch pods./v1 - -'],
    ['/api/v1/namespaces?watch=1',               'watch namespaces./v1 - -'],
    ['/api/v1/pods?Watch=1',                     'list pods./v1 - -'],
    ['/api/v1/pods?watch[]=1',                   'list pods./v1 - -'],
    ['/api/v1/pods?%20watch=1',                  'list pods./v1 - -'],
    ['/api/v1/pods?a=b&watch=1',                 'watch pods./v1 - -'],
    ['/api/v1/pods?a=watch=1',                   'list pods./v1 - -'],
    ['/api/v1/pods?a=%26watch=1',                'list pods./v1 - -'],
    ['/api/v1/pods??watch=1',                    'list pods./v1 - -'],
    ['/api/v1/pods?&&watch=1&&',                 'watch pods./v1 - -'],
    ['/api/v1/pods?watch=1&limit=x',             'watch pods./v1 - -'],
    ['/api/v1/pods?watch=0&limit=x',             'list pods./v1 - -'],
    ['/api/v1/pods?watch=1&labelSelector=!!!',   'watch pods./v1 - -'],
    ['/api/v1/pods/x?watch=1',                   'get pods./v1 - x'],
    ['/api/v1/pods/x/log?watch=1',               'get pods/log./v1 - x'],
    ['POST /api/v1/pods?watch=1',                'create pods./v1 - -'],
    ['DELETE /api/v1/pods?watch=1',              'deletecollection pods./v1 - -'],
    ['/version?watch=1',                         'get /version'],
    ['/api/v1/pods?watch=%E2%84%AA',             '400 watch must be true or false'],
    ['/api/v1/pods?watch=fal%C5%BFe',            '400 watch must be true or false'],
    ['/api/v1/pods?watch=fal%C5%BFe&limit=x',    '400 watch must be true or false'],
    ['/api/v1/pods?watch=%00',                   '400 watch must be true or false'],
    ['/api/v1/pods?watch=%0a',                   '400 watch must be true or false'],
    ['/api/v1/pods/x?watch=%0a',                 'get pods./v1 - x'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

const NAMED = 'must be terms such as metadata.name=x'

// biome-ignore format: a table
describe('a list of one name (11.6, B10)', () => {
  const selector = (text: string) => `/api/v1/pods?fieldSelector=${encodeURIComponent(text)}`
  test.each(rows([
    ...([
      ['metadata.name=x',                         'x'],
      ['metadata.name==x',                        'x'],
      ['metadata.namespace=a,metadata.name=x',    'x'],
      ['metadata.name=x,metadata.namespace=a',    'x'],
      [',metadata.name=x,',                       'x'],
      ['metadata.name!=y,metadata.name=x',        'x'],
      ['metadata.name= x',                        ' x'],
      ['metadata.name=!x',                        '!x'],
      ['metadata.name=a\\,b',                     'a,b'],
      ['metadata.name=a\\=b',                     'a=b'],
      ['metadata.name=a\\\\b',                    'a\\b'],
      ['metadata.name=a\\,metadata.name\\=b',     'a,metadata.name=b'],
      ['metadata.name=é',                         'é'],
      ['metadata.name=x,=',                       'x'],
      ['metadata.name=',                          '-'],
      ['metadata.name!=x',                        '-'],
      ['metadata.name=.',                         '-'],
      ['metadata.name=..',                        '-'],
      ['metadata.name=a/b',                       '-'],
      ['metadata.name=a%b',                       '-'],
      [' metadata.name=x',                        '-'],
      ['metadata.name =x',                        '-'],
      ['Metadata.Name=x',                         '-'],
      ['metadata\\.name=x',                       '-'],
      ['spec.nodeName=x',                         '-'],
      ['a\\,metadata.name=x',                     '-'],
      ['=',                                       '-'],
      [',',                                       '-'],
      ['',                                        '-'],
    ] satisfies Row[]).map(([text, name]): Row => [selector(text), `list pods./v1 - ${name}`]),
    ...['metadata.name', 'metadata.name=x,y', 'metadata.name=a=b', 'metadata.name===x', 'metadata.name=a\\b', 'metadata.name=a\\', '\\', 'a!b', 'metadata.name=x,a=\\n']
      .map((text): Row => [selector(text), `400 fieldSelector ${NAMED}`]),
    ...['metadata.name=x,metadata.name=y', 'metadata.name=x,metadata.name==x', 'metadata.name=,metadata.name=x']
      .map((text): Row => [selector(text), '400 fieldSelector must have metadata.name once']),
    ['/api/v1/namespaces/a/pods?watch=1&fieldSelector=metadata.name%3Dx', 'watch pods./v1 a x'],
    ['/api/v1/namespaces/a/pods?watch=1&fieldSelector=metadata.name=x',   'watch pods./v1 a x'],
    ['HEAD /api/v1/pods?fieldSelector=metadata.name%3Dx',                 'list pods./v1 - x'],
    ['/api/v1/namespaces?fieldSelector=metadata.name%3Dx',                'list namespaces./v1 - x'],
    ['/api/v1/pods?fieldselector=metadata.name%3Dx',                      'list pods./v1 - -'],
    ['/api/v1/pods/y?fieldSelector=metadata.name%3Dx',                    'get pods./v1 - y'],
    ['/api/v1/pods/y?fieldSelector=metadata.name',                        'get pods./v1 - y'],
    ['DELETE /api/v1/pods?fieldSelector=metadata.name%3Dx',               'deletecollection pods./v1 - -'],
    ['POST /api/v1/pods?fieldSelector=metadata.name%3Dx',                 'create pods./v1 - -'],
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})

// biome-ignore format: a table
describe('a list of one name, with parameters that the API server must be able to read (11.6)', () => {
  const one = (query: string) => `/api/v1/pods?fieldSelector=metadata.name%3Dx&${query}`
  const labels = (text: string) => one(`labelSelector=${encodeURIComponent(text)}`)
  test.each(rows([
    ...['limit=500', 'limit=0', 'limit=-1', 'limit=%2b5', 'limit=000', 'timeoutSeconds=30', 'resourceVersion=x', 'continue=x', 'sendInitialEvents=x', 'toString=x', '__proto__=x',
      'labelSelector', 'labelSelector=', 'labelSelector=+'].map((query): Row => [one(query), 'list pods./v1 - x']),
    ...['a', '!a', '! a', 'a=b', 'a==b', 'a!=b', 'a=', ' a = b ', 'a,!b,c=d', 'a in (b,c)', 'a in(b)', 'a\tnotin\n( b , c )', 'a in ()', 'a in (,)', 'a in (,b,)', 'a>5', 'a < 5', 'x.y/z=1', 'in in (in)', 'notin',
      `${'a'.repeat(63)}=${'b'.repeat(63)}`, 'a in (b),c=d'].map((text): Row => [labels(text), 'list pods./v1 - x']),
    ...['limit', 'limit=', 'limit=x', 'limit=1.5', 'limit=1_0', 'limit=0x1', 'limit=+1', 'limit=9223372036854775808', 'limit=%E0%A5%A7']
      .map((query): Row => [one(query), "400 parameter limit cannot be read"]),
    [one('timeoutSeconds=x'), "400 parameter timeoutSeconds cannot be read"],
    ...['a=b=c', 'a in b', 'a in (b', 'ain (b)', 'a,', ',a', 'a,,b', '-a', 'a=-b', 'a=b c', 'a b', '(a)', '!a=b', '!!a', 'a!', 'a>x', 'a>-5', 'a=>b', 'é', 'a=é', 'X.y/z', '/a', 'a/', 'a/b/c', 'a..b/c', 'a-/b', 'a'.repeat(64),
      `a=${'b'.repeat(64)}`, `${'a'.repeat(254)}/b`, '\0', 'a\u00a0=b', '\u00a0', 'a in (b c)', 'a in ((b))', ')']
      .map((text): Row => [labels(text), "400 parameter labelSelector cannot be read"]),
  ]))('$sent is $is', ({ sent, is }) => expect(requestInfoLine(sent)).toBe(is))
})
