/** @module-tag no-retry */
// A key is deleted while a token under it is being issued that the store does not have yet.
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../../../src/api/objects.ts'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import { reconcile as reconcileToken } from '../../../../src/controllers/directclusterendpointtoken/reconcile.ts'
import { type KeyDeps, reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import { tokenOf } from '../../../../src/domain/token/token.ts'
import {
  type Answers,
  recordedRevocations,
  recordingClient,
  refused,
} from '../../../support/fake-kube-client.ts'
import { after } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  issuedObject,
  keyStore,
  owner,
  referenceTo,
  tokenObject,
  tokenStore,
  withMetadata,
} from '../../../support/token-builder.ts'
import { tokenControllerDeps } from '../directclusterendpointtoken/token-reconcile.ts'
import { RELEASE, deletedKeyObject, deletedNames, fixedKeyDeps } from './key-reconcile.ts'
import { reconcileContext } from '../../../support/reconcile-context.ts'

const NOW = after(60)

describe('the finalizer of a key stays while a token is being issued under the key (5.1, 5.4)', () => {
  const pending = (uid = 'uid-ci') =>
    tokenObject({ metadata: { ownerReferences: [referenceTo({ name: 'ci', uid })] } })
  const answered = () =>
    withMetadata(issuedObject({ metadata: pending().metadata }, { owner: owner() }), {
      resourceVersion: '2',
    })
  const inProgress = { result: 'later', atMs: NOW + 1000 }

  /** Deletes key `ci` after the status write of token `deploy` was sent, before it is answered. */
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
    const { deps, asked, records } = tokenControllerDeps(given)
    const issue = () => reconcileToken('deploy', deps, reconcileContext())
    const issued = issue()
    await sent.promise
    deps.keys.observe(deletedKeyObject('2'))
    const keyDeps: KeyDeps = { ...deps, ...fixedKeyDeps() }
    return {
      write,
      issue,
      issued,
      asked,
      records,
      reconcileKey: () => reconcile('ci', keyDeps, reconcileContext()),
    }
  }

  test('waits for the answer of the status write, then deletes the token', async () => {
    const { write, issued, asked, records, reconcileKey } = await deletedWhileIssued()
    expect(await reconcileKey()).toEqual(inProgress)
    expect(asked).not.toContainEqual(RELEASE)
    write.resolve(answered())
    await issued
    expect(await reconcileKey()).toEqual(inProgress)
    expect([deletedNames(asked), [...records.asked.keys()]]).toEqual([['deploy'], ['uid-deploy']])
    records.stored.add('uid-deploy')
    await reconcileKey()
    expect(asked.at(-1)).toEqual(RELEASE)
  })

  test('reads the token after a failed status write, which may have been stored', async () => {
    const get = (() => Promise.resolve(answered())) as unknown as NonNullable<Answers['get']>
    const { write, issue, issued, asked, reconcileKey } = await deletedWhileIssued(get)
    write.reject(refused(504, 'Timeout'))
    await expect(issued).rejects.toThrow('Timeout')
    expect(await reconcileKey()).toEqual(inProgress)
    expect(asked).not.toContainEqual(RELEASE)
    await issue()
    await reconcileKey()
    expect(deletedNames(asked)).toEqual(['deploy'])
  })

  test('goes when the token was not issued, and the token stays', async () => {
    const { write, issue, issued, asked, reconcileKey } = await deletedWhileIssued()
    write.reject(refused(409, 'Conflict'))
    await expect(issued).rejects.toThrow('Conflict')
    await issue()
    expect(await reconcileKey()).toEqual({ result: 'done' })
    expect(asked.at(-1)).toEqual(RELEASE)
    expect(deletedNames(asked)).toEqual([])
  })

  test('goes while a token is being issued under another key', async () => {
    const { client, asked } = recordingClient()
    const issues = new IssuesInProgress()
    issues.begin(tokenOf(pending('uid-of-another')))
    const { revocations } = recordedRevocations()
    const [keys, tokens] = [keyStore(deletedKeyObject()), tokenStore()]
    const deps = { client, keys, tokens, revocations, issues, clock: manualClock(NOW) }
    expect(await reconcile('ci', { ...deps, ...fixedKeyDeps() }, reconcileContext())).toEqual({
      result: 'done',
    })
    expect(asked).toEqual([RELEASE])
  })
})
