import { describe, expect, test } from 'vitest'
import { generateKey } from '../../../../../src/issuance/new-object.ts'
import { recordedAgain, recordedJson, recordedOf } from './recorded.ts'

const KEY = generateKey()
const PLAIN = 'hunter2-canary'

const JSON_PATCH = 'application/json-patch+json'
const MERGE = 'application/merge-patch+json'
const STRATEGIC = 'application/strategic-merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

/** What is recorded of a patch of Secrets; no canary may be in it. */
function patched(patch: unknown, contentType: string, path: `${string}/${string}`): unknown {
  const text = typeof patch === 'string' ? patch : JSON.stringify(patch)
  const json = recordedJson(text, { path, verb: 'patch', contentType })
  for (const canary of [KEY, PLAIN]) expect(json).not.toContain(canary)
  expect(recordedAgain(json, { path, verb: 'patch' })).toBe(json)
  return JSON.parse(json)
}

describe.each([
  '/secrets',
  'authentication.k8s.io/tokenreviews',
  'management.platform.sh/ownedaccesskeys',
  'management.platform.sh/directclusterendpointtokens/status',
  'management.platform.sh/configs',
  'management.platform.sh/others',
] as const)('a patch of %s', (path) => {
  test('a JSON patch is its operations and their paths (21.4)', () => {
    const patch = [
      { op: 'test', path: '/data/password', value: PLAIN },
      { op: 'add', path: '/stringdata', value: { a: PLAIN } },
      { op: 'copy', from: '/spec/key', path: '/metadata/annotations/x' },
      { op: 'remove', path: '' },
      { op: PLAIN, path: PLAIN, from: { a: PLAIN }, other: PLAIN },
      { op: 'replace', path: `/metadata/labels/${KEY}`, value: KEY },
      PLAIN,
    ]
    expect(patched(patch, JSON_PATCH, path)).toEqual([
      { op: 'test', path: '/data/password' },
      { op: 'add', path: '/stringdata' },
      { op: 'copy', path: '/metadata/annotations/x', from: '/spec/key' },
      { op: 'remove', path: '' },
      { op: '<hidden>', path: '<hidden>', from: '<hidden>' },
      { op: 'replace', path: '/metadata/labels/<hidden>' },
      '<hidden>',
    ])
    expect(patched({ op: 'add', value: PLAIN }, JSON_PATCH, path)).toEqual(['<hidden>'])
  })

  test.each([MERGE, STRATEGIC, APPLY])('%s is the list of its pointers (21.4)', (type) => {
    const patch = {
      kind: 'Secret',
      metadata: { labels: { 'a/b~c': PLAIN, [KEY]: null }, managedFields: [] },
      data: { password: PLAIN },
      stringdata: { a: [PLAIN, { b: PLAIN }] },
      type: null,
      spec: {},
    }
    expect(patched(patch, type, path)).toEqual([
      '/kind',
      '/metadata/labels/a~1b~0c',
      '/metadata/labels/<hidden>',
      '/metadata/managedFields',
      '/data/password',
      '/stringdata/a',
      '/type',
      '/spec',
    ])
    expect(patched(`"${PLAIN}"`, type, path)).toEqual([''])
  })

  test('an apply in YAML is the list of its pointers (21.4)', () => {
    const yaml = `kind: Secret\nstringdata:\n  a: ${PLAIN}\n  b: 1.0\n`
    expect(patched(yaml, APPLY, path)).toEqual(['/kind', '/stringdata/a', '/stringdata/b'])
  })
})

test.each([MERGE, APPLY])('the kind of the body decides too: %s (21.4)', (contentType) => {
  const patch = { apiVersion: 'v1', kind: 'Secret', data: { a: PLAIN } }
  expect(patched(patch, contentType, '/configmaps')).toEqual(['/apiVersion', '/kind', '/data/a'])
})

test('a patch that an agent did not hide is hidden when it is recorded again (23.2)', () => {
  const parts = { path: '/secrets', verb: 'patch' } as const
  const operations = [{ op: 'add', path: '/data/a', value: PLAIN }, PLAIN, [PLAIN]]
  expect(JSON.parse(recordedAgain(JSON.stringify(operations), parts))).toEqual([
    { op: 'add', path: '/data/a' },
    '<hidden>',
    '<hidden>',
  ])
  const merge = JSON.stringify({ data: { a: PLAIN } })
  expect(recordedAgain(merge, parts)).toBe('["/data/a"]')
})

test('a patch of another kind is its document (21.4)', () => {
  const merge = { data: { password: PLAIN }, metadata: { name: null } }
  const json = [{ op: 'add', path: '/data/a', value: 1.5 }]
  for (const patch of [merge, json])
    expect(recordedJson(JSON.stringify(patch), { verb: 'patch' })).toBe(JSON.stringify(patch))
})

test('an object within a JSON patch of another kind is hidden by its own (21.4)', () => {
  const value = { apiVersion: 'v1', kind: 'Secret', data: PLAIN }
  const patch = [{ op: 'add', path: '/spec/template', value }]
  const text = recordedJson(JSON.stringify(patch), { verb: 'patch', contentType: JSON_PATCH })
  expect(JSON.parse(text)).toEqual([
    { op: 'add', path: '/spec/template', value: { ...value, data: '<hidden>' } },
  ])
})

test('pointers that together are longer than the limit are left out as size, and never made (21.4)', () => {
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 1]))
  // Made in full they would have 20 GB.
  const text = JSON.stringify({ ['a'.repeat(400_000)]: wide })
  expect(recordedOf(text, { path: '/secrets', verb: 'patch' })).toEqual({ omitted: 'size' })
})
