// Paths of the management cluster that the gateway answers itself, to whom RBAC grants them too (contract 22.4, 23.1).
import { keyCaller } from '../../authn/caller.ts'
import { asAbortSignal } from '../../runtime/concurrency/end-signal.ts'
import type { Answer } from '../../serving/http/answer.ts'
import { type RequestContext, known } from '../request-context.ts'
import { isAllowed } from '../selfservice/access-review.ts'
import { answerToFailure } from '../selfservice/handler.ts'
import type { RequestLease } from '../streams/request-lease.ts'

/** A request for a path, as RBAC knows it. */
interface PathRequest {
  readonly path: string
  /** In lower case. */
  readonly verb: string
}

/** The answers to a caller that has the right, and to one that lacks it. */
interface PathAnswers {
  readonly granted: (lease: RequestLease) => Promise<Answer>
  readonly refused: () => Answer
}

/** Asks the API server, as the caller, for the right. Its failures are answered as those of self-service. */
export async function answerIfGranted(
  context: RequestContext,
  asked: PathRequest,
  { granted, refused }: PathAnswers,
): Promise<Answer> {
  const { lease } = known(context, 'admitted')
  const client = {
    upstream: known(context, 'resolved').upstream,
    call: context.http,
    caller: keyCaller(known(context, 'caller')),
    signal: asAbortSignal(lease.signal),
  }
  try {
    const isGranted = await isAllowed(client, { nonResourceAttributes: asked })
    return isGranted ? await granted(lease) : refused()
  } catch (error) {
    return answerToFailure(error)
  }
}
