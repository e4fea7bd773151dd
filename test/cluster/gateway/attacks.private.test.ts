// Attacks on gateways that the threats know (A1, A2, A3, A6, B1, B2, B4), on one that is naive and on ours. All
// of them work on the naive one, so that each is known to be an attack. Between either and the API server
// stands a proxy that does what Connection says.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readApiRequest } from '../../../src/gateway/request/read-api-request.ts'
import { routeOf } from '../../../src/gateway/targets/route.ts'
import { kubeconfig as kubeconfigOf } from '../../../tools/control-plane/kubeconfig.ts'
import { type Attack, ATTACKS, type Consequences, wrongs } from '../../support/attacks.ts'
import { auditOf } from '../../support/audit.ts'
import { eventually } from '../../support/eventually.ts'
import { byUserAgent } from '../../support/fuzz/audited.ts'
import { createSender } from '../../support/fuzz/sender.ts'
import { ask, startGateway } from '../../support/gateway.ts'
import { startHop } from '../../support/hop.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed.ts'
import { startNaiveGateway } from '../../support/naive-gateway.ts'
import { ISSUER } from '../../support/operator.ts'
import { MANAGEMENT, SOON, startFront } from './front.ts'

const front = await startFront()
const { plane } = front
const audit = auditOf(plane)
const hop = await startHop({ url: plane.url, ca: await readFile(plane.caFile, 'utf8') })
afterAll(() => hop[Symbol.asyncDispose]())

/** The attacker's own server, which nothing should ever call. */
let calls = 0
const evil = createServer((socket) => {
  calls += 1
  socket.destroy()
})
await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
afterAll(() => evil.close())
const evilHost = `127.0.0.1:${(evil.address() as AddressInfo).port}`

/** A gateway under attack. */
interface Attacked {
  readonly port: number
  readonly caPem: string
  /** As whom it asks the API server. */
  readonly account: string
  readonly keyOf: (attack: Attack) => string
  readonly decided: (attack: Attack, userAgent: string) => Consequences['decided']
}

let count = 0

async function consequencesOf(attack: Attack, gateway: Attacked): Promise<Consequences> {
  const userAgent = `attack/${(count += 1)}`
  const mark = await audit.mark()
  const before = calls
  const sender = createSender({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem })
  const { method = 'GET', target, headers = [] } = attack
  const ours = [`Authorization: Bearer ${gateway.keyOf(attack)}`, `User-Agent: ${userAgent}`]
  await sender.send([{ method, target: target(evilHost), headers: [...ours, ...headers] }])
  sender.close()
  const lines = await audit.linesSince(mark, gateway.account)
  return {
    audited: byUserAgent(lines).get(userAgent) ?? [],
    decided: gateway.decided(attack, userAgent),
    headers: hop.headersOf(userAgent),
    wentElsewhere: calls > before,
  }
}

/** Whoever means no harm is served, so that whoever is refused was refused for something. */
const NO_ATTACK: Attack = {
  name: 'no attack',
  target: () => `${MANAGEMENT}/api/v1/namespaces/a/pods/x`,
}

async function startNaive(): Promise<Attacked> {
  await plane.kubectl(['create', 'serviceaccount', 'naive', '-n', 'default'])
  const bind = ['--clusterrole=cluster-admin', '--serviceaccount=default:naive']
  await plane.kubectl(['create', 'clusterrolebinding', 'naive', ...bind])
  const { stdout } = await plane.kubectl(['create', 'token', 'naive', '-n', 'default'])
  const upstream = { url: hop.url, ca: hop.caPem, token: stdout.trim() }
  const users = new Map([
    ['key-of-ada', 'ada'],
    ['key-of-nobody', ' '],
  ])
  const gateway = await startNaiveGateway({ upstream, users })
  afterAll(() => gateway[Symbol.asyncDispose]())
  return {
    ...gateway,
    account: 'system:serviceaccount:default:naive',
    keyOf: ({ caller }) => (caller === 'blank' ? 'key-of-nobody' : 'key-of-ada'),
    decided: (_, userAgent) => ({ ...gateway.decided(userAgent) }),
  }
}

describe('a naive gateway', async () => {
  const naive = await startNaive()
  const ada = { username: 'ada', groups: ['system:authenticated'] }

  test('serves', async () => {
    const consequences = await consequencesOf(NO_ATTACK, naive)
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(NO_ATTACK, consequences, ada)).toEqual([])
  })

  test.each(ATTACKS)('falls for $name', async (attack) => {
    expect(wrongs(attack, await consequencesOf(attack, naive), ada)).not.toEqual([])
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

describe('the gateway', async () => {
  const gateway = await startGateway({
    kubeconfig: await hopKubeconfig(),
    flags: [`--issuer-url=${ISSUER}`],
  })
  afterAll(() => gateway.stop())
  const key = await front.key({ user: 'ada' })
  const headers = { authorization: `Bearer ${key.token}` }
  await eventually(
    'it takes the key',
    async () =>
      (await ask(`${gateway.url()}/version`, { ca: front.ca, headers })).code === 200 || undefined,
    SOON,
  )
  const ours: Attacked = {
    port: Number(new URL(gateway.url()).port),
    caPem: front.ca,
    account: GATEWAY_USER,
    keyOf: () => key.token,
    decided: ({ method = 'GET', target }) => decidedOf(method, target(evilHost)),
  }
  const ada = {
    username: 'ada',
    groups: ['platform:authenticated', 'platform:user:ada', 'system:authenticated'],
    extra: { 'platform.sh/access-key': [key.object.metadata.name] },
  }

  test('serves', async () => {
    const consequences = await consequencesOf(NO_ATTACK, ours)
    expect(consequences.audited).toHaveLength(1)
    expect(wrongs(NO_ATTACK, consequences, ada)).toEqual([])
  })

  test.each(ATTACKS.filter(({ caller }) => caller === undefined))(
    'stands $name',
    async (attack) => {
      expect(wrongs(attack, await consequencesOf(attack, ours), ada)).toEqual([])
    },
  )

  test.each([
    { user: '', code: 201 },
    { user: ' ', code: 422 },
    { user: '\t', code: 422 },
    { user: '\u00a0', code: 422 },
    { user: '\u200b', code: 422 },
  ])('stands A3: the key of user $user', async ({ user, code }) => {
    const secret = `blank-${'k'.repeat(32)}`
    const made = await plane.raw('POST', '/apis/management.platform.sh/v1/ownedaccesskeys', {
      ...key.object,
      metadata: { generateName: 'blank-' },
      spec: { user, key: secret },
    })
    const { audited } = await consequencesOf(NO_ATTACK, { ...ours, keyOf: () => secret })
    expect({ code: made.code, audited }).toEqual({ code, audited: [] })
  })
})

/** What it reads of the request; null when it refuses it for its target. */
function decidedOf(method: string, target: string): Consequences['decided'] {
  const route = routeOf(target)
  const result = route && readApiRequest(method, route.target, route.rest)
  if (!result?.ok || 'path' in result.request.attributes) return null
  const { verb, resource, namespace, name } = result.request.attributes
  return { verb, resource, namespace, name }
}
