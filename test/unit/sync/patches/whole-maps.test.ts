import { describe, expect, test } from 'vitest'
import { nestedField } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { KEY, endpoints, syncedPair, withField } from '../synced-pair.ts'
import { type Change, type Given, at, twice } from '../translated-twice.ts'

/** Each value gets a prefix on the host, and loses three characters on the way back. */
const PREFIXED = {
  path: 'metadata.labels',
  expression: 'Object.fromEntries(Object.entries(value).map(([k, v]) => [k, "vc-" + v]))',
  reverseExpression: 'Object.fromEntries(Object.entries(value).map(([k, v]) => [k, v.slice(3)]))',
}
const LABELS = ['metadata', 'labels']
const on = (key: string, value: string | undefined): Change => [[...LABELS, key], value]
const object = (labels: JsonMap): JsonMap => endpoints({ subsets: [] }, { labels })

describe('a reverse expression of all labels', () => {
  interface Row {
    readonly name: string
    readonly labels?: JsonMap
    readonly given: Omit<Given, 'virtual'>
    readonly becomes: JsonMap
  }
  const changed = on('a', 'vc-blue')
  const rows: readonly Row[] = [
    { name: 'one that changed', given: { host: [changed] }, becomes: { a: 'blue', b: 'web' } },
    {
      name: 'one that changed, not one that the virtual object changed',
      given: { host: [changed], meanwhile: [on('b', 'api')] },
      becomes: { a: 'blue', b: 'api' },
    },
    {
      name: 'one that changed, not one that is removed on the host',
      given: { host: [changed, on('b', undefined)] },
      becomes: { a: 'blue', b: 'web' },
    },
    {
      name: 'one with another key on the host, under its own',
      labels: { a: 'red', release: 'one' },
      given: { host: [changed] },
      becomes: { a: 'blue', release: 'one' },
    },
    {
      name: 'one that changed, not one that never crosses',
      labels: { a: 'red', 'control-plane.alpha.kubernetes.io/leader': 'me' },
      given: { host: [changed] },
      becomes: { a: 'blue', 'control-plane.alpha.kubernetes.io/leader': 'me' },
    },
    {
      name: 'one that changed, not one that is patched one way',
      given: {
        patches: [PREFIXED, { path: 'metadata.labels.b', expression: '"x"' }],
        host: [changed],
      },
      becomes: { a: 'blue', b: 'web' },
    },
    {
      name: 'one that it removes',
      given: { patches: [{ ...PREFIXED, reverseExpression: 'null' }], host: [changed] },
      becomes: { b: 'web' },
    },
    { name: 'none that did not change', given: {}, becomes: { a: 'red', b: 'web' } },
    {
      name: 'none after a restart',
      given: { host: [changed], isRestarted: true },
      becomes: { a: 'red', b: 'web' },
    },
  ]
  test.each(rows)('takes back $name (17.3, 18.5)', async ({ labels, given, becomes }) => {
    const virtual = object(labels ?? { a: 'red', b: 'web' })
    const { after } = await twice({ patches: [PREFIXED], virtual, ...given })
    expect(at(after.virtual, LABELS)).toEqual(becomes)
  })

  test('comes to rest when one changed (19.7)', async () => {
    const pair = syncedPair('endpoints', { patches: [PREFIXED] })
    pair.virtual.put(object({ a: 'red', b: 'web' }))
    await pair.settle()
    pair.host.put(withField([...LABELS, 'a'], 'vc-blue')(pair.atHost()))
    pair.writes()
    await pair.settle(KEY)
    expect(pair.writes()).toEqual({ virtual: ['replace back-flow'], host: [] })
    expect(nestedField(pair.atVirtual() ?? {}, LABELS)).toEqual({ a: 'blue', b: 'web' })
    expect(nestedField(pair.atHost() ?? {}, LABELS)).toMatchObject({ a: 'vc-blue', b: 'vc-web' })
  })
})

test('a reference within all annotations lets the others flow (17.3, 19.5)', async () => {
  const patches = [{ path: 'metadata.annotations', reference: { kind: 'Secret', namePath: 'ref' } }]
  const annotations = { ref: 'creds', note: 'n' }
  const { before, after } = await twice({
    virtual: endpoints({ subsets: [] }, { annotations }),
    patches,
    host: [[['metadata', 'annotations', 'note'], 'theirs']],
  })
  expect(at(before.host, ['metadata', 'annotations', 'ref'])).toBe('creds-x-shop-x-vc')
  expect(at(after.virtual, ['metadata', 'annotations'])).toEqual({ ref: 'creds', note: 'theirs' })
})
