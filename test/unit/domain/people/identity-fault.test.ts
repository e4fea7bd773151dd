import { describe, expect, test } from 'vitest'
import { IDENTITY_GONE_ANNOTATION } from '../../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../../src/api/ownedaccesskey.gen.ts'
import { accessKeyOf } from '../../../../src/domain/accesskey/access-key.ts'
import { identityFaultOf } from '../../../../src/domain/people/people.ts'
import { after, textAfter } from '../../../support/key-builder.ts'
import { keyObject, type Parts, teamObject, userObject } from '../../../support/object-builder.ts'
import { peopleOf } from '../../people/people-builder.ts'

const DELETED = { deletionTimestamp: textAfter(0) }
const DAY = 86_400
const gone = (text: string) => ({ metadata: { annotations: { [IDENTITY_GONE_ANNOTATION]: text } } })
const login = (identityRefresh: unknown): Parts<OwnedAccessKey> => ({
  spec: { user: 'ada', type: 'Login', identityRefresh } as unknown as OwnedAccessKey['spec'] &
    object,
})

describe('the fault of whom a key acts as (24.2, 24.5)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a user without a User', fault: null },
    { name: 'a user with a User', users: [{}], fault: null },
    { name: 'a disabled user', users: [{ spec: { disabled: true } }], fault: 'UserDisabled' },
    { name: 'a user who is being deleted', users: [{ metadata: DELETED }], fault: 'UserDisabled' },
    { name: 'another user who is disabled', users: [{ metadata: { name: 'bob' }, spec: { disabled: true } }], fault: null },
    { name: 'a disabled User whose name is not the form', users: [{ metadata: { name: 'a' }, spec: { username: 'ada', disabled: true } }], fault: null },
    { name: 'a user in other letters, who is disabled', users: [{ metadata: { name: 'ada-0' }, spec: { username: 'Ada', disabled: true } }], fault: null },
    { name: 'a team of the name of a disabled user', key: { spec: { team: 'ada' } }, users: [{ spec: { disabled: true } }], fault: null },
    { name: 'a subject of the name of a disabled user', key: { spec: { subject: 'ada' } }, users: [{ spec: { disabled: true } }], fault: null },
    { name: 'a team', key: { spec: { team: 'sre' } }, teams: [{}], fault: null },
    { name: 'a team that is being deleted', key: { spec: { team: 'sre' } }, teams: [{ metadata: DELETED }], fault: 'TeamGone' },
    { name: 'a user of the name of a team that is being deleted', key: { spec: { user: 'sre' } }, teams: [{ metadata: DELETED }], fault: null },
    { name: 'a person who is gone at the provider', key: gone(`${textAfter(0)} IdentityGone`), fault: 'IdentityGone' },
    { name: 'a person who must sign in again', key: gone(`${textAfter(0)} SignInAgain`), fault: 'SignInAgain' },
    { name: 'an annotation with another text', key: gone('no'), fault: 'IdentityGone' },
    { name: 'an annotation with a word after SignInAgain', key: gone('x SignInAgain IdentityGone'), fault: 'IdentityGone' },
    { name: 'an empty annotation', key: gone(''), fault: 'IdentityGone' },
    { name: 'a disabled user who is gone', key: gone('IdentityGone'), users: [{ spec: { disabled: true } }], fault: 'UserDisabled' },
    { name: 'a Login key that was never refreshed', key: login(undefined), at: 10 * DAY, fault: null },
    { name: 'a Login key with an empty time', key: login(''), at: 10 * DAY, fault: null },
    { name: 'a Login key 24 h after its refresh', key: login(textAfter(0)), at: DAY, fault: null },
    { name: 'a Login key a millisecond later', key: login(textAfter(0)), at: DAY + 0.001, fault: 'IdentityStale' },
    { name: 'a Login key with a malformed time', key: login('yesterday'), fault: 'IdentityStale' },
    { name: 'a Login key with a number as time', key: login(7), fault: 'IdentityStale' },
    { name: 'a key of another type 24 h after its refresh', key: { spec: { user: 'ada', type: 'User', identityRefresh: textAfter(0) } } as Parts<OwnedAccessKey>, at: 2 * DAY, fault: null },
    { name: 'a stale key whose person must sign in again', key: { ...login(textAfter(0)), ...gone('x SignInAgain') }, at: 2 * DAY, fault: 'IdentityStale' },
    { name: 'a stale key whose person is gone', key: { ...login(textAfter(0)), ...gone('x IdentityGone') }, at: 2 * DAY, fault: 'IdentityGone' },
  ])('$name: $fault', ({ key = {}, users = [], teams = [], at = 0, fault }) => {
    const people = peopleOf(users.map(userObject), teams.map(teamObject))
    const parsed = accessKeyOf(keyObject(key), () => '')
    expect(identityFaultOf(parsed, people, after(at))).toBe(fault)
  })
})
