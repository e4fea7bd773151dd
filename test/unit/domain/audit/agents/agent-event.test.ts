// Events of agents, rebuilt (contract 23.2): what an event may say, what is left out or hidden, and what is refused.
import { describe, expect, test } from 'vitest'
import { agentEventOf } from '../../../../../src/domain/audit/agents/agent-event.ts'
import { generateKey } from '../../../../../src/issuance/new-object.ts'
import { auditEvent, type BuiltEvent } from '../../../../support/audit-event-builder.ts'
import { tokenText } from '../../../../support/token-builder.ts'

const KEY = generateKey()
const JWT = tokenText({ sub: 'ada', exp: 1_900_000_000 })
const PLAIN = 'hunter2-canary'
const ARRIVED_MS = Date.parse('2026-11-28T12:00:10Z')
const SOURCE = { cluster: 'east', arrivedMs: ARRIVED_MS }
const EVENT = auditEvent()

const readOf = (event: unknown) => agentEventOf(JSON.stringify(event), SOURCE)

/** The event as the gateway writes it. @throws Error when it is refused */
function remade(fields: BuiltEvent): BuiltEvent {
  const read = readOf(auditEvent(fields))
  if ('fault' in read) throw new Error(read.fault)
  return { ...read.event }
}

const annotated = (annotations: Readonly<Record<string, string>>): unknown =>
  remade({ annotations })['annotations']

test('an event of a direct endpoint stays as it is, but for whose it is (23.2)', () => {
  const full = auditEvent({
    level: 'Request',
    user: {
      username: 'ada',
      groups: ['ops', 'system:authenticated'],
      extra: { 'platform.sh/access-key': ['ci'], 'platform.sh/token-id': ['j-1'] },
    },
    sourceIPs: ['192.0.2.7'],
    userAgent: 'kubectl/v1.36.3',
    objectRef: {
      resource: 'deployments',
      namespace: 'shop',
      name: 'web',
      apiGroup: 'apps',
      apiVersion: 'v1',
      subresource: 'scale',
    },
    responseStatus: {
      metadata: {},
      status: 'Failure',
      message: 'cannot',
      reason: 'Forbidden',
      code: 403,
    },
    annotations: {
      'platform.sh/target': 'Cluster',
      'platform.sh/cluster': 'east',
      'platform.sh/access-key': 'ci',
      'platform.sh/key-id': 'k1',
      'platform.sh/token-id': 'j-1',
      'platform.sh/forwarded-for': '198.51.100.7, 192.0.2.7',
      'platform.sh/decision': 'deny',
      'platform.sh/reason': 'scopeDenied',
      'platform.sh/end': 'client',
      'platform.sh/suppressed': '17',
      'platform.sh/request-omitted': 'size',
      'platform.sh/response-omitted': 'protobuf',
      'audit.k8s.io/truncated': 'true',
    },
  })
  const { annotations, ...rest } = full
  expect(remade(full)).toEqual({
    ...rest,
    annotations: { ...(annotations as object), 'platform.sh/source': 'agent:east' },
  })
})

test('an event of a project names its target too (21.3, 23.2)', () => {
  const inProject = {
    'platform.sh/target': 'ProjectVirtualCluster',
    'platform.sh/project': 'shop',
    'platform.sh/virtual-cluster': 'dev',
  }
  expect(annotated(inProject)).toEqual({ ...inProject, 'platform.sh/source': 'agent:east' })
  const inSpace = { 'platform.sh/target': 'ProjectSpace', 'platform.sh/space': 'web' }
  expect(annotated(inSpace)).toEqual({ ...inSpace, 'platform.sh/source': 'agent:east' })
})

