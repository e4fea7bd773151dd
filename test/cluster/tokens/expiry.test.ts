/** @module-tag no-retry */
// The objects of expired and revoked tokens with a retention of a day (contract 5.2); retention.private.long.test.ts
// has those that outlast a retention of seconds.
import { describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import { auditOf } from '../../support/audit-log.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'
import {
  FOREIGN,
  type StoredToken,
  issuedInTime,
  tokenClientOf,
  under,
  writesTo,
} from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const audit = auditOf(plane)

const KIND = 'directclusterendpointtokens'
const ADOPTION = `patch ${KIND}`
const STATUS = `patch ${KIND} status`
const DELETION = `delete ${KIND}`
const FINALIZER_REMOVAL = `patch ${KIND}`

const remove = { [EXPIRED_ANNOTATION]: 'Delete' }

// biome-ignore format: a table
const DELETED_AT_ONCE: readonly { readonly name: string; readonly metadata: Partial<ObjectMeta> }[] = [
  { name: 'annotated with Delete', metadata: { annotations: remove } },
  { name: 'annotated with Delete and applied by Helm', metadata: { annotations: remove, labels: { 'app.kubernetes.io/managed-by': 'Helm' } } },
]

describe.concurrent('the object of a token', () => {
  test.each(DELETED_AT_ONCE)(
    '$name is marked and then deleted at its expiry (5.2)',
    async ({ metadata }) => {
      const mark = await audit.mark()
      const token = await issuedInTime(tokens, () => tokens.create({ ttl: 3 }, metadata))
      await tokens.gone(token)
      const writes = [ADOPTION, STATUS, STATUS, DELETION, FINALIZER_REMOVAL]
      expect(await writesTo(token, audit, mark)).toEqual(writes)
      expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
    },
  )

  test.each(DELETED_AT_ONCE)(
    '$name is marked and then deleted at its revocation (5.2)',
    async ({ metadata }) => {
      const owner = await keys.shown(await keys.create(), 'Active')
      const token = await tokens.issue({}, { ...metadata, ...under(owner) })
      const mark = await audit.mark()
      await keys.patch(owner, { spec: { disabled: true } })
      await tokens.gone(token)
      expect(await writesTo(token, audit, mark)).toEqual([STATUS, DELETION, FINALIZER_REMOVAL])
      expect(await platform.revoked()).toHaveProperty(token.metadata.uid)
    },
  )

  test('that is deleted after its revocation gets no second record (5.1, 5.2)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.issue({}, under(owner))
    await keys.patch(owner, { spec: { disabled: true } })
    await tokens.shown(token, 'Revoked')
    const mark = await audit.mark()
    await tokens.remove(token)
    await tokens.gone(token)
    expect(await writesTo(token, audit, mark)).toEqual([FINALIZER_REMOVAL])
  })

  test('with the annotation Delete stays while it has a foreign finalizer (5.1, 5.2)', async () => {
    const token = await tokens.create({ ttl: 3 }, { annotations: remove, finalizers: [FOREIGN] })
    await tokens.shown(token, 'Terminating')
    const isLeft = ({ metadata }: StoredToken) => metadata.finalizers?.join() === FOREIGN
    const { status } = await tokens.until(token, 'has only the foreign finalizer', isLeft)
    expect(status).not.toHaveProperty('token')
    await tokens.patch(token, { metadata: { finalizers: [] } })
    await tokens.gone(token)
  })

  test('is deleted when it is annotated with Delete after its expiry (5.2)', async () => {
    const token = await tokens.shown(await tokens.create({ ttl: 2 }), 'Expired')
    await tokens.patch(token, { metadata: { annotations: remove } })
    await tokens.gone(token)
    expect(await tokens.read(token)).toBeNull()
  })
})
