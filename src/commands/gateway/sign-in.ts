// Puts together the part of the gateway that passes requests on to the sign-in process (contract 25.1).
import { PublishedAuthority, fileAuthority } from '../../gateway/signin/authority.ts'
import { SignInUpstream } from '../../gateway/signin/upstream.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { type Warn, throttledWarnings } from '../../runtime/log-throttle.ts'
import { type FileTexts, followFiles, readFiles } from '../../serving/followed-files.ts'
import { tokenIn } from '../../serving/token-file.ts'
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
  const token = followText(self, tokenFile)
  const process = new SignInUpstream({
    origin,
    authority:
      caFile === null
        ? new PublishedAuthority({ client, namespace, clock, warn })
        : fileAuthority(textIn(followText(self, caFile), warn)),
    token: tokenOf(token, warn),
    clock,
    warn,
    limited: () => metrics.limited('signIn'),
  })
  lifecycle.onStop('sign-in', STOPS_WITHIN_MS, () => process.close())
  return process
}

/** Follows a file. @returns the function that says what was read last */
function followText({ clock, lifecycle }: SignInStarter, path: string): () => FileTexts {
  const paths = [path]
  const first = readFiles(paths)
  let last = first
  const changed = (read: FileTexts): void => {
    last = read
  }
  void followFiles({ paths, first, clock, signal: lifecycle.stopping, changed })
  return () => last
}

const textIn =
  (read: () => FileTexts, warn: Warn): (() => string | null) =>
  () => {
    const last = read()
    if (last.ok) return last.texts[0] ?? null
    warn(last.fault, { because: last.fault }, 'the authority of the sign-in process cannot be read')
    return null
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
