/** @module-tag no-retry */
// The deletion of a key revokes and deletes its tokens (contract 5.1, 7.4).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER, TOKENS } from '../../../../src/api/names.ts'
import type { KubeObject, ObjectMeta } from '../../../../src/api/objects.ts'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import { plan as planToken } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { type KeyStep, plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import {
  countUnrecordedTokens,
  revokeOwnedTokens,
} from '../../../../src/controllers/ownedaccesskey/revoke-owned-tokens.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
  refused,
} from '../../../support/fake-kube-client.ts'
import {
  accessKey,
  after,
  circumstances,
  stepped,
  textAfter,
} from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  issuedObject,
  keyStore,
  owner,
  referenceTo,
  tampered,
  tokenAfter,
  tokenCircumstances,
  tokenObject,
  tokenStore,
  withMetadata,
} from '../../../support/token-builder.ts'
import { RELEASE, deletedKeyObject, deletedNames, fixedKeyDeps } from './key-reconcile.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'

const CI = accessKey()
const NOW = after(60)

/** Issued at t0 for ten minutes under key ci. */
function issuedUnderCi(name: string, metadata: Partial<ObjectMeta> = {}, ttl = 600) {
  const ownerReferences = [referenceTo(CI)]
  const object = issuedObject(
    { metadata: { name, uid: `uid-${name}`, ownerReferences }, spec: { ttl } },
    { owner: owner() },
  )
  return withMetadata(object, { resourceVersion: '7', ...metadata })
}

const issuedUnderOther = () => {
  const other = accessKey({ name: 'cd', uid: 'uid-cd' })
  const metadata = { name: 'x', uid: 'uid-x', ownerReferences: [referenceTo(other)] }
  return issuedObject({ metadata }, { owner: owner(other) })
}

/** The dependencies of key ci with these tokens, a minute after they were issued. */
function keyWithTokens(objects: readonly DirectClusterEndpointToken[], answers: Answers = {}) {
  const records = recordedRevocations()
  const { client, asked } = recordingClient(answers)
  const tokens = tokenStore(...objects)
  const clock = manualClock(NOW)
  return {
    records,
    asked,
    tokens,
    clock,
    deps: {
      client,
      tokens,
      revocations: records.revocations,
      issues: new IssuesInProgress(),
      clock,
    },
  }
}

