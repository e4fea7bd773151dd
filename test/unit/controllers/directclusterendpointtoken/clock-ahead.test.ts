// A manager whose clock was ahead marked a token as Expired before its exp, without a record (5.4, 7.4).
import { expect, test } from 'vitest'
import { plan } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { findCondition } from '../../../../src/domain/conditions.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { after } from '../../../support/key-builder.ts'
import { issuedObject, tokenAfter, tokenCircumstances } from '../../../support/token-builder.ts'

const HOUR = 3600
const out = issuedObject({ spec: { ttl: HOUR } })
const at = (seconds: number, isRecorded = false) =>
  tokenCircumstances({ nowMs: after(seconds), isRecorded })

/** The object as a manager wrote it whose clock was two hours ahead. */
const ended = tokenOf(tokenAfter(out, plan(tokenOf(out), at(2 * HOUR))) ?? out)

test('status says Expired', () => {
  expect(findCondition(ended.published.conditions, 'Ready')?.reason).toBe('Expired')
})

// biome-ignore format: a table
test.each([
  { name: 'the token is recorded once the clock is right', when: at(60), step: { kind: 'record', expiresMs: after(HOUR) } },
  { name: 'a recorded token is left alone', when: at(60, true), step: { kind: 'wait' } },
  { name: 'a token past its exp is left alone', when: at(HOUR), step: { kind: 'wait' } },
])('$name', ({ when, step }) => {
  expect(plan(ended, when)).toMatchObject(step)
})
