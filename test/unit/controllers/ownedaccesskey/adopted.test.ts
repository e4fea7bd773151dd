// A new key works as soon as it is adopted: its status says so in the same pass.
import { describe, expect, test } from 'vitest'
import { IssuesInProgress } from '../../../../src/controllers/directclusterendpointtoken/indexes.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import type { OwnedAccessKeyObject } from '../../../../src/domain/accesskey/access-key.ts'
import { manualClock } from '../../../support/clock.ts'
import { after, circumstances } from '../../../support/key-builder.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { keyObject } from '../../../support/object-builder.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
  refused,
} from '../../../support/recording-client.ts'
import { keyStore, tokenStore } from '../../../support/token-builder.ts'

const GENERATED = 'k'.repeat(43)

/** A key as it was created, and an API server that stores what is applied to it. */
function stage(spec: object = {}, answer?: NonNullable<Answers['apply']>) {
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
  const { caps, configName, retentionMs } = circumstances()
  const deps = {
    client,
    keys,
    tokens: tokenStore(),
    revocations: recordedRevocations().revocations,
    issues: new IssuesInProgress(),
    clock: manualClock(after(1)),
    caps: () => caps,
    configName,
    retentionMs,
    newKey: () => GENERATED,
    events: { record: () => undefined, flush: () => Promise.resolve(), stop: () => undefined },
    log: memoryLog().log,
    observer: { expired: () => undefined },
  }
  return { asked, keys, look: () => reconcile('ci', deps) }
}

const wrote = (asked: readonly { readonly reason: string }[]) => asked.map(({ reason }) => reason)

describe('a key that was adopted is published in the same pass (3.1, 4.1)', () => {
  test.each([
    { name: 'one that brings its key', spec: { key: 'a-secret-of-at-least-32-characters' } },
    { name: 'one whose key is generated', spec: {} },
  ])('$name', async ({ spec }) => {
    const it = stage(spec)
    const outcome = await it.look()
    expect(wrote(it.asked)).toEqual(['adopt', 'status'])
    expect(it.asked[1]?.body).toMatchObject({
      metadata: { resourceVersion: '8' },
      status: {
        conditions: expect.arrayContaining([
          expect.objectContaining({ type: 'Ready', reason: 'Active' }),
        ]) as unknown,
      },
    })
    expect(outcome).toEqual({ result: 'later', atMs: after(600) })
  })

  test('an adoption that is not seen in the store is not made twice: its event brings the key back', async () => {
    const it = stage({}, (_, object) =>
      Promise.resolve({
        ...keyObject(),
        metadata: { ...keyObject().metadata, ...object.metadata, resourceVersion: '6' },
      } as never),
    )
    expect(await it.look()).toEqual({ result: 'done' })
    expect(wrote(it.asked)).toEqual(['adopt'])
  })

  test('an adoption that is refused publishes nothing', async () => {
    const it = stage({}, () => Promise.reject(refused(409, 'Conflict')))
    await expect(it.look()).rejects.toMatchObject({ code: 409 })
    expect(wrote(it.asked)).toEqual(['adopt'])
  })
})
