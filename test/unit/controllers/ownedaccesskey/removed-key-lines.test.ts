// The line about the end of a key object.
import { expect, test } from 'vitest'
import { IssuesInProgress } from '../../../../src/controllers/indexes/tokens.ts'
import { reconcile } from '../../../../src/controllers/ownedaccesskey/reconcile.ts'
import { recordedRevocations, recordingClient } from '../../../support/fake-kube-client.ts'
import { after } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { contextIn } from '../../../support/reconcile-context.ts'
import { keyStore, tokenStore } from '../../../support/token-builder.ts'
import { deletedKeyObject, fixedKeyDeps } from './key-reconcile.ts'

test('the line of a release names the key that it began with, although the store has another one by then', async () => {
  const keys = keyStore(deletedKeyObject())
  let inStore = keys.get('ci')
  const patch = () => {
    inStore &&= { ...inStore, uid: 'uid-another' }
    return Promise.resolve(deletedKeyObject('2') as never)
  }
  const deps = {
    client: recordingClient({ patch }).client,
    keys,
    tokens: tokenStore(),
    revocations: recordedRevocations().revocations,
    issues: new IssuesInProgress(),
    clock: manualClock(after(60)),
    ...fixedKeyDeps(),
  }
  const { log, lines } = memoryLog()
  await reconcile('ci', deps, contextIn({ name: 'keys', objectOf: () => inStore }, 'ci', log))
  expect(inStore?.uid).toBe('uid-another')
  expect(lines).toMatchObject([
    { sentence: 'access key released', fields: { object: { uid: 'uid-ci' } } },
  ])
})