describe('an agent that claims what is not its own (23.2)', () => {
  test('another cluster: the path decides', () => {
    const claimed = {
      'platform.sh/target': 'Cluster',
      'platform.sh/cluster': 'west',
      'platform.sh/source': 'agent:west',
    }
    expect(annotated(claimed)).toEqual({
      'platform.sh/target': 'Cluster',
      'platform.sh/cluster': 'east',
      'platform.sh/source': 'agent:east',
    })
  })

  test('a replica of the gateway, the management cluster, or a cluster for a request of none', () => {
    const claimed = {
      'platform.sh/target': 'Management',
      'platform.sh/cluster': 'west',
      'platform.sh/source': 'gateway-0',
    }
    expect(annotated(claimed)).toEqual({ 'platform.sh/source': 'agent:east' })
  })

  test.each([
    ['authorization.k8s.io/decision', 'allow'],
    ['platform.sh/sign-in-user', 'ada'],
    ['platform.sh/anything', 'x'],
    ['platform.sh/decision', 'allow'],
    ['platform.sh/end', 'a text'],
    ['platform.sh/suppressed', '-1'],
    ['platform.sh/request-omitted', 'a text'],
    ['audit.k8s.io/truncated', 'no'],
    ['constructor', 'x'],
    ['__proto__', 'x'],
  ])('an annotation that its gateway would not make: %s: %s', (name, text) => {
    const annotations = `{${JSON.stringify(name)}:${JSON.stringify(text)}}`
    const json = `{"annotations":${annotations},${JSON.stringify({ ...EVENT, annotations: undefined }).slice(1)}`
    const read = agentEventOf(json, SOURCE)
    expect('event' in read && read.event.annotations).toEqual({
      'platform.sh/source': 'agent:east',
    })
  })
})

test('fields that the schema of events does not have are left out (21.3, 23.2)', () => {
  const read = remade({
    impersonatedUser: { username: PLAIN },
    authenticationMetadata: { impersonationConstraint: PLAIN },
    metadata: { name: PLAIN },
    secret: PLAIN,
    user: { username: 'ada', uid: PLAIN, groups: [], extra: { scope: [PLAIN] }, more: PLAIN },
    objectRef: { ...(EVENT['objectRef'] as object), uid: PLAIN, resourceVersion: PLAIN },
    responseStatus: {
      metadata: { continue: PLAIN },
      code: 404,
      details: { name: PLAIN },
      x: PLAIN,
    },
  })
  expect(JSON.stringify(read)).not.toContain(PLAIN)
  expect(read).toEqual({
    ...EVENT,
    user: { username: 'ada', groups: [] },
    responseStatus: { metadata: {}, code: 404 },
    annotations: { ...(EVENT['annotations'] as object), 'platform.sh/source': 'agent:east' },
  })
})

describe('credentials are hidden in every text (21.4)', () => {
  const both = `a ${KEY} b ${JWT} c`
  // biome-ignore format: a table
  test.each<{ name: string; fields: BuiltEvent }>([
    { name: 'requestURI', fields: { requestURI: `/api?token=${KEY}&jwt=${JWT}` } },
    { name: 'requestURI, percent-encoded', fields: { requestURI: `/api?token=${KEY.replaceAll('a', '%61')}&x=%65yJ${JWT.slice(3)}` } },
    { name: 'verb', fields: { verb: KEY } },
    { name: 'user', fields: { user: { username: both, groups: [both], extra: { 'platform.sh/access-key': [both] } } } },
    { name: 'sourceIPs', fields: { sourceIPs: [both, both] } },
    { name: 'userAgent', fields: { userAgent: both } },
    { name: 'objectRef', fields: { objectRef: { resource: KEY, namespace: KEY, name: JWT, apiGroup: KEY, apiVersion: JWT, subresource: KEY } } },
    { name: 'responseStatus', fields: { level: 'Request', objectRef: { resource: 'pods', apiVersion: 'v1' }, responseStatus: { code: 422, status: both, reason: both, message: both } } },
    { name: 'annotations', fields: { annotations: Object.fromEntries(['project', 'space', 'virtual-cluster', 'access-key', 'key-id', 'token-id', 'reason', 'forwarded-for', 'end', 'target', 'cluster'].map((name) => [`platform.sh/${name}`, both])) } },
  ])('$name', ({ fields }) => {
    const text = JSON.stringify(remade(fields))
    for (const canary of [KEY, JWT, KEY.slice(4, 40), JWT.slice(3, 30)])
      expect(text).not.toContain(canary)
    expect(text).toContain('<hidden>')
  })

  test('a user agent is cut after 1,024 characters, once, and a forwarded-for too', () => {
    const cut = `${'a'.repeat(1024)}...TRUNCATED`
    expect(remade({ userAgent: 'a'.repeat(5000) })['userAgent']).toBe(cut)
    expect(remade({ userAgent: cut })['userAgent']).toBe(cut)
    const forwarded = annotated({ 'platform.sh/forwarded-for': '1'.repeat(5000) })
    expect(forwarded).toMatchObject({ 'platform.sh/forwarded-for': '1'.repeat(1024) })
  })

  test('what follows proxy in a path has no query', () => {
    const objectRef = { resource: 'services', name: 'web', apiVersion: 'v1', subresource: 'proxy' }
    const requestURI = '/api/v1/namespaces/n/services/web/proxy/?password=x?y\n&z'
    expect(remade({ requestURI, objectRef })['requestURI']).toBe(
      '/api/v1/namespaces/n/services/web/proxy/',
    )
    expect(remade({ requestURI: `${requestURI};`, objectRef: null })['requestURI']).toBe(
      '/api/v1/namespaces/n/services/web/proxy/',
    )
  })
})

