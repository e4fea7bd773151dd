// What a key may not do by RBAC alone when its user does not act in person (contract 12.1, 12.3), tried where RBAC and
// policies allow everything.
import { describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { type Way, changed, made } from './echoing-api-server.ts'
import { key, project } from './key-objects.ts'

const DIGEST = `sha256:${'0'.repeat(64)}`
const OTHER_DIGEST = `sha256:${'1'.repeat(64)}`

const CALLERS = {
  person: { user: 'ada', type: 'Login' },
  plain: { user: 'ada', type: 'User' },
  login: { user: 'ada', type: 'Login', scope: project('shop') },
  team: { user: '', team: 'ops', type: 'User' },
  robot: { user: '', subject: 'robot' },
  teamLogin: { user: '', team: 'ops', type: 'Login' },
} as const satisfies Readonly<Record<string, OwnedAccessKeySpec>>
type By = keyof typeof CALLERS

describe('creating a key (12.1, 12.3)', () => {
  type Row = { readonly spec: JsonMap; readonly by?: string; readonly field?: string }
  const ROWS: Readonly<Record<By, readonly Row[]>> = {
    person: [
      { spec: { type: 'Login' }, by: 'ada' },
      { spec: { type: 'Workspace' }, by: 'ada' },
      { spec: { subject: 'ada' }, by: 'ada' },
      { spec: { key: DIGEST }, by: 'ada' },
      { spec: { user: 'ada', key: DIGEST }, by: 'ada' },
      { spec: { user: 'bob', key: DIGEST }, by: 'ada' },
      { spec: { key: 'x'.repeat(32) }, by: 'gateway' },
    ],
    plain: [
      { spec: {}, by: 'gateway' },
      { spec: { type: 'Login' }, field: 'spec.type' },
      { spec: { user: 'ada', type: 'Login' }, field: 'spec.type' },
      { spec: { user: 'bob', type: 'Login' }, field: 'spec.type' },
      { spec: { team: 'ops', type: 'Login' }, field: 'spec.type' },
      { spec: { type: 'Workspace' }, field: 'spec.type' },
      { spec: { type: 'Other' }, field: 'spec.type' },
      { spec: { user: 'bob', type: 'Workspace' }, by: 'ada' },
      { spec: { team: 'ops' }, by: 'ada' },
      { spec: { subject: 'robot' }, by: 'ada' },
      // Both are the same user to the API server.
      { spec: { subject: 'ada' }, field: 'spec.subject' },
      { spec: { key: DIGEST }, field: 'spec.key' },
      { spec: { user: 'ada', type: 'User', key: DIGEST }, field: 'spec.key' },
      { spec: { user: 'bob', key: DIGEST }, by: 'ada' },
    ],
    login: [
      { spec: { scope: project('shop') }, by: 'gateway' },
      { spec: { type: 'Login', scope: project('shop') }, field: 'spec.type' },
      { spec: { key: DIGEST, scope: project('shop') }, field: 'spec.key' },
    ],
    team: [
      { spec: { team: 'ops' }, field: 'spec.team' },
      { spec: { team: 'ops', key: DIGEST }, field: 'spec.team' },
      { spec: { team: 'dev', type: 'Login' }, field: 'spec.type' },
      { spec: { team: 'dev' }, by: 'platform:team:ops' },
      { spec: { user: 'ops' }, by: 'platform:team:ops' },
      { spec: {}, by: 'platform:team:ops' },
    ],
    robot: [
      { spec: { subject: 'robot' }, field: 'spec.subject' },
      { spec: { user: 'robot' }, field: 'spec.user' },
      { spec: { subject: 'another' }, by: 'robot' },
    ],
    teamLogin: [{ spec: { team: 'ops' }, by: 'platform:team:ops' }],
  }
  const rows = (Object.keys(ROWS) as readonly By[]).flatMap((caller) =>
    ROWS[caller].map(({ spec, by = null, field = '' }) => ({ caller, spec, by, field })),
  )

  test.each(rows)(
    'is a write by $by, or refused with $field: with the key of $caller, $spec',
    async (row) => {
      const { caller, spec, by, field } = row
      const code = field === '' ? 201 : 403
      expect(await made(CALLERS[caller], spec)).toMatchObject({ code, field, by })
    },
  )
})

const TEAM = 'platform:team:ops'
const WAYS: readonly Way[] = ['put', 'merge', 'apply', 'json']

/** The change in the form of each method; a JSON patch has one operation. */
const sentBy = (way: Way, spec: JsonMap): Json => {
  if (way === 'json')
    return Object.entries(spec).map(([name, value]) => ({
      op: 'add',
      path: `/spec/${name}`,
      value,
    }))
  return { metadata: { resourceVersion: '5' }, spec }
}

describe('changing a key that was created for another user (12.3)', () => {
  const stored = (spec: JsonMap): JsonMap =>
    key({ metadata: { name: 'other', uid: 'uid-other', resourceVersion: '5' }, spec })
  const ROWS = [
    { caller: 'plain', of: { user: 'bob' }, spec: { user: 'ada' }, field: 'spec.user' },
    { caller: 'plain', of: { user: '' }, spec: { user: 'ada' }, field: 'spec.user' },
    { caller: 'plain', of: { user: '' }, spec: { subject: 'ada' }, field: 'spec.subject' },
    { caller: 'plain', of: { user: 'bob' }, spec: { user: 'eve' }, field: '' },
    { caller: 'plain', of: { user: 'bob' }, spec: { ttl: 60 }, field: '' },
    { caller: 'team', of: { user: '' }, spec: { team: 'ops' }, field: 'spec.team' },
    { caller: 'team', of: { user: '', team: 'ops' }, spec: { team: 'ops', ttl: 60 }, field: '' },
    { caller: 'team', of: { user: '', team: 'ops' }, spec: { team: 'dev' }, field: '' },
    { caller: 'robot', of: { user: '' }, spec: { subject: 'robot' }, field: 'spec.subject' },
    { caller: 'person', of: { user: 'bob' }, spec: { user: 'ada' }, field: '' },
    { caller: 'teamLogin', of: { user: '' }, spec: { team: 'ops' }, field: '' },
  ] as const
  const rows = WAYS.flatMap((way) => ROWS.map((row) => ({ ...row, way })))

  test.each(rows)(
    'is refused with $field, if any: by $way with the key of $caller, $of to $spec',
    async (row) => {
      const { caller, of, spec, way, field } = row
      const written = await changed(CALLERS[caller], stored(of), way, sentBy(way, spec))
      const as = { plain: 'ada', person: 'ada', team: TEAM, teamLogin: TEAM, robot: 'robot' }[
        caller
      ]
      const isRefused = field !== ''
      expect(written).toMatchObject({
        code: isRefused ? 403 : 200,
        field,
        by: isRefused ? null : as,
      })
    },
  )

  test.each([
    { path: '/spec', value: { user: 'ada' } },
    { path: '', value: { spec: { user: 'ada' } } },
  ])('by a JSON patch of $path, which contains the name', async (operation) => {
    const sent = [{ op: 'replace', ...operation }]
    expect(await changed(CALLERS.plain, stored({ user: 'bob' }), 'json', sent)).toMatchObject({
      code: 403,
      field: 'spec.user',
      by: null,
    })
  })
})

describe("setting a digest in a key of the caller's user (12.1)", () => {
  const stored = (spec: JsonMap): JsonMap =>
    key({ metadata: { resourceVersion: '5' }, spec: { type: 'User', ...spec } })
  const ROWS = [
    { caller: 'person', of: {}, spec: { key: DIGEST }, by: 'ada' },
    { caller: 'person', of: { key: OTHER_DIGEST }, spec: { key: DIGEST }, by: 'ada' },
    { caller: 'person', of: { key: DIGEST }, spec: { key: DIGEST, ttl: 60 }, by: 'gateway' },
    { caller: 'person', of: { key: DIGEST }, spec: { ttl: 60 }, by: 'gateway' },
    { caller: 'plain', of: {}, spec: { key: DIGEST }, by: null },
    {
      caller: 'plain',
      of: { key: DIGEST },
      spec: { key: DIGEST, displayName: 'x' },
      by: 'gateway',
    },
    { caller: 'plain', of: { key: DIGEST }, spec: { disabled: true }, by: 'gateway' },
  ] as const
  const rows = WAYS.flatMap((way) => ROWS.map((row) => ({ ...row, way })))

  test.each(rows)(
    'is a write by $by: by $way with the key of $caller, $of to $spec',
    async (row) => {
      const { caller, of, spec, way, by } = row
      const whole = { user: 'ada', type: 'User', ...spec }
      const sent = sentBy(way, way === 'json' ? spec : whole)
      const written = await changed(CALLERS[caller], stored(of), way, sent)
      expect(written).toMatchObject(
        by === null ? { code: 403, field: 'spec.key', by } : { code: 200, by },
      )
    },
  )
})
