// Takes the events of agents at `/agents/<cluster>/auditevents` of the management cluster (contract 23.1), once the scope of the key
// grants that path.
import { isTargetName } from '../../domain/dns-name.ts'
import { isResourceRequest } from '../../domain/scope/request-info.ts'
import { refuse } from '../../serving/http/answer.ts'
import type { AgentEvents } from '../audit/agent-events.ts'
import { AUDIT_ERRORS } from '../audit/errors.ts'
import { type Stage, known } from '../request-context.ts'
import { answerIfGranted } from './granted-path.ts'

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
  const asked = { path: `/agents/${cluster}/auditevents`, verb: 'post' }
  return answerIfGranted(context, asked, {
    granted: ({ maySend }) => deps.agentEvents.take(cluster, context.http, maySend),
    refused: () => refuse(AUDIT_ERRORS.agentEventsNotGranted, asked),
  })
}
