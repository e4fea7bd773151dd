/** @module-tag no-retry */
// What the gateway decides on is what the API server authorizes and audits (contract 11.6; threats 2.0,
// B1 to B5, B10): thousands of requests that no client would send, and the audit log says what they were.
import { readFile } from 'node:fs/promises'
import { afterAll, expect, test } from 'vitest'
import { GROUP } from '../../../src/api/names.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { authorize, parseScope } from '../../../src/domain/scope/authorize.ts'
import type { RequestInfo } from '../../../src/domain/scope/request-info.ts'
import { type ParsedRequest, parseRequest } from '../../../src/gateway/request/parse.ts'
import { mayCreate } from '../../../src/gateway/stages/authorization.ts'
import { auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { type AuditedUser, type Taken, wantedOf } from '../../support/fuzz/audited.ts'
import { FUZZ_REQUESTS, FUZZ_SEED, FUZZ_WITHIN_MS, ROUNDS } from '../../support/fuzz/rounds.ts'
import { type Sender, createSender } from '../../support/fuzz/sender.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { clientOf } from './account-client.ts'
import {
  type FuzzedRequest,
  type Row,
  type Way,
  type Mismatch,
  drawRequests,
  exactly,
  mismatchesIn,
} from './fuzzed-requests.ts'
import { MANAGEMENT, type UsableKey, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const audit = auditOf(front.plane)

/** Each of them may do nothing, so that nothing happens: it is refused after it was told what is asked. */
const NOBODY = 'fuzz'

const senders: Sender[] = []
afterAll(() => senders.forEach((sender) => sender.close()))
function senderTo(url: string, tls: Parameters<typeof createSender>[0]): Sender {
  const { hostname: host, port } = new URL(url)
  const sender = createSender({ ...tls, host, port: Number(port) })
  senders.push(sender)
  return sender
}

/** Draws, sends and looks up as many as are wanted, and returns those of the first round that went wrong. */
async function fuzz(
  seed: number,
  way: Way,
  rowOf: (one: FuzzedRequest, random: Random) => Row | null,
): Promise<readonly Mismatch[]> {
  const random = randomFrom(seed)
  for (const count of ROUNDS) {
    const rows: Row[] = []
    while (rows.length < count) {
      const row = rowOf(drawRequests(random), random)
      if (row !== null) rows.push(row)
    }
    const wrong = await mismatchesIn(way, rows)
    if (wrong.length > 0) return wrong
  }
  return []
}

const { plane } = front
const kubeconfig = await plane.clientKubeconfig({ name: NOBODY, user: NOBODY, groups: [] })
const certificate = clientOf(await readFile(kubeconfig, 'utf8'))
const direct = {
  audit,
  account: NOBODY,
  sender: senderTo(plane.url, { ...certificate, ca: await readFile(plane.caFile, 'utf8') }),
}

test(
  `the API server takes what is sent on for what it was taken for: ${FUZZ_REQUESTS} requests of seed ${FUZZ_SEED} (11.6, 2.0)`,
  async () => {
    const wrong = await fuzz(FUZZ_SEED, direct, ({ sent, read }) => {
      if (read === null) return null
      const target = read.search === '' ? read.path : `${read.path}?${read.search}`
      return { sent, target, isRight: exactly(wantedOf(read.attributes)) }
    })
    expect(wrong).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

test(
  `and so it takes what came in: ${FUZZ_REQUESTS} requests of seed ${FUZZ_SEED + 1} (11.6, 2.0)`,
  async () => {
    const wrong = await fuzz(FUZZ_SEED + 1, direct, ({ sent, read }) => {
      if (read === null || !sent.rest.startsWith('/') || isAlias(sent, read)) return null
      return { sent, target: sent.rest, isRight: exactly(wantedOf(read.attributes)) }
    })
    expect(wrong).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

/** Of a path that stands for another in the management cluster only (9.3). */
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
const READ_SCOPE = parseScope(SCOPE)
const SURROUNDINGS = { projectNamespacePrefix: 'p-', roleRules: () => [] }

/** Whether the scope lets a request pass that has no body, and so no type of one. */
function isGranted(request: ParsedRequest): boolean {
  const { attributes } = request
  const needed: readonly RequestInfo[] = mayCreate(request, undefined)
    ? [attributes, { ...attributes, verb: 'create' }]
    : [attributes]
  return needed.every((one) => authorize(READ_SCOPE, one, SURROUNDINGS).allowed)
}

const unscoped = await front.key({ user: NOBODY })
const scoped = await front.key({ user: NOBODY, scope: SCOPE })

const callerOf = ({ object }: UsableKey): AuditedUser => ({
  username: NOBODY,
  groups: ['platform:authenticated', `platform:user:${NOBODY}`, 'system:authenticated'],
  extra: { 'platform.sh/access-key': [object.metadata.name] },
})

test(
  `through the gateway, with a key and with a scope: ${FUZZ_REQUESTS} requests of seed ${FUZZ_SEED + 2} (11.6, 2.0, 12.1)`,
  async () => {
    const sender = senderTo(front.gateways[0]?.url() ?? '', { ca: front.ca })
    const way = { audit, account: GATEWAY_USER, sender }
    const wrong = await fuzz(FUZZ_SEED + 2, way, (one, { pick }) => {
      if (deletesKeys(one.read)) return null
      const key = isReview(one.read) ? unscoped : pick([unscoped, scoped])
      return {
        sent: one.sent,
        target: `${MANAGEMENT}${one.sent.rest}`,
        headers: [`Authorization: Bearer ${key.token}`],
        isRight: expectation(one.read, key),
      }
    })
    expect(wrong).toEqual([])
  },
  FUZZ_WITHIN_MS,
)

/** All of the caller's own, those included that this test calls with. */
const deletesKeys = (read: ParsedRequest | null): boolean =>
  read?.attributes.verb === 'deletecollection' && isOfOurs(read.attributes)

const isOfOurs = (attributes: RequestInfo): boolean =>
  'group' in attributes && attributes.group === GROUP

/** A scope may answer a review of its own caller without asking anybody. */
const isReview = (read: ParsedRequest | null): boolean =>
  read !== null && 'resource' in read.attributes && read.attributes.resource.endsWith('reviews')

/**
 * What is refused never gets to the API server; what is not does so as the caller. Of our own kinds alone
 * the gateway may ask something as itself (12.1).
 */
function expectation(read: ParsedRequest | null, key: UsableKey): Row['isRight'] {
  if (read === null || (key === scoped && !isGranted(read))) return exactly()
  const { attributes } = read
  const caller = callerOf(key)
  if (!isOfOurs(attributes)) return exactly(wantedOf(attributes, caller))
  const isOurs = (taken: Taken): boolean => taken.objectRef?.['apiGroup'] === GROUP
  return (all) =>
    all.every((taken) =>
      taken.as ? exactly(wantedOf(attributes, caller))([taken]) : isOurs(taken),
    )
}
