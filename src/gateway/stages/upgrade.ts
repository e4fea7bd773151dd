// Which upgrades the gateway serves (contract 11.6, 13.2): sessions in workloads, watches, logs and whatever is behind
// `proxy`, over the two protocols of kubectl and the API server.
import { isOwnGroup, isResourceRequest, type RequestInfo } from '../../domain/scope/request-info.ts'
import { isSessionSubresource } from '../../domain/scope/sensitive.ts'
import { UPGRADE_PROTOCOLS, type UpgradeProtocol } from '../../kube/proxy/types.ts'
import { refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { ERRORS } from '../errors.ts'
import { hasBody } from '../proxy/forward.ts'
import { known, type Stage } from '../request-context.ts'

const BAD_PROTOCOL = refuse(ERRORS.upgradeProtocol, { protocols: UPGRADE_PROTOCOLS.join(', ') })
const BAD_PATH = refuse(ERRORS.upgradePath)

/** Reads the protocol of an upgrade. Refuses CONNECT, other protocols, and upgrades with a body. */
export const upgradeProtocol: Stage = (context) => {
  const { http } = context
  if (http.by === 'request') return null
  context.upgrade = protocolOf(http)
  return context.upgrade === null ? BAD_PROTOCOL : null
}

function protocolOf(http: HttpRequest): UpgradeProtocol | null {
  if (http.by !== 'upgrade' || hasBody(http)) return null
  const asked = http.headers.upgrade?.toLowerCase()
  const protocol = UPGRADE_PROTOCOLS.find((one) => one.toLowerCase() === asked) ?? null
  return protocol === 'websocket' && http.method !== 'GET' ? null : protocol
}

/** Refuses upgrades of requests without a long answer, and all upgrades for our kinds: a tunnel hides no secrets. */
export const upgradePath: Stage = (context) => {
  if (context.upgrade === null) return null
  return isUpgradable(known(context, 'request').attributes) ? null : BAD_PATH
}

function isUpgradable(attributes: RequestInfo): boolean {
  if (!isResourceRequest(attributes) || isOwnGroup(attributes)) return false
  const { verb, subresource } = attributes
  if (subresource === '') return verb === 'watch'
  return subresource === 'log' || isSessionSubresource(subresource)
}
