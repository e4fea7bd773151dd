import { DEFAULT_NAMESPACE_PREFIX } from './defaults.ts'
import { namespacePrefix } from './format.ts'
import type { Json } from './json.ts'
import type { ObservedSettings } from './observed.ts'

/** The settings that the gateway acts on besides the caps (contract 6.7). */
export interface GatewaySwitches {
  /** Namespaces of projects in the management cluster begin with it. Never empty. */
  readonly projectNamespacePrefix: string
  /** `/version` needs a credential. */
  readonly authenticateVersionEndpoint: boolean
  /** Nobody writes a Config through the gateway. */
  readonly disableConfigEndpoint: boolean
}

/** The switches in force; null where they can't be told: the caller keeps those it had before. */
export function gatewaySwitchesOf(observed: ObservedSettings): GatewaySwitches | null {
  if (!observed.known) return null
  const { settings } = observed
  const prefix = settings['projectNamespacePrefix'] ?? DEFAULT_NAMESPACE_PREFIX
  const authenticateVersionEndpoint = flag(settings['authenticateVersionEndpoint'])
  const disableConfigEndpoint = flag(settings['disableConfigEndpoint'])
  const isReadable =
    typeof prefix === 'string' &&
    namespacePrefix(prefix) === null &&
    authenticateVersionEndpoint !== null &&
    disableConfigEndpoint !== null
  return isReadable
    ? { projectNamespacePrefix: prefix, authenticateVersionEndpoint, disableConfigEndpoint }
    : null
}

function flag(value: Json | undefined): boolean | null {
  if (value === undefined) return false
  return typeof value === 'boolean' ? value : null
}
