import { describe, expect, it } from 'vitest'
import type { Secret } from '../../../../src/api/objects.ts'
import { signInUserOf } from '../../../../src/signin/people/sign-in-user.ts'
import { sessionStep } from '../../../../src/signin/sessions/plan.ts'
import {
  isSessionOf,
  sessionIn,
  sessionSecret,
  type SignInSession,
} from '../../../../src/signin/sessions/session.ts'
import { START_MS, storedSession as session } from '../../../support/signin/stored-session.ts'

const NAMESPACE = 'platform-sign-in'

/** What the sweep sees of a session of ada, whose provider is set up, unless it differs. */
const swept = (
  differs: Partial<SignInSession>,
  around: Partial<Parameters<typeof sessionStep>[0]>,
) => ({
  session: session(differs),
  isOwned: false,
  passwordDigest: null,
  isNamed: true,
  isSetUp: true,
  ...around,
})
const GRACE_MS = 900_000
const WITHOUT_KEY = { keyUid: null }
const REMOVED = { removedMs: START_MS }
const OF_PASSWORD = { passwordDigest: 'a' }
const ENDED = { endedMs: START_MS }

describe('the step for a session (25.4, 25.7)', () => {
  it.each([
    ['is kept for ten minutes, even if its key is gone', {}, {}, 599_999, 'keep'],
    ['is given to its key after ten minutes', {}, {}, 600_000, 'giveToKey'],
    ['is kept once it is given', {}, { isOwned: true }, 6_000_000, 'keep'],
    ['goes where no terminal took it', WITHOUT_KEY, {}, 600_000, 'discard'],
    ['waits for its terminal', WITHOUT_KEY, {}, 599_999, 'keep'],
    ['is kept with its password', OF_PASSWORD, { passwordDigest: 'a' }, 1, 'keep'],
    ['is gone at once with another password', OF_PASSWORD, { passwordDigest: 'b' }, 1, 'gone'],
    ['is gone with a password that is gone', OF_PASSWORD, { isOwned: true }, 6_000_000, 'gone'],
    [
      'of another password goes before a terminal takes it',
      { ...OF_PASSWORD, ...WITHOUT_KEY },
      {},
      1,
      'discard',
    ],
    [
      'of a provider has nothing to do with passwords',
      {},
      { isOwned: true, passwordDigest: 'b' },
      1,
      'keep',
    ],
    ['is gone when the User does not name it', {}, { isNamed: false }, 1, 'gone'],
    ['notes that its provider is removed', {}, { isSetUp: false }, 1, 'noteRemoved'],
    [
      'waits for its provider within the grace',
      REMOVED,
      { isSetUp: false },
      GRACE_MS - 1,
      'giveToKey',
    ],
    [
      'notes it again where a clock that was wrong has',
      { removedMs: START_MS + 2 },
      { isSetUp: false },
      1,
      'noteRemoved',
    ],
    ['is gone when the provider stays away', REMOVED, { isSetUp: false }, GRACE_MS, 'gone'],
    [
      'goes without a key when the provider stays away',
      { ...REMOVED, ...WITHOUT_KEY },
      { isSetUp: false },
      GRACE_MS,
      'discard',
    ],
    ['notes that its provider is back', REMOVED, {}, GRACE_MS + 1, 'noteRemoved'],
    [
      'that is over ends no second time',
      { ...ENDED, ...OF_PASSWORD },
      { isNamed: false, isSetUp: false },
      1,
      'keep',
    ],
    [
      'that is over goes with its key',
      { ...ENDED, ...REMOVED },
      { isSetUp: false },
      GRACE_MS,
      'giveToKey',
    ],
  ] as const)('%s', (_, differs, around, afterMs, kind) => {
    const step = sessionStep(swept(differs, around), GRACE_MS, START_MS + afterMs)
    expect(step.kind).toBe(kind)
  })

  it('outlives its provider where the grace never ends', () => {
    const step = sessionStep(swept(REMOVED, { isSetUp: false }), null, START_MS + 1e12)
    expect(step.kind).toBe('giveToKey')
    expect(sessionStep(swept({}, { isSetUp: false }), null, START_MS).kind).toBe('keep')
  })

  it('says since when the provider is away', () => {
    const away = sessionStep(swept({}, { isSetUp: false }), GRACE_MS, START_MS + 7)
    expect(away).toEqual({ kind: 'noteRemoved', removedMs: START_MS + 7 })
    const back = sessionStep(swept(REMOVED, {}), GRACE_MS, START_MS + 7)
    expect(back).toEqual({ kind: 'noteRemoved', removedMs: null })
  })
})

describe('the person of a session (24.3)', () => {
  const ada = (spec: object, uid = 'uid-ada') =>
    signInUserOf({ kind: 'User', metadata: { name: 'ada', uid }, spec } as never)
  const named = { identities: [{ connector: 'oidc', subject: 'https://provider.example#1' }] }
  it.each([
    ['the User who names the account', ada(named), {}, true],
    ['no User where there is none', null, {}, false],
    ['no other User of the name', ada(named, 'uid-other'), {}, false],
    ['no User without that identity', ada({}), {}, false],
    [
      'no User who names another account',
      ada(named),
      { subject: 'https://provider.example#2' },
      false,
    ],
    ['no User who names it at another provider', ada(named), { provider: 'saml' }, false],
    ['for a password the User alone', ada({}), { provider: 'password', subject: '' }, true],
  ])('is %s', (_, user, differs, expected) => {
    expect(isSessionOf(session(differs), user)).toBe(expected)
  })
})

describe('a session in a Secret (25.4)', () => {
  const secretOf = (differs: object) =>
    ({ ...sessionSecret(session(), NAMESPACE), ...differs }) as unknown as Secret
  const data = (value: unknown) => ({
    data: { session: Buffer.from(JSON.stringify(value)).toString('base64') },
  })

  it('comes back as it was', () => {
    const stored = session({
      tokens: { refreshToken: 'r', accessToken: 'a', idToken: 'i', refreshEndsMs: 6 },
      refresh: { confirmedMs: 1, askedMs: 2, failures: 3, isUnanswered: true },
      removedMs: 4,
      endedMs: 5,
    })
    expect(sessionIn(sessionSecret(stored, NAMESPACE) as unknown as Secret)).toEqual(stored)
  })

  it.each([
    ['of another type', { type: 'Opaque' }],
    ['of another name', { metadata: { name: 'login-x' } }],
    ['of malformed JSON', { data: { session: 'e' } }],
    ['without a user', data({ ...session(), user: '' })],
    ['without the uid of its User', data({ ...session(), userUid: undefined })],
    ['without a time', data({ ...session(), madeMs: 'now' })],
    ['with a number as its subject', data({ ...session(), subject: 7 })],
  ])('is not read from one %s', (_, differs) => {
    expect(sessionIn(secretOf(differs))).toBeNull()
  })
})