describe('every token issued under its uid is recorded as revoked and deleted (5.1)', () => {
  const expired = () => {
    const object = issuedUnderCi('expired', {}, 30)
    const step = planToken(tokenOf(object), tokenCircumstances({ nowMs: NOW }))
    return tokenAfter(object, step) ?? object
  }
  const stripped = () => issuedUnderCi('stripped', { ownerReferences: [] })
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly stored?: true
    /** Expiry of the record in seconds after t0; null = no record. */
    readonly recorded: number | null
    readonly deleted: boolean
  }[] = [
    { name: 'issued', object: issuedUnderCi('a'), recorded: 600, deleted: true },
    { name: 'recorded already', object: issuedUnderCi('a'), stored: true, recorded: null, deleted: true },
    { name: 'its owner reference was removed', object: stripped(), recorded: 600, deleted: true },
    { name: 'its owner reference names another key', object: issuedUnderCi('a', { ownerReferences: [referenceTo({ name: 'cd', uid: 'uid-cd' })] }), recorded: 600, deleted: true },
    { name: 'being deleted', object: issuedUnderCi('a', { deletionTimestamp: textAfter(9) }), recorded: 600, deleted: false },
    { name: 'past its end, which is not published yet', object: issuedUnderCi('a', {}, 60), recorded: null, deleted: true },
    { name: 'expired', object: expired(), recorded: null, deleted: true },
    { name: 'status.token was removed', object: tampered(issuedUnderCi('a'), { token: undefined }), recorded: 600, deleted: true },
    { name: 'never issued, with an owner reference to the key', object: tokenObject({ metadata: { ownerReferences: [referenceTo(CI)] } }), recorded: null, deleted: false },
    { name: 'issued under another key', object: issuedUnderOther(), recorded: null, deleted: false },
    { name: 'issued under an earlier key of that name', object: issuedObject({ metadata: { ownerReferences: [referenceTo({ ...CI, uid: 'uid-old' })] } }, { owner: owner({ uid: 'uid-old' }) }),
      recorded: null, deleted: false },
    { name: 'issued without an owner', object: issuedObject(), recorded: null, deleted: false },
  ]
  test.each(rows)('$name', async ({ object, stored, recorded, deleted }) => {
    const { records, asked, deps } = keyWithTokens([object])
    const { name, uid } = object.metadata
    if (stored) records.stored.add(uid)
    const wanted = recorded === null ? [] : [[uid, after(recorded)]]
    expect(countUnrecordedTokens(CI, deps)).toBe(wanted.length)
    expect(await revokeOwnedTokens(CI, deps)).toBe(wanted.length)
    expect([...records.asked]).toEqual(wanted)
    expect(deletedNames(asked)).toEqual(deleted ? [name] : [])
  })

  test('each delete carries uid and resourceVersion, and the answer goes into the store (5.3, 8.6)', async () => {
    const deleting = {
      ...issuedUnderCi('a'),
      metadata: {
        ...issuedUnderCi('a').metadata,
        resourceVersion: '8',
        deletionTimestamp: textAfter(60),
      },
    }
    const { asked, tokens, deps } = keyWithTokens([issuedUnderCi('a')], {
      delete: () => Promise.resolve<KubeObject>(deleting),
    })
    await revokeOwnedTokens(CI, deps)
    expect(asked).toEqual([
      {
        verb: 'delete',
        kind: TOKENS.kind,
        name: 'a',
        body: { uid: 'uid-a', resourceVersion: '7' },
        reason: 'owner',
      },
    ])
    expect(tokens.get('a')?.isDeleting).toBe(true)
  })

  test('all tokens are recorded before the first is deleted (7.4)', async () => {
    const names = ['a', 'b', 'c']
    const { records, deps } = keyWithTokens(
      names.map((name) => issuedUnderCi(name)),
      {
        delete: () => {
          expect(records.asked.size).toBe(names.length)
          return Promise.resolve(null)
        },
      },
    )
    expect(await revokeOwnedTokens(CI, deps)).toBe(3)
  })

  test('the tokens are deleted eight at a time', async () => {
    let [running, most] = [0, 0]
    const names = Array.from({ length: 20 }, (_, at) => `t-${at}`)
    const { asked, deps } = keyWithTokens(
      names.map((name) => issuedUnderCi(name)),
      {
        delete: async () => {
          running += 1
          most = Math.max(most, running)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
          return null
        },
      },
    )
    await revokeOwnedTokens(CI, deps)
    expect([deletedNames(asked).toSorted(), most]).toEqual([names.toSorted(), 8])
  })

  test('a refused delete fails the reconcile after all tokens were recorded', async () => {
    const { records, deps } = keyWithTokens([issuedUnderCi('a'), issuedUnderCi('b')], {
      delete: () => Promise.reject(refused(403, 'Forbidden')),
    })
    await expect(revokeOwnedTokens(CI, deps)).rejects.toThrow('Forbidden')
    expect([...records.asked.keys()]).toEqual(['uid-a', 'uid-b'])
  })
})

const FAULT = 'the API server answered 403 Forbidden'
const FAULT_MESSAGE = `The key is being deleted and no longer works. It stays until its tokens are recorded as revoked, which failed: ${FAULT}.`

