// What the audit log has of requests to sign in (contract 21.2, 21.4, 21.6, 22.2, 25.1).
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import type { AuditPolicyRule } from '../../../../src/api/config.gen.ts'
import { POLICY_LEVELS, policyOfLevel } from '../../../../src/domain/audit/levels.ts'
import type { SignInOutcome } from '../../../../src/domain/signin/outcome.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { auditedGateway, refusedAs, t0 } from '../audit/audited-gateway.ts'
import { memoryAudit } from '../audit/memory-audit.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'

const BODIES: readonly AuditPolicyRule[] = [{ level: 'RequestResponse' }]
const SECRETS = ['hunter2-of-ada', 'the-code', 'the-state', 'the-key-of-ada']

const SIGNED_IN: SignInOutcome = {
  provider: 'oidc',
  subject: 'https://i.example.com#42',
  user: 'ada',
  outcome: 'signed_in',
  reason: null,
}

/** A sign-in process that answers with this outcome, and a Status that quotes all that it was sent. */
const answering = (
  outcome: SignInOutcome | null,
  code = 200,
): NonNullable<GatewayHandlerOptions['signIn']> => ({
  pass: async ({ body }) => {
    const sent = (await body.toArray()).join('')
    const status = { kind: 'Status', message: `${sent} the-key-of-ada`, reason: sent }
    const answer = {
      status: code,
      headers: { 'content-type': 'application/json', 'set-cookie': 'a=the-key-of-ada' },
      body: Buffer.from(JSON.stringify(status)),
    }
    return { answer, outcome }
  },
})

const CALLBACK = '/auth/oidc/callback?code=the-code&state=the-state'

const posted = (target = CALLBACK) =>
  callTo(target, {
    method: 'POST',
    body: Readable.from([Buffer.from('password=hunter2-of-ada')]),
    headers: { 'content-length': '23', 'content-type': 'application/json' },
  })

const unauthenticated = (signIn: GatewayHandlerOptions['signIn']) => ({
  signIn,
  authenticate: refusedAs('none'),
})

