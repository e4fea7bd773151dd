// A kube-apiserver fetches the keys once for each token with an unknown kid, without limit (threats D5):
// what the gateway does then, and what becomes of everybody else.
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkJwk } from '../../../src/credentials/jwks.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, gatewayCa, type OwnGateway, startGateway } from '../../support/gateway.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed.ts'
import { handWritten, newJwk } from './world.ts'

const plane = await privateControlPlane()
const world = handWritten(plane.raw)

const BOUND = { withinMs: 20_000 }
const HOUR = '2099112111'
const EXP = '2099-11-21T11:30:00Z'
const FETCHES = 1000
/** So many in each millisecond: all within a second, unless the machine has no time to send them. */
const FETCHES_PER_MS = FETCHES / 1000
const CONNECTIONS = 32
/**
 * The part of the flood's time that a probe may take. Who waits for those before it takes nearly all of
 * it; a round trip on an idle machine is no measure, since the test itself is on the same cores.
 */
const PART = 1 / 10

let gateway: OwnGateway
let ca: string
let agent: Agent

beforeAll(async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  await world.settings({ platformHost: 'platform.example.com' })
  const checked = checkJwk(newJwk())
  await world.keys(JSON.stringify({ keys: checked.ok ? [checked.jwk] : [] }))
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  gateway = await startGateway({ kubeconfig })
  await eventually('it serves', () => gateway.url(), BOUND)
  ca = await gatewayCa(plane.admin)
  agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
})
afterAll(async () => {
  agent?.destroy()
  await gateway?.stop()
})

/** A thousand fetches of the keys within a second, over connections that are kept; their codes. */
async function flood(): Promise<readonly number[]> {
  const startMs = performance.now()
  const answers: Promise<number>[] = []
  while (answers.length < FETCHES) {
    const due = Math.min((performance.now() - startMs) * FETCHES_PER_MS, FETCHES)
    while (answers.length < due)
      answers.push(ask(`${gateway.url()}/oidc/keys`, { ca, agent }).then(({ code }) => code))
    await delay(1)
  }
  return Promise.all(answers)
}

/** Looks at /healthz one after the other until told to stop: the median of their milliseconds. */
async function probes(signal: AbortSignal): Promise<number> {
  const own = new Agent({ keepAlive: true, maxSockets: 1 })
  const took: number[] = []
  while (!signal.aborted) {
    const startMs = performance.now()
    const { code } = await ask(`${gateway.url()}/healthz`, { ca, agent: own })
    if (code !== 200) throw new Error(`/healthz answers ${code}`)
    took.push(performance.now() - startMs)
    await delay(1)
  }
  own.destroy()
  return took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Number.NaN
}

/** Records a token as revoked; resolves when it is in the list that the gateway serves. */
async function revoked(jti: string): Promise<void> {
  await world.revoked(HOUR, { [jti]: EXP })
  await eventually(
    'the token is listed',
    async () => {
      const { body } = await ask(`${gateway.url()}/oidc/revoked`, { ca, agent })
      return body.includes(jti) || undefined
    },
    BOUND,
  )
}

describe('1,000 fetches of the keys in a second (7.2)', () => {
  test('are all answered, and neither probes nor news wait for their end', async () => {
    const order: string[] = []
    const over = new AbortController()
    const startMs = performance.now()
    const probing = probes(over.signal)
    const news = revoked('busy').then(() => order.push('news'))
    const codes = await flood().finally(() => over.abort())
    const tookMs = performance.now() - startMs
    order.push('the end of the flood')
    await news
    expect(codes).toHaveLength(FETCHES)
    expect(new Set(codes)).toEqual(new Set([200]))
    expect(order).toEqual(['news', 'the end of the flood'])
    expect(await probing).toBeLessThan(tookMs * PART)
  })

  test('200 connections at once are all served', async () => {
    const asking = Array.from({ length: 200 }, () => ask(`${gateway.url()}/oidc/keys`, { ca }))
    const codes = (await Promise.all(asking)).map(({ code }) => code)
    expect(codes).toHaveLength(200)
    expect(new Set(codes)).toEqual(new Set([200]))
  })
})
