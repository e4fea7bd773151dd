/** @module-tag no-retry */
// No credential of a target, nor the gateway's own token, is in any answer, log, Event or metric, nor at any server but
// its own: all servers keep what they get (contract 3.5, 9.5; threats 2.6, A6, A7, C8).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { LOG_LEVELS } from '../../../src/runtime/log.ts'
import { parseYaml } from '../../../src/runtime/yaml.ts'
import { auditOf } from '../../support/audit-log.ts'
import {
  type Canary,
  findCanaries,
  plantCanary,
  privateKeyCanary,
  tokenCanary,
} from '../../support/canary.ts'
import { serverPair } from '../../support/certificate-builder.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { redirected } from '../../support/fault-proxy.ts'
import { ask } from '../../support/gateway-process.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { startNode } from '../../support/node.ts'
import { recordAnswered, recordBefore } from '../../support/recording-server.ts'
import { sinksOf, storedSinks } from './canary-cluster.ts'
import { openRawConnection } from './gateway-load.ts'
import {
  LOCAL_TARGETS,
  TARGET_NAMESPACE,
  TARGET_PATHS,
  TEAM,
  connectOwnTargets,
  kubeconfigText,
} from './own-targets.ts'
import { STREAMS, openStream, startStreamPods } from './raw-streams.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const folder = mkdtempSync(join(tmpdir(), 'target-canaries-'))
afterAll(() => rmSync(folder, { recursive: true }))
const plane = await privateControlPlane()
const real = { url: plane.url, caPem: readFileSync(plane.caFile, 'utf8') }

/** How the server that is no API server answers: by code and headers, which may quote the request's. */
let hostileAnswer = { status: 200, headers: {} as Readonly<Record<string, string>> }

/** Quotes the credential of the request wherever no client sees it. */
function answerAsHostile({ headers, url = '' }: IncomingMessage, response: ServerResponse): void {
  const quoted = headers.authorization ?? 'none'
  const { status, headers: more } = hostileAnswer
  response.writeHead(status, {
    ...more,
    'set-cookie': `token=${quoted.slice(-43)}`,
    'www-authenticate': quoted,
    'x-quoted': quoted,
  })
  // A client gets the body of any answer but a 401, which is about the gateway.
  const isQuoted = status === 401 || url === '/version'
  response.end(JSON.stringify({ kind: 'Status', message: isQuoted ? quoted : 'no' }))
}

const servers = {
  management: await recordBefore(real),
  east: await recordBefore(real),
  hostile: await recordAnswered(answerAsHostile),
  other: await recordAnswered((_, response) => void response.end('{}')),
}
type ServerName = keyof typeof servers
afterAll(async () => {
  for (const server of Object.values(servers)) await server[Symbol.asyncDispose]()
})

/** A credential, and the only server that may get it. */
interface Credential {
  readonly canary: Canary
  readonly server: ServerName | null
}
const credentials: Credential[] = []
const note = (canary: Canary, server: ServerName | null): string => {
  credentials.push({ canary, server })
  return canary.secret
}

interface TokenUser {
  readonly users: readonly { readonly user: { readonly tokenFile: string } }[]
}

/** The gateway's kubeconfig leads to the first server. */
const serviceAccountKubeconfig: typeof plane.serviceAccountKubeconfig = async (...account) => {
  const direct = await plane.serviceAccountKubeconfig(...account)
  const { users } = parseYaml(readFileSync(direct, 'utf8')) as TokenUser
  const token = readFileSync(users[0]?.user.tokenFile ?? '', 'utf8').trim()
  note(tokenCanary("the gateway's own", token), 'management')
  return redirected(direct, servers.management.url, servers.management.caPem)
}

const flags = [...LOCAL_TARGETS, `--log-level=${LOG_LEVELS[0]}`]
const setup = await startTestGateway({ ...plane, serviceAccountKubeconfig }, 1, flags)
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const audit = auditOf(plane)
const node = await startNode(plane)
const caFile = join(folder, 'east.pem')
writeFileSync(caFile, servers.east.caPem)
const east = { ...setup.plane, url: servers.east.url, caFile }
const { token, kubeconfig, secretOf } = await connectOwnTargets({ ...setup, plane: east })
note(tokenCanary('that of east', token), 'east')

