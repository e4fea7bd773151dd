/** @module-tag no-retry */
// Sends the attacks of the threat model (A1 to A11, B1 to B11) to a naive gateway, where each must succeed, and to the
// real one, where each must fail. A proxy that obeys Connection headers is between either and the API server.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { gatewayRouteOf } from '../../../src/gateway/targets/routes.ts'
import { kubeconfig as kubeconfigOf } from '../../../tools/control-plane/kubeconfig.ts'
import {
  ADA,
  ATTACKS,
  type Attack,
  type Caller,
  type Consequences,
  SCOPES_UNDER_ATTACK,
  wrongs,
} from '../../support/attacks.ts'
import { type Audited, type AuditedUser, answeredIn, auditOf } from '../../support/audit-log.ts'
import { ISSUER } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { ask, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { startNaiveGateway, startStrictProxy } from '../../support/naive-gateways.ts'
import { untilMay } from '../../support/raw-client.ts'
import { createSender } from '../../support/raw-sender.ts'
import { sampled } from '../../support/tier.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane } = setup
const audit = auditOf(plane)
/** Requests to the attacker's server, which no gateway should ever call. */
let attackerCalls = 0
const attackerServer = createServer((socket) => {
  attackerCalls += 1
  socket.destroy()
})
/**
 * Not the address that all other servers of tests have: a process that has lost one of those calls its port again and
 * again, and the attacker's server may get that port.
 */
const ATTACKER_ADDRESS = process.platform === 'linux' ? '127.66.0.1' : '127.0.0.1'
await new Promise<void>((resolve) => attackerServer.listen(0, ATTACKER_ADDRESS, resolve))
afterAll(() => attackerServer.close())
const attackerHost = `${ATTACKER_ADDRESS}:${(attackerServer.address() as AddressInfo).port}`

const proxy = await startStrictProxy({
  url: plane.url,
  ca: await readFile(plane.caFile, 'utf8'),
  elsewhere: `https://${attackerHost}/`,
})
afterAll(() => proxy[Symbol.asyncDispose]())

/** A gateway under attack. */
interface Attacked {
  readonly port: number
  readonly caPem: string
  readonly keyOf: (caller: Caller) => string
  readonly decided: (attack: Attack, userAgent: string) => Consequences['decided']
}

let count = 0

/** Sends the attack; the result reads its consequences so far. */
async function attackOn(gateway: Attacked, attack: Attack): Promise<() => Promise<Consequences>> {
  const mark = `attack-${(count += 1)}`
  const since = await audit.mark()
  const before = attackerCalls
  const sender = createSender({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem })
  const { method = 'GET', target, headers = [], body, caller = ADA } = attack
  const ownHeaders = [`User-Agent: ${mark}`]
  if (caller !== null) ownHeaders.push(`Authorization: Bearer ${gateway.keyOf(caller)}`)
  const marked = (text: string): string => text.replaceAll('{mark}', mark)
  const lines = [...ownHeaders, ...headers].map(marked)
  const sent = { method, target: target(attackerHost), headers: lines }
  await sender.send([body === undefined ? sent : { ...sent, body: marked(body) }])
  onTestFinished(() => sender.close())
  return async () => {
    const events = answeredIn(await audit.linesSince(since))
    // A dry run changes nothing.
    const isCausedByAttack = ({ userAgent, objectRef, requestURI }: Audited): boolean =>
      (userAgent === mark || objectRef?.['name'] === mark) && !requestURI.includes('dryRun=All')
    return {
      audited: events.filter(isCausedByAttack),
      decided: gateway.decided(attack, mark),
      headers: proxy.headersOf(mark),
      wentElsewhere: attackerCalls > before,
    }
  }
}

/** The target of smuggled second requests. */
const SECRETS = '/api/v1/secrets'

/** Is served, so that a refused attack is refused because it is one. */
const HARMLESS_REQUEST: Attack = {
  name: 'a harmless request',
  target: () => `${MANAGEMENT}/api/v1/namespaces/a/pods/x`,
}

const ON_SCOPES = SCOPES_UNDER_ATTACK.flatMap(({ attacks }) => attacks)
const CALLERS: readonly Caller[] = [
  ...new Set([ADA, ...[...ATTACKS, ...ON_SCOPES].map(({ caller }) => caller)]),
].filter((caller) => caller !== undefined && caller !== null)

/** A request that each attacked scope grants. */
const GRANTED = SCOPES_UNDER_ATTACK.flatMap(({ caller, granted }) =>
  granted ? [{ scope: JSON.stringify(caller.scope), granted }] : [],
)

async function startNaive(): Promise<Attacked> {
  await plane.kubectl(['create', 'serviceaccount', 'naive', '-n', 'default'])
  const bind = ['--clusterrole=cluster-admin', '--serviceaccount=default:naive']
  await plane.kubectl(['create', 'clusterrolebinding', 'naive', ...bind])
  const user = 'system:serviceaccount:default:naive'
  await untilMay(plane.raw, { user }, { verb: 'impersonate', resource: 'users' })
  const { stdout } = await plane.kubectl(['create', 'token', 'naive', '-n', 'default'])
  const upstream = { url: proxy.url, ca: proxy.caPem, token: stdout.trim() }
  const keyOf = (caller: Caller): string => `key-${CALLERS.indexOf(caller)}`
  const callers = new Map(CALLERS.map((caller) => [keyOf(caller), caller]))
  const gateway = await startNaiveGateway({ upstream, callers })
  afterAll(() => gateway[Symbol.asyncDispose]())
  return { ...gateway, keyOf, decided: (_, userAgent) => ({ ...gateway.decided(userAgent) }) }
}

describe('a naive gateway', async () => {
  const naive = await startNaive()
  const runsAs = ({ caller }: Attack): AuditedUser => {
    const { user, groups = [] } = caller ?? ADA
    return { username: user, groups: [...groups, 'system:authenticated'] }
  }

  test('serves a harmless request', async () => {
    const consequences = await (await attackOn(naive, HARMLESS_REQUEST))()
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(HARMLESS_REQUEST, consequences, runsAs(HARMLESS_REQUEST))).toEqual([])
  })

  test.each(GRANTED)('serves a request that the scope grants: $scope', async ({ granted }) => {
    expect((await (await attackOn(naive, granted))()).audited).not.toEqual([])
  })

  test.each(sampled([...ATTACKS, ...ON_SCOPES], 4))('is vulnerable to $name', async (attack) => {
    const consequences = await attackOn(naive, attack)
    await eventuallyPasses(
      'the attack has consequences',
      async () => {
        const seen = await consequences()
        expect(wrongs(attack, seen, runsAs(attack))).not.toEqual([])
        // A forwarded upgrade is wrong by itself; the request smuggled behind it has to arrive as well.
        const behind = attack.headers?.some(isRequest) ? [SECRETS] : []
        const uris = seen.audited.map(({ requestURI }) => requestURI)
        expect(uris).toEqual(expect.arrayContaining(behind))
      },
      SOON,
    )
  })
})

