/** @module-tag no-retry */
// A key that is deleted while the API server has a token under it, or may have, that the store does not show yet.
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { IssuesInProgress } from '../../../../src/controllers/directclusterendpointtoken/indexes.ts'
import { reconcile as reconcileToken } from '../../../../src/controllers/directclusterendpointtoken/reconcile.ts'
import { type KeyDeps, reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import { manualClock } from '../../../support/clock.ts'
import { after } from '../../../support/key-builder.ts'
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
  tokenObject,
  tokenStore,
  withMetadata,
} from '../../../support/token-builder.ts'
import { tokenStage } from '../directclusterendpointtoken/reconciled.ts'
import { RELEASE, deletedKeyObject, deletedNames, otherKeyDeps } from './deleted-key.ts'

const NOW = after(60)

describe('the finalizer of a key stays while a token is being issued under the key (5.1, 5.4)', () => {
  const pending = (uid = 'uid-ci') =>
    tokenObject({ metadata: { ownerReferences: [referenceTo({ name: 'ci', uid })] } })
  const answered = () =>
    withMetadata(issuedObject({ metadata: pending().metadata }, { owner: owner() }), {
      resourceVersion: '2',
    })
  const inProgress = { result: 'later', atMs: NOW + 1000 }

  /** The status write of token `deploy` is sent and not answered, and then key `ci` is deleted. */
  async function deletedWhileIssued(get: Answers['get'] = () => Promise.resolve(null)) {
    const write = Promise.withResolvers<KubeObject>()
    const sent = Promise.withResolvers<void>()
    let writes = 0
    const apply: Answers['apply'] = (_, object) => {
      sent.resolve()
      writes += 1
      return (writes === 1 ? write.promise : Promise.resolve(object)) as never
    }
    const given = { object: pending(), key: {}, answers: { apply, get } }
    const { deps, asked, records } = tokenStage(given)
    const issue = () => reconcileToken('deploy', deps)
    const issued = issue()
    await sent.promise
    deps.keys.observe(deletedKeyObject('2'))
    const keyDeps: KeyDeps = { ...deps, ...otherKeyDeps() }
    return { write, issue, issued, asked, records, run: () => reconcile('ci', keyDeps) }
  }

  test('the key waits for the answer, and takes the token with it', async () => {
    const { write, issued, asked, records, run } = await deletedWhileIssued()
    expect(await run()).toEqual(inProgress)
    expect(asked).not.toContainEqual(RELEASE)
    write.resolve(answered())
    await issued
    expect(await run()).toEqual(inProgress)
    expect([deletedNames(asked), [...records.asked.keys()]]).toEqual([['deploy'], ['uid-deploy']])
    records.stored.add('uid-deploy')
    await run()
    expect(asked.at(-1)).toEqual(RELEASE)
  })

  test('a write that fails may be stored: the token is read before the key goes', async () => {
    const get = (() => Promise.resolve(answered())) as unknown as NonNullable<Answers['get']>
    const { write, issue, issued, asked, run } = await deletedWhileIssued(get)
    write.reject(refused(504, 'Timeout'))
    await expect(issued).rejects.toThrow('Timeout')
    expect(await run()).toEqual(inProgress)
    expect(asked).not.toContainEqual(RELEASE)
    await issue()
    await run()
    expect(deletedNames(asked)).toEqual(['deploy'])
  })

  test('a token that was not issued does not hold the key, and is not deleted', async () => {
    const { write, issue, issued, asked, run } = await deletedWhileIssued()
    write.reject(refused(409, 'Conflict'))
    await expect(issued).rejects.toThrow('Conflict')
    await issue()
    expect(await run()).toEqual({ result: 'done' })
    expect(asked.at(-1)).toEqual(RELEASE)
    expect(deletedNames(asked)).toEqual([])
  })

  test('a token that is being issued under another key does not hold this one', async () => {
    const { client, asked } = recordingClient()
    const issues = new IssuesInProgress()
    issues.begin(tokenOf(pending('uid-of-another')))
    const { revocations } = recordedRevocations()
    const [keys, tokens] = [keyStore(deletedKeyObject()), tokenStore()]
    const deps = { client, keys, tokens, revocations, issues, clock: manualClock(NOW) }
    expect(await reconcile('ci', { ...deps, ...otherKeyDeps() })).toEqual({ result: 'done' })
    expect(asked).toEqual([RELEASE])
  })
})
