// Passes the routes of signing in on to the sign-in process, of any method and without a credential (contract 25.1).
import { refuse } from '../../serving/http/answer.ts'
import { ERRORS } from '../errors.ts'
import { ambiguityRefusal } from '../proxy/request-headers.ts'
import type { RequestContext, Stage, StageResult } from '../request-context.ts'
import { SIGN_IN_ERRORS } from '../signin/errors.ts'
import type { SignInUpstream } from '../signin/upstream.ts'
import { signInPath } from '../signin/routes.ts'
import { type AuditDeps, audit } from './audit.ts'

/** The dependencies of the stage. */
export interface SignInDeps {
  /** null = there is none, and its paths are unknown ones. */
  readonly signIn: Pick<SignInUpstream, 'pass'> | null
  readonly audit: AuditDeps
}

const NOTHING_HERE = refuse(SIGN_IN_ERRORS.noSuchSignIn)
const NO_UPGRADE = refuse(ERRORS.upgradePath)

/** Answers requests at the paths of signing in, which are compared as they were sent. */
export const signIn: Stage<SignInDeps> = (context, deps) => {
  const { path, query, http } = context
  const kind = deps.signIn === null ? 'other' : signInPath(path, query)
  if (kind === 'other' || deps.signIn === null) return null
  context.target = 'SignIn'
  if (kind === 'unusable') return NOTHING_HERE
  if (http.by !== 'request') return NO_UPGRADE
  return ambiguityRefusal(http.rawHeaders) ?? passOn(context, deps, deps.signIn)
}

async function passOn(
  context: RequestContext,
  deps: SignInDeps,
  process: Pick<SignInUpstream, 'pass'>,
): Promise<StageResult> {
  const unrecordable = await audit(context, deps)
  if (unrecordable !== null) return unrecordable
  const { answer, outcome } = await process.pass(context.http)
  context.signIn = outcome
  return answer
}
