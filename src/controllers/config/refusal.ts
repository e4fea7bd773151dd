// Reports a write of settings or status that the API server refuses.
import type { Config } from '../../api/config.gen.ts'
import { IN_FORCE_CONFIG_MAP } from '../../api/names.ts'
import { StatusError, isRefusal } from '../../kube/client/api-error.ts'
import type { ReconcileContext } from '../../kube/controller/reconcile-context.ts'
import { type ConfigStep, planNotWritten } from './plan.ts'
import { type ConfigPublishDeps, publish } from './publish.ts'

/** Dependencies of reportRefusal. */
export interface RefusalDeps extends ConfigPublishDeps {
  /** When a refused write was published last, epoch milliseconds; null = never. reportRefusal sets it. */
  readonly lastReport: { atMs: number | null }
}

function objectNameOf(step: ConfigStep): string {
  if (step.kind === 'record') return `ConfigMap ${IN_FORCE_CONFIG_MAP}`
  return step.kind === 'secretSettings' ? `Secret ${step.secret.name}` : 'status of this Config'
}

/** Publishes that the API server refuses the settings. The caller throws on, so the write is tried again. */
export async function reportRefusal(
  error: unknown,
  { step, config }: { readonly step: ConfigStep; readonly config: Config },
  deps: RefusalDeps,
  context: ReconcileContext,
): Promise<void> {
  const isOfConfig = step.kind === 'publish'
  if (!isRefusal(error, isOfConfig)) return
  deps.observer.checked(false)
  const nowMs = deps.clock.nowMs()
  // Who refuses a Secret may quote it.
  const words = step.kind === 'secretSettings' ? '' : error.words
  const refused = { objectName: objectNameOf(step), words }
  const report = planNotWritten(config, refused, deps.lastReport.atMs, nowMs)
  if (report.kind === 'publish') deps.lastReport.atMs = nowMs
  // Where not even this status can be written, the log has the first refusal.
  if (report.kind === 'publish')
    await publish(config, report, deps, context).catch((second: unknown) => {
      if (!(second instanceof StatusError)) throw second
    })
}
