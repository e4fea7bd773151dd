/** @module-tag no-retry */
// A key that is deleted takes its tokens with it (contract 5.1, 7.4).
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointToken } from '../../../../src/api/directclusterendpointtoken.gen.ts'
import { REVOKE_FINALIZER, TOKENS } from '../../../../src/api/names.ts'
import type { KubeObject, ObjectMeta } from '../../../../src/api/objects.ts'
import { IssuesInProgress } from '../../../../src/controllers/directclusterendpointtoken/indexes.ts'
import { plan as planToken } from '../../../../src/controllers/directclusterendpointtoken/plan.ts'
import { type KeyStep, plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import {
  countUnrecorded,
  revokeOwnedTokens,
} from '../../../../src/controllers/ownedaccesskey/revoke-owned-tokens.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { manualClock } from '../../../support/clock.ts'
import {
  accessKey,
  after,
  circumstances,
  stepped,
  textAfter,
} from '../../../support/key-builder.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
  refused,
} from '../../../support/recording-client.ts'
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
import { RELEASE, deletedKeyObject, deletedNames, otherKeyDeps } from './deleted-key.ts'

const CI = accessKey()
const NOW = after(60)

/** Issued at t0 for ten minutes under key ci. */
function out(name: string, metadata: Partial<ObjectMeta> = {}, ttl = 600) {
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

/** The key with its tokens, a minute after they were issued. */
function world(objects: readonly DirectClusterEndpointToken[], answers: Answers = {}) {
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
    const object = out('expired', {}, 30)
    const step = planToken(tokenOf(object), tokenCircumstances({ nowMs: NOW }))
    return tokenAfter(object, step) ?? object
  }
  const stripped = () => out('stripped', { ownerReferences: [] })
  // biome-ignore format: a table
  const rows: readonly {
    readonly name: string
    readonly object: DirectClusterEndpointToken
    readonly stored?: true
    /** Seconds after t0; null = it is not recorded. */
    readonly recorded: number | null
    readonly deleted: boolean
  }[] = [
    { name: 'it is out', object: out('a'), recorded: 600, deleted: true },
    { name: 'recorded already', object: out('a'), stored: true, recorded: null, deleted: true },
    { name: 'its reference is stripped', object: stripped(), recorded: 600, deleted: true },
    { name: 'its reference names another', object: out('a', { ownerReferences: [referenceTo({ name: 'cd', uid: 'uid-cd' })] }), recorded: 600, deleted: true },
    { name: 'being deleted', object: out('a', { deletionTimestamp: textAfter(9) }), recorded: 600, deleted: false },
    { name: 'its end came, status does not say so yet', object: out('a', {}, 60), recorded: null, deleted: true },
    { name: 'expired', object: expired(), recorded: null, deleted: true },
    { name: 'status.token has gone', object: tampered(out('a'), { token: undefined }), recorded: 600, deleted: true },
    { name: 'never issued, it only names the key', object: tokenObject({ metadata: { ownerReferences: [referenceTo(CI)] } }), recorded: null, deleted: false },
    { name: 'issued under another key', object: issuedUnderOther(), recorded: null, deleted: false },
    { name: 'issued under the key that had its name before', object: issuedObject({ metadata: { ownerReferences: [referenceTo({ ...CI, uid: 'uid-old' })] } }, { owner: owner({ uid: 'uid-old' }) }),
      recorded: null, deleted: false },
    { name: 'issued without an owner', object: issuedObject(), recorded: null, deleted: false },
  ]
  test.each(rows)('$name', async ({ object, stored, recorded, deleted }) => {
    const { records, asked, deps } = world([object])
    const { name, uid } = object.metadata
    if (stored) records.stored.add(uid)
    const wanted = recorded === null ? [] : [[uid, after(recorded)]]
    expect(countUnrecorded(CI, deps)).toBe(wanted.length)
    expect(await revokeOwnedTokens(CI, deps)).toBe(wanted.length)
    expect([...records.asked]).toEqual(wanted)
    expect(deletedNames(asked)).toEqual(deleted ? [name] : [])
  })

  test('each under its uid and resourceVersion, and the store knows at once (5.3, 8.6)', async () => {
    const deleting = {
      ...out('a'),
      metadata: { ...out('a').metadata, resourceVersion: '8', deletionTimestamp: textAfter(60) },
    }
    const { asked, tokens, deps } = world([out('a')], {
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

  test('all are recorded before the first is deleted (7.4)', async () => {
    const names = ['a', 'b', 'c']
    const { records, deps } = world(
      names.map((name) => out(name)),
      {
        delete: () => {
          expect(records.asked.size).toBe(names.length)
          return Promise.resolve(null)
        },
      },
    )
    expect(await revokeOwnedTokens(CI, deps)).toBe(3)
  })

  test('eight at a time, none forgotten', async () => {
    let [running, most] = [0, 0]
    const names = Array.from({ length: 20 }, (_, at) => `t-${at}`)
    const { asked, deps } = world(
      names.map((name) => out(name)),
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

  test('a delete that is refused is told, after all were recorded', async () => {
    const { records, deps } = world([out('a'), out('b')], {
      delete: () => Promise.reject(refused(403, 'Forbidden')),
    })
    await expect(revokeOwnedTokens(CI, deps)).rejects.toThrow('Forbidden')
    expect([...records.asked.keys()]).toEqual(['uid-a', 'uid-b'])
  })
})

const FAULT = 'the API server answered 403 Forbidden'
const SAYS_WHY = `The key is being deleted and no longer works. It stays until its tokens are recorded as revoked, which failed: ${FAULT}.`

describe('if its tokens can’t be recorded the key stays, and status says why (5.1)', () => {
  const FOREIGN = 'example.com/backup'
  const at = (tokensFault: string | null) => circumstances({ tokensFault, nowMs: NOW })
  const deleting = accessKey({ isDeleting: true })
  const told = stepped(deleting, plan(deleting, at(FAULT))) ?? deleting
  const both = { isDeleting: true, finalizers: [FOREIGN, REVOKE_FINALIZER] }

  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly key: AccessKey; readonly fault: string | null; readonly kind: KeyStep['kind'] }[] = [
    { name: 'nothing failed', key: deleting, fault: null, kind: 'release' },
    { name: 'first status says so', key: deleting, fault: FAULT, kind: 'publish' },
    { name: 'then it is tried again', key: told, fault: FAULT, kind: 'release' },
    { name: 'another fault', key: told, fault: 'no answer from the API server', kind: 'publish' },
    { name: 'it fails no more', key: told, fault: null, kind: 'release' },
    { name: 'held by another too: status says so', key: accessKey(both), fault: FAULT, kind: 'publish' },
    { name: 'held by another too: tried again', key: { ...told, ...both }, fault: FAULT, kind: 'release' },
    { name: 'held by another alone', key: { ...told, isDeleting: true, finalizers: [FOREIGN] }, fault: null, kind: 'publish' },
    { name: 'held by nobody', key: accessKey({ isDeleting: true, finalizers: [] }), fault: FAULT, kind: 'nothing' },
  ]
  test.each(rows)('$name: $kind', ({ key, fault, kind }) => {
    expect(plan(key, at(fault)).kind).toBe(kind)
  })

  test('in these words, once', () => {
    const step = plan(deleting, at(FAULT))
    expect(step).toMatchObject({ wakeMs: null, announce: [] })
    expect(told.published.conditions[0]).toMatchObject({ reason: 'Terminating', message: SAYS_WHY })
  })
})

describe('the key’s finalizer goes when all are recorded (5.1)', () => {
  function deletedKey(objects: readonly DirectClusterEndpointToken[], answers: Answers = {}) {
    const { deps, ...rest } = world(objects, answers)
    const keys = keyStore(deletedKeyObject())
    const run = () => reconcile('ci', { ...deps, ...otherKeyDeps(), keys })
    return { ...rest, run }
  }

  test('at once where it has no tokens', async () => {
    const { run, asked } = deletedKey([])
    expect(await run()).toEqual({ result: 'done' })
    expect(asked).toEqual([RELEASE])
  })

  test('not before', async () => {
    const { run, asked, records } = deletedKey([out('a'), out('b')])
    const later = { result: 'later', atMs: NOW + 1000 }
    expect(await run()).toEqual(later)
    expect(deletedNames(asked)).toEqual(['a', 'b'])
    records.stored.add('uid-a')
    expect(await run()).toEqual(later)
    expect(asked).not.toContainEqual(RELEASE)
    records.stored.add('uid-b')
    expect(await run()).toEqual({ result: 'done' })
    expect(asked.at(-1)).toEqual(RELEASE)
  })

  test('nor while a delete is refused', async () => {
    const { run, asked, records } = deletedKey([out('a')], {
      delete: () => Promise.reject(refused(403, 'Forbidden')),
    })
    records.stored.add('uid-a')
    await expect(run()).rejects.toThrow('Forbidden')
    expect(asked).not.toContainEqual(RELEASE)
  })

  test('status says what failed, and it is tried again', async () => {
    const { run, asked, records } = deletedKey([out('a')], {
      apply: (_, { status }) => Promise.resolve(deletedKeyObject('2', status as object) as never),
    })
    records.fault = FAULT
    await run()
    expect(asked).toMatchObject([
      {
        verb: 'apply',
        subresource: 'status',
        body: { status: { conditions: [{ message: SAYS_WHY }] } },
      },
    ])
    expect(await run()).toEqual({ result: 'later', atMs: NOW + 1000 })
    expect(records.asked.has('uid-a')).toBe(true)
  })

  test('a fault of others does not hold it', async () => {
    const { run, asked, records } = deletedKey([out('a')])
    records.fault = FAULT
    records.stored.add('uid-a')
    await run()
    expect(asked.at(-1)).toEqual(RELEASE)
  })
})
