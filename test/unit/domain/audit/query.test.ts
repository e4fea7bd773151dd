// Questions to the audit log: which parameters are accepted, and which events a question means (contract 22.4).
import { describe, expect, test } from 'vitest'
import { type EventPosition, encodeContinue } from '../../../../src/domain/audit/continue-token.ts'
import { eventFieldsOf } from '../../../../src/domain/audit/event-fields.ts'
import {
  type AuditQuery,
  matchesQuery,
  parseAuditQuery,
} from '../../../../src/domain/audit/query.ts'
import { type BuiltEvent, auditEvent } from '../../../support/audit-event-builder.ts'

const NOW = Date.parse('2026-11-28T13:00:00.000Z')
const HOUR_MS = 3_600_000

/** The parameters of the query of a URL. */
const parametersOf = (query: string) => [...new URLSearchParams(query)]

const parse = (query: string, nowMs = NOW) => parseAuditQuery(parametersOf(query), nowMs)

function queryOf(text: string, nowMs = NOW): AuditQuery {
  const parsed = parse(text, nowMs)
  if (parsed.kind === 'malformed') throw new Error(parsed.fault)
  return parsed.query
}

function faultOf(text: string, nowMs = NOW): string {
  const parsed = parse(text, nowMs)
  return parsed.kind === 'malformed' ? parsed.fault : 'no fault'
}

const means = (text: string, event: BuiltEvent): boolean => {
  const fields = eventFieldsOf(event)
  if (fields === null) throw new Error('no event')
  return matchesQuery(fields, queryOf(text))
}

const ANNOTATIONS = {
  'platform.sh/target': 'Cluster',
  'platform.sh/cluster': 'east',
  'platform.sh/project': 'web',
  'platform.sh/access-key': 'ci',
  'platform.sh/key-id': 'k1',
  'platform.sh/source': 'agent:east',
}
const EVENT = auditEvent({
  auditID: 'a-1',
  annotations: ANNOTATIONS,
  objectRef: {
    resource: 'pods',
    subresource: 'log',
    namespace: 'shop',
    name: 'web-0',
    apiVersion: 'v1',
  },
  responseStatus: { metadata: {}, code: 403 },
})
const HEALTH = auditEvent({
  objectRef: undefined,
  annotations: undefined,
  responseStatus: undefined,
})

describe('a filter is exact (22.4)', () => {
  // biome-ignore format: a table
  test.each([
    { filter: 'user', value: 'ada', others: ['Ada', 'ad', 'adam', 'system:authenticated'] },
    { filter: 'key', value: 'ci', others: ['c', 'CI', 'k'] },
    { filter: 'key', value: 'k1', others: ['k', 'k12'] },
    { filter: 'verb', value: 'get', others: ['list', 'GET'] },
    { filter: 'target', value: 'Cluster', others: ['Management', 'ProjectSpace', 'ProjectVirtualCluster'] },
    { filter: 'cluster', value: 'east', others: ['west', 'eas', '*'] },
    { filter: 'project', value: 'web', others: ['we', 'east'] },
    { filter: 'namespace', value: 'shop', others: ['', 'sho', '*'] },
    { filter: 'group', value: '', others: ['apps', '*'] },
    { filter: 'resource', value: 'pods/log', others: ['pods', 'pods/exec', 'pods/*', 'log'] },
    { filter: 'name', value: 'web-0', others: ['web', 'web-1'] },
    { filter: 'code', value: '403', others: ['404', '200'] },
    { filter: 'code', value: '4xx', others: ['2xx', '3xx', '5xx'] },
    { filter: 'stage', value: 'ResponseComplete', others: ['ResponseStarted', 'RequestReceived', 'Panic'] },
    { filter: 'auditID', value: 'a-1', others: ['a-', 'a-10'] },
    { filter: 'source', value: 'agent:east', others: ['agent:west', 'agent', 'gateway-0'] },
    { filter: 'since', value: '2026-11-28T12:00:00.250Z', others: ['2026-11-28T12:00:00.251Z', '30m', '0'] },
    { filter: 'until', value: '2026-11-28T12:00:00.251Z', others: ['2026-11-28T12:00:00.250Z', '1h1m'] },
  ])('$filter=$value', ({ filter, value, others }) => {
    const asked = (text: string): string => new URLSearchParams([[filter, text]]).toString()
    expect(means(asked(value), EVENT)).toBe(true)
    for (const other of others) expect({ other, means: means(asked(other), EVENT) }).toEqual({ other, means: false })
  })

  test.each(['key=ci', 'target=Cluster', 'namespace=', 'group=', 'resource=pods', 'code=2xx'])(
    '%s does not mean an event without that field (22.4)',
    (text) => {
      expect(means(text, HEALTH)).toBe(false)
      expect(means('', HEALTH)).toBe(true)
    },
  )

  test('an empty namespace means objects outside of namespaces, an empty group the core group (22.4)', () => {
    const node = auditEvent({ objectRef: { resource: 'nodes', name: 'n1', apiVersion: 'v1' } })
    const deployment = auditEvent({
      objectRef: { resource: 'deployments', apiGroup: 'apps', namespace: 'shop', apiVersion: 'v1' },
    })
    expect(means('namespace=', node)).toBe(true)
    expect(means('namespace=', deployment)).toBe(false)
    expect(means('group=', node)).toBe(true)
    expect(means('group=', deployment)).toBe(false)
    expect(means('group=apps', deployment)).toBe(true)
  })

  test('filters are joined by and (22.4)', () => {
    expect(means('user=ada&verb=get&code=4xx&key=ci&cluster=east', EVENT)).toBe(true)
    for (const wrong of ['user=bob&verb=get', 'user=ada&verb=list', 'user=ada&code=2xx'])
      expect(means(wrong, EVENT)).toBe(false)
  })

  test.each(['100', '199', '200', '299', '404', '500', '599'])(
    'the class of %s has it, and no other class does (22.4)',
    (code) => {
      const event = auditEvent({ responseStatus: { code: Number(code) } })
      const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'].filter((one) =>
        means(`code=${one}`, event),
      )
      expect(classes).toEqual([`${code[0]}xx`])
    },
  )
})

