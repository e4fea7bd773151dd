import { expect, test, vi } from 'vitest'
import type { AuditPolicyRule } from '../../../../src/api/config.gen.ts'
import type { DeliveryEnd } from '../../../../src/serving/http/delivery.ts'
import type { HttpRequest } from '../../../../src/serving/http/request.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'
import {
  CRASHING,
  METADATA,
  OWN_KEYS,
  PODS,
  auditedGateway,
  refusedAs,
  t0,
} from './audited-gateway.ts'
import { type WrittenEvent, memoryAudit } from './memory-audit.ts'

/** The same, after one request. */
async function recorded(
  target: string,
  {
    rules,
    call = {},
    ...given
  }: {
    readonly rules?: readonly AuditPolicyRule[]
    readonly call?: Partial<HttpRequest>
  } & Partial<GatewayHandlerOptions> = {},
) {
  const at = auditedGateway(rules, given)
  const answer = await at.respond(callTo(target, call))
  answer.ended?.('complete')
  return { ...at, answer }
}

test('an event of a request says who asked for what, from where and by which key (21.3)', async () => {
  const { events } = await recorded(`${PODS}/web?pretty=1`, {
    call: { method: 'DELETE', headers: { 'user-agent': 'kubectl/v1.36' } },
  })
  expect(events()).toEqual([
    {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      stage: 'RequestReceived',
      auditID: '00000000-0000-4000-8000-000000000001',
      requestURI: `${PODS}/web?pretty=1`,
      verb: 'delete',
      user: {
        username: 'ada',
        groups: [],
        extra: { 'platform.sh/access-key': ['ci'] },
      },
      sourceIPs: ['192.0.2.1'],
      userAgent: 'kubectl/v1.36',
      objectRef: { resource: 'pods', namespace: 'shop', name: 'web', apiVersion: 'v1' },
      requestReceivedTimestamp: '2026-11-28T10:00:00.000000Z',
      stageTimestamp: '2026-11-28T10:00:00.000000Z',
      annotations: {
        'platform.sh/target': 'Management',
        'platform.sh/access-key': 'ci',
        'platform.sh/key-id': '5e318f8cf9cbe249',
      },
    },
    expect.objectContaining({
      stage: 'ResponseComplete',
      responseStatus: { metadata: {}, code: 200 },
    }),
  ])
})

const WEB = '/kubernetes/management/api/v1/namespaces/shop/services'

test.each([
  { name: 'a request to it', path: `${WEB}/web/proxy/login` },
  { name: 'one with an escape in its name', path: `${WEB}/web%3A80/proxy/login` },
  { name: 'a query that is refused', path: `${WEB}/web%3A80/proxy/login`, query: ';' },
  { name: 'a path that is refused', path: `${WEB}/web/proxy/%zz` },
  { name: 'an escape in proxy', path: `${WEB}/web/%70roxy`, query: ';' },
  { name: 'an escape before proxy', path: `${WEB}/web%2Fproxy/login`, query: ';' },
  { name: 'a target that no route has', path: `/kubernetes/other/api/v1/pods/web/proxy` },
])('the query of a workload is in no event: $name (21.4)', async ({ path, query = '' }) => {
  const { events } = await recorded(`${path}?password=hunter2${query}`)
  expect(new Set(events().map(({ requestURI }) => requestURI))).toEqual(new Set([path]))
})

test('the query of another request that is refused is recorded (21.3)', async () => {
  const { events } = await recorded(`${PODS}?labelSelector=app=proxy;`)
  expect(events()[0]?.['requestURI']).toBe(`${PODS}?labelSelector=app=proxy;`)
})

/** Stages and codes of the events, and the annotations that are no names. */
const outcomes = (events: readonly WrittenEvent[]) =>
  events.map(({ level, stage, responseStatus, annotations }) => {
    const { code = null } = (responseStatus ?? {}) as { readonly code?: number }
    const said = Object.entries(annotations as object).filter(([name]) => SAYING.has(name))
    return [`${String(level)} ${String(stage)} ${String(code)}`, ...said.map(([, text]) => text)]
  })

