/** @module-tag no-retry */
// Attacks on gateways that the threats know (A1 to A11, B1 to B11), on one that is naive and on ours. All of
// them work on the naive one, so that each is known to be an attack. Between either and the API server stands
// a proxy that does what Connection says.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { routeOf } from '../../../src/gateway/targets/registry.ts'
import { kubeconfig as kubeconfigOf } from '../../../tools/control-plane/kubeconfig.ts'
import { untilMay } from '../../support/access-review.ts'
import {
  ADA,
  ATTACKS,
  type Attack,
  type Caller,
  type Consequences,
  wrongs,
} from '../../support/attacks.ts'
import { auditOf } from '../../support/audit-log.ts'
import { ISSUER } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { type Audited, type AuditedUser, answeredIn } from '../../support/fuzz/audited.ts'
import { createSender } from '../../support/fuzz/sender.ts'
import { ask, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { SCOPES_UNDER_ATTACK } from '../../support/scope-attacks.ts'
import { startStrictProxy } from '../../support/strict-proxy.ts'
import { sampled } from '../../support/tier.ts'
import { startNaiveGateway } from '../../support/wrong-gateways.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { plane } = front
const audit = auditOf(plane)
/** The attacker's own server, which nothing should ever call. */
let calls = 0
const evil = createServer((socket) => {
  calls += 1
  socket.destroy()
})
await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
afterAll(() => evil.close())
const evilHost = `127.0.0.1:${(evil.address() as AddressInfo).port}`

const hop = await startStrictProxy({
  url: plane.url,
  ca: await readFile(plane.caFile, 'utf8'),
  elsewhere: `https://${evilHost}/`,
})
afterAll(() => hop[Symbol.asyncDispose]())

/** A gateway under attack. */
interface Attacked {
  readonly port: number
  readonly caPem: string
  readonly keyOf: (caller: Caller) => string
  readonly decided: (attack: Attack, userAgent: string) => Consequences['decided']
}

let count = 0

/** What comes of it, each time that it is asked for anew. */
async function attackOn(gateway: Attacked, attack: Attack): Promise<() => Promise<Consequences>> {
  const mark = `attack-${(count += 1)}`
  const since = await audit.mark()
  const before = calls
  const sender = createSender({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem })
  const { method = 'GET', target, headers = [], body, caller = ADA } = attack
  const ours = [`User-Agent: ${mark}`]
  if (caller !== null) ours.push(`Authorization: Bearer ${gateway.keyOf(caller)}`)
  const marked = (text: string): string => text.replaceAll('{mark}', mark)
  const lines = [...ours, ...headers].map(marked)
  const sent = { method, target: target(evilHost), headers: lines }
  await sender.send([body === undefined ? sent : { ...sent, body: marked(body) }])
  onTestFinished(() => sender.close())
  return async () => {
    const events = answeredIn(await audit.linesSince(since))
    // What is only tried changes nothing.
    const isOfIt = ({ userAgent, objectRef, requestURI }: Audited): boolean =>
      (userAgent === mark || objectRef?.['name'] === mark) && !requestURI.includes('dryRun=All')
    return {
      audited: events.filter(isOfIt),
      decided: gateway.decided(attack, mark),
      headers: hop.headersOf(mark),
      wentElsewhere: calls > before,
    }
  }
}

/** What is asked for behind a request. */
const SECRETS = '/api/v1/secrets'

/** Whoever means no harm is served, so that whoever is refused was refused for something. */
const NO_ATTACK: Attack = {
  name: 'no attack',
  target: () => `${MANAGEMENT}/api/v1/namespaces/a/pods/x`,
}

const ON_SCOPES = SCOPES_UNDER_ATTACK.flatMap(({ attacks }) => attacks)
const CALLERS: readonly Caller[] = [
  ...new Set([ADA, ...[...ATTACKS, ...ON_SCOPES].map(({ caller }) => caller)]),
].filter((caller) => caller !== undefined && caller !== null)

/** What a scope grants, by the scope; a request of it is asked, whoever is allowed to. */
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
  const upstream = { url: hop.url, ca: hop.caPem, token: stdout.trim() }
  const keyOf = (caller: Caller): string => `key-${CALLERS.indexOf(caller)}`
  const callers = new Map(CALLERS.map((caller) => [keyOf(caller), caller]))
  const gateway = await startNaiveGateway({ upstream, callers })
  afterAll(() => gateway[Symbol.asyncDispose]())
  return { ...gateway, keyOf, decided: (_, userAgent) => ({ ...gateway.decided(userAgent) }) }
}