describe('times (22.4)', () => {
  // biome-ignore format: a table
  test.each([
    { text: '24h', ms: NOW - 24 * HOUR_MS },
    { text: '1h30m', ms: NOW - 1.5 * HOUR_MS },
    { text: '168h', ms: NOW - 168 * HOUR_MS },
    { text: '1.5s', ms: NOW - 1500 },
    { text: '0.5ms', ms: NOW - 1 },
    { text: '0', ms: NOW },
    { text: '2026-11-28T12:00:00Z', ms: NOW - HOUR_MS },
    { text: '2026-11-28T13:00:00+01:00', ms: NOW - HOUR_MS },
    { text: '2026-11-28T12:00:00.123456Z', ms: NOW - HOUR_MS + 123 },
  ])('$text is a time', ({ text, ms }) => {
    const encoded = encodeURIComponent(text)
    expect(queryOf(`since=${encoded}`).interval).toEqual({ sinceMs: ms, untilMs: null })
    expect(queryOf(`until=${encoded}`).interval).toEqual({ sinceMs: null, untilMs: ms })
  })

  test.each([
    '',
    ' ',
    '24',
    '7d',
    '-5m',
    '1h ',
    'yesterday',
    '2026-11-28',
    '2026-02-30T00:00:00Z',
    '1764334800',
    '2600000h',
  ])('%j is none, and says what is', (text) => {
    for (const filter of ['since', 'until'])
      expect(faultOf(`${filter}=${encodeURIComponent(text)}`)).toContain(
        `${filter} is ${JSON.stringify(text)}, accepted is an RFC 3339 time, or a duration ago such as`,
      )
  })

  test('an interval that holds nothing is a fault', () => {
    for (const text of ['since=1h&until=2h', 'since=1h&until=1h'])
      expect(faultOf(text)).toBe('since is not before until')
    expect(queryOf('since=2h&until=1h').interval.untilMs).toBe(NOW - HOUR_MS)
  })
})

