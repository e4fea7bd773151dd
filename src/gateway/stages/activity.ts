// Records the use of a key (contract 14.1).
import { keyCaller } from '../../authn/caller.ts'
import { withResult } from '../../runtime/concurrency/with-result.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import type { ActivityRecorder, RecordResult } from '../activity/recorder.ts'
import { ERRORS } from '../errors.ts'
import { type Stage, known } from '../request-context.ts'

/** The dependencies of the stage. */
export interface ActivityDeps {
  readonly activity: ActivityRecorder
}

const NOT_RECORDED = refuse(ERRORS.useNotRecorded)

/**
 * Records the request as a use of its key. A sliding key could end without this use: when its recorded use is old, the
 * new one is stored before the request goes on (contract 14.1).
 */
export const activity: Stage<ActivityDeps> = (context, deps) => {
  const caller = keyCaller(known(context, 'caller'))
  const recorded = (result: RecordResult): BufferedAnswer | null => {
    if (result === 'unavailable') return NOT_RECORDED
    context.use = 'used'
    context.flowed = () => deps.activity.flowed(caller)
    return null
  }
  return withResult(deps.activity.started(caller), recorded)
}
