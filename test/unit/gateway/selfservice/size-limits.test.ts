// The size limit of keys and tokens that users create (contract 12.2).
import { describe, expect, test } from 'vitest'
import { REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import { nestedMap } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { create } from '../../../../src/gateway/selfservice/create.ts'
import { SELF_SERVICE_ERRORS } from '../../../../src/gateway/selfservice/errors.ts'
import { LARGEST_OWN, bodyRefusal } from '../../../../src/gateway/selfservice/object-size.ts'
import type { Quota } from '../../../../src/gateway/selfservice/quota.ts'
import { update } from '../../../../src/gateway/selfservice/update.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { type Answer, refuse } from '../../../../src/serving/http/answer.ts'
import { COUNTS, exchangeOf } from './self-service-request.ts'

const DEPS = {
  caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
  newKey: () => 'x',
  clock: systemClock(),
  counts: COUNTS,
}
const PERSON = { type: 'Login' } as const

const keyOf = (weight: number): JsonMap => ({
  apiVersion: 'management.platform.sh/v1',
  kind: 'OwnedAccessKey',
  metadata: { name: 'big', uid: 'uid-big', resourceVersion: '5', finalizers: [REVOKE_FINALIZER] },
  spec: { user: 'ada', displayName: 'x'.repeat(weight) },
})

const saidBy = ({ body }: Answer): string =>
  Buffer.isBuffer(body) ? ((JSON.parse(body.toString()) as { message?: string }).message ?? '') : ''

/** An API server that stores what it is sent and adds that many bytes; and what it stored. */
function storing(before: JsonMap | null, added = 0) {
  const stored: JsonMap[] = []
  const answers = ({ method, path, body }: UpstreamCall): readonly [number, JsonMap] => {
    if (method === 'GET') return before === null ? [404, { kind: 'Status' }] : [200, before]
    const sent = JSON.parse((body as Buffer).toString()) as JsonMap
    const metadata = { ...nestedMap(before ?? {}, ['metadata']), ...nestedMap(sent, ['metadata']) }
    const grown = added === 0 ? {} : { managedFields: [{ manager: 'y'.repeat(added) }] }
    const spec = { ...nestedMap(before ?? {}, ['spec']), ...nestedMap(sent, ['spec']) }
    const whole = { ...before, ...sent, metadata: { ...metadata, ...grown }, spec }
    if (!path.includes('dryRun')) stored.push(whole)
    return [method === 'POST' ? 201 : 200, whole]
  }
  return { answers, stored }
}

describe('the limit of 64 KiB for a caller’s own keys (12.2)', () => {
  test.each([
    { name: 'a key that fits', weight: 60_000, added: 0, code: 201, says: '' },
    {
      name: 'a body that is too long',
      weight: LARGEST_OWN,
      added: 0,
      code: 413,
      says: 'the body has',
    },
    {
      name: 'a key that grows when it is stored',
      weight: 60_000,
      added: 6000,
      code: 413,
      says: 'the object would',
    },
  ])('holds on create: $name: $code', async ({ weight, added, code, says }) => {
    const { answers, stored } = storing(null, added)
    const { metadata: _, ...json } = keyOf(weight)
    const body = { type: 'application/json', json: { ...json, metadata: { name: 'big' } } }
    const answer = await create(
      exchangeOf({ verb: 'create', name: '', body, answers }, PERSON),
      DEPS,
    )
    expect({ code: answer.status, stored: stored.length > 0 }).toEqual({
      code,
      stored: code === 201,
    })
    expect(saidBy(answer)).toContain(says)
  })

  test.each([
    { name: 'within the limit', before: 10, after: 60_000, code: 200 },
    { name: 'beyond the limit', before: 10, after: LARGEST_OWN, code: 413 },
    {
      name: 'of a key above the limit, to a smaller size',
      before: 90_000,
      after: 80_000,
      code: 200,
    },
    {
      name: 'of a key above the limit, to a larger size',
      before: 90_000,
      after: 90_001,
      code: 413,
    },
    {
      name: 'of a key above the limit, to the same size',
      before: 90_000,
      after: 90_000,
      code: 200,
    },
  ])('holds on a change $name: $code', async ({ before, after, code }) => {
    const { answers, stored } = storing(keyOf(before))
    const json = { spec: { displayName: 'z'.repeat(after) } }
    const body = { type: 'application/merge-patch+json', json }
    const answer = await update(
      exchangeOf({ verb: 'patch', name: 'big', body, answers }, PERSON),
      DEPS,
    )
    expect({ code: answer.status, stored: stored.length > 0 }).toEqual({
      code,
      stored: code === 200,
    })
  })

  describe('lets a key above the limit be', () => {
    const spec = nestedMap(keyOf(90_000), ['spec'])
    const metadata = { name: 'big', uid: 'uid-big', resourceVersion: '5' }
    const kind = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey' }
    const merge = { verb: 'patch', type: 'application/merge-patch+json' } as const
    const put = { verb: 'update', type: 'application/json' } as const
    test.each([
      {
        name: 'disabled by a patch',
        ...merge,
        json: { spec: { disabled: true } },
        added: 900,
        code: 200,
      },
      {
        name: 'shortened by a patch',
        ...merge,
        json: { spec: { ttl: 2_147_483_647 } },
        added: 900,
        code: 200,
      },
      {
        name: 'disabled and shortened by a PUT',
        ...put,
        json: { ...kind, metadata, spec: { ...spec, disabled: true, ttl: 60 } },
        added: 900,
        code: 200,
      },
      {
        name: 'disabled, and no larger beside',
        ...merge,
        json: { spec: { disabled: true, displayName: 'y'.repeat(90_000) } },
        added: 0,
        code: 200,
      },
      {
        name: 'disabled, but not made larger',
        ...merge,
        json: { spec: { disabled: true, description: 'y' } },
        added: 0,
        code: 413,
      },
      {
        name: 'disabled, but not by managers without end',
        ...merge,
        json: { spec: { disabled: true } },
        added: 17_000,
        code: 413,
      },
    ])('$name: $code (12.2)', async ({ verb, type, json, added, code }) => {
      const { answers, stored } = storing(keyOf(90_000), added)
      const answer = await update(
        exchangeOf({ verb, name: 'big', body: { type, json }, answers }, PERSON),
        DEPS,
      )
      expect({ code: answer.status, stored: stored.length > 0 }).toEqual({
        code,
        stored: code === 200,
      })
    })
  })

  test('refuses a change that gives an ended key a longer life beyond the quota', async () => {
    const { answers, stored } = storing(keyOf(10))
    const body = { type: 'application/merge-patch+json', json: { spec: { ttl: 7200 } } }
    const asked: (readonly [string, unknown, unknown])[] = []
    const revivalRefusal: Quota['revivalRefusal'] = (identity, before, after) => {
      asked.push([identity, nestedMap(before, ['spec'])['ttl'], nestedMap(after, ['spec'])['ttl']])
      return refuse(SELF_SERVICE_ERRORS.tooManyKeys, { count: 2, limit: 1 })
    }
    const answer = await update(exchangeOf({ verb: 'patch', name: 'big', body, answers }, PERSON), {
      ...DEPS,
      counts: { ...COUNTS, revivalRefusal },
    })
    expect({ code: answer.status, stored, asked }).toEqual({
      code: 403,
      stored: [],
      asked: [['user:ada', undefined, 7200]],
    })
  })

  test('counts the body as sent, with its whitespace', () => {
    const headers = { 'content-length': String(LARGEST_OWN + 1) }
    expect(bodyRefusal({ headers }, {}, null)?.status).toBe(413)
    expect(bodyRefusal({ headers: {} }, {}, null)).toBeNull()
  })

  test("does not apply to an administrator's writes for other users", async () => {
    const { answers } = storing(null)
    const json = {
      metadata: { name: 'big' },
      spec: { user: 'bob', displayName: 'x'.repeat(LARGEST_OWN) },
    }
    const body = { type: 'application/json', json }
    const answer = await create(
      exchangeOf({ verb: 'create', name: '', body, answers }, PERSON),
      DEPS,
    )
    expect(answer.status).toBe(201)
  })
})
