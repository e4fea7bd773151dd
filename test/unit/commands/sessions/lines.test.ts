/** @module-tag no-retry */
// What `management-operator sessions` says about a session (27.2).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeyStatus } from '../../../../src/api/ownedaccesskey.gen.ts'
import { endLineOf, lineOf, stateOf } from '../../../../src/commands/sessions/lines.ts'
import { type Session, sessionsOf } from '../../../../src/revocation/sessions.ts'
import { statusEntry, textAfter } from '../../../support/key-builder.ts'
import { keyObject } from '../../../support/object-builder.ts'

/** A status as the operator writes it, with Ready as given. */
const observed = (ready: string, reason: string, more: object = {}): OwnedAccessKeyStatus => ({
  ...more,
  observedGeneration: 1,
  conditions: [
    { type: 'Ready', status: ready as 'True', reason, message: '', lastTransitionTime: '' },
  ],
})

/** The session of a Login key. @param isOurs whether the operator wrote its status */
async function sessionWith(
  status: OwnedAccessKeyStatus,
  spec: object = {},
  metadata: object = {},
  isOurs = true,
): Promise<Session> {
  const key = keyObject({
    metadata: { ...(isOurs && { managedFields: [statusEntry(status)] }), ...metadata },
    spec: { user: 'ada', type: 'Login', ...spec },
    status,
  })
  const page = { items: [key], resourceVersion: '1' }
  const [session] = await sessionsOf({ client: { list: async () => page } }, 'ada')
  if (session === undefined) throw new Error('no session')
  return session
}

const SINCE = 'ci: since 2026-11-21T10:00:00Z, never used'
const ACTIVE = observed('True', 'Active')
const EXPIRES = { expirationTimestamp: '2026-12-11T10:00:00Z' }

describe('the line of a session (27.2)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'an end', status: observed('True', 'Active', EXPIRES), says: `until ${EXPIRES.expirationTimestamp}` },
    { name: 'no end', status: ACTIVE, says: 'no end' },
    { name: 'the default of the API server', status: { observedGeneration: -1 }, isOurs: false, says: 'end not known yet' },
    { name: 'no status', status: {}, says: 'end not known yet' },
    { name: 'a condition of another writer', status: ACTIVE, isOurs: false, says: 'end not known yet' },
    { name: 'no condition', status: { observedGeneration: 1 }, says: 'end not known yet' },
  ])('says with $name: $says', async ({ status, isOurs, says }) => {
    expect(lineOf(await sessionWith(status, {}, {}, isOurs))).toBe(`${SINCE}, ${says}`)
  })
})

describe('the state of a session (27.2)', () => {
  const DISABLED = { disabled: true }
  const DELETED = { deletionTimestamp: textAfter(0) }

  // biome-ignore format: a table
  test.each([
    { name: 'works', status: ACTIVE, says: '' },
    { name: 'has no status', status: {}, says: '' },
    { name: 'is not ready yet', status: observed('Unknown', 'Progressing'), says: '' },
    { name: 'is of a disabled user', status: observed('False', 'UserDisabled'), says: ', UserDisabled' },
    { name: 'has expired', status: observed('False', 'Expired', EXPIRES), says: ', Expired' },
    { name: 'has a reason with control characters', status: observed('False', 'a\u009bb'), says: ', a\\u009bb' },
    { name: 'is disabled', status: observed('False', 'Disabled'), spec: DISABLED, says: ', disabled' },
    { name: 'was disabled a moment ago', status: ACTIVE, spec: DISABLED, says: ', disabled' },
    { name: 'is being deleted', status: observed('False', 'Terminating'), metadata: DELETED, says: ', being deleted' },
    { name: 'is disabled and being deleted', status: ACTIVE, spec: DISABLED, metadata: DELETED, says: ', being deleted' },
  ])('that $name is $says', async ({ status, spec, metadata, says }) => {
    expect(stateOf(await sessionWith(status, spec, metadata))).toBe(says)
  })
})

describe('the line of a session that was to be ended (27.2)', () => {
  test('says what came of it', async () => {
    const session = await sessionWith(ACTIVE)
    expect(endLineOf({ session, end: 'deleted', because: '' })).toBe(`${SINCE}, no end: ended`)
  })

  test('shows what is hidden in the message of the API server', async () => {
    const session = await sessionWith(ACTIVE)
    expect(endLineOf({ session, end: 'failed', because: 'no\u001b[2J\nci: ended' })).toBe(
      `${SINCE}, no end: FAILED: no\\u001b[2J\\u000aci: ended`,
    )
  })
})
