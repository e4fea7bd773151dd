// The annotations of an event that an agent sent: what a direct endpoint would make, and who sent it (contract 21.3, 23.2).
import { fieldsOf, stringOf } from '../../json/json.ts'
import { TARGET_KINDS } from '../../scope/request-info.ts'
import { OMISSIONS, REQUEST_ENDS } from '../event.ts'
import { recordedForwardedFor } from '../client-texts.ts'
import { hideCredentials } from '../../redaction/credentials.ts'

/** What of an annotation's text is recorded; null = nothing. */
type Recorded = (text: string) => string | null

const oneOf =
  (words: readonly string[]): Recorded =>
  (text) =>
    words.includes(text) ? text : null

const asDigits: Recorded = (text) => (/^[1-9]\d{0,14}$/.test(text) ? text : null)

/** The targets of a direct endpoint: a request to the management cluster never passes one (contract 9.2). */
const TARGETS = TARGET_KINDS.filter((kind) => kind !== 'Management')

/** The annotations that a direct endpoint makes, but for the cluster. Others are left out. */
const ANNOTATIONS: ReadonlyMap<string, Recorded> = new Map<string, Recorded>([
  ['platform.sh/target', oneOf(TARGETS)],
  ['platform.sh/project', hideCredentials],
  ['platform.sh/space', hideCredentials],
  ['platform.sh/virtual-cluster', hideCredentials],
  ['platform.sh/access-key', hideCredentials],
  ['platform.sh/key-id', hideCredentials],
  ['platform.sh/token-id', hideCredentials],
  ['platform.sh/forwarded-for', recordedForwardedFor],
  ['platform.sh/decision', oneOf(['deny'])],
  ['platform.sh/reason', hideCredentials],
  ['platform.sh/end', oneOf(REQUEST_ENDS)],
  ['platform.sh/suppressed', asDigits],
  ['platform.sh/request-omitted', oneOf(OMISSIONS)],
  ['platform.sh/response-omitted', oneOf(OMISSIONS)],
  ['audit.k8s.io/truncated', oneOf(['true'])],
])

/**
 * The annotations as the gateway writes them. An agent answers for one cluster: the path of the request names cluster and
 * source, whatever the event claims.
 *
 * @param annotations of the event, all texts
 */
export function agentAnnotations(
  annotations: unknown,
  cluster: string,
): Readonly<Record<string, string>> {
  const sent = fieldsOf(annotations)
  const made: Record<string, string> = {}
  for (const [name, recorded] of ANNOTATIONS) {
    const text = stringOf(sent[name])
    const kept = text === undefined ? null : recorded(text)
    if (kept !== null) made[name] = kept
    if (name === 'platform.sh/target' && kept === 'Cluster') made['platform.sh/cluster'] = cluster
  }
  return { ...made, 'platform.sh/source': `agent:${cluster}` }
}
