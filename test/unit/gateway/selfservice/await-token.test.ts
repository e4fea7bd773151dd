// A created token that the operator does not issue in time is deleted (contract 12.2).
import { describe, expect, test } from 'vitest'
import { TOKENS } from '../../../../src/api/names.ts'
import { nestedString } from '../../../../src/domain/json/field-path.ts'
import { type JsonMap, parseJsonMap } from '../../../../src/domain/json/json.ts'
import { awaitToken } from '../../../../src/gateway/selfservice/await-token.ts'
import type { UpstreamCall } from '../../../../src/kube/proxy/types.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { t0, token } from './key-objects.ts'
import { exchangeOf } from './self-service-request.ts'

/** An API server with this token; it rejects the deletion of any other object. */
function having(there: JsonMap) {
  let stored: JsonMap | null = there
  const answers = ({ method, body }: UpstreamCall): readonly [number, JsonMap] => {
    if (stored === null) return [404, { kind: 'Status' }]
    if (method === 'GET') return [200, stored]
    const demanded = nestedString(parseJsonMap((body as Buffer).toString()), [
      'preconditions',
      'uid',
    ])
    const uid = nestedString(stored, ['metadata', 'uid'])
    if (demanded !== '' && demanded !== uid) return [409, { kind: 'Status' }]
    stored = null
    return [200, { kind: 'Status' }]
  }
  return { answers, stored: () => stored }
}

const recreated = token({ metadata: { uid: 'uid-recreated' } })
const issued = token({ status: { token: 'a.b.c' } })
const refused = token({
  status: { conditions: [{ type: 'Ready', reason: 'ScopeExceedsOwner', message: 'too much' }] },
})

describe('a created token is awaited (12.2)', () => {
  test.each([
    { name: 'issued: it is kept', there: issued, code: null, left: issued },
    { name: 'refused: it is deleted', there: refused, code: 403, left: null },
    { name: 'not issued in time: it is deleted', there: token(), code: 504, left: null },
    {
      name: 'another token of its name is kept',
      there: recreated,
      code: 504,
      left: recreated,
    },
    {
      name: 'not issued before its key ends: it is deleted',
      there: token(),
      code: 504,
      left: null,
      isOver: true,
    },
  ])('$name', async ({ there, code, left, isOver = false }) => {
    const { answers, stored } = having(there)
    const clock = manualClock(t0)
    const request = exchangeOf({ verb: 'create', name: '', answers, maySend: () => !isOver })
    const info = { ...request.info, resource: TOKENS }
    const waiting = awaitToken({ ...request, info }, token(), clock)
    await clock.advance(6000)
    const waited = await waiting
    expect(waited.ok ? null : waited.answer.status).toBe(code)
    expect(stored()).toEqual(left)
  })
})
