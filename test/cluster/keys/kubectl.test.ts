// Keys in kubectl: get, wait, describe, categories (contract 1.1, 1.6, 4.4, 4.5).
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { EVENT_WITHIN, createdMs, endingSoon, keyClientOf, textAfter } from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

const HEAD = ['NAME', 'READY', 'REASON', 'IDENTITY', 'TYPE', 'EXPIRES', 'LAST ACTIVITY', 'AGE']
const WIDE = [...HEAD, 'TTL', 'KEY ID', 'MESSAGE']

/** The standard output of kubectl. */
const printed = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

describe.concurrent('kubectl', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a key of a user', spec: { user: 'ada', type: 'User', ttl: 3600 } as const, identity: 'user:ada' },
    { name: 'a key of a team', spec: { user: '', team: 'ops', ttl: 60 }, identity: 'team:ops' },
    { name: 'a key of a subject', spec: { user: '', subject: 'robot' }, identity: 'subject:robot' },
  ])('get shows $name in its columns (1.5, 1.6)', async ({ spec, identity }) => {
    const key = await keys.shown(await keys.create(spec), 'Active')
    await keys.use(key, Date.now() - 60_000)
    const { name } = key.metadata
    const end = spec.ttl ? textAfter(createdMs(key), spec.ttl) : ''
    const message = end
      ? `The key works until ${end}, ${spec.ttl} s after its creation.`
      : 'The key works and never expires.'
    const row = {
      NAME: name,
      READY: 'True',
      REASON: 'Active',
      IDENTITY: identity,
      TYPE: spec.type ?? '',
      EXPIRES: end,
      'LAST ACTIVITY': expect.stringMatching(/^\d+[sm]/),
      AGE: expect.stringMatching(/^\d+s$/),
    }
    expect(cells(await printed('get', 'oak', name), HEAD)).toEqual(row)
    expect(cells(await printed('get', 'oak', name, '-o', 'wide'), WIDE)).toEqual({
      ...row,
      TTL: spec.ttl ? String(spec.ttl) : '',
      'KEY ID': key.status.keyID,
      MESSAGE: message,
    })
  })

  test('wait returns when a key is Ready, and when it expires (4.4)', async () => {
    const created = await keys.create()
    const { metadata } = created
    const key = `oak/${metadata.name}`
    const met = `ownedaccesskey.management.platform.sh/${metadata.name} condition met\n`
    const ready = printed('wait', '--for=condition=Ready', key, '--timeout=20s')
    expect(await ready).toBe(met)
    const ended = printed('wait', '--for=condition=Ready=false', key, '--timeout=20s')
    await keys.patch(created, { spec: endingSoon(created) })
    expect(await ended).toBe(met)
    const byPath = "--for=jsonpath={.status.conditions[?(@.type=='Ready')].reason}=Expired"
    expect(await printed('wait', byPath, key, '--timeout=20s')).toBe(met)
  })

  test('describe shows the events (4.5)', async () => {
    const key = await keys.shown(await keys.create({ ttl: 2 }), 'Expired')
    const describeKey = async () => {
      const text = await printed('describe', 'oak', key.metadata.name)
      const events = text.slice(text.indexOf('\nEvents:'))
      return events.includes('KeyGenerated') && events.includes('Expired') ? events : undefined
    }
    const events = await eventually('both events', describeKey, EVENT_WITHIN)
    const by = 'management-operator'
    expect(events).toMatch(new RegExp(`Normal +KeyGenerated +\\S+ +${by} +A key was generated`))
    expect(events).toMatch(
      new RegExp(`Warning +Expired +\\S+ +${by} +The key expired .*, 2 s after`),
    )
  })

  test('get platform lists keys, get all does not (1.1)', async () => {
    const { metadata } = await keys.create()
    const named = `ownedaccesskey.management.platform.sh/${metadata.name}`
    expect((await printed('get', 'platform', '-o', 'name')).split('\n')).toContain(named)
    expect(await printed('get', 'all', '--all-namespaces', '-o', 'name')).not.toContain(
      'management.platform.sh',
    )
  })
})

/** The only row of a table, by column; the header gives the width of empty cells. */
function cells(table: string, heads: readonly string[]): Readonly<Record<string, string>> {
  const [head = '', row = ''] = table.split('\n')
  expect(head.trim().split(/ {2,}/)).toEqual(heads)
  const starts = heads.map((name) => ` ${head} `.indexOf(` ${name} `))
  return Object.fromEntries(
    heads.map((name, column) => [name, row.slice(starts[column], starts[column + 1]).trim()]),
  )
}