const kubectl = (args: readonly string[], input = '') => mustKubectl(plane, args, { input })
const binding = ['--clusterrole=cluster-admin', '--group=platform:user:ada']
await kubectl(['create', 'rolebinding', 'ada', '-n', TEAM, ...binding])
const pods = await startStreamPods(setup, node, TEAM)
const ada = await setup.key({ user: 'ada', key: note(plantCanary('an access key'), null) })

const apply = (...manifests: readonly string[]) =>
  kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifests.join('---\n'))

/** All that clients got. */
const received: string[] = []
const authorization = `Bearer ${ada.token}`

async function send(path: string, method = 'GET', body?: string): Promise<number> {
  const headers = { authorization, 'content-type': 'application/json' }
  const options = { ca: setup.ca, headers, method, ...(body === undefined ? {} : { body }) }
  const answer = await ask(`${gateway?.url()}${path}`, options)
  received.push(JSON.stringify(answer.headers), answer.body)
  return answer.code
}

/** An upgrade that is refused. */
async function sendUpgrade(path: string): Promise<void> {
  const connection = await openRawConnection(gateway?.url() ?? '', setup.ca)
  const head = [
    `GET ${path} HTTP/1.1`,
    'Host: gateway',
    `Authorization: ${authorization}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==',
  ]
  connection.write(`${head.join('\r\n')}\r\n\r\n`)
  received.push(await connection.closed)
}

const CONFIG_MAPS = `/api/v1/namespaces/${TEAM}/configmaps`

/** Requests and streams of all kinds, on each target. */
async function ordinaryRequests(): Promise<void> {
  for (const { path } of TARGET_PATHS) {
    expect(await send(`${path}${CONFIG_MAPS}`)).toBe(200)
    const metadata = { generateName: 'canary-' }
    expect(await send(`${path}${CONFIG_MAPS}`, 'POST', JSON.stringify({ metadata }))).toBe(201)
    await sendUpgrade(`${path}/api/v1/namespaces/${TEAM}/pods/missing/exec?command=x&stdout=true`)
    for (const kind of STREAMS) {
      const stream = await openStream(setup, kind, { key: ada, target: path, pods })
      received.push(stream.received())
      stream.close()
    }
  }
  // A space has no such path: it is refused.
  for (const { path } of TARGET_PATHS) await send(`${path}/version`)
}

const probes = (): number => servers.hostile.received().split('GET /version').length

/** A server that is no API server, quotes what it gets, and sends the gateway elsewhere. */
async function hostileTarget(): Promise<void> {
  const bearer = note(plantCanary('that of the hostile server'), 'hostile')
  const pair = serverPair('client')
  note(privateKeyCanary('a client key', pair.keyPem), null)
  const certificate = {
    'client-certificate-data': Buffer.from(pair.certificatePem).toString('base64'),
    'client-key-data': Buffer.from(pair.keyPem).toString('base64'),
  }
  const elsewhere = { location: `${servers.other.url}/version` }
  const answers = [
    { status: 200, headers: {} },
    { status: 401, headers: {} },
    { status: 403, headers: {} },
    { status: 302, headers: elsewhere },
    { status: 307, headers: elsewhere },
    { status: 500, headers: {} },
  ]
  for (const answer of answers) {
    hostileAnswer = answer
    const before = probes()
    const changed = (user: Readonly<Record<string, string>>) =>
      `${kubeconfigText(servers.hostile, user)}# ${answer.status}\n`
    await apply(
      secretOf('hostile', changed({ token: bearer })),
      secretOf('certified', changed(certificate)),
    )
    await eventually('both are tried', () => probes() >= before + 2 || undefined, SOON)
    for (const name of ['hostile', 'certified']) {
      const path = `/kubernetes/cluster/${name}`
      await send(`${path}${CONFIG_MAPS}`)
      await send(`${path}${CONFIG_MAPS}`, 'POST', '{}')
      await sendUpgrade(`${path}/api/v1/namespaces/${TEAM}/pods/x/exec?command=x&stdout=true`)
    }
  }
}