describe('the message of a failure (21.3, 23.2)', () => {
  const quoted = `Deployment "web" is invalid: ${PLAIN}`
  const secrets = EVENT['objectRef'] as object
  const pods = { resource: 'pods', apiVersion: 'v1' }
  const deny = { 'platform.sh/decision': 'deny' }

  // biome-ignore format: a table
  test.each([
    { name: 'at Metadata may quote an object', level: 'Metadata', code: 422, objectRef: pods, annotations: {}, isKept: false },
    { name: 'at Request is kept', level: 'Request', code: 422, objectRef: pods, annotations: {}, isKept: true },
    { name: 'of a code that quotes none', level: 'Metadata', code: 403, objectRef: pods, annotations: {}, isKept: true },
    { name: 'of the agent itself', level: 'Metadata', code: 503, objectRef: pods, annotations: deny, isKept: true },
    { name: 'about a Secret', level: 'RequestResponse', code: 422, objectRef: secrets, annotations: {}, isKept: false },
    { name: 'about a Secret, said to be of the agent itself', level: 'RequestResponse', code: 422, objectRef: secrets, annotations: deny, isKept: false },
    { name: 'of a success', level: 'RequestResponse', code: 200, objectRef: pods, annotations: {}, isKept: false },
  ])('$name', ({ level, code, objectRef, annotations, isKept }) => {
    const responseStatus = { metadata: {}, status: 'Failure', reason: 'Invalid', message: quoted, code }
    const read = remade({ level, objectRef, annotations, responseStatus })
    expect(JSON.stringify(read).includes(PLAIN)).toBe(isKept)
    expect(read['responseStatus']).toMatchObject({ code })
  })
})

describe('bodies come with the level and the kind (21.4)', () => {
  const bodies = { requestObject: { a: 1 }, responseObject: { b: 2 } }

  test.each([
    { level: 'Metadata', request: null, response: null },
    { level: 'Request', request: '{"a":1}', response: null },
    { level: 'RequestResponse', request: '{"a":1}', response: '{"b":2}' },
  ])('$level', ({ level, request, response }) => {
    const read = readOf(auditEvent({ level, ...bodies }))
    expect(
      'event' in read && [read.requestBody?.json ?? null, read.responseBody?.json ?? null],
    ).toEqual([request, response])
  })

  test('with the code of the answer, numbers as they were sent', () => {
    const json = JSON.stringify(auditEvent({ level: 'RequestResponse' }))
    const read = agentEventOf(
      `${json.slice(0, -1)},"requestObject":{"n":1.10e2},"responseObject":null}`,
      SOURCE,
    )
    expect(read).toMatchObject({
      requestBody: { json: '{"n":1.10e2}', code: null },
      responseBody: null,
      request: { resource: 'secrets', namespace: 'shop', name: 'db', group: '', verb: 'get' },
    })
  })
})

