// Why the person or team of a key keeps it from working, and what to do about it (contract 24.5).
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type IdentityFault, type People, identityFaultOf } from '../../domain/people/people.ts'
import { formatSecond } from '../../domain/time.ts'

/** Why a key does not work because of whom it acts as. `message` is a sentence for its condition. */
export interface KeyIdentityFault {
  readonly reason: IdentityFault
  readonly message: string
}

/** The fault of a key's person or team; null = there is none. */
export function keyIdentityFaultOf(
  key: AccessKey,
  people: People,
  nowMs: number,
): KeyIdentityFault | null {
  const reason = identityFaultOf(key, people, nowMs)
  return reason === null ? null : { reason, message: MESSAGES[reason](key, people) }
}

const MESSAGES: Readonly<Record<IdentityFault, (key: AccessKey, people: People) => string>> = {
  UserDisabled: ({ identity }, people) => {
    const user = people.user(identity ?? '')
    return user?.isDeleting
      ? `User ${user.name} is being deleted, and its keys with it: none of them works.`
      : `User ${user?.name} is disabled, so the key does not work: remove spec.disabled of the User to let its keys work again.`
  },
  TeamGone: ({ identity }, people) =>
    `Team ${people.team(identity ?? '')?.name} is being deleted, and its keys with it: none of them works.`,
  IdentityGone: () =>
    'The person is gone at the sign-in provider, so the key does not work and never will again: delete it. A new sign-in makes another.',
  IdentityStale: ({ refreshedMs }) =>
    `The sign-in provider last confirmed the person ${formatSecond(refreshedMs ?? 0)}, more than 24 h ago. The key works again once the provider does.`,
  SignInAgain: () =>
    'The sign-in can no longer be confirmed at its provider, so the key does not work: sign in again, which makes another, and delete this one.',
}
