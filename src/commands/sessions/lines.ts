// The lines that `management-operator sessions` prints (contract 27.2).
import { quoteForMessage } from '../../domain/json/json.ts'
import { formatSecond } from '../../domain/time.ts'
import type { EndedSession, Session, SessionEnd } from '../../revocation/sessions.ts'
import { visible } from '../shared/terminal-text.ts'

/** Name, origin and times of a session. */
export function lineOf(session: Session): string {
  const { name, displayName, creationMs, lastActivityMs } = session
  const parts = [
    ...(displayName === '' ? [] : [visible(quoteForMessage(displayName))]),
    `since ${formatSecond(creationMs)}`,
    lastActivityMs === null ? 'never used' : `last used ${formatSecond(lastActivityMs)}`,
    expiryOf(session),
  ]
  return `${name}: ${parts.join(', ')}`
}

function expiryOf({ expires, isObserved }: Session): string {
  if (expires !== undefined) return `until ${expires}`
  return isObserved ? 'no end' : 'end not known yet'
}

/** Why a session does not work, to append to its line; empty if nothing is known against it. */
export function stateOf({ isDeleting, isDisabled, notReadyReason }: Session): string {
  if (isDeleting) return ', being deleted'
  if (isDisabled) return ', disabled'
  return notReadyReason === '' ? '' : `, ${visible(notReadyReason)}`
}

const END_TEXT: Readonly<Record<SessionEnd, string>> = {
  deleted: 'ended',
  disabled: 'disabled, as a GitOps tool would create it again',
  opensNothing: 'was ended before',
  gone: 'was deleted meanwhile',
  failed: 'FAILED',
}

/** The line of a session that was to be ended, with what came of it. */
export const endLineOf = ({ session, end, because }: EndedSession): string =>
  `${lineOf(session)}: ${END_TEXT[end]}${because === '' ? '' : `: ${visible(because)}`}`
