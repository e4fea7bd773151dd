/** @module-tag no-retry */
// Revokes a leaked key and all keys created with it, while its bearer creates more (contract 12.2, 8.6).
import { describe, expect, test } from 'vitest'
import { MADE_WITH_LABEL } from '../../../src/api/names.ts'
import { revokeKeyWithDescendants } from '../../../src/revocation/revoke-key.ts'
import type { OwnedAccessKeyObject } from '../../../src/domain/accesskey/access-key.ts'
import { statusErrorOf } from '../../../src/kube/client/api-error.ts'
import type { PatchOperation } from '../../../src/kube/client/client.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { keyObject } from '../../support/object-builder.ts'

const of = (name: string, maker: string | null = null, spec = {}): OwnedAccessKeyObject =>
  keyObject({
    metadata: {
      name,
      uid: `uid-${name}`,
      ...(maker === null ? {} : { labels: { [MADE_WITH_LABEL]: `uid-${maker}` } }),
    },
    spec: { user: 'ada', ...spec },
  })

/** An API server with these keys, two to a page; `onPatch` runs at each write. */
function serving(
  keys: OwnedAccessKeyObject[],
  onPatch: (name: string, tries: number) => void = () => undefined,
) {
  const writes: string[] = []
  return {
    writes,
    client: {
      list: async (_: unknown, __: unknown, ___: number, next = '0') => {
        const from = Number(next)
        const rest = from + 2 < keys.length ? { next: String(from + 2) } : {}
        return { items: keys.slice(from, from + 2), resourceVersion: '1', ...rest }
      },
      patch: async (
        _: unknown,
        { name }: { readonly name: string },
        operations: readonly PatchOperation[],
      ): Promise<never> => {
        writes.push(name)
        onPatch(name, writes.filter((one) => one === name).length)
        const at = keys.findIndex(({ metadata }) => metadata.name === name)
        const [guard, ...sets] = operations
        expect([guard?.op, guard?.path]).toEqual(['test', '/metadata/uid'])
        if (guard?.value !== keys[at]?.metadata.uid)
          throw statusErrorOf('PATCH', 422, {}, undefined)
        expect(sets).toEqual([{ op: 'add', path: '/spec/disabled', value: true }])
        const { metadata, spec = {} } = keys[at] as OwnedAccessKeyObject
        keys[at] = keyObject({ metadata, spec: { ...spec, disabled: true } })
        return keys[at] as never
      },
    },
  }
}

/** The reported lines in order, at the end; the clock runs meanwhile. */
async function revoked({ client }: ReturnType<typeof serving>, named: string, isDryRun = false) {
  const clock = manualClock(0)
  const reported: string[] = []
  const tell = ({
    key,
    maker,
    outcome,
  }: {
    key: { name: string }
    maker: string | null
    outcome: string
  }) => void reported.push(`${key.name} by ${maker}: ${outcome}`)
  const work = { isOver: false }
  const end = revokeKeyWithDescendants({ client, clock, isDryRun, onRevoked: tell }, named).finally(
    () => (work.isOver = true),
  )
  while (!work.isOver) await clock.advance(1000)
  return { reported, uid: (await end)?.uid ?? null }
}

describe('revoking a key (12.2, X9)', () => {
  test('disables the key first, then all keys created with it', async () => {
    const server = serving([of('b', 'a'), of('other'), of('a', 'leaked'), of('leaked')])
    expect(await revoked(server, 'leaked')).toEqual({
      uid: 'uid-leaked',
      reported: ['leaked by null: disabled', 'a by leaked: disabled', 'b by a: disabled'],
    })
    expect(server.writes).toEqual(['leaked', 'a', 'b'])
  })

  test('finds keys that are created meanwhile', async () => {
    const keys = [of('leaked')]
    const server = serving(keys, (name) => void (name === 'leaked' && keys.push(of('late', name))))
    const { reported } = await revoked(server, 'leaked')
    expect(reported).toEqual(['leaked by null: disabled', 'late by leaked: disabled'])
  })

  test('disables by its uid what a deleted key has created', async () => {
    const server = serving([of('left', 'gone'), of('other')])
    expect((await revoked(server, 'uid-gone')).reported).toEqual(['left by uid-gone: disabled'])
    expect(await revoked(server, 'gone')).toEqual({ reported: [], uid: null })
  })

  test('only reports in a dry run', async () => {
    const server = serving([of('leaked'), of('a', 'leaked'), of('b', 'leaked', { disabled: true })])
    expect((await revoked(server, 'leaked', true)).reported).toEqual([
      'leaked by null: wouldBeDisabled',
      'a by leaked: wouldBeDisabled',
      'b by leaked: opensNothing',
    ])
    expect(server.writes).toEqual([])
  })

  test('changes nothing the second time', async () => {
    const server = serving([of('leaked'), of('a', 'leaked')])
    await revoked(server, 'leaked')
    expect((await revoked(server, 'leaked')).reported).toEqual([
      'leaked by null: opensNothing',
      'a by leaked: opensNothing',
    ])
    expect(server.writes).toHaveLength(2)
  })

  test.each([
    { name: 'a key with another uid by now', code: 422, outcome: 'gone', writes: 1 },
    { name: 'a deleted key', code: 404, outcome: 'gone', writes: 1 },
    { name: 'a key that may not be changed', code: 403, outcome: 'failed', writes: 1 },
    { name: 'a key with endless conflicts', code: 409, outcome: 'failed', writes: 5 },
  ])(
    '$name does not stop the revocation of the others: $outcome (8.6)',
    async ({ code, outcome, writes }) => {
      const server = serving([of('leaked'), of('a', 'leaked'), of('b', 'leaked')], (name) => {
        if (name === 'a') throw statusErrorOf('PATCH', code, {}, undefined)
      })
      expect((await revoked(server, 'leaked')).reported).toEqual([
        'leaked by null: disabled',
        `a by leaked: ${outcome}`,
        'b by leaked: disabled',
      ])
      expect(server.writes.filter((name) => name === 'a')).toHaveLength(writes)
    },
  )

  test('retries after a conflict with another client (8.6)', async () => {
    const server = serving([of('leaked')], (_, tries) => {
      if (tries === 1) throw statusErrorOf('PATCH', 409, {}, undefined)
    })
    expect((await revoked(server, 'leaked')).reported).toEqual(['leaked by null: disabled'])
  })
})