/** The gateway's kubeconfig, with the proxy as server. */
async function proxyKubeconfig(): Promise<string> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const { stdout } = await plane.kubectl(['create', 'token', name, '--namespace', namespace])
  const folder = await mkdtemp(join(tmpdir(), 'attacks-'))
  afterAll(() => rm(folder, { recursive: true }))
  const [file, tokenFile] = [join(folder, 'kubeconfig'), join(folder, 'token')]
  await writeFile(tokenFile, stdout.trim(), { mode: 0o600 })
  await writeFile(
    file,
    kubeconfigOf('proxy', { url: proxy.url, caPem: proxy.caPem }, { tokenFile }),
  )
  return file
}

/** The key of each caller, and the code with which the API server answered its creation. */
const keys = new Map(
  await Promise.all(
    CALLERS.map(async (caller, at) => {
      const { isRefused: _, ...spec } = caller
      const token = `caller-${at}-${'k'.repeat(32)}`
      const name = `caller-${at}`
      const { code } = await plane.raw('POST', '/apis/management.platform.sh/v1/ownedaccesskeys', {
        apiVersion: 'management.platform.sh/v1',
        kind: 'OwnedAccessKey',
        metadata: { name },
        spec: { ...spec, key: token },
      })
      return [caller, { token, code, name }] as const
    }),
  ),
)

describe('the gateway', async () => {
  const gateway = await startGateway({
    kubeconfig: await proxyKubeconfig(),
    flags: [`--issuer-url=${ISSUER}`],
  })
  afterAll(() => gateway.stop())
  // The gateway's watch delivers keys in the order of their creation.
  const { token: latest } = await setup.key()
  const headers = { authorization: `Bearer ${latest}` }
  await eventually(
    'the gateway accepts the keys',
    async () =>
      (await ask(`${gateway.url()}/version`, { ca: setup.ca, headers })).code === 200 || undefined,
    SOON,
  )
  const gatewayUnderTest: Attacked = {
    port: Number(new URL(gateway.url()).port),
    caPem: setup.ca,
    keyOf: (caller) => keys.get(caller)?.token ?? '',
    decided: ({ method = 'GET', target }) => decidedOf(method, target(attackerHost)),
  }
  const runsAs = ({ caller }: Attack): AuditedUser => {
    const { user } = caller ?? ADA
    return {
      username: user,
      groups: ['platform:authenticated', `platform:user:${user}`, 'system:authenticated'],
      extra: { 'platform.sh/access-key': [keys.get(caller ?? ADA)?.name ?? ''] },
    }
  }

  test('gets only keys that the admission policies let pass', () => {
    const codes = [...keys.values()].map(({ code }) => code)
    expect(codes).toEqual(CALLERS.map(({ isRefused }) => (isRefused ? 422 : 201)))
  })

  test('serves a harmless request', async () => {
    const consequences = await (await attackOn(gatewayUnderTest, HARMLESS_REQUEST))()
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(HARMLESS_REQUEST, consequences, runsAs(HARMLESS_REQUEST))).toEqual([])
  })

  test.each(GRANTED)('serves a request that the scope grants: $scope', async ({ granted }) => {
    expect((await (await attackOn(gatewayUnderTest, granted))()).audited).not.toEqual([])
  })

  test.each([...ATTACKS, ...ON_SCOPES])('resists $name', async (attack) => {
    const consequences = await attackOn(gatewayUnderTest, attack)
    const hasFailed = async () =>
      expect(wrongs(attack, await consequences(), runsAs(attack))).toEqual([])
    if (containsSecondRequest(attack))
      await staysTrue('the attack fails', hasFailed, { forMs: 500 })
    else await hasFailed()
  })
})

/** A smuggled second request may arrive after the answer to the first. */
const containsSecondRequest = ({ headers = [], body = '' }: Attack): boolean =>
  [...headers, body].some(isRequest)

const isRequest = (part: string): boolean => part.includes('GET /')

/** The RequestInfo that the gateway decides on; null when it refuses the target. */
function decidedOf(method: string, target: string): Consequences['decided'] {
  const route = gatewayRouteOf(target)
  const result = route && parseRequest(method, route.target, route.rest)
  if (!result?.ok || 'path' in result.request.attributes) return null
  const { verb, resource, namespace, name } = result.request.attributes
  return { verb, resource, namespace, name }
}
