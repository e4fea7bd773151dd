// JSON patches of settings with secrets in lists (contract 6.3, 12.4).
import { describe, expect, test } from 'vitest'
import { CONFIGS } from '../../../../src/api/names.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { jsonPatchOf } from '../../../../src/gateway/selfservice/patch.ts'

const GUARD = { op: 'test', path: '/metadata/resourceVersion', value: '7' }

describe('secrets of settings in a JSON patch (6.3)', () => {
  const connector = (id: string, clientSecret: string): JsonMap => ({
    id,
    oidc: { clientSecret, clientId: 'c' },
  })
  const list = [
    connector('one', 'literal-of-one'),
    connector('two', 'literal-of-two'),
    { id: 'three' },
  ]
  const object = {
    kind: 'Config',
    metadata: { resourceVersion: '7' },
    spec: {
      auth: {
        connectors: [connector('one', 'literal-of-one'), connector('two', '$PLATFORM_CONFIG_A')],
      },
    },
    status: { auth: { connectors: list }, database: { extraArgs: ['literal', 'REDACTED'] } },
  }
  const read = (operations: readonly Json[]): readonly Json[] | string => {
    const patch = jsonPatchOf(CONFIGS, operations, object)
    return patch.ok
      ? patch.operations
      : (JSON.parse(patch.answer.body.toString()) as { readonly message: string }).message
  }
  const HIDDEN = 'it holds a hidden field'

  test.each([
    '/spec',
    '/spec/auth',
    '/spec/auth/connectors/0',
    '/spec/auth/connectors/0/oidc/clientSecret',
    '/status/database/extraArgs',
    '/status/database/extraArgs/0',
  ])('are not tested at %j', (path) => {
    expect(read([{ op: 'test', path, value: 'x' }])).toContain(HIDDEN)
  })

  test.each([
    '/spec/auth/connectors/0/oidc/clientId',
    '/spec/auth/connectors/1',
    '/status/auth/connectors/2',
  ])('are tested at %j, where nothing is secret', (path) => {
    const one = { op: 'test', path, value: 'x' }
    expect(read([one])).toEqual([GUARD, one])
  })

  const FIRST = '/status/auth/connectors/0'
  test.each([
    { name: 'removing the entry before', change: { op: 'remove', path: FIRST } },
    {
      name: 'replacing the same entry',
      change: { op: 'replace', path: FIRST, value: connector('new', 'mine') },
      at: 1,
    },
    { name: 'adding an entry before', change: { op: 'add', path: FIRST, value: {} }, at: 2 },
    {
      name: 'moving it to another index',
      change: { op: 'add', path: FIRST, value: {} },
      at: 1,
    },
  ])(
    'are not tested at an index to which a change moves them: $name (12.4, X4)',
    ({ change, at = 0 }) => {
      const path = `/status/auth/connectors/${at}/oidc/clientSecret`
      expect(read([change, { op: 'test', path, value: 'literal-of-two' }])).toContain(HIDDEN)
    },
  )

  test('are tested when a change has removed all hidden values', () => {
    const patch = [
      { op: 'remove', path: FIRST },
      { op: 'remove', path: FIRST },
      { op: 'test', path: '/status/auth/connectors', value: [{ id: 'three' }] },
      { op: 'replace', path: `${FIRST}/oidc`, value: { clientSecret: 'mine' } },
      { op: 'test', path: FIRST, value: 'x' },
    ]
    expect(read(patch)).toEqual([GUARD, ...patch])
  })

  test.each([
    {
      at: '/spec/auth/connectors',
      value: [connector('new', 'REDACTED'), list[2]],
      is: [connector('new', 'literal-of-one'), list[2]],
    },
    {
      at: '/status/auth/connectors',
      value: [connector('a', 'REDACTED'), connector('b', 'x'), {}],
      is: [connector('a', 'literal-of-one'), connector('b', 'x'), {}],
    },
    {
      at: '/status/auth/connectors/1',
      value: connector('two', 'REDACTED'),
      is: connector('two', 'literal-of-two'),
    },
    {
      at: '/status/auth/connectors/1/oidc',
      value: { clientSecret: 'REDACTED' },
      is: { clientSecret: 'literal-of-two' },
    },
    { at: '/status/auth/connectors/1/oidc/clientSecret', value: 'REDACTED', is: 'literal-of-two' },
    { at: '/status/database/extraArgs/0', value: 'REDACTED', is: 'literal' },
    { at: '/status/database/extraArgs/1', value: 'REDACTED', is: 'REDACTED' },
    {
      at: '/status/database',
      value: { extraArgs: ['REDACTED', 'REDACTED'] },
      is: { extraArgs: ['literal', 'REDACTED'] },
    },
    { at: '/spec/displayName', value: 'REDACTED', is: 'REDACTED' },
  ])('keep their values when sent back as REDACTED to $at', ({ at, value, is }) => {
    expect(read([{ op: 'replace', path: at, value } as JsonMap])).toEqual([
      GUARD,
      { op: 'replace', path: at, value: is },
    ])
  })

  test('keep their values when sent back as REDACTED after another entry was removed', () => {
    const gone = { op: 'remove', path: FIRST }
    const back = { op: 'replace', path: FIRST, value: connector('two', 'REDACTED') }
    expect(read([gone, back])).toEqual([
      GUARD,
      gone,
      { ...back, value: connector('two', 'literal-of-two') },
    ])
  })

  test.each([
    {
      op: 'add',
      path: FIRST,
      value: connector('one', 'REDACTED'),
      says: 'status.auth.connectors[0].oidc.clientSecret',
    },
    {
      op: 'add',
      path: '/status/auth/connectors/-',
      value: connector('one', 'REDACTED'),
      says: 'status.auth.connectors["-"].oidc.clientSecret',
    },
    {
      op: 'replace',
      path: '/status/auth/connectors/2',
      value: connector('three', 'REDACTED'),
      says: 'status.auth.connectors[2].oidc.clientSecret',
    },
    {
      op: 'replace',
      path: '/status/auth/connectors',
      value: [connector('one', 'REDACTED')],
      says: 'status.auth.connectors[0].oidc.clientSecret',
    },
    {
      op: 'replace',
      path: '/status',
      value: { database: { extraArgs: ['REDACTED'] } },
      says: 'status.database.extraArgs[0]',
    },
    {
      op: 'replace',
      path: '',
      value: { status: { auth: { token: 'REDACTED' } } },
      says: 'status.auth.token',
    },
    { op: 'add', path: '/status/auth/token', value: 'REDACTED', says: 'status.auth.token' },
    {
      op: 'add',
      path: '/status/apps',
      value: { repositories: [{ url: 'https://REDACTED@a.test' }] },
      says: 'status.apps.repositories[0].url',
    },
    {
      op: 'add',
      path: '/spec/auth/connectors/0',
      value: connector('one', 'REDACTED'),
      says: 'spec.auth.connectors[0].oidc.clientSecret',
    },
  ])('never become REDACTED: $op at $path (6.3)', ({ says, ...one }) => {
    expect(read([one as JsonMap])).toContain(`${says} would be REDACTED`)
  })

  test('of a spec without secrets may be REDACTED, which the operator reads (6.3)', () => {
    const sound = { ...object, spec: {} }
    const one = {
      op: 'add',
      path: '/spec/auth',
      value: { connectors: [connector('one', 'REDACTED')] },
    }
    expect(jsonPatchOf(CONFIGS, [one], sound)).toEqual({ ok: true, operations: [GUARD, one] })
  })
})
