// Puts together the part of the gateway that passes requests on to the sign-in process (contract 25.1).
import { SIGN_IN_CA_CONFIG_MAP } from '../../api/names.ts'
import { SignInUpstream } from '../../gateway/signin/upstream.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Warn, throttledWarnings } from '../../runtime/log-throttle.ts'
import { type FileTexts, followText } from '../../serving/followed-files.ts'
import { tokenIn } from '../../serving/token-file.ts'
import { startAuthority } from '../shared/authority.ts'
import type { CommandProcess } from '../shared/process.ts'
import type { RequestMetrics } from '../shared/request-metrics.ts'
import type { GatewaySettings } from './flags.ts'

type SignInStarter = Pick<
  CommandProcess<Pick<GatewaySettings, 'signIn'>, Pick<RequestMetrics, 'limited'>>,
  'clock' | 'log' | 'lifecycle' | 'metrics' | 'settings'
>

const STOPS_WITHIN_MS = 2000

/** Starts the way to the sign-in process; null = no flag names one. */
export function startSignIn(
  self: SignInStarter,
  client: Pick<KubeClient, 'get'>,
): SignInUpstream | null {
  const { settings, clock, log, lifecycle, metrics } = self
  if (settings.signIn === null) return null
  const { origin, caFile, tokenFile, namespace } = settings.signIn
  const warn = throttledWarnings(clock, log)
  const token = followText(tokenFile, { clock, signal: lifecycle.stopping })
  const process = new SignInUpstream({
    origin,
    authority: startAuthority(self, client, {
      caFile,
      configMap: { namespace, name: SIGN_IN_CA_CONFIG_MAP },
    }),
    token: tokenOf(token, warn),
    clock,
    warn,
    limited: () => metrics.limited('signIn'),
  })
  lifecycle.onStop('sign-in', STOPS_WITHIN_MS, () => process.close())
  return process
}

const tokenOf =
  (read: () => FileTexts, warn: Warn): (() => string | null) =>
  () => {
    const last = read()
    const found = last.ok ? tokenIn(last.texts[0]) : last
    if (found.ok) return found.token
    warn(found.fault, { because: found.fault }, 'the token for the sign-in process cannot be used')
    return null
  }
