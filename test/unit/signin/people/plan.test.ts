import { describe, expect, it } from 'vitest'
import type { UserSpec } from '../../../../src/api/user.gen.ts'
import {
  type Account,
  accountStep,
  namesAccount,
  textForPeople,
} from '../../../../src/signin/people/plan.ts'
import { type SignInUser, signInUserOf } from '../../../../src/signin/people/sign-in-user.ts'
import { objectNameFor } from '../../../../src/people/people-index.ts'
import { type Parts, userObject } from '../../../support/object-builder.ts'
import type { User } from '../../../../src/api/user.gen.ts'

const SUBJECT = 'https://provider.example#1'
const account = (differs: Partial<Account> = {}): Account => ({
  connector: 'oidc',
  subject: SUBJECT,
  username: 'ada',
  ...differs,
})

function user(spec: UserSpec, metadata: Parts<User>['metadata'] = {}): SignInUser {
  const name = objectNameFor(spec.username ?? 'ada')
  return signInUserOf(userObject({ metadata: { name, ...metadata }, spec }))
}

const own = { connector: 'oidc', subject: SUBJECT }
const DELETED = { deletionTimestamp: '2026-11-21T11:00:00Z' }

interface Row {
  readonly title: string
  readonly account?: Partial<Account>
  /** Users with the account. */
  readonly having?: readonly SignInUser[]
  readonly sameName?: SignInUser | null
  readonly mayCreate?: boolean
  readonly step: object
}

const refuse = (reason: string): object => ({ kind: 'refuse', reason })

const ROWS: readonly Row[] = [
  { title: 'makes the first of its name', step: { kind: 'create', username: 'ada' } },
  { title: 'makes no User where that is off', mayCreate: false, step: refuse('user_unknown') },
  {
    title: 'is who has its subject, whatever the name is now (24.3: subject before name)',
    account: { username: 'grace' },
    having: [user({ identities: [own] })],
    sameName: user({ username: 'grace', identities: [{ connector: 'oidc' }] }),
    step: { kind: 'use' },
  },
  {
    title: 'is who has its subject, also without a name',
    account: { username: null },
    having: [user({ identities: [own] })],
    mayCreate: false,
    step: { kind: 'use' },
  },
  {
    title: 'opens neither of two Users who name it',
    having: [user({ identities: [own] }), user({ username: 'grace', identities: [own] })],
    step: refuse('name_taken'),
  },
  {
    title: 'opens no User whose object has the wrong name (NameMismatch)',
    having: [user({ username: 'ada', identities: [own] }, { name: 'other' })],
    step: refuse('name_taken'),
  },
  {
    title: 'opens no User who is disabled',
    having: [user({ identities: [own], disabled: true })],
    step: refuse('user_disabled'),
  },
  {
    title: 'opens no User who is being deleted',
    having: [user({ identities: [own] }, DELETED)],
    step: refuse('user_disabled'),
  },
  { title: 'needs a name', account: { username: null }, step: refuse('name_missing') },
  ...['', ' ada', 'ada lovelace', 'аda', 'ada\u200b', 'a'.repeat(254), 'ada\n', 'ädä'].map(
    (username) => ({
      title: `may not be called ${JSON.stringify(username.slice(0, 12))}`,
      account: { username },
      step: refuse('name_refused'),
    }),
  ),
  ...['system:admin', 'System:masters', 'platform:x', 'claim:x', 'CLAIM:x'].map((username) => ({
    title: `may not be called ${username}`,
    account: { username },
    step: refuse('name_refused'),
  })),
  {
    title: 'takes over no User of its name who names no account',
    sameName: user({}),
    step: refuse('name_taken'),
  },
  {
    title: 'takes over no User of its name with the same e-mail address',
    sameName: user({ email: 'ada@example.com' }),
    step: refuse('name_taken'),
  },
  {
    title: 'takes over no User of its name with another subject (recycled account)',
    sameName: user({ identities: [{ connector: 'oidc', subject: `${SUBJECT}0` }] }),
    step: refuse('name_taken'),
  },
  {
    title: 'takes over no User of its name with the subject of another authority',
    sameName: user({ identities: [{ connector: 'oidc', subject: 'https://other.example#1' }] }),
    step: refuse('name_taken'),
  },
  {
    title: 'takes over no User of its name that another connector may claim',
    sameName: user({ identities: [{ connector: 'saml' }] }),
    step: refuse('name_taken'),
  },
  {
    title: 'claims an entry whose subject is empty, which is as absent (1.2)',
    sameName: user({ identities: [{ connector: 'oidc', subject: '' }] }),
    step: { kind: 'claim', entry: 0 },
  },
  {
    title: 'takes over no User with a subject of another type',
    sameName: user({ identities: [{ connector: 'oidc', subject: 7 as never }] }),
    step: refuse('name_taken'),
  },
  {
    title: 'claims the entry without a subject of its connector, by its place in spec',
    sameName: user({
      identities: [
        { connector: 'saml' },
        { connector: 7 as never },
        { connector: 'oidc', subject: 'x#1' },
        { connector: 'oidc' },
      ],
    }),
    step: { kind: 'claim', entry: 3 },
  },
  {
    title: 'claims a User also where none is made',
    sameName: user({ identities: [{ connector: 'oidc' }] }),
    mayCreate: false,
    step: { kind: 'claim', entry: 0 },
  },
  {
    title: 'claims no User who is disabled',
    sameName: user({ identities: [{ connector: 'oidc' }], disabled: true }),
    step: refuse('user_disabled'),
  },
  {
    title: 'claims no User whose object has the wrong name',
    sameName: user({ username: 'grace', identities: [{ connector: 'oidc' }] }, { name: 'ada' }),
    step: refuse('name_taken'),
  },
  {
    title: 'claims no User of a name that only looks alike',
    account: { username: 'Ada' },
    sameName: user({ username: 'ada', identities: [{ connector: 'oidc' }] }),
    step: refuse('name_taken'),
  },
  {
    title: 'has a subject that a User can hold',
    account: { subject: `${SUBJECT}${'1'.repeat(2048)}` },
    step: refuse('provider_answer'),
  },
]

describe('an account (24.3, SC, K6)', () => {
  it.each(ROWS)(
    '$title',
    ({ account: differs, having = [], sameName = null, mayCreate = true, step }) => {
      const known = { withAccount: having, sameName }
      expect(accountStep(account(differs), known, mayCreate)).toMatchObject(step)
    },
  )

  it.each([
    ['the same', own, true],
    ['another connector', { ...own, connector: 'saml' }, false],
    ['another subject', { ...own, subject: `${SUBJECT}#1` }, false],
    ['no subject', { connector: 'oidc' }, false],
    ['a subject in other letters', { ...own, subject: SUBJECT.toUpperCase() }, false],
  ])('is named by an entry with %s: %s', (_, identity, isNamed) => {
    expect(namesAccount(user({ identities: [identity] }), account())).toBe(isNamed)
  })
})

describe('a text for people (24.1)', () => {
  it.each([
    ['a'.repeat(256), 'a'.repeat(256)],
    ['a'.repeat(257), null],
    [null, null],
  ])('is left out beyond 256 characters', (text, shown) => {
    expect(textForPeople(text)).toBe(shown)
  })
})
