// A change while another client writes between the read of an object and the write (contract 12.3).
import { describe, expect, test } from 'vitest'
import { nestedMap, nestedString } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { formatTimestamp } from '../../../../src/domain/time.ts'
import { update } from '../../../../src/gateway/selfservice/update.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { key, project } from './key-objects.ts'
import { COUNTS, exchangeOf } from './self-service-request.ts'

const WIDE = project('shop')
const NARROW = { spaces: [{ project: 'shop', space: 'corner' }] }
const ofVersion = (resourceVersion: string, spec: JsonMap): JsonMap =>
  key({ metadata: { resourceVersion }, spec: { type: 'User', ...spec } })

const SEEN = ofVersion('5', { scope: WIDE })
const TAKEN_BACK = ofVersion('6', { scope: NARROW, disabled: true })

/** An API server with one key, which an administrator revokes right after the first read. */
function keeping() {
  let stored = SEEN
  const conflicts = (sent: JsonMap): boolean =>
    ['resourceVersion', 'uid'].some(
      (name) => nestedString(sent, ['metadata', name]) !== nestedString(stored, ['metadata', name]),
    )
  const answers = ({ method, path, body }: UpstreamCall): readonly [number, JsonMap] => {
    if (method === 'GET') {
      const seen = stored
      stored = TAKEN_BACK
      return [200, seen]
    }
    const sent = JSON.parse((body as Buffer).toString()) as JsonMap
    if (conflicts(sent)) return [409, { kind: 'Status', reason: 'Conflict' }]
    const spec = { ...nestedMap(stored, ['spec']), ...nestedMap(sent, ['spec']) }
    const changed = { ...stored, spec }
    if (!path.includes('dryRun')) stored = changed
    return [200, changed]
  }
  return { answers, stored: () => stored }
}

const DEPS = {
  caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
  newKey: () => 'x',
  clock: systemClock(),
  counts: COUNTS,
}

describe('a key that is revoked while its bearer changes it stays revoked (12.3)', () => {
  const ways = [
    { name: 'PUT', verb: 'update', type: 'application/json' },
    { name: 'merge patch', verb: 'patch', type: 'application/merge-patch+json' },
    { name: 'apply', verb: 'patch', type: 'application/apply-patch+yaml' },
  ] as const
  const versions = [
    { of: 'the version that is to come', metadata: { resourceVersion: '6' }, code: 409 },
    { of: 'the version that is seen', metadata: { resourceVersion: '5' }, code: 409 },
    { of: 'another object', metadata: { resourceVersion: '5', uid: 'another' }, code: 409 },
  ]
  test.each([
    ...ways.flatMap((way) => versions.map((version) => ({ ...way, ...version }))),
    // A change without a resourceVersion is retried, and checked against the current object.
    ...ways.slice(1).map((way) => ({ ...way, of: 'no version', metadata: {}, code: 403 })),
  ])('the change by $name of $of gets a $code', async ({ verb, type, metadata, code }) => {
    const { answers, stored } = keeping()
    const spec = { user: 'ada', type: 'User', disabled: false, scope: WIDE }
    const json = { kind: 'OwnedAccessKey', metadata: { name: 'ci', ...metadata }, spec }
    const exchange = exchangeOf(
      { verb, name: 'ci', body: { type, json }, answers },
      { type: 'User', scope: WIDE },
    )
    const answer = await update(exchange, DEPS)
    expect({ code: answer.status, stored: stored() }).toEqual({ code, stored: TAKEN_BACK })
  })
})

describe('an apply of a key that another apply is creating', () => {
  const MAKER = [{ manager: 'git' }]
  const CLAIMED = [...MAKER, { manager: 'management-operator-gateway' }]

  /** An API server that accepts an apply once the key is claimed, which is so at the third read. */
  async function applied(createdMs: number): Promise<{ readonly code: number; looks: number }> {
    let looks = 0
    const seen = (managedFields: JsonMap[]): JsonMap =>
      key({
        metadata: { creationTimestamp: formatTimestamp(createdMs), managedFields },
        spec: { type: 'User' },
      })
    const answers = ({ method }: UpstreamCall): readonly [number, JsonMap] => {
      if (method === 'GET') looks += 1
      const isClaimed = looks > 2
      if (method !== 'GET' && !isClaimed) return [422, { kind: 'Status', reason: 'Invalid' }]
      return [200, seen(isClaimed ? CLAIMED : MAKER)]
    }
    const json = { kind: 'OwnedAccessKey', metadata: { name: 'ci' }, spec: {} }
    const body = { type: 'application/apply-patch+yaml', json }
    const answer = await update(
      exchangeOf({ verb: 'patch', name: 'ci', body, answers }, { type: 'Login' }),
      DEPS,
    )
    return { code: answer.status, looks }
  }

  test('is retried until the gateway owns the fields that it added', async () => {
    expect(await applied(Date.now())).toEqual({ code: 200, looks: 3 })
  })

  test('of a key that is not new is validated as an update', async () => {
    expect(await applied(Date.now() - 60_000)).toEqual({ code: 422, looks: 2 })
  })
})
