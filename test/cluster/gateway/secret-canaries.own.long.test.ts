/** @module-tag no-retry */
// Plants secrets wherever a caller or an administrator can put one, runs gateway and operator at their highest log
// level through requests, faults and outages, and searches all output for parts of them (contract 3.5, 10.2; 2.6, C8).
import { expect, test } from 'vitest'
import { type Canary, findCanaries } from '../../support/canary.ts'
import { ISSUER } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { SECRET_FIELDS } from '../keys/key-lifecycles.ts'
import {
  type OutputSinks,
  auditSinks,
  sinksOf,
  startCanaryCluster,
  storedSinks,
} from './canary-cluster.ts'
import { runCanaryLifecycles } from './canary-lifecycles.ts'
import { SOON } from './test-gateway.ts'

const cluster = await startCanaryCluster()
const {
  plane,
  gateway,
  operator,
  audit,
  inEnvironment,
  planted,
  received,
  shownOnCreate,
  createKey,
} = cluster

/** A text that each output contains, so that a search which finds nothing there is known to be broken. */
const KNOWN: Readonly<Record<string, string>> = {
  'log of the gateway': 'platform.example.com',
  'metrics of the gateway': 'platform_gateway_authentication_total',
  'health of the gateway': 'heartbeat-heard',
  'command line of the gateway': ISSUER,
  'environment of the gateway': inEnvironment.gateway.secret,
  'log of the operator': 'token issued',
  'metrics of the operator': 'platform_tokens_issued_total',
  'health of the operator': 'signing-key-loaded',
  'command line of the operator': '--leader-elect',
  'environment of the operator': inEnvironment.operator.secret,
  'metadata of all objects': 'platform-heartbeat',
  events: 'InvalidConfig',
  Leases: 'management-operator',
  ConfigMaps: 'platform-config-in-force',
  'status of keys': '"reason":"Active"',
  'status of tokens': '"reason":"Revoked"',
  'status of Configs': 'clientSecret',
  'audit log of the gateway': 'platform.sh/access-key',
  'audit log, bodies of credentials': 'connectorData',
  'answers to callers': 'platform access key not found',
}

test('gateway and operator write no secret to logs, metrics, events, objects or answers (3.5, 12.4; 2.6, C8)', {
  timeout: 300_000,
}, async () => {
  const mark = await audit.mark()
  await runCanaryLifecycles(cluster)
  const last = await createKey('after all lifecycles')

  const sinks: OutputSinks = {
    ...(await sinksOf('gateway', gateway)),
    ...(await sinksOf('operator', operator)),
    // An API server that has just started serves some kinds a moment later.
    ...(await eventually('all kinds are served', () => storedSinks(plane), SOON)),
    ...(await auditSinks(audit, mark)),
    'answers to callers': received.join('\n'),
  }
  for (const sentence of [
    'uses of access keys cannot be recorded',
    'could not write the heartbeat, trying again',
    'watch failed, trying again',
  ])
    expect(sinks['log of the gateway']).toContain(sentence)
  const known = Object.entries(sinks).filter(
    ([sink, text]) =>
      findCanaries({ [sink]: text }, [{ label: 'known', secret: KNOWN[sink] ?? '' }]).length,
  )
  expect(known.map(([sink]) => sink)).toEqual(Object.keys(sinks))

  const foundIn = (canaries: readonly Canary[]): readonly string[] =>
    findCanaries(sinks, canaries).map(({ sink, label }) => `${sink}: ${label}`)
  const isBody = (found: string): boolean => found.startsWith('audit log, bodies of credentials')
  expect(foundIn(planted).filter((found) => !isBody(found))).toEqual([])
  expect(foundIn(planted).some(isBody)).toBe(true)
  expect(foundIn(planted.filter(({ label }) => label.startsWith('unknown')))).toEqual([])
  expect(foundIn([inEnvironment.operator])).toEqual(['environment of the operator: environment'])
  expect(
    findCanaries({ shownOnCreate: shownOnCreate.join('\n') }, planted)
      .map(({ label }) => label)
      .toSorted(),
  ).toEqual(['given', 'made', 'token: claims', 'token: signature'])
  expect(findCanaries({ spec: JSON.stringify(last.object.spec) }, planted)).toHaveLength(
    SECRET_FIELDS,
  )
})
