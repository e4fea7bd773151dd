import { expect, test } from 'vitest'
import { NoResponseError, StatusError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import { checkNamespaces } from '../../../../src/commands/syncer/namespaces-at-start.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const namespace = (name: string) => ({
  metadata: { name, uid: `${name}-uid`, resourceVersion: '1', creationTimestamp: '2026-01-01' },
})

/** A cluster with these pages of namespaces; an error in place of a page is thrown once. */
function clusterOf(...pages: (readonly string[] | Error)[]) {
  const asked: (string | undefined)[] = []
  const client = {
    list: async (_: unknown, __: unknown, ___: unknown, next?: string) => {
      asked.push(next)
      const page = pages[Number(next ?? 0)] ?? []
      if (page instanceof Error) {
        pages.shift()
        throw page
      }
      const more = Number(next ?? 0) + 1
      return { items: page.map(namespace), ...(more < pages.length ? { next: String(more) } : {}) }
    },
  } as unknown as KubeClient
  return { client, asked }
}

function check(virtual: KubeClient, host: KubeClient, namespaces: [] | null = []) {
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const stopping = new AbortController()
  const place = { virtualCluster: 'vc', hostNamespace: 'vc-host', namespaces }
  const clients = { virtual, host }
  const checked = checkNamespaces({ place, clients, clock, log, stopping: stopping.signal })
  return { checked, clock, lines, stopping }
}

const down = () => new NoResponseError('GET namespaces', new Error('refused'))

test('every page of both clusters is checked, and the faults are one error (17.5)', async () => {
  const virtual = clusterOf(['a'], ['b'])
  const host = clusterOf(['x'], ['vc-x-b'])
  await expect(check(virtual.client, host.client).checked).rejects.toThrow(
    'sync.toHost.namespaces has faults:\nb leads to vc-x-b on the host, which is not its own',
  )
  expect([virtual.asked, host.asked]).toEqual([
    [undefined, '1'],
    [undefined, '1'],
  ])
})

test('the start goes on without faults (17.5)', async () => {
  const { checked } = check(clusterOf(['a']).client, clusterOf(['x']).client)
  expect(await checked).toBeUndefined()
})

test('no namespace is read in single-namespace mode (17.5)', async () => {
  const cluster = clusterOf(['a'])
  await check(cluster.client, cluster.client, null).checked
  expect(cluster.asked).toEqual([])
})

test('a cluster that does not answer is waited for (17.5)', async () => {
  const virtual = clusterOf(down(), ['b'])
  const { checked, clock, lines } = check(virtual.client, clusterOf(['vc-x-b']).client)
  const failure = checked.catch(String)
  await clock.advance(2000)
  expect(await failure).toContain('b leads to vc-x-b')
  expect(JSON.stringify(lines)).toContain('a cluster does not answer')
})

test('a stop ends the wait (17.5)', async () => {
  const { checked, clock, stopping } = check(clusterOf(down(), down()).client, clusterOf().client)
  stopping.abort()
  await clock.advance(2000)
  expect(await checked).toBeUndefined()
})

test('a cluster that refuses ends the start (17.5)', async () => {
  const details = {
    code: 403,
    reason: 'Forbidden',
    message: 'no',
    retryAfterMs: null,
    isTestFailed: false,
  }
  const refused = new StatusError(details)
  const { checked } = check(clusterOf(['a']).client, clusterOf(refused).client)
  await expect(checked).rejects.toBe(refused)
})
