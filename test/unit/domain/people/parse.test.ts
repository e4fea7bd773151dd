import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { teamOf } from '../../../../src/domain/people/team.ts'
import { hasExpectedName } from '../../../../src/domain/people/object-name.ts'
import { userOf } from '../../../../src/domain/people/user.ts'
import { teamObject, userObject } from '../../../support/object-builder.ts'

const sha256 = (text: string): string => hash('sha256', text)
const DELETED = { metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' } }
/** A spec or status that an API server with another schema stored. */
const odd = (fields: unknown): never => fields as never

describe('a User (24.1)', () => {
  const parsed = (parts: Parameters<typeof userObject>[0]) => userOf(userObject(parts), sha256)

  test('without any field is the person of its own name', () => {
    const { metadata } = userObject()
    expect(userOf({ apiVersion: '', kind: '', metadata }, sha256)).toEqual({
      name: 'ada',
      uid: 'uid-ada',
      resourceVersion: '1',
      username: 'ada',
      expectedName: 'ada',
      isDisabled: false,
      isDeleting: false,
      groups: [],
    })
  })

  test.each([
    { name: 'an empty username is as absent', parts: { spec: { username: '' } }, differs: {} },
    { name: 'disabled', parts: { spec: { disabled: true } }, differs: { isDisabled: true } },
    { name: 'not disabled', parts: { spec: { disabled: false } }, differs: {} },
    {
      name: 'a disabled as text locks out',
      parts: { spec: odd({ disabled: 'false' }) },
      differs: { isDisabled: true },
    },
    {
      name: 'a number as username locks out',
      parts: { spec: odd({ username: 7 }) },
      differs: { isDisabled: true },
    },
    { name: 'a list as spec', parts: { spec: odd([]) }, differs: {} },
    { name: 'being deleted', parts: DELETED, differs: { isDeleting: true } },
    {
      name: 'groups, each once',
      parts: {
        status: {
          groups: [
            { connector: 'oidc', name: 'dev' },
            { connector: 'oidc', name: 'dev' },
            { connector: 'saml', name: 'dev' },
          ],
        },
      },
      differs: { groups: ['["oidc","dev"]', '["saml","dev"]'] },
    },
    {
      name: 'groups that are malformed grant nothing',
      parts: {
        status: odd({
          groups: [
            { connector: 'oidc' },
            { name: 'dev' },
            'dev',
            null,
            { connector: 7, name: 'dev' },
          ],
        }),
      },
      differs: {},
    },
    {
      name: 'groups as text grant nothing',
      parts: { status: odd({ groups: 'dev' }) },
      differs: {},
    },
  ])('$name', ({ parts, differs }) => {
    expect(parsed(parts)).toEqual({ ...parsed({}), ...differs })
  })

  test.each([
    { name: 'ada', username: 'ada', counts: true },
    { name: 'ada', username: '', counts: true },
    { name: 'ada-example-com-1aa1bf07b5', username: 'Ada@Example.com', counts: true },
    { name: 'ada', username: 'Ada@Example.com', counts: false },
    { name: 'ada', username: 'bob', counts: false },
  ])('named $name for user name "$username" counts: $counts', ({ name, username, counts }) => {
    expect(hasExpectedName(parsed({ metadata: { name }, spec: { username } }))).toBe(counts)
  })
})

describe('a Team (24.1)', () => {
  const parsed = (parts: Parameters<typeof teamObject>[0]) => teamOf(teamObject(parts), sha256)

  test.each([
    { name: 'an empty name is as absent', parts: { spec: { name: '' } }, differs: {} },
    { name: 'being deleted', parts: DELETED, differs: { isDeleting: true } },
    {
      name: 'people, each once',
      parts: { spec: { users: ['ada', 'bob', 'ada'] } },
      differs: { users: ['ada', 'bob'] },
    },
    {
      name: 'malformed people are left out',
      parts: { spec: odd({ users: ['ada', 7] }) },
      differs: {},
    },
    {
      name: 'groups',
      parts: { spec: { groups: [{ connector: 'oidc', name: 'dev' }] } },
      differs: { groups: ['["oidc","dev"]'] },
    },
    {
      name: 'a number as name',
      parts: { spec: odd({ name: 7 }) },
      differs: {},
    },
  ])('$name', ({ parts, differs }) => {
    expect(parsed(parts)).toEqual({
      name: 'sre',
      uid: 'uid-sre',
      resourceVersion: '1',
      teamName: 'sre',
      expectedName: 'sre',
      isDeleting: false,
      users: [],
      groups: [],
      ...differs,
    })
  })
})
