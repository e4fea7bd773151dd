/** @module-tag no-retry */
// The gateway's RequestInfo is what the API server authorizes and audits (contract 11.6; threats B1 to B5, B10):
// thousands of random, often malformed requests are compared with the audit log.
import { readFile } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { GROUP } from '../../../src/api/names.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { authorize, parseScope } from '../../../src/domain/scope/authorize.ts'
import type { RequestInfo } from '../../../src/domain/scope/request-info.ts'
import { type ParsedRequest, parseRequest } from '../../../src/gateway/request/parse.ts'
import { mayCreate } from '../../../src/gateway/stages/authorization.ts'
import { type AuditedUser, type Taken, auditOf, wantedOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { type Sender, createSender } from '../../support/raw-sender.ts'
import { FUZZ_REQUESTS, FUZZ_SEED, FUZZ_WITHIN_MS } from '../../support/request-fuzzer.ts'
import {
  clientCertificateOf,
  type FuzzedRequest,
  type FuzzCase,
  exactly,
  fuzz,
} from './fuzzed-requests.ts'
import { MANAGEMENT, type UsableKey, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const audit = auditOf(setup.plane)

/** A user without rights: the API server audits each request and refuses it. */
const USER = 'fuzz'

const senders: Sender[] = []
afterAll(() => senders.forEach((sender) => sender.close()))
function senderTo(url: string, tls: Parameters<typeof createSender>[0]): Sender {
  const { hostname: host, port } = new URL(url)
  const sender = createSender({ ...tls, host, port: Number(port) })
  senders.push(sender)
  return sender
}

const { plane } = setup
const kubeconfig = await plane.clientKubeconfig({ name: USER, user: USER, groups: [] })
const certificate = clientCertificateOf(await readFile(kubeconfig, 'utf8'))
const direct = {
  audit,
  account: USER,
  sender: senderTo(plane.url, { ...certificate, ca: await readFile(plane.caFile, 'utf8') }),
}

test(
  `the API server audits a rewritten request as the gateway parsed it: ${FUZZ_REQUESTS} requests, seed ${FUZZ_SEED} (11.6, 2.0)`,
  async () => {
    const mismatches = await fuzz(FUZZ_SEED, direct, ({ sent, parsed }) => {
      if (parsed === null) return null
      const target = parsed.search === '' ? parsed.path : `${parsed.path}?${parsed.search}`
      return { sent, target, isExpected: exactly(wantedOf(parsed.attributes)) }
    })
    expect(mismatches).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

test(
  `the API server audits the original request as the gateway parsed it: ${FUZZ_REQUESTS} requests, seed ${FUZZ_SEED + 1} (11.6, 2.0)`,
  async () => {
    const mismatches = await fuzz(FUZZ_SEED + 1, direct, ({ sent, parsed }) => {
      if (parsed === null || !sent.rest.startsWith('/') || isAlias(sent, parsed)) return null
      return { sent, target: sent.rest, isExpected: exactly(wantedOf(parsed.attributes)) }
    })
    expect(mismatches).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

/** Whether the path is an alias that only the management cluster has (9.3). */
function isAlias({ method, rest }: FuzzedRequest['sent'], { path }: ParsedRequest): boolean {
  const elsewhere = parseRequest(method, { kind: 'Cluster', cluster: 'c' }, rest)
  return elsewhere.ok && elsewhere.request.path !== path
}

const SCOPE: Scope = {
  rules: [
    {
      verbs: ['get', 'list', 'patch', 'update', 'delete'],
      namespaces: ['a', 'default', 'kube-system'],
      resources: [
        { resources: ['pods', 'secrets', '*/status', 'pods/log'] },
        { group: 'apps', resources: ['*'] },
      ],
    },
    { verbs: ['watch', 'create', 'patch'], resources: [{ resources: ['*'] }, { group: 'apps' }] },
    { verbs: ['get', 'head'], nonResourceURLs: ['/healthz/*', '/logs'] },
  ],
}
const PARSED_SCOPE = parseScope(SCOPE)
const SURROUNDINGS = { projectNamespacePrefix: 'p-', roleRules: () => [] }

/** Whether the scope grants a request without a body and content type. */
function isGranted(request: ParsedRequest): boolean {
  const { attributes } = request
  const needed: readonly RequestInfo[] = mayCreate(request, undefined)
    ? [attributes, { ...attributes, verb: 'create' }]
    : [attributes]
  return needed.every((one) => authorize(PARSED_SCOPE, one, SURROUNDINGS).allowed)
}

const unscoped = await setup.key({ user: USER })
const scoped = await setup.key({ user: USER, scope: SCOPE })

const callerOf = ({ object }: UsableKey): AuditedUser => ({
  username: USER,
  groups: ['platform:authenticated', `platform:user:${USER}`, 'system:authenticated'],
  extra: { 'platform.sh/access-key': [object.metadata.name] },
})

test(
  `the API server audits a forwarded request as the gateway parsed it, by keys with and without a scope: ${FUZZ_REQUESTS} requests, seed ${FUZZ_SEED + 2} (11.6, 2.0, 12.1)`,
  async () => {
    const sender = senderTo(setup.gateways[0]?.url() ?? '', { ca: setup.ca })
    const channel = { audit, account: GATEWAY_USER, sender }
    const mismatches = await fuzz(FUZZ_SEED + 2, channel, (one, { pick }) => {
      if (deletesKeys(one.parsed)) return null
      const key = isReview(one.parsed) ? unscoped : pick([unscoped, scoped])
      return {
        sent: one.sent,
        target: `${MANAGEMENT}${one.sent.rest}`,
        headers: [`Authorization: Bearer ${key.token}`],
        isExpected: expectation(one.parsed, key),
      }
    })
    expect(mismatches).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

/** Would delete all keys of the caller, including those of this test. */
const deletesKeys = (parsed: ParsedRequest | null): boolean =>
  parsed?.attributes.verb === 'deletecollection' && isPlatformKind(parsed.attributes)

const isPlatformKind = (attributes: RequestInfo): boolean =>
  'group' in attributes && attributes.group === GROUP

/** The gateway may answer a self review of a scoped key without the API server. */
const isReview = (parsed: ParsedRequest | null): boolean =>
  parsed !== null &&
  'resource' in parsed.attributes &&
  parsed.attributes.resource.endsWith('reviews')

/**
 * A refused request never reaches the API server; others reach it as the caller. Only about the platform's own kinds
 * does the gateway send requests as itself (12.1).
 */
function expectation(parsed: ParsedRequest | null, key: UsableKey): FuzzCase['isExpected'] {
  if (parsed === null || (key === scoped && !isGranted(parsed))) return exactly()
  const { attributes } = parsed
  const caller = callerOf(key)
  if (!isPlatformKind(attributes)) return exactly(wantedOf(attributes, caller))
  const isAboutPlatformKind = (taken: Taken): boolean => taken.objectRef?.['apiGroup'] === GROUP
  return (all) =>
    all.every((taken) =>
      taken.as ? exactly(wantedOf(attributes, caller))([taken]) : isAboutPlatformKind(taken),
    )
}
