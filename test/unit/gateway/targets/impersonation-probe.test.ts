// Readiness after a successful impersonation, a refusal, and no response.
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import {
  KEY_EXTRAS,
  probeImpersonation,
} from '../../../../src/gateway/targets/impersonation-probe.ts'
import {
  type UpstreamAnswer,
  type UpstreamCall,
  UpstreamUnavailable,
} from '../../../../src/kube/proxy/types.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

/** Answers one attempt. */
type Act = (call: UpstreamCall) => UpstreamAnswer

const answer = (status: number, text: string | Readable = ''): Act =>
  typeof text === 'string'
    ? () => ({ status, headers: {}, body: Readable.from([Buffer.from(text)]) })
    : () => ({ status, headers: {}, body: text })
const forbidden = (message: unknown): Act =>
  answer(403, JSON.stringify({ kind: 'Status', message }))

const GATEWAY = 'User "system:serviceaccount:platform-system:gateway" cannot'
const REFUSAL = `forbidden: ${GATEWAY} impersonate-on:user-info:get path "/version"`
const allows = answer(200, '{"major":"1"}')
const refuses = forbidden(REFUSAL)
const isAway: Act = () => {
  throw new UpstreamUnavailable('unprocessed', 'the API server did not answer')
}
const breaksOff = (status: number): Act =>
  answer(
    status,
    new Readable({
      read() {
        this.destroy(new Error('the connection broke off'))
      },
    }),
  )

/** A probe whose attempts get these responses in order, then always the last. */
function trying(...acts: readonly Act[]) {
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const ending = new AbortController()
  const calls: UpstreamCall[] = []
  let refusals = 0
  const { readiness } = probeImpersonation({
    extras: KEY_EXTRAS,
    userAgent: 'management-operator/test',
    upstream: {
      send: async (call) => {
        calls.push(call)
        const act = acts[Math.min(calls.length, acts.length) - 1]
        if (!act) throw new Error('nothing is to be asked')
        return act(call)
      },
    },
    clock,
    log,
    refused: () => void (refusals += 1),
    signal: ending.signal,
  })
  onTestFinished(() => ending.abort())
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  }
  return {
    calls,
    lines,
    end: () => ending.abort(),
    pending: () => clock.pending(),
    refusals: () => refusals,
    notReady: readiness['may-act'],
    settled,
    pass: async (ms: number) => {
      await settled()
      await clock.advance(ms)
      await settled()
    },
  }
}

const NOT = 'it is not proven that this server may act for its callers: '

test('the impersonation probe reads the version as a user without rights, with the usual extra (10.5)', async () => {
  const { calls, settled, notReady } = trying(allows)
  expect(notReady()).toBe(`${NOT}it has not been tried yet`)
  await settled()
  expect(calls).toMatchObject([
    {
      method: 'GET',
      path: '/version',
      impersonation: {
        'impersonate-user': 'heartbeat',
        'impersonate-group': ['platform:authenticated', 'system:authenticated'],
        'impersonate-extra-platform.sh%2faccess-key': 'platform-heartbeat',
      },
      body: null,
    },
  ])
  expect(notReady()).toBeNull()
})

test.each<{ name: string; act: Act; because: string | null; refusals?: number }>([
  { name: 'the version', act: allows, because: null },
  { name: 'a truncated version', act: breaksOff(200), because: null },
  {
    name: "a refusal of this user's read",
    act: forbidden('forbidden: User "heartbeat" cannot get path "/version"'),
    because: null,
  },
  { name: 'a refusal of the impersonation', act: refuses, because: REFUSAL, refusals: 1 },
  {
    name: 'a refusal of the impersonation of such users',
    act: forbidden(`users "heartbeat" is forbidden: ${GATEWAY} impersonate resource "users"`),
    because: `users "heartbeat" is forbidden: ${GATEWAY} impersonate resource "users"`,
    refusals: 1,
  },
  {
    name: 'a refusal of several lines',
    act: forbidden('no,\n\tnot\r\nyou'),
    because: 'no, not you',
    refusals: 1,
  },
  {
    name: 'an endless refusal',
    act: forbidden('x'.repeat(10_000)),
    because: 'x'.repeat(500),
    refusals: 1,
  },
  { name: 'no response', act: isAway, because: 'the API server did not answer' },
  {
    name: 'a 403 without a Status',
    act: answer(403, '<html>'),
    because: '/version was answered with 403',
  },
  {
    name: 'a 403 that is null',
    act: answer(403, 'null'),
    because: '/version was answered with 403',
  },
  {
    name: 'a 403 without a message',
    act: forbidden(undefined),
    because: '/version was answered with 403',
  },
  {
    name: 'a 403 with another message',
    act: forbidden({}),
    because: '/version was answered with 403',
  },
  { name: 'a truncated 403', act: breaksOff(403), because: '/version was answered with 403' },
  { name: 'a redirect', act: answer(307), because: '/version was answered with 307' },
  { name: 'a 429', act: answer(429), because: '/version was answered with 429' },
  { name: 'a 500', act: answer(500, 'impersonate'), because: '/version was answered with 500' },
  { name: 'a 502 of a proxy', act: answer(502), because: '/version was answered with 502' },
])('the readiness after $name is $because (8.2, 10.5)', async ({ act, because, refusals = 0 }) => {
  const trial = trying(act)
  await trial.settled()
  expect(trial.notReady()).toBe(because && `${NOT}${because}`)
  expect(trial.refusals()).toBe(refusals)
  expect(trial.lines).toHaveLength(refusals)
})

test('a refused probe is repeated every 5 seconds, counted each time and logged once, and the gateway is ready when it succeeds', async () => {
  const trial = trying(refuses, refuses, isAway, refuses, allows)
  await trial.pass(4999)
  expect(trial.calls).toHaveLength(1)
  await trial.pass(10_001)
  expect(trial.calls).toHaveLength(4)
  expect(trial.refusals()).toBe(3)
  const lost = {
    level: 'error',
    fields: { refusal: REFUSAL },
    sentence: 'the API server does not let this server act for its callers',
  }
  expect(trial.lines).toEqual([lost])
  expect(trial.notReady()).toBe(`${NOT}${REFUSAL}`)
  await trial.pass(5000)
  expect(trial.notReady()).toBeNull()
  expect(trial.lines).toEqual([
    lost,
    {
      level: 'info',
      fields: {},
      sentence: 'the API server lets this server act for its callers again',
    },
  ])
})

test('a successful probe keeps the gateway ready, runs each minute, and logs a later refusal', async () => {
  const trial = trying(allows, isAway, refuses)
  await trial.pass(59_999)
  expect(trial.calls).toHaveLength(1)
  await trial.pass(1)
  expect(trial.calls).toHaveLength(2)
  expect(trial.lines).toEqual([])
  await trial.pass(5000)
  expect(trial.refusals()).toBe(1)
  expect(trial.lines).toMatchObject([{ level: 'error', fields: { refusal: REFUSAL } }])
  expect(trial.notReady()).toBeNull()
  await trial.pass(5000)
  expect(trial.refusals()).toBe(2)
  expect(trial.lines).toHaveLength(1)
})

test('the signal ends the probe and its request', async () => {
  const trial = trying(allows)
  await trial.settled()
  expect(trial.pending()).toBe(1)
  trial.end()
  await trial.settled()
  expect(trial.pending()).toBe(0)
  expect(trial.calls[0]?.signal.aborted).toBe(true)
  await trial.pass(600_000)
  expect(trial.calls).toHaveLength(1)
})
