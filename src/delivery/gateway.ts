// Where the gateway is, for $(SERVER), $(CA_DATA) and $(KUBECONFIG) in Secrets (contract 28.4). What can't be read any more
// stays as it was: a fault must not replace the credentials of all claims.
import { GATEWAY_CA_CONFIG_MAP } from '../api/names.ts'
import type { ConfigMap } from '../api/objects.ts'
import { type ServerAddress, serverUrl } from '../domain/claim/template.ts'
import { platformHostInForce } from '../domain/settings/effective-settings.ts'
import type { FullObject, Store } from '../kube/informer/store.ts'
import { AUTHORITY_DATA_KEY } from '../serving/tls/authority.ts'
import type { Clock } from '../runtime/clock.ts'
import { type SettingsSources, followSettings } from '../settings/follow.ts'
import { followAuthorityFile } from './authority-file.ts'

/** The address of the gateway, followed. */
export interface FollowedGateway {
  /** Where a target is; null = the gateway's address is unknown. */
  readonly server: (target: string) => ServerAddress | null
  /** Calls back whenever the address or the authority has changed. */
  readonly subscribe: (listener: () => void) => void
}

/** Options of followGateway. */
interface GatewaySources {
  readonly settings: SettingsSources
  /** Origin, `--gateway-url`; null = https://<platformHost>. */
  readonly url: string | null
  /** Path of the PEM file, `--gateway-ca-file`; null = the ConfigMap that the gateway publishes. */
  readonly caFile: string | null
  /** Has that ConfigMap. */
  readonly authorities: Store<FullObject<ConfigMap>>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Follows the address of the gateway and the authority of its certificate. */
export function followGateway(sources: GatewaySources): FollowedGateway {
  const listeners: (() => void)[] = []
  let origin = sources.url
  let ca: string | null = null
  const changed = (): void => {
    for (const listener of listeners) listener()
  }
  if (sources.url === null)
    followSettings(sources.settings, (observed) => {
      const host = platformHostInForce(observed)
      if (host === null || origin === `https://${host}`) return
      origin = `https://${host}`
      changed()
    })
  followAuthority(sources, (pem) => {
    if (pem === ca) return
    ca = pem
    changed()
  })
  return {
    server: (target) => (origin === null ? null : { url: serverUrl(origin, target), ca }),
    subscribe: (listener) => void listeners.push(listener),
  }
}

function followAuthority(
  { caFile, authorities, settings: { namespace }, clock, signal }: GatewaySources,
  found: (pem: string) => void,
): void {
  if (caFile === null) {
    authorities.subscribe(({ after }) => {
      const pem =
        after?.name === GATEWAY_CA_CONFIG_MAP ? after.object.data?.[AUTHORITY_DATA_KEY] : ''
      if (pem) found(pem)
    })
    const pem = authorities.get(GATEWAY_CA_CONFIG_MAP, namespace)?.object.data?.[AUTHORITY_DATA_KEY]
    if (pem) found(pem)
    return
  }
  followAuthorityFile({ path: caFile, clock, signal, found })
}