const SAYING: ReadonlySet<string> = new Set([
  'platform.sh/decision',
  'platform.sh/reason',
  'platform.sh/end',
  'platform.sh/suppressed',
])

test.each<{
  readonly name: string
  readonly target?: string
  readonly rules?: readonly AuditPolicyRule[]
  readonly call?: Partial<HttpRequest>
  readonly given?: Partial<GatewayHandlerOptions>
  readonly end?: DeliveryEnd
  readonly expected: readonly (readonly string[])[]
}>([
  {
    name: 'a read',
    expected: [['Metadata RequestReceived null'], ['Metadata ResponseComplete 200']],
  },
  { name: 'a request of level None', rules: [{ level: 'None' }], expected: [] },
  {
    name: 'a request without RequestReceived',
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    expected: [['Metadata ResponseComplete 200']],
  },
  {
    name: 'a watch that its API server ends',
    target: `${PODS}?watch=1`,
    expected: [
      ['Metadata RequestReceived null'],
      ['Metadata ResponseStarted 200'],
      ['Metadata ResponseComplete 200', 'upstream'],
    ],
  },
  {
    name: 'a watch whose client leaves',
    target: `${PODS}?watch=1`,
    end: 'clientGone',
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived', 'ResponseStarted'] }],
    expected: [['Metadata ResponseComplete 200', 'client']],
  },
  {
    name: 'logs',
    target: `${PODS}/web/log`,
    rules: [{ level: 'RequestResponse', omitStages: ['RequestReceived'] }],
    expected: [
      ['RequestResponse ResponseStarted 200'],
      ['RequestResponse ResponseComplete 200', 'upstream'],
    ],
  },
  {
    name: 'a path without an API',
    target: '/nothing',
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    expected: [['Metadata ResponseComplete 404', 'deny', 'noSuchApi']],
  },
  {
    name: 'a request outside the scope',
    given: { scopeContext: () => null },
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    expected: [['Metadata ResponseComplete 503', 'deny', 'settingsUnknown']],
  },
  {
    name: 'a request of a disabled key',
    given: { authenticate: refusedAs('disabled') },
    expected: [['Metadata ResponseComplete 401', 'deny', 'disabled']],
  },
  {
    name: 'a request without a key at a level with bodies',
    given: { authenticate: refusedAs('none') },
    rules: [{ level: 'RequestResponse' }],
    expected: [['Metadata ResponseComplete 401', 'deny', 'none']],
  },
  {
    name: 'a crash of a stage',
    given: CRASHING,
    target: OWN_KEYS,
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    expected: [['Metadata Panic 500', 'deny', 'internal']],
  },
  {
    name: 'a crash where nothing else is recorded',
    given: {
      selfService: {
        answer: async () => Promise.reject(new Error('broken')),
        rights: () => ({ reasonFor: async () => null, rules: [] }),
      },
    },
    target: '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys',
    rules: [
      { level: 'Metadata', omitStages: ['RequestReceived', 'ResponseStarted', 'ResponseComplete'] },
    ],
    expected: [['Metadata Panic 500', 'deny', 'internal']],
  },
  {
    name: 'a question to the audit log',
    target: '/kubernetes/management/audit/events?since=24h',
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    expected: [['Metadata ResponseComplete 403', 'deny', 'eventsNotGranted']],
  },
  { name: 'a public page', target: '/oidc/keys', expected: [] },
  { name: 'the version', target: '/version', expected: [] },
  {
    name: 'the version without a key',
    target: '/version?verbose',
    given: { authenticate: refusedAs('none') },
    expected: [],
  },
])('$name has these events (21.2, 21.3, 21.5, 21.6)', async ({ expected, end, ...at }) => {
  const { target = PODS, rules = METADATA, call = {}, given = {} } = at
  const gateway = auditedGateway(rules, given)
  const answer = await gateway.respond(callTo(target, call))
  answer.ended?.(end ?? 'complete')
  await vi.waitFor(() => expect(outcomes(gateway.events())).toEqual(expected))
})

