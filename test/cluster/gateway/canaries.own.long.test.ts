/** @module-tag no-retry */
// Secrets are planted wherever a caller or an administrator might put one, and gateway and operator go through
// all that can happen to them at their highest log level; then everything that either wrote, to whomever, is
// searched for parts of them (contract 3.5, 10.2; threats 2.6, C8).
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

const stand = await startCanaryCluster()
const { plane, gateway, operator, audit, inEnvironment, planted, told, shown, holding } = stand

/** What is in each sink by rights: were it a secret, it would be found. */
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
  'what callers were told': 'platform access key not found',
}

test('a secret is in nothing that gateway and operator write (3.5, 12.4; 2.6, C8)', {
  timeout: 300_000,
}, async () => {
  const mark = await audit.mark()
  await runCanaryLifecycles(stand)
  const last = await holding('after all that')

  const sinks: OutputSinks = {
    ...(await sinksOf('gateway', gateway)),
    ...(await sinksOf('operator', operator)),
    // A server that has just started serves some kinds a moment later.
    ...(await eventually('all kinds are served', () => storedSinks(plane), SOON)),
    ...(await auditSinks(audit, mark)),
    'what callers were told': told.join('\n'),
  }
  for (const sentence of [
    'uses of access keys can not be recorded',
    'could not write to the heartbeat key, trying again',
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
    findCanaries({ shown: shown.join('\n') }, planted)
      .map(({ label }) => label)
      .toSorted(),
  ).toEqual(['given', 'made', 'token: claims', 'token: signature'])
  expect(findCanaries({ spec: JSON.stringify(last.object.spec) }, planted)).toHaveLength(
    SECRET_FIELDS,
  )
})
