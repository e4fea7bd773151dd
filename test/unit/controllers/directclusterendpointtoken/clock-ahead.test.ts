// A token that a clock ahead of its time has ended: its exp is yet to come, and so is its record (5.4, 7.4).
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

/** As the operator wrote it whose clock was two hours ahead. */
const ended = tokenOf(tokenAfter(out, plan(tokenOf(out), at(2 * HOUR))) ?? out)

test('it is marked as expired', () => {
  expect(findCondition(ended.published.conditions, 'Ready')?.reason).toBe('Expired')
})

// biome-ignore format: a table
test.each([
  { name: 'recorded once the clock is right', when: at(60), step: { kind: 'record', expiresMs: after(HOUR) } },
  { name: 'left alone when it is recorded', when: at(60, true), step: { kind: 'wait' } },
  { name: 'left alone when its exp has come', when: at(HOUR), step: { kind: 'wait' } },
])('$name', ({ when, step }) => {
  expect(plan(ended, when)).toMatchObject(step)
})