describe('a key whose tokens can’t be recorded stays, with the cause in status (5.1)', () => {
  const FOREIGN = 'example.com/backup'
  const at = (tokensFault: string | null) => circumstances({ tokensFault, nowMs: NOW })
  const deleting = accessKey({ isDeleting: true })
  const withFaultInStatus = stepped(deleting, plan(deleting, at(FAULT))) ?? deleting
  const both = { isDeleting: true, finalizers: [FOREIGN, REVOKE_FINALIZER] }

  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly key: AccessKey; readonly fault: string | null; readonly kind: KeyStep['kind'] }[] = [
    { name: 'no fault', key: deleting, fault: null, kind: 'release' },
    { name: 'a fault is published first', key: deleting, fault: FAULT, kind: 'publish' },
    { name: 'a published fault is retried', key: withFaultInStatus, fault: FAULT, kind: 'release' },
    { name: 'another fault', key: withFaultInStatus, fault: 'no answer from the API server', kind: 'publish' },
    { name: 'the fault is gone', key: withFaultInStatus, fault: null, kind: 'release' },
    { name: 'with a foreign finalizer, a fault is published', key: accessKey(both), fault: FAULT, kind: 'publish' },
    { name: 'with a foreign finalizer, a published fault is retried', key: { ...withFaultInStatus, ...both }, fault: FAULT, kind: 'release' },
    { name: 'with only a foreign finalizer', key: { ...withFaultInStatus, isDeleting: true, finalizers: [FOREIGN] }, fault: null, kind: 'publish' },
    { name: 'without finalizers', key: accessKey({ isDeleting: true, finalizers: [] }), fault: FAULT, kind: 'nothing' },
  ]
  test.each(rows)('$name: $kind', ({ key, fault, kind }) => {
    expect(plan(key, at(fault)).kind).toBe(kind)
  })

  test('the message of Ready has the fault, without an event', () => {
    const step = plan(deleting, at(FAULT))
    expect(step).toMatchObject({ wakeMs: null, announce: [] })
    expect(withFaultInStatus.published.conditions[0]).toMatchObject({
      reason: 'Terminating',
      message: FAULT_MESSAGE,
    })
  })
})

describe('the finalizer of the key is removed when all tokens are recorded (5.1)', () => {
  function deletedKey(objects: readonly DirectClusterEndpointToken[], answers: Answers = {}) {
    const { deps, ...rest } = keyWithTokens(objects, answers)
    const keys = keyStore(deletedKeyObject())
    const reconcileKey = () =>
      reconcile('ci', { ...deps, ...fixedKeyDeps(), keys }, reconcileContext())
    return { ...rest, reconcileKey }
  }

  test('at once without tokens', async () => {
    const { reconcileKey, asked } = deletedKey([])
    expect(await reconcileKey()).toEqual({ result: 'done' })
    expect(asked).toEqual([RELEASE])
  })

  test('not before the last record is stored', async () => {
    const { reconcileKey, asked, records } = deletedKey([issuedUnderCi('a'), issuedUnderCi('b')])
    const later = { result: 'later', atMs: NOW + 1000 }
    expect(await reconcileKey()).toEqual(later)
    expect(deletedNames(asked)).toEqual(['a', 'b'])
    records.stored.add('uid-a')
    expect(await reconcileKey()).toEqual(later)
    expect(asked).not.toContainEqual(RELEASE)
    records.stored.add('uid-b')
    expect(await reconcileKey()).toEqual({ result: 'done' })
    expect(asked.at(-1)).toEqual(RELEASE)
  })

  test('not while a delete is refused', async () => {
    const { reconcileKey, asked, records } = deletedKey([issuedUnderCi('a')], {
      delete: () => Promise.reject(refused(403, 'Forbidden')),
    })
    records.stored.add('uid-a')
    await expect(reconcileKey()).rejects.toThrow('Forbidden')
    expect(asked).not.toContainEqual(RELEASE)
  })

  test('status has the fault, and the record is requested again', async () => {
    const { reconcileKey, asked, records } = deletedKey([issuedUnderCi('a')], {
      apply: (_, { status }) => Promise.resolve(deletedKeyObject('2', status as object) as never),
    })
    records.fault = FAULT
    await reconcileKey()
    expect(asked).toMatchObject([
      {
        verb: 'apply',
        subresource: 'status',
        body: { status: { conditions: [{ message: FAULT_MESSAGE }] } },
      },
    ])
    expect(await reconcileKey()).toEqual({ result: 'later', atMs: NOW + 1000 })
    expect(records.asked.has('uid-a')).toBe(true)
  })

  test('a fault of other records does not block it', async () => {
    const { reconcileKey, asked, records } = deletedKey([issuedUnderCi('a')])
    records.fault = FAULT
    records.stored.add('uid-a')
    await reconcileKey()
    expect(asked.at(-1)).toEqual(RELEASE)
  })
})
