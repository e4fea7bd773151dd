import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { applyPatches } from '../../../../src/sync/patches/apply.ts'
import { checkExpression } from '../../../../src/sync/patches/expression.ts'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'
import { checkPatches } from '../../../../src/sync/patches/parse.ts'
import { WITHOUT_CLUSTERS } from '../../../../src/sync/patches/reference.ts'
import { PLACE, countingSandbox } from '../counting-sandbox.ts'

/** What the patches of an object come to: the first failure, or nothing. */
async function failureOf(object: JsonMap, ...entries: readonly JsonMap[]): Promise<string> {
  const { patches, faults } = checkPatches(entries, 'p', ['metadata', 'spec'])
  expect(faults).toEqual([])
  const context = {
    place: PLACE,
    namespace: 'shop',
    config: {},
    virtualObject: object,
    hostObject: null,
    ...WITHOUT_CLUSTERS,
  }
  const outcome = await applyPatches(
    object,
    patches,
    'forward',
    context,
    countingSandbox().evaluate,
  )
  return outcome.ok ? '' : `${outcome.patch.entry} at ${outcome.path}: ${outcome.failure.because}`
}

const NUMBER = 'it would be a number, and must be text, as String(value) gives'
const service: JsonMap = {
  kind: 'Service',
  metadata: { name: 'web', labels: { app: 'x', tier: 'y' } },
  spec: {
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ],
  },
}
const secret: JsonMap = { kind: 'Secret', data: { a: 'eA==' } }
const app = 'metadata.labels.app'

describe('a value that the API server does not decode', () => {
  test.each<{ name: string; object?: JsonMap; patches: readonly JsonMap[]; says: string }>([
    {
      name: 'a label',
      patches: [{ path: app, expression: '5' }],
      says: `p[0] at ${app}: ${NUMBER}`,
    },
    {
      name: 'a member of a map',
      patches: [{ path: 'metadata.labels', expression: '({ ...value, more: null })' }],
      says: 'p[0] at metadata.labels.more: it would be null, and must be text, as String(value) gives',
    },
    {
      name: 'a port with a fraction',
      patches: [{ path: 'spec.ports[*].port', expression: 'value / 2' }],
      says: 'p[0] at spec.ports[1].port: it would be a number with a fraction, and must be a whole number of 32 bits, as Number(value) gives',
    },
    {
      name: 'data of a Secret',
      object: secret,
      patches: [{ path: 'data.a', expression: '"plain"' }],
      says: 'p[0] at data.a: it would be text that is not base64, and must be base64, as btoa(text) gives',
    },
    {
      name: 'the last of several patches that touched it',
      patches: [
        { path: app, expression: '"fine"' },
        { path: 'metadata.labels', expression: '({ ...value, app: 7 })' },
        { path: 'metadata.labels.tier', expression: '"z"' },
      ],
      says: `p[1] at ${app}: ${NUMBER}`,
    },
    {
      name: 'an element that a later removal has moved',
      patches: [
        { path: 'spec.ports[1].name', expression: '7' },
        { path: 'spec.ports[0]', expression: 'undefined' },
      ],
      says: `p[0] at spec.ports[1].name: ${NUMBER}`,
    },
  ])(
    'is the error of the patch that made it: $name (19.3)',
    async ({ object = service, ...row }) => {
      expect(await failureOf(object, ...row.patches)).toBe(row.says)
    },
  )

  test.each<{ name: string; object?: JsonMap; patches: readonly JsonMap[] }>([
    {
      name: 'a later patch has made right',
      patches: [
        { path: app, expression: '5' },
        { path: 'metadata.labels', expression: '({ ...value, app: String(value.app) })' },
      ],
    },
    {
      name: 'a later patch has removed',
      patches: [
        { path: app, expression: '5' },
        { path: 'metadata.labels', expression: 'null' },
      ],
    },
    {
      name: 'no patch has made',
      object: { ...service, metadata: { labels: { app: 5, tier: 'y' } } },
      patches: [{ path: 'metadata.labels.tier', expression: '"z"' }],
    },
    {
      name: 'no patch moves',
      patches: [{ path: 'metadata', expression: '({ ...value, name: 5, finalizers: "x" })' }],
    },
    {
      name: 'the API server drops, as it does not know the field',
      patches: [{ path: 'spec', expression: '({ ...value, other: [5] })' }],
    },
  ])('is none that $name (19.3)', async ({ object = service, patches }) => {
    expect(await failureOf(object, ...patches)).toBe('')
  })
})

test.each([
  { source: '5', gives: 'number' },
  { source: '+value', gives: 'number' },
  { source: '(1, "a")', gives: 'text' },
  { source: '`${value}`', gives: 'text' },
  { source: 'value ? 1 : 2', gives: 'number' },
  { source: 'value ? 1 : "2"', gives: null },
  { source: '!value', gives: 'boolean' },
  { source: 'value === "x"', gives: 'boolean' },
  { source: '[]', gives: 'list' },
  { source: '{}', gives: 'object' },
  ...['value', 'value + 1', '-value', 'null', 'undefined', '5n', '/x/', '() => 5'].map(
    (source) => ({ source, gives: null }),
  ),
])('$source gives $gives by its syntax (19.3)', ({ source, gives }) => {
  expect(checkExpression(source)).toMatchObject({ ok: true, expression: { gives } })
})

test.each([
  { kind: 'services', at: app, expression: '5', needs: 'text, as String(value) gives' },
  { kind: 'endpoints', at: 'metadata.annotations', expression: '"x"', needs: 'an object' },
  { kind: 'configMaps', at: 'data.*', expression: '!value', needs: 'text, as String(value) gives' },
  { kind: 'secrets', at: 'data["a.b"]', expression: '[1]', needs: 'base64, as btoa(text) gives' },
  { kind: 'services', at: 'spec.ports[*]', expression: '7', needs: 'an object' },
  { kind: 'services', at: 'spec.ports', expression: '({})', needs: 'a list' },
  { kind: 'services', at: 'spec.ports[0].targetPort', expression: '"http"', needs: null },
  { kind: 'services', at: 'spec.ports[0].port', expression: '80', needs: null },
  { kind: 'services', at: 'spec.other', expression: '80', needs: null },
  { kind: 'services', at: 'metadata.*', expression: '80', needs: null },
  { kind: 'secrets', at: 'immutable', expression: 'true', needs: null },
])(
  'validate warns of $expression at $at of $kind: $needs (19.3)',
  ({ kind, at, expression, needs }) => {
    const patches = [{ path: at, expression }]
    const { faults, warnings } = checkSyncConfig({ sync: { toHost: { [kind]: { patches } } } })
    expect(faults).toEqual([])
    const because = `, and the field must be ${needs}: what it patches is not written`
    expect(warnings.map((one) => one.text.endsWith(because))).toEqual(needs === null ? [] : [true])
  },
)
