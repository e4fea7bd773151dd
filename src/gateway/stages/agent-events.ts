// Takes the events of agents at `/agents/<cluster>/auditevents` of the management cluster (contract 23.1), once the scope of the key
// grants that path.
import { keyCaller } from '../../authn/caller.ts'
import { isTargetName } from '../../domain/dns-name.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { AgentEvents } from '../audit/agent-events.ts'
import { AUDIT_ERRORS } from '../audit/errors.ts'
import { type RequestContext, type Stage, known } from '../request-context.ts'
import { isAllowed } from '../selfservice/access-review.ts'
import { answerToFailure } from '../selfservice/handler.ts'

/** Behind the path of the management cluster. */
const PATH = /^\/agents\/([^/]+)\/auditevents$/

/** The dependencies of the stage. */
export interface AgentEventsDeps {
  readonly agentEvents: Pick<AgentEvents, 'take'>
}

const ONLY_POSTS = refuse(AUDIT_ERRORS.agentEventsMethod)

/** Takes the events of whom RBAC grants the path too. */
export const agentEvents: Stage<AgentEventsDeps> = (context, deps) => {
  const { attributes } = known(context, 'request')
  if (attributes.target.kind !== 'Management' || isResourceRequest(attributes)) return null
  const cluster = PATH.exec(attributes.path)?.[1]
  if (cluster === undefined || !isTargetName(cluster)) return null
  if (context.http.method !== 'POST') return ONLY_POSTS
  return answer(context, cluster, deps).catch(answerToFailure)
}

async function answer(
  context: RequestContext,
  cluster: string,
  deps: AgentEventsDeps,
): Promise<Answer> {
  const asked = { path: `/agents/${cluster}/auditevents`, verb: 'post' }
  const client = {
    upstream: known(context, 'resolved').upstream,
    call: context.http,
    caller: keyCaller(known(context, 'caller')),
    signal: known(context, 'admitted').lease.signal,
  }
  const isGranted = await isAllowed(client, { nonResourceAttributes: asked })
  return isGranted
    ? deps.agentEvents.take(cluster, context.http)
    : refuse(AUDIT_ERRORS.agentEventsNotGranted, asked)
}
