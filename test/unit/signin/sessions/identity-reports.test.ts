import { describe, expect, it } from 'vitest'
import { reportIdentity } from '../../../../src/signin/sessions/identity-reports.ts'
import { reportIn } from '../../../support/signin/identity-reports.ts'
import { NAMESPACE } from '../../../support/signin/leader.ts'
import { MemoryCluster } from '../../../support/signin/memory-cluster.ts'
import { NAME, START_MS } from '../../../support/signin/stored-session.ts'

const KEY = { name: NAME, uid: 'uid-key' }
const GONE = { atMs: START_MS + 7, reason: 'IdentityGone' } as const
const refreshedWith = (groups: readonly string[]) => ({ atMs: START_MS, identity: { groups } })

describe('a report about the person of a key (25.7)', () => {
  const started = () => {
    const cluster = new MemoryCluster()
    const report = (news: Parameters<typeof reportIdentity>[1]) =>
      reportIdentity(KEY, news, { client: cluster.client, namespace: NAMESPACE })
    return { cluster, report }
  }

  it('holds as many groups as a person may have, of the longest names (24.1)', async () => {
    const { cluster, report } = started()
    const refreshed = refreshedWith(Array.from({ length: 200 }, () => 'ü'.repeat(1024)))
    await report({ refreshed })
    expect(reportIn(cluster)?.refreshed).toEqual(refreshed)
  })

  it('of a person who is gone is short, whatever the identity was', async () => {
    const { cluster, report } = started()
    await report({ refreshed: refreshedWith(['x'.repeat(100_000)]) })
    await report({ gone: GONE })
    await report({ refreshed: refreshedWith(['x'.repeat(100_000)]) })
    expect(reportIn(cluster)).toEqual({ keyUid: 'uid-key', refreshed: null, gone: GONE })
    expect(JSON.stringify(cluster.object('ConfigMap', NAME)).length).toBeLessThan(1000)
  })

  it('keeps the reason that was first', async () => {
    const { cluster, report } = started()
    await report({ gone: GONE })
    await report({ gone: { atMs: START_MS + 8, reason: 'SignInAgain' } })
    expect(reportIn(cluster)?.gone).toEqual(GONE)
  })

  it('says nothing of the key before of the same name', async () => {
    const { cluster, report } = started()
    await report({ gone: GONE })
    const { client } = cluster
    const refreshed = refreshedWith([])
    await reportIdentity({ ...KEY, uid: 'x' }, { refreshed }, { client, namespace: NAMESPACE })
    expect(reportIn(cluster)).toEqual({ keyUid: 'x', refreshed, gone: null })
  })

  it('gets back its label, by which the operator sees it, and its owner', async () => {
    const { cluster, report } = started()
    const metadata = { name: NAME, namespace: NAMESPACE, labels: { own: 'kept' } }
    cluster.put({ kind: 'ConfigMap', metadata } as never)
    await report({ gone: GONE })
    expect(cluster.object('ConfigMap', NAME)?.metadata).toMatchObject({
      labels: { own: 'kept', 'management.platform.sh/identity-report': 'true' },
      ownerReferences: [{ kind: 'OwnedAccessKey', name: NAME, uid: 'uid-key' }],
    })
  })
})
