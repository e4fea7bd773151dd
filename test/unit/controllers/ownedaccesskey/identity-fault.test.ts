import { expect, test } from 'vitest'
import type { Team } from '../../../../src/api/team.gen.ts'
import type { User } from '../../../../src/api/user.gen.ts'
import { keyIdentityFaultOf } from '../../../../src/controllers/ownedaccesskey/identity-fault.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { accessKey, after, textAfter } from '../../../support/key-builder.ts'
import { teamObject, userObject } from '../../../support/object-builder.ts'
import { peopleOf } from '../../people/people-builder.ts'

const DELETED = { metadata: { deletionTimestamp: textAfter(0) } }
const LONG_NAME = 'Ada@Example.com'
const FORM = 'ada-example-com-1aa1bf07b5'

interface Row {
  readonly name: string
  readonly people: { readonly users: readonly User[]; readonly teams: readonly Team[] }
  readonly key: Partial<AccessKey>
  readonly fault: ReturnType<typeof keyIdentityFaultOf>
}

const nobody = { users: [], teams: [] }

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'nobody is known', people: nobody, key: {}, fault: null },
  { name: 'the User is active', people: { ...nobody, users: [userObject()] }, key: {}, fault: null },
  { name: 'the User is disabled', people: { ...nobody, users: [userObject({ spec: { disabled: true } })] }, key: {},
    fault: { reason: 'UserDisabled', message: 'User ada is disabled, so the key does not work: remove spec.disabled of the User to let its keys work again.' } },
  { name: 'the User has the form of its name', people: { ...nobody, users: [userObject({ metadata: { name: FORM }, spec: { username: LONG_NAME, disabled: true } })] },
    key: { identity: `user:${LONG_NAME}` },
    fault: { reason: 'UserDisabled', message: `User ${FORM} is disabled, so the key does not work: remove spec.disabled of the User to let its keys work again.` } },
  { name: 'the User has another name than the form of its name', people: { ...nobody, users: [userObject({ metadata: { name: 'ada-2' }, spec: { username: 'ada', disabled: true } })] }, key: {}, fault: null },
  { name: 'the User is being deleted', people: { ...nobody, users: [userObject(DELETED)] }, key: {},
    fault: { reason: 'UserDisabled', message: 'User ada is being deleted, and its keys with it: none of them works.' } },
  { name: 'the Team is being deleted', people: { ...nobody, teams: [teamObject(DELETED)] }, key: { identity: 'team:sre' },
    fault: { reason: 'TeamGone', message: 'Team sre is being deleted, and its keys with it: none of them works.' } },
  { name: 'the person is gone', people: nobody, key: { identityGone: 'IdentityGone' },
    fault: { reason: 'IdentityGone', message: 'The person is gone at the sign-in provider, so the key does not work and never will again: delete it. A new sign-in makes another.' } },
  { name: 'the person has to sign in again', people: nobody, key: { identityGone: 'SignInAgain' },
    fault: { reason: 'SignInAgain', message: 'The sign-in can no longer be confirmed at its provider, so the key does not work: sign in again, which makes another, and delete this one.' } },
  { name: 'a day and a second without refresh', people: nobody, key: { refreshedMs: after(-86_401) },
    fault: { reason: 'IdentityStale', message: `The sign-in provider last confirmed the person ${textAfter(-86_401).replace('.000', '')}, more than 24 h ago. The key works again once the provider does.` } },
]

test.each(ROWS)(
  'a key says what is wrong with its person or team (24.5): $name',
  ({ people, key, fault }) => {
    expect(
      keyIdentityFaultOf(accessKey(key), peopleOf(people.users, people.teams), after(0)),
    ).toEqual(fault)
  },
)