describe('faults (22.4)', () => {
  const ALL =
    'the filters are since, until, user, key, verb, target, cluster, project, namespace, group, resource, name, code, stage, auditID, source, body, limit, continue, each at most once'

  // biome-ignore format: a table
  test.each([
    { text: 'usr=ada', says: '"usr" is not a filter, did you mean user?' },
    { text: 'User=ada', says: '"User" is not a filter, did you mean user?' },
    { text: 'auditid=1', says: '"auditid" is not a filter, did you mean auditID?' },
    { text: 'fieldSelector=x', says: '"fieldSelector" is not a filter;' },
    { text: '__proto__=x', says: '"__proto__" is not a filter;' },
    { text: 'constructor=x', says: '"constructor" is not a filter;' },
    { text: '=x', says: '"" is not a filter;' },
    { text: 'user=ada&user=bob', says: 'user is given twice' },
    { text: 'user=ada&user=ada', says: 'user is given twice' },
    { text: 'user=', says: 'user is "", accepted is a user name' },
    { text: 'user=a%00b', says: 'user is "a\\u0000b"' },
    { text: 'name=a%0Ab', says: 'name is "a\\nb"' },
    { text: 'key=', says: 'key is ""' },
    { text: 'target=cluster', says: 'target is "cluster", accepted is one of Management, Cluster, ProjectVirtualCluster, ProjectSpace' },
    { text: 'stage=Complete', says: 'stage is "Complete", accepted is one of RequestReceived, ResponseStarted, ResponseComplete, Panic' },
    { text: 'code=40', says: 'code is "40", accepted is a status code such as 403, or a class of them such as 4xx' },
    { text: 'code=4XX', says: 'code is "4XX"' },
    { text: 'code=40x', says: 'code is "40x"' },
    { text: 'code=0xx', says: 'code is "0xx"' },
    { text: 'code=600', says: 'code is "600"' },
    { text: 'body=no', says: 'body is "no", accepted is one of true, false' },
    { text: 'limit=0', says: 'limit is "0", accepted is a whole number from 1 to 1000' },
    { text: 'limit=1001', says: 'limit is "1001"' },
    { text: 'limit=-1', says: 'limit is "-1"' },
    { text: 'limit=1e2', says: 'limit is "1e2"' },
    { text: 'limit=01', says: 'limit is "01"' },
    { text: 'continue=', says: 'continue is "", accepted is metadata.continue of an answer to the same filters' },
    { text: 'continue=abc', says: 'continue is "abc"' },
  ])('$text is refused, and the message names all filters', ({ text, says }) => {
    expect(faultOf(text)).toContain(says)
    expect(faultOf(text)).toContain(ALL)
  })

  test('a text of 1,025 characters is refused, one of 1,024 is not', () => {
    expect(faultOf(`user=${'a'.repeat(1025)}`)).toContain('user is "aaaa')
    expect(queryOf(`user=${'a'.repeat(1024)}`).exact.size).toBe(1)
  })

  test('all faults are named at once, each once (22.4)', () => {
    const fault = faultOf('usr=x&user=a&user=b&user=c&limit=x&since=x&code=x')
    const parts = fault.split('; ')
    expect(parts).toHaveLength(6)
    expect(parts.map((part) => part.split(' ')[0])).toEqual([
      '"usr"',
      'user',
      'limit',
      'since',
      'code',
      'the',
    ])
  })

  test('a fault of thousands of parameters is a short message (22.4)', () => {
    const many = Array.from({ length: 5000 }, (_, at) => `x${at}=1`).join('&')
    expect(faultOf(many).length).toBeLessThan(2000)
    expect(faultOf(many)).toContain('; and more; ')
    const repeated = Array.from({ length: 5000 }, () => 'user=ada').join('&')
    expect(faultOf(`${repeated}&late=1`)).toContain('user is given twice; the filters are')
  })

  test('a repeated filter is refused where one of its texts is malformed too (22.4)', () => {
    expect(faultOf('limit=1&limit=x')).toMatch(/^limit is given twice; limit is "x"/)
  })

  test('no credential is repeated in a message, and a key is no filter for itself (21.4, 22.4)', () => {
    const key = `pak_${'a1B'.repeat(14)}c_d2E3f4`
    for (const text of [`key=${key}`, `since=${key}`, `${key}=x`]) {
      expect(faultOf(text)).toContain('<hidden>')
      expect(faultOf(text)).not.toContain('a1Ba1B')
    }
    expect(faultOf(`key=${key}`)).toContain('never the key itself')
  })
})

test('a question without filters means the newest 100 events, with bodies (22.4)', () => {
  expect(queryOf('')).toEqual({
    interval: { sinceMs: null, untilMs: null },
    exact: new Map(),
    key: null,
    code: null,
    hasBodies: true,
    limit: 100,
    after: null,
    filters: queryOf('').filters,
  })
  expect(queryOf('body=false&limit=1000')).toMatchObject({ hasBodies: false, limit: 1000 })
  expect(queryOf('body=true').hasBodies).toBe(true)
})

describe('continue (22.4)', () => {
  const POSITION: EventPosition = { stageTimeMs: NOW - 5, id: 41, snapshotId: 97, store: '' }
  const tokenOf = ({ filters, interval }: AuditQuery, position = POSITION): string =>
    encodeContinue({ filters, interval, position })

  test('goes on where the page ended, whatever the order of the filters', () => {
    const token = tokenOf(queryOf('user=ada&since=24h&code=4xx'))
    expect(token).toMatch(/^[\w-]+$/)
    const next = queryOf(`code=4xx&continue=${token}&since=24h&user=ada`)
    expect(next.after).toEqual(POSITION)
  })

  test('keeps the interval of the first page, however much later the next one is asked for', () => {
    const first = queryOf('since=1h&until=1m')
    const next = queryOf(`since=1h&until=1m&continue=${tokenOf(first)}`, NOW + 10 * HOUR_MS)
    expect(next.interval).toEqual(first.interval)
    const fixed = queryOf('since=1h&until=2026-11-28T12:30:00Z')
    const later = `since=1h&until=2026-11-28T12:30:00Z&continue=${tokenOf(fixed)}`
    expect(queryOf(later, NOW + 10 * HOUR_MS).interval).toEqual(fixed.interval)
  })

  test('limit and body may differ from page to page', () => {
    const token = tokenOf(queryOf('user=ada&limit=10&body=false'))
    expect(queryOf(`user=ada&limit=3&continue=${token}`)).toMatchObject({
      limit: 3,
      after: POSITION,
    })
  })

  test.each([
    '',
    'user=bob',
    'user=ada&verb=get',
    'verb=ada',
    'user=ada&since=24h',
    'user=ada&code=4xx',
    'user=ada&namespace=',
  ])('of user=ada is refused for %j', (other) => {
    const token = tokenOf(queryOf('user=ada'))
    expect(faultOf(`${other}&continue=${token}`)).toBe(
      'continue is of other filters: ask for each page with the same',
    )
  })

  test('of another duration is refused, though it is the same time', () => {
    const token = tokenOf(queryOf('since=60m'))
    expect(faultOf(`since=1h&continue=${token}`)).toContain('continue is of other filters')
  })
})
