// The gateway beside a direct connection and other proxies, on one API server.
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import { ensurePeers } from '../peers.ts'
import { measureAuthentication } from './authentication.ts'
import { measureServed } from './served.ts'
import { GATEWAY_SUBJECTS, type GatewayResults, type GatewayOptions } from './options.ts'

/**
 * Measures the gateway. Installs the product, starts it and the other proxies, and stops them; its objects stay on
 * the control plane, so it needs one that nothing else is measured on afterwards.
 *
 * @throws Error when an answer is not the one expected, with what came instead
 */
export async function measureGateway(
  plane: ControlPlane,
  options: GatewayOptions,
): Promise<GatewayResults> {
  const { rounds, log } = options
  const subjects = GATEWAY_SUBJECTS.filter((one) => options.subjects.includes(one))
  if (subjects.includes('half-load') && !subjects.includes('get'))
    throw new Error('half-load is half of what get reaches: measure both')
  const served = subjects.filter((one) => one !== 'authentication')
  const measured =
    served.length > 0
      ? await measureServed(plane, await ensurePeers(log), served, options)
      : { figures: {}, missing: {} }
  if (!subjects.includes('authentication')) return measured
  // Measured last, when nothing else runs.
  const authentication = { gateway: await measureAuthentication(rounds) }
  return { ...measured, figures: { ...measured.figures, authentication } }
}