/** Secrets with a credential where none belongs. */
async function faultySecrets(): Promise<void> {
  const planted = (label: string): string => note(plantCanary(`misplaced: ${label}`), null)
  const users = {
    file: { tokenFile: planted('tokenFile') },
    password: { username: 'u', password: planted('password') },
    exec: { exec: { command: planted('command'), args: [planted('argument')] } },
    'auth-provider': { 'auth-provider': { name: planted('auth-provider') } },
    spaced: { token: `${planted('spaced')} and more` },
    unknown: { [planted('unknown')]: 'x' },
    key: { 'client-key-data': planted('key') },
    as: { token: planted('beside as'), as: planted('as') },
  }
  const texts = Object.entries<Readonly<Record<string, unknown>>>(users).map(([name, user]) => ({
    name,
    text: kubeconfigText(servers.other, user),
  }))
  const url = (of: string) => kubeconfigText({ ...servers.other, url: of }, { token: 'x' })
  texts.push(
    { name: 'yaml', text: `users: [{ ${planted('yaml')}` },
    { name: 'user', text: url(`https://u:${planted('userinfo')}@127.0.0.1:6443`) },
    { name: 'query', text: url(`https://127.0.0.1:6443/?token=${planted('query')}`) },
    { name: 'http', text: url(`http://127.0.0.1:6443/${planted('path')}`) },
    { name: 'host', text: url(`https://${planted('host').replaceAll('_', 'x')}.invalid`) },
  )
  await apply(...texts.map(({ name, text }) => secretOf(`bad-${name}`, text)))
  const about = ['get', 'events', '-n', TARGET_NAMESPACE, '-o']
  const told = async () => {
    const names = await kubectl([...about, 'jsonpath={.items[*].involvedObject.name}'])
    const missing = texts.filter(({ name }) => !names.includes(`cluster-bad-${name}`))
    return missing.length === 0 || undefined
  }
  await eventually('each has its Event', told, { withinMs: 60_000 })
  for (const { name } of texts)
    expect(await send(`/kubernetes/cluster/bad-${name}/version`)).toBe(503)
}

/** The target leads to another server, with another credential, in the midst of requests; and back. */
async function targetMoves(): Promise<void> {
  const path = `/kubernetes/cluster/east${CONFIG_MAPS}`
  const bearer = note(plantCanary('that of east elsewhere'), 'other')
  const moved = kubeconfigText(servers.other, { token: bearer })
  const over = new AbortController()
  const polls = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted) await send(path)
  })
  try {
    for (const given of [moved, kubeconfig, moved, kubeconfig]) {
      const server = given === moved ? servers.other : servers.east
      const count = (): number => server.received().split(`GET ${CONFIG_MAPS}`).length
      const before = count()
      await apply(secretOf('east', given))
      await eventually('requests go there', () => count() > before + 10 || undefined, SOON)
    }
  } finally {
    over.abort()
    await Promise.all(polls)
  }
}

test('no credential of a target, nor the own token, is anywhere but at its server (3.5, 9.5; 2.6, C8)', async () => {
  const mark = await audit.mark()
  await ordinaryRequests()
  await hostileTarget()
  await faultySecrets()
  await targetMoves()

  const account = 'system:serviceaccount:platform-gateway:gateway'
  const auditLines = [GATEWAY_USER, account].map((user) => audit.linesSince(mark, user))
  const sinks = {
    ...(await sinksOf('gateway', gateway)),
    ...(await storedSinks(plane)),
    'audit log': (await Promise.all(auditLines)).flat().join('\n'),
    answers: received.join('\n'),
  }
  const KNOWN: Readonly<Record<string, string>> = {
    'log of the gateway': 'a target does not work',
    'metrics of the gateway': 'platform_gateway_target_ready',
    events: 'TargetUnusable',
    'audit log': 'platform.sh/access-key',
    answers: 'cannot be used',
  }
  for (const [sink, text] of Object.entries(KNOWN))
    expect(sinks[sink as keyof typeof sinks]).toContain(text)
  const canaries = credentials.map(({ canary }) => canary)
  expect(findCanaries(sinks, canaries)).toEqual([])

  const atServers = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, server.received()]),
  )
  const found = new Set(
    findCanaries(atServers, canaries).map(({ sink, label }) => `${label} at ${sink}`),
  )
  const wanted = credentials.flatMap(({ canary: { label }, server }) =>
    server === null ? [] : [`${label} at ${server}`],
  )
  expect([...found].toSorted()).toEqual([...new Set(wanted)].toSorted())
})
