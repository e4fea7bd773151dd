// The connection of a request with a valid credential is a caller's, and no other (contract 13.3).
import { expect, test } from 'vitest'
import { authentication } from '../../../../src/gateway/stages/authentication.ts'
import type { RequestContext } from '../../../../src/gateway/request-context.ts'
import { refuse } from '../../../../src/serving/http/answer.ts'
import { ERRORS } from '../../../../src/gateway/errors.ts'
import { CALLER } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'

test.each([
  { name: 'valid', result: { ok: true, caller: CALLER }, marks: 1 },
  {
    name: 'not valid',
    result: {
      ok: false,
      answer: refuse(ERRORS.keyNotFound),
      refusal: { because: 'unknown', key: null },
    },
    marks: 0,
  },
] as const)(
  'a credential that is $name marks its connection $marks times (13.3)',
  async ({ result, marks }) => {
    let marked = 0
    const http = callTo('/api', { authenticated: () => void (marked += 1) })
    const context = { http } as RequestContext
    await authentication(context, { authenticate: async () => result })
    expect(marked).toBe(marks)
  },
)