describe('the event of a request to sign in (25.1)', () => {
  test('is one, without bodies and query, with what the process has reported', async () => {
    const { respond, events } = auditedGateway(BODIES, unauthenticated(answering(SIGNED_IN)))
    await respond(posted())
    expect(events()).toEqual([
      {
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        auditID: '00000000-0000-4000-8000-000000000001',
        stage: 'ResponseComplete',
        requestURI: '/auth/oidc/callback',
        verb: 'post',
        user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
        sourceIPs: ['192.0.2.1'],
        responseStatus: { metadata: {}, code: 200 },
        requestReceivedTimestamp: '2026-11-28T10:00:00.000000Z',
        stageTimestamp: '2026-11-28T10:00:00.000000Z',
        annotations: {
          'platform.sh/sign-in-provider': 'oidc',
          'platform.sh/sign-in-subject': 'https://i.example.com#42',
          'platform.sh/sign-in-user': 'ada',
          'platform.sh/sign-in-outcome': 'signed_in',
        },
      },
    ])
  })

  test.each([
    ...[200, 401, 403, 500].map((code) => ({ name: `a ${code}`, outcome: SIGNED_IN, code })),
    {
      name: 'a refusal',
      outcome: { ...SIGNED_IN, outcome: 'refused' as const, reason: 'replayed' as const },
      code: 400,
    },
    { name: 'no outcome', outcome: null, code: 200 },
  ])('has no secret at any level, with $name', async ({ outcome, code }) => {
    const policies = [BODIES, ...POLICY_LEVELS.map((level) => policyOfLevel(level).rules ?? [])]
    for (const rules of policies) {
      const { respond, lines } = auditedGateway(rules, unauthenticated(answering(outcome, code)))
      await respond(posted())
      await respond(callTo('/login?next=the-state&code_challenge=the-code'))
      expect(lines.length).toBeGreaterThan(0)
      for (const secret of SECRETS) expect(lines.join('')).not.toContain(secret)
    }
  })

  test.each([
    '/auth/oidc/callback/?code=the-code',
    '/auth/oidc/%63allback?code=the-code',
    '/auth%2foidc/callback?code=the-code',
    '//auth/oidc/callback?code=the-code',
    'https://p.example.com/auth/oidc/callback?code=the-code',
    '/x/../login?state=the-state',
    '/LOGIN?state=the-state',
    '/oidc/apps/x/?code=the-code',
  ])('has no query for %s either, whether there is a process or not', async (target) => {
    for (const signIn of [answering(null), null]) {
      const { respond, lines } = auditedGateway(BODIES, unauthenticated(signIn))
      await respond(callTo(target))
      expect(lines).toHaveLength(1)
      for (const secret of SECRETS) expect(lines.join('')).not.toContain(secret)
    }
  })

  test.each(['signed_in', 'signed_out'] as const)(
    'is written before an answer that says %s, and without it there is none (22.2)',
    async (outcome) => {
      const log = memoryAudit({ policy: { rules: BODIES } }, manualClock(t0))
      const respond = handlerFor(CALLER, () => Promise.reject(new Error('not here')), {
        audit: log.audit,
        ...unauthenticated(answering({ ...SIGNED_IN, outcome })),
      })
      const release = log.hold()
      let isAnswered = false
      const answering1 = respond(posted()).then((answer) => {
        isAnswered = true
        return answer
      })
      await new Promise((resolve) => setImmediate(resolve))
      expect(isAnswered).toBe(false)
      log.fail()
      release()
      const answer = await answering1
      expect(answer).toMatchObject({ status: 500, refusal: 'recordPending' })
      expect(JSON.stringify(answer)).not.toContain('the-key-of-ada')
    },
  )

  test('is refused before the process hears of it while the log cannot be written (22.2)', async () => {
    let passed = 0
    const process: GatewayHandlerOptions['signIn'] = {
      pass: async (http) => {
        passed += 1
        return answering(SIGNED_IN).pass(http)
      },
    }
    const gateway = auditedGateway(BODIES, unauthenticated(process))
    gateway.fail()
    await gateway.respond(posted())
    expect(passed).toBe(1)
    expect(await gateway.respond(posted())).toMatchObject({ status: 503, refusal: 'notRecordable' })
    expect(passed).toBe(1)
  })

  test('is none where the policy names no such request, or before the settings are known', async () => {
    const none: readonly AuditPolicyRule[] = [
      { level: 'None', nonResourceURLs: ['/auth/*'] },
      { level: 'Metadata' },
    ]
    const { respond, events } = auditedGateway(none, unauthenticated(answering(SIGNED_IN)))
    expect(await respond(posted())).toMatchObject({ status: 200 })
    expect(events()).toEqual([])
    const unknown = handlerFor(CALLER, () => Promise.reject(new Error('not here')), {
      ...unauthenticated(answering(SIGNED_IN)),
      audit: { receive: () => null, isKnown: () => false },
    })
    expect(await unknown(posted())).toMatchObject({ status: 503, refusal: 'settingsUnknown' })
  })

  test('is left out in a flood, but never one of a sign-in, and never by refused keys (21.6)', async () => {
    const clock = manualClock(t0)
    const log = memoryAudit({ policy: { rules: BODIES } }, clock, 2)
    let outcome: SignInOutcome | null = null
    const respond = handlerFor(CALLER, () => Promise.reject(new Error('not here')), {
      audit: log.audit,
      authenticate: refusedAs('none'),
      signIn: { pass: (http) => answering(outcome).pass(http) },
    })
    for (let times = 0; times < 5; times += 1) await respond(callTo('/kubernetes/management/api'))
    for (let times = 0; times < 5; times += 1) await respond(callTo('/login'))
    outcome = SIGNED_IN
    for (let times = 0; times < 3; times += 1) await respond(posted())
    const urls = log.events().map((event) => event['requestURI'])
    expect(urls).toEqual([
      ...Array.from({ length: 2 }, () => '/kubernetes/management/api'),
      ...Array.from({ length: 2 }, () => '/login'),
      ...Array.from({ length: 3 }, () => '/auth/oidc/callback'),
    ])
  })
})
