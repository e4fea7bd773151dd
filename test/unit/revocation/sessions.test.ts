/** @module-tag no-retry */
// Ends the sessions of a person who uses them meanwhile, and signs in again (contract 27.2, 8.6).
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeyObject } from '../../../src/domain/accesskey/access-key.ts'
import { statusErrorOf } from '../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../src/kube/client/client.ts'
import { endSessions, sessionsOf } from '../../../src/revocation/sessions.ts'
import { keyObject } from '../../support/object-builder.ts'

const TRACKED = { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }

const login = (name: string, metadata: object = {}, spec: object = {}): OwnedAccessKeyObject =>
  keyObject({
    metadata: { name, uid: `uid-${name}`, ...metadata },
    spec: { user: 'ada', type: 'Login', ...spec },
  })

type Write = (name: string, tries: number) => void

/** An API server with these keys, two to a page; `onWrite` runs at each write. */
function serving(keys: OwnedAccessKeyObject[], onWrite: Write = () => undefined) {
  const [writes, selectors]: [string[], (string | undefined)[]] = [[], []]
  const written = (verb: string, name: string): void => {
    writes.push(`${verb} ${name}`)
    onWrite(name, writes.filter((one) => one.endsWith(` ${name}`)).length)
  }
  const client: Pick<KubeClient, 'list' | 'patch' | 'delete'> = {
    list: async (_, { fieldSelector }, __, next = '0') => {
      selectors.push(fieldSelector)
      const from = Number(next)
      const rest = from + 2 < keys.length ? { next: String(from + 2) } : {}
      return { items: keys.slice(from, from + 2), resourceVersion: '1', ...rest }
    },
    patch: async (_, { name }, operations) => {
      written('disable', name)
      expect(operations).toEqual([
        { op: 'test', path: '/metadata/uid', value: `uid-${name}` },
        { op: 'add', path: '/spec/disabled', value: true },
      ])
      const at = keys.findIndex(({ metadata }) => metadata.name === name)
      keys[at] = login(name, keys[at]?.metadata, { disabled: true })
      return keys[at] as never
    },
    delete: async (_, { name }, { uid, resourceVersion }) => {
      written('delete', name)
      const at = keys.findIndex(({ metadata }) => metadata.name === name)
      const { metadata } = keys[at] as OwnedAccessKeyObject
      expect(uid).toBe(metadata.uid)
      if (resourceVersion !== metadata.resourceVersion)
        throw statusErrorOf('DELETE', 409, {}, undefined)
      keys.splice(at, 1)
      return null
    },
  }
  return { client, writes, selectors }
}

/** What came of each session, in order. */
async function endedBy({ client }: ReturnType<typeof serving>): Promise<readonly string[]> {
  const reported: string[] = []
  const all = await endSessions(
    { client, onEnded: ({ session, end }) => void reported.push(`${session.name}: ${end}`) },
    'ada',
  )
  expect(all.map(({ session, end }) => `${session.name}: ${end}`)).toEqual(reported)
  return reported
}

describe('the sessions of a person (27.2)', () => {
  test('are the keys of type Login with that user name, of all pages', async () => {
    const server = serving([login('a'), login('b'), login('c')])
    const sessions = await sessionsOf(server, 'ada')
    expect(sessions.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(new Set(server.selectors)).toEqual(new Set(['spec.type=Login,spec.user=ada']))
  })

  test('are selected by a name with the signs of selectors', async () => {
    const server = serving([])
    await sessionsOf(server, String.raw`a,spec.user!=b\c`)
    expect(server.selectors).toEqual([String.raw`spec.type=Login,spec.user=a\,spec.user!\=b\\c`])
  })

  test('are deleted, and disabled where a GitOps tool would create them again', async () => {
    const server = serving([login('a'), login('b', TRACKED), login('c', {}, { disabled: true })])
    expect(await endedBy(server)).toEqual(['a: deleted', 'b: disabled', 'c: deleted'])
    expect(server.writes).toEqual(['delete a', 'disable b', 'delete c'])
  })

  test('are left as they are where they open nothing', async () => {
    const deleted = { deletionTimestamp: '2026-11-29T10:00:00Z', finalizers: ['a/b'] }
    const server = serving([login('a', deleted), login('b', TRACKED, { disabled: true })])
    expect(await endedBy(server)).toEqual(['a: opensNothing', 'b: opensNothing'])
    expect(server.writes).toEqual([])
  })

  test('are found also when they begin meanwhile', async () => {
    const keys = [login('a')]
    const server = serving(keys, (name) => void (name === 'a' && keys.push(login('late'))))
    expect(await endedBy(server)).toEqual(['a: deleted', 'late: deleted'])
  })

  test('are ended while they are used (8.6)', async () => {
    const keys = [login('a')]
    const server = serving(keys, (_, tries) => {
      if (tries < 3) keys[0] = login('a', { resourceVersion: `used-${tries}` })
    })
    expect(await endedBy(server)).toEqual(['a: deleted'])
    expect(server.writes).toHaveLength(3)
  })

  test.each([
    { name: 'that is gone', code: 404, end: 'gone', writes: 1 },
    { name: 'that may not be deleted', code: 403, end: 'failed', writes: 1 },
    { name: 'that changes at each look', code: 409, end: 'failed', writes: 10 },
  ])('one $name keeps no other alive: $end (8.6)', async ({ code, end, writes }) => {
    const server = serving([login('a'), login('b'), login('c')], (name) => {
      if (name === 'b') throw statusErrorOf('DELETE', code, {}, undefined)
    })
    expect([...(await endedBy(server))].toSorted()).toEqual(
      ['a: deleted', `b: ${end}`, 'c: deleted'].toSorted(),
    )
    expect(server.writes.filter((write) => write === 'delete b')).toHaveLength(writes)
  })
})
