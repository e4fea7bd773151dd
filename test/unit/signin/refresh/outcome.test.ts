import { describe, expect, it } from 'vitest'
import {
  GrantEnded,
  SIGN_IN_REFUSALS,
  type SignInReason,
  SignInRefused,
} from '../../../../src/domain/signin/refusals.ts'
import { signInUserOf } from '../../../../src/signin/people/sign-in-user.ts'
import { createOutgoing } from '../../../../src/signin/providers/outgoing.ts'
import { confirmedUser, refreshFailure } from '../../../../src/signin/refresh/outcome.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { storedSession, SUBJECT } from '../../../support/signin/stored-session.ts'

const GONE = ['groups_required', 'domain_refused']
const SILENT = ['provider_unreachable', 'provider_answer']

describe('what follows from an answer that is not good (25.7, SM)', () => {
  it('is that the person is gone when the token has ended', () => {
    expect(refreshFailure(new GrantEnded('x'), false)).toMatchObject({
      kind: 'gone',
      reason: 'IdentityGone',
      losesGroups: false,
    })
  })

  it('accuses no person while another token may have been lost (SL)', () => {
    expect(refreshFailure(new GrantEnded('x'), true)).toMatchObject({ reason: 'SignInAgain' })
  })

  it.each(Object.keys(SIGN_IN_REFUSALS) as SignInReason[])('by reason: %s', (reason) => {
    const expected = GONE.includes(reason)
      ? { kind: 'gone', reason: 'IdentityGone', losesGroups: true }
      : { kind: 'failed', isAnswered: !SILENT.includes(reason) }
    expect(refreshFailure(new SignInRefused(reason, 'x'), true)).toMatchObject(expected)
  })

  it('is that no token was replaced where there was no connection', async () => {
    const send = createOutgoing({
      configured: new URL('https://provider.example'),
      resolve: (_, __, found) => found(Object.assign(new Error('x'), { code: 'ENOTFOUND' }), []),
      clock: manualClock(0),
    })
    const call = { url: 'https://provider.example/token', headers: {}, body: null }
    const error: unknown = await send(call, AbortSignal.timeout(5000)).catch((err: unknown) => err)
    expect(refreshFailure(error, false)).toEqual({ kind: 'failed', isAnswered: true })
  })

  it('leaves in doubt what a fault of this program or of the API server has left', () => {
    expect(refreshFailure(new Error('x'), false)).toEqual({ kind: 'failed', isAnswered: false })
  })
})

describe('whom a good answer is about (25.7)', () => {
  const session = storedSession()
  const ada = (identities: readonly object[], uid = session.userUid) =>
    signInUserOf({ kind: 'User', metadata: { name: 'ada', uid }, spec: { identities } } as never)
  const named = ada([{ connector: 'oidc', subject: SUBJECT }])

  it('is the User of the session', () => {
    expect(confirmedUser(SUBJECT, session, named)).toBe(named)
  })

  it.each([
    ['another sub', `${SUBJECT}0`, named],
    ['no User', SUBJECT, null],
    ['a User of another uid', SUBJECT, ada([{ connector: 'oidc', subject: SUBJECT }], 'other')],
    ['an account that has left identities', SUBJECT, ada([])],
    ['an account of another connector', SUBJECT, ada([{ connector: 'saml', subject: SUBJECT }])],
  ])('is no User with %s', (_, subject, user) => {
    expect(confirmedUser(subject, session, user)).toMatchObject({
      kind: 'gone',
      reason: 'IdentityGone',
    })
  })
})
