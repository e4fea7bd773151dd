// A new key works as soon as it is adopted, so the same reconcile publishes its status.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
  refused,
} from '../../../support/fake-kube-client.ts'
import { after } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { keyObject } from '../../../support/object-builder.ts'
import { keyStore, tokenStore } from '../../../support/token-builder.ts'
import { fixedKeyDeps } from './key-reconcile.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const GENERATED = 'k'.repeat(43)

/** A new key, and a client that stores what is applied to it. */
function newKeyDeps(spec: object = {}, answer?: NonNullable<Answers['apply']>) {
  let object = keyObject({ spec: { user: 'ada', ttl: 600, ...spec } })
  let version = 7
  const store: NonNullable<Answers['apply']> = (_, { metadata, ...rest }) => {
    version += 1
    const resourceVersion = String(version)
    const applied = rest as Partial<OwnedAccessKeyObject>
    object = {
      ...object,
      ...applied,
      metadata: { ...object.metadata, ...metadata, resourceVersion },
      spec: { ...object.spec, ...applied.spec },
    }
    return Promise.resolve(object as never)
  }
  const keys = keyStore({ ...object, metadata: { ...object.metadata, resourceVersion: '7' } })
  const { client, asked } = recordingClient({ apply: answer ?? store })
  const deps = {
    client,
    keys,
    tokens: tokenStore(),
    revocations: recordedRevocations().revocations,
    issues: new IssuesInProgress(),
    clock: manualClock(after(1)),
    ...fixedKeyDeps(),
    newKey: () => GENERATED,
  }
  const { log, lines } = memoryLog()
  return { asked, keys, lines, reconcileKey: () => reconcile('ci', deps, reconcileContext(log)) }
}

const writeReasons = (asked: readonly { readonly reason: string }[]) =>
  asked.map(({ reason }) => reason)

describe('the reconcile that adopts a key publishes its status (3.1, 4.1)', () => {
  test.each([
    { name: 'a key with spec.key', spec: { key: 'a-secret-of-at-least-32-characters' } },
    { name: 'a key whose secret is generated', spec: {} },
  ])('$name', async ({ spec }) => {
    const key = newKeyDeps(spec)
    const outcome = await key.reconcileKey()
    expect(writeReasons(key.asked)).toEqual(['adopt', 'status'])
    expect(key.asked[1]?.body).toMatchObject({
      metadata: { resourceVersion: '8' },
      status: {
        conditions: expect.arrayContaining([
          expect.objectContaining({ type: 'Ready', reason: 'Active' }),
        ]) as unknown,
      },
    })
    expect(outcome).toEqual({ result: 'later', atMs: after(600) })
  })

  test('the line about an adopted key has its key ID as a field, as only those are written (1.5)', async () => {
    const secret = 'a-secret-of-at-least-32-characters'
    const key = newKeyDeps({ key: secret })
    await key.reconcileKey()
    const keyID = createHash('sha256').update(secret).digest('hex').slice(0, 16)
    expect(key.lines).toMatchObject([
      { sentence: 'access key adopted', fields: { keyID, generated: false } },
    ])
  })

  test('an adoption missing in the store is not repeated: its watch event requeues the key', async () => {
    const key = newKeyDeps({}, (_, object) =>
      Promise.resolve({
        ...keyObject(),
        metadata: { ...keyObject().metadata, ...object.metadata, resourceVersion: '6' },
      } as never),
    )
    expect(await key.reconcileKey()).toEqual({ result: 'done' })
    expect(writeReasons(key.asked)).toEqual(['adopt'])
  })

  test('a refused adoption publishes nothing', async () => {
    const key = newKeyDeps({}, () => Promise.reject(refused(409, 'Conflict')))
    await expect(key.reconcileKey()).rejects.toMatchObject({ code: 409 })
    expect(writeReasons(key.asked)).toEqual(['adopt'])
  })
})