describe('times (21.3, 23.2)', () => {
  test.each([
    { sent: '2026-11-28T12:00:00.123456Z', written: '2026-11-28T12:00:00.123456Z' },
    { sent: '2026-11-28T14:00:00.5+02:00', written: '2026-11-28T12:00:00.500000Z' },
    { sent: '2026-11-29T12:00:10Z', written: '2026-11-29T12:00:10.000000Z' },
  ])('$sent is $written', ({ sent, written }) => {
    const read = readOf(auditEvent({ stageTimestamp: sent, requestReceivedTimestamp: sent }))
    expect(read).toMatchObject({
      event: { stageTimestamp: written, requestReceivedTimestamp: written },
      stageTimeMs: Date.parse(written),
    })
  })
})

describe('an event with a fault is refused, and nothing of it is quoted (23.2)', () => {
  const without = (field: string): unknown => ({ ...EVENT, [field]: undefined })

  // biome-ignore format: a table
  test.each<{ name: string; event: unknown; fault: string }>([
    { name: 'a text', event: PLAIN, fault: 'it is not a JSON object of' },
    { name: 'a list', event: [EVENT], fault: 'it is not a JSON object of' },
    { name: 'null', event: null, fault: 'it is not a JSON object of' },
    { name: 'an event that is long without bodies', event: { ...EVENT, more: PLAIN.repeat(10_000) }, fault: 'it is not a JSON object of at most 131072 characters' },
    { name: 'another kind', event: auditEvent({ kind: PLAIN }), fault: 'it is not an Event of audit.k8s.io/v1' },
    { name: 'another version', event: auditEvent({ apiVersion: 'audit.k8s.io/v1beta1' }), fault: 'it is not an Event of audit.k8s.io/v1' },
    { name: 'no level', event: without('level'), fault: 'level is none of Metadata, Request, RequestResponse' },
    { name: 'an unknown level', event: auditEvent({ level: PLAIN }), fault: 'level is none of Metadata, Request, RequestResponse' },
    { name: 'level None', event: auditEvent({ level: 'None' }), fault: 'level is none of Metadata, Request, RequestResponse' },
    { name: 'no auditID', event: without('auditID'), fault: 'auditID is not a UUID in lower case' },
    { name: 'an auditID of another form', event: auditEvent({ auditID: PLAIN }), fault: 'auditID is not a UUID in lower case' },
    { name: 'an auditID in upper case', event: auditEvent({ auditID: 'B4F1D7C2-0000-4000-8000-000000000001' }), fault: 'auditID is not a UUID in lower case' },
    { name: 'no stage', event: without('stage'), fault: 'stage is none of RequestReceived, ResponseStarted, ResponseComplete, Panic' },
    { name: 'an unknown stage', event: auditEvent({ stage: PLAIN }), fault: 'stage is none of RequestReceived, ResponseStarted, ResponseComplete, Panic' },
    { name: 'no requestURI', event: without('requestURI'), fault: 'requestURI is missing, or is not a text' },
    { name: 'an empty requestURI', event: auditEvent({ requestURI: '' }), fault: 'requestURI is missing, or is not a text' },
    { name: 'no verb', event: without('verb'), fault: 'verb is missing, or is not a text' },
    { name: 'a verb that is a number', event: auditEvent({ verb: 7 }), fault: 'verb is missing, or is not a text' },
    { name: 'no user', event: without('user'), fault: 'user has no username' },
    { name: 'a user that is a text', event: auditEvent({ user: PLAIN }), fault: 'user has no username' },
    { name: 'a user without a name', event: auditEvent({ user: { username: '' } }), fault: 'user has no username' },
    { name: 'groups that are a text', event: auditEvent({ user: { username: 'a', groups: PLAIN } }), fault: 'user.groups is not a list of texts' },
    { name: 'a group that is a list', event: auditEvent({ user: { username: 'a', groups: [[PLAIN]] } }), fault: 'user.groups is not a list of texts' },
    { name: 'an extra that is a text', event: auditEvent({ user: { username: 'a', extra: { a: PLAIN } } }), fault: 'user.extra is not a map of lists of texts' },
    { name: 'sourceIPs that are a text', event: auditEvent({ sourceIPs: PLAIN }), fault: 'sourceIPs is not a list of texts' },
    { name: 'a userAgent that is an object', event: auditEvent({ userAgent: {} }), fault: 'userAgent is not a text' },
    { name: 'an objectRef that is a list', event: auditEvent({ objectRef: [PLAIN] }), fault: 'objectRef has no resource' },
    { name: 'an objectRef without a resource', event: auditEvent({ objectRef: { name: PLAIN } }), fault: 'objectRef has no resource' },
    { name: 'an objectRef with a number', event: auditEvent({ objectRef: { resource: 'a', name: 7 } }), fault: 'objectRef.name is not a text' },
    { name: 'a responseStatus that is a text', event: auditEvent({ responseStatus: PLAIN }), fault: 'responseStatus.code is not a code from 100 to 599' },
    { name: 'a responseStatus without a code', event: auditEvent({ responseStatus: { message: PLAIN } }), fault: 'responseStatus.code is not a code from 100 to 599' },
    { name: 'a code that is a text', event: auditEvent({ responseStatus: { code: '200' } }), fault: 'responseStatus.code is not a code from 100 to 599' },
    { name: 'a code beyond those of HTTP', event: auditEvent({ responseStatus: { code: 1e9 } }), fault: 'responseStatus.code is not a code from 100 to 599' },
    { name: 'a message that is an object', event: auditEvent({ responseStatus: { code: 403, message: { a: PLAIN } } }), fault: 'responseStatus.message is not a text' },
    { name: 'no time of receipt', event: without('requestReceivedTimestamp'), fault: 'requestReceivedTimestamp is not a time of RFC 3339' },
    { name: 'a time that is a number', event: auditEvent({ stageTimestamp: 7 }), fault: 'stageTimestamp is not a time of RFC 3339' },
    { name: 'a time that is none', event: auditEvent({ stageTimestamp: '2026-02-30T00:00:00Z' }), fault: 'stageTimestamp is not a time of RFC 3339' },
    { name: 'a time of the far future', event: auditEvent({ stageTimestamp: '2026-11-29T12:00:11Z' }), fault: 'stageTimestamp is more than a day ahead of the clock of the gateway' },
    { name: 'annotations that are a list', event: auditEvent({ annotations: [PLAIN] }), fault: 'annotations is not a map of texts' },
    { name: 'an annotation that is a number', event: auditEvent({ annotations: { a: 7 } }), fault: 'annotations is not a map of texts' },
  ])('$name', ({ event, fault }) => {
    const read = readOf(event)
    expect(read).toEqual({ fault: expect.stringContaining(fault) })
    expect(JSON.stringify(read)).not.toContain(PLAIN)
  })

  test('a text between the bodies that breaks JSON', () => {
    const json = JSON.stringify(EVENT)
    for (const text of [
      '',
      json.slice(0, -1),
      `${json}}`,
      json.replace(',', ' '),
      `${json.slice(0, -1)},"a":NaN}`,
    ])
      expect(agentEventOf(text, SOURCE)).toMatchObject({ fault: expect.stringContaining('JSON') })
  })

  test('null is as good as absent, and so are the kind and the version of a list (23.1)', () => {
    const optional = ['sourceIPs', 'userAgent', 'objectRef', 'responseStatus', 'annotations']
    const nulls = Object.fromEntries([...optional, 'kind', 'apiVersion'].map((one) => [one, null]))
    const { objectRef: _, responseStatus: __, ...rest } = EVENT
    expect(remade(nulls)).toEqual({ ...rest, annotations: { 'platform.sh/source': 'agent:east' } })
  })
})
