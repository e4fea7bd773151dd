// Names outside of a cluster that a Service of a virtual cluster may stand for on the host (contract 18.6).
import { hostDns, parseServiceDns } from './host-name.ts'
import type { TranslationContext } from './translator.ts'

/**
 * The name on the host; null = refused. A Service of the virtual cluster gets its host name, whatever the cluster
 * domain; a name that a patch has translated stays. Any other name within a cluster could be another tenant's.
 */
export function hostExternalName(name: string, context: TranslationContext): string | null {
  // DNS knows no upper case.
  const lower = name.toLowerCase()
  if (!isServiceName(lower)) return name
  const service = parseServiceDns(lower)
  if (service === null) return null
  const { place, hasService, ownsHostService } = context
  if (hasService({ name: service.name, namespace: service.namespace })) return hostDns(lower, place)
  return ownsHostService({ name: service.name, namespace: service.namespace }) ? name : null
}

/** Whether the name is below `<namespace>.svc`: that of a Service, or of one of its Pods or ports. */
const isServiceName = (name: string): boolean => name.split('.').indexOf('svc', 2) !== -1