describe('a naive gateway', async () => {
  const naive = await startNaive()
  const asked = ({ caller }: Attack): AuditedUser => {
    const { user, groups = [] } = caller ?? ADA
    return { username: user, groups: [...groups, 'system:authenticated'] }
  }

  test('serves', async () => {
    const consequences = await (await attackOn(naive, NO_ATTACK))()
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(NO_ATTACK, consequences, asked(NO_ATTACK))).toEqual([])
  })

  test.each(GRANTED)('serves whom $scope grants it', async ({ granted }) => {
    expect((await (await attackOn(naive, granted))()).audited).not.toEqual([])
  })

  test.each(sampled([...ATTACKS, ...ON_SCOPES], 4))('falls for $name', async (attack) => {
    const consequences = await attackOn(naive, attack)
    await eventuallyPasses(
      'it has',
      async () => {
        const came = await consequences()
        expect(wrongs(attack, came, asked(attack))).not.toEqual([])
        // An upgrade that is passed on is wrong by itself: what stands behind it has to come as well.
        const behind = attack.headers?.some(isRequest) ? [SECRETS] : []
        const uris = came.audited.map(({ requestURI }) => requestURI)
        expect(uris).toEqual(expect.arrayContaining(behind))
      },
      SOON,
    )
  })
})

/** The gateway's kubeconfig, by way of the proxy. */
async function hopKubeconfig(): Promise<string> {
  const { namespace, name } = GATEWAY_ACCOUNT
  const { stdout } = await plane.kubectl(['create', 'token', name, '--namespace', namespace])
  const folder = await mkdtemp(join(tmpdir(), 'attacks-'))
  afterAll(() => rm(folder, { recursive: true }))
  const [file, tokenFile] = [join(folder, 'kubeconfig'), join(folder, 'token')]
  await writeFile(tokenFile, stdout.trim(), { mode: 0o600 })
  await writeFile(file, kubeconfigOf('hop', { url: hop.url, caPem: hop.caPem }, { tokenFile }))
  return file
}

/** The key of each caller, as far as the API server takes it. */
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
    kubeconfig: await hopKubeconfig(),
    flags: [`--issuer-url=${ISSUER}`],
  })
  afterAll(() => gateway.stop())
  // It sees them in their order.
  const { token: latest } = await front.key()
  const headers = { authorization: `Bearer ${latest}` }
  await eventually(
    'it takes the keys',
    async () =>
      (await ask(`${gateway.url()}/version`, { ca: front.ca, headers })).code === 200 || undefined,
    SOON,
  )
  const ours: Attacked = {
    port: Number(new URL(gateway.url()).port),
    caPem: front.ca,
    keyOf: (caller) => keys.get(caller)?.token ?? '',
    decided: ({ method = 'GET', target }) => decidedOf(method, target(evilHost)),
  }
  const asked = ({ caller }: Attack): AuditedUser => {
    const { user } = caller ?? ADA
    return {
      username: user,
      groups: ['platform:authenticated', `platform:user:${user}`, 'system:authenticated'],
      extra: { 'platform.sh/access-key': [keys.get(caller ?? ADA)?.name ?? ''] },
    }
  }

  test('is given the keys that there may be', () => {
    const codes = [...keys.values()].map(({ code }) => code)
    expect(codes).toEqual(CALLERS.map(({ isRefused }) => (isRefused ? 422 : 201)))
  })

  test('serves', async () => {
    const consequences = await (await attackOn(ours, NO_ATTACK))()
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(NO_ATTACK, consequences, asked(NO_ATTACK))).toEqual([])
  })

  test.each(GRANTED)('serves whom $scope grants it', async ({ granted }) => {
    expect((await (await attackOn(ours, granted))()).audited).not.toEqual([])
  })

  test.each([...ATTACKS, ...ON_SCOPES])('stands $name', async (attack) => {
    const consequences = await attackOn(ours, attack)
    const stands = async () =>
      expect(wrongs(attack, await consequences(), asked(attack))).toEqual([])
    if (hidesAnother(attack)) await staysTrue('it stands', stands, { forMs: 500 })
    else await stands()
  })
})

/** A request behind the first: what comes of it may come after the answer to that one. */
const hidesAnother = ({ headers = [], body = '' }: Attack): boolean =>
  [...headers, body].some(isRequest)

const isRequest = (part: string): boolean => part.includes('GET /')

/** What it reads of the request; null when it refuses it for its target. */
function decidedOf(method: string, target: string): Consequences['decided'] {
  const route = routeOf(target)
  const result = route && parseRequest(method, route.target, route.rest)
  if (!result?.ok || 'path' in result.request.attributes) return null
  const { verb, resource, namespace, name } = result.request.attributes
  return { verb, resource, namespace, name }
}