test('a request whose event cannot be written is refused before it is sent, and heals (22.2)', async () => {
  const { fail, heal, respond, sent, clock, counted } = auditedGateway([
    { level: 'Metadata', omitStages: ['RequestReceived'], verbs: ['create', 'delete'] },
  ])
  fail()
  const late = await respond(callTo(`${PODS}/web`, { method: 'DELETE' }))
  expect([late.status, late.refusal, sent.length]).toEqual([500, 'recordPending', 1])
  const refused = await respond(callTo(`${PODS}/web`, { method: 'DELETE' }))
  expect([refused.status, refused.refusal]).toEqual([503, 'notRecordable'])
  expect(refused.headers['retry-after']).toBe('1')
  const unnamed = await respond(callTo(PODS))
  expect(unnamed.status).toBe(200)
  expect(sent).toEqual([expect.stringMatching(/^DELETE /), expect.stringMatching(/^GET /)])
  heal()
  await clock.advance(1000)
  const healed = await respond(callTo(`${PODS}/web`, { method: 'DELETE' }))
  expect(healed.status).toBe(200)
  expect(counted).toEqual([
    'Metadata ResponseComplete',
    'failed',
    'refused',
    'healed',
    'Metadata ResponseComplete',
  ])
})

test.each([
  { stage: 'RequestReceived', rules: METADATA, sentBefore: 0, written: 2 },
  {
    stage: 'ResponseComplete',
    rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }],
    sentBefore: 1,
    written: 1,
  },
])('an answer waits until its event $stage is written (22.2)', async (row) => {
  const { hold, respond, events, sent } = auditedGateway(row.rules)
  const release = hold()
  let hasAnswer = false
  const answering = respond(callTo(PODS)).then(() => {
    hasAnswer = true
  })
  await vi.waitFor(() => expect(sent).toHaveLength(row.sentBefore))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([hasAnswer, sent.length]).toEqual([false, row.sentBefore])
  release()
  await answering
  expect(events()).toHaveLength(row.written)
})

test('401s pass while events cannot be written, and are counted (21.6, 22.2)', async () => {
  const { fail, respond, counted } = auditedGateway(METADATA, {
    authenticate: refusedAs('unknown'),
  })
  fail()
  for (const _ of [1, 2]) expect((await respond(callTo(PODS))).status).toBe(401)
  expect(counted).toEqual(['Metadata ResponseComplete', 'failed', 'suppressed'])
})

test('a flood without keys is recorded up to the limit, and the next event counts the rest (21.6)', async () => {
  const clock = manualClock(t0)
  const log = memoryAudit({ policy: { rules: METADATA } }, clock, 2)
  const respond = handlerFor(CALLER, async () => Promise.reject(new Error('nothing is sent')), {
    audit: log.audit,
    authenticate: refusedAs('none'),
  })
  for (const _ of Array.from({ length: 10 })) await respond(callTo(PODS))
  await clock.advance(1000)
  await respond(callTo(PODS))
  expect(outcomes(log.events())).toEqual([
    ['Metadata ResponseComplete 401', 'deny', 'none'],
    ['Metadata ResponseComplete 401', 'deny', 'none'],
    ['Metadata ResponseComplete 401', 'deny', 'none', '8'],
  ])
})

test('requests are refused as long as nobody knows whether they must be recorded (21.1)', async () => {
  const { respond, sent } = auditedGateway(METADATA, {
    audit: { receive: () => null, isKnown: () => false },
  })
  expect((await respond(callTo(PODS))).refusal).toBe('settingsUnknown')
  expect(sent).toEqual([])
})
