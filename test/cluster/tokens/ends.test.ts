/** @module-tag no-retry */
// What happens to the object of a token that has ended, while the retention is a day (contract 5.2).
// What is kept although the retention is over: kept.private.test.ts.
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
const ADOPTED = `patch ${KIND}`
const TOLD = `patch ${KIND} status`
const DELETED = `delete ${KIND}`
const RELEASED = `patch ${KIND}`

const remove = { [EXPIRED_ANNOTATION]: 'Delete' }

// biome-ignore format: a table
const GOES: readonly { readonly name: string; readonly metadata: Partial<ObjectMeta> }[] = [
  { name: 'as its annotation asks', metadata: { annotations: remove } },
  { name: 'as its annotation asks, although Helm applies it', metadata: { annotations: remove, labels: { 'app.kubernetes.io/managed-by': 'Helm' } } },
]

describe.concurrent('the object of a token', () => {
  test.each(GOES)(
    'that expired is marked, then deleted at once, $name (5.2)',
    async ({ metadata }) => {
      const mark = await audit.mark()
      const token = await issuedInTime(tokens, () => tokens.create({ ttl: 3 }, metadata))
      await tokens.gone(token)
      const writes = [ADOPTED, TOLD, TOLD, DELETED, RELEASED]
      expect(await writesTo(token, audit, mark)).toEqual(writes)
      expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
    },
  )

  test.each(GOES)(
    'that is revoked is marked, then deleted at once, $name (5.2)',
    async ({ metadata }) => {
      const owner = await keys.shown(await keys.create(), 'Active')
      const token = await tokens.issue({}, { ...metadata, ...under(owner) })
      const mark = await audit.mark()
      await keys.patch(owner, { spec: { disabled: true } })
      await tokens.gone(token)
      expect(await writesTo(token, audit, mark)).toEqual([TOLD, DELETED, RELEASED])
      expect(await platform.revoked()).toHaveProperty(token.metadata.uid)
    },
  )

  test('that is revoked and then deleted is let go without another record (5.1, 5.2)', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const token = await tokens.issue({}, under(owner))
    await keys.patch(owner, { spec: { disabled: true } })
    await tokens.shown(token, 'Revoked')
    const mark = await audit.mark()
    await tokens.remove(token)
    await tokens.gone(token)
    expect(await writesTo(token, audit, mark)).toEqual([RELEASED])
  })

  test('that is to go at its end stays for somebody else’s finalizer (5.1, 5.2)', async () => {
    const token = await tokens.create({ ttl: 3 }, { annotations: remove, finalizers: [FOREIGN] })
    await tokens.shown(token, 'Terminating')
    const isLeft = ({ metadata }: StoredToken) => metadata.finalizers?.join() === FOREIGN
    const { status } = await tokens.until(token, 'is left to them', isLeft)
    expect(status).not.toHaveProperty('token')
    await tokens.patch(token, { metadata: { finalizers: [] } })
    await tokens.gone(token)
  })

  test('that ended goes when somebody asks for that later (5.2)', async () => {
    const token = await tokens.shown(await tokens.create({ ttl: 2 }), 'Expired')
    await tokens.patch(token, { metadata: { annotations: remove } })
    await tokens.gone(token)
    expect(await tokens.read(token)).toBeNull()
  })
})
