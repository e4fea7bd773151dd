// Which right to impersonate the gateway needs on this cluster: the constrained verbs of config/rbac, or the older verb
// of config/components/legacy-impersonation. An attempt decides, as nothing else is certain:
//
//   a version    says nothing of the feature gate ConstrainedImpersonation
//   a metric     kubernetes_feature_enabled takes a right on /metrics, which not every provider grants, and shows the
//                gate, not whether a request gets through
//   an attempt   a temporary ServiceAccount with the constrained verbs, and no other right, sends what the gateway
//                sends. It is not the gateway's account: that may hold the older verb too, and would succeed by it
//
// A refusal decides only when RBAC has known the account for a while: of several API servers one may lag. Any other
// answer is an error, because a guess might grant the older verb where it is not needed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { stringify } from 'yaml'
import { HEARTBEAT_NAME } from '../../src/api/names.ts'
import type { KubectlResult } from '../control-plane/kubectl.ts'
import { kubectl, must } from './kubectl.ts'
import { CONFIG, LABELS, NAMESPACE } from './product.ts'

/** The probe's ServiceAccount and binding. */
export const PROBE = 'impersonation-probe'

/** The result of one attempt; `unknown` decides nothing. */
export type Finding =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused' | 'unknown'; readonly because: string }

const ROLE = 'management-operator-gateway-impersonation'
const COMPONENT = join(CONFIG, 'components/legacy-impersonation/impersonation.yaml')
const RBAC = 'rbac.authorization.k8s.io'
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:${PROBE}`
/** As the gateway tries it (src/gateway/targets/impersonation-probe.ts): an identity of no user, on a path that all may see. */
const USER = 'heartbeat'
const PATH = '/version'
const AS_THE_GATEWAY = {
  as: USER,
  'as-groups': ['platform:authenticated', 'system:authenticated'],
  'as-user-extra': { 'platform.sh/access-key': [HEARTBEAT_NAME] },
}

const LIMIT_MS = 30_000
/** How long refusals have to last. */
const SETTLED_MS = 5000
const LOOK_MS = 250

const metadata = { name: PROBE, labels: LABELS }
const OBJECTS = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata, namespace: NAMESPACE } },
  {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: ROLE },
    subjects: [{ kind: 'ServiceAccount', name: PROBE, namespace: NAMESPACE }],
  },
]
  .map((object) => stringify(object))
  .join('---\n')

/** Both are rules of one role: an account with the second has the first. */
const REVIEW = JSON.stringify({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { nonResourceAttributes: { path: PATH, verb: 'impersonate-on:user-info:get' } },
})
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

/**
 * Adds the older right where constrained impersonation is missing, and removes it where that is there. `config/base`
 * has to be applied. Says a line when it added or removed something.
 *
 * @throws Error when neither is certain, or kubectl fails; the older right is then as before
 */
export async function settleImpersonation(say: (line: string) => void): Promise<void> {
  if (await isConstrained()) {
    const args = ['delete', '-f', COMPONENT, '--ignore-not-found', '--timeout=60s']
    const removed = await must(args)
    if (removed !== '')
      say(
        'this cluster has constrained impersonation: removed config/components/legacy-impersonation, the older and ' +
          'weaker right of the gateway',
      )
    return
  }
  await must(['apply', '--server-side', '-f', COMPONENT])
  say(
    'this cluster has no constrained impersonation (Kubernetes before 1.36, or its feature gate is off): added ' +
      'config/components/legacy-impersonation. This older right is weaker: the token of account gateway can act as an ' +
      'administrator; see docs/install.md',
  )
}

/** Whether the constrained verbs are enough here. Removes what it needs for that, also when it is interrupted. */
async function isConstrained(): Promise<boolean> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort(new Error('interrupted'))
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, interrupt)
  const folder = mkdtempSync(join(tmpdir(), 'probe-'))
  try {
    await must(['apply', '--server-side', '-f', '-'], OBJECTS)
    const asProbe = kubeconfigIn(folder, await credentials())
    await untilBound(asProbe, interrupted.signal)
    return await attempts(asProbe, interrupted.signal)
  } finally {
    rmSync(folder, { recursive: true })
    await must(['delete', '-f', '-', '--ignore-not-found', '--wait=false'], OBJECTS)
    for (const signal of signals) process.off(signal, interrupt)
  }
}

interface Credentials {
  readonly cluster: object
  readonly token: string
}

async function credentials(): Promise<Credentials> {
  const view = ['config', 'view', '--minify', '--raw', '--flatten', '-o', 'json']
  const { clusters } = JSON.parse(await must(view)) as {
    readonly clusters: readonly [{ readonly cluster: object }]
  }
  const scope = ['--namespace', NAMESPACE, '--duration=10m']
  const token = await must(['create', 'token', PROBE, ...scope])
  return { cluster: clusters[0].cluster, token: token.trim() }
}

/** Flags of kubectl that make it the probe, and the probe in its role of the gateway. */
interface AsProbe {
  readonly itself: readonly string[]
  readonly asGateway: readonly string[]
}

/**
 * The probe's credential in a file: a token on a command line is visible to everybody, and a client certificate of the
 * user overrides it. A kubeconfig can also impersonate an extra with any kubectl; flags for that are new in 1.36.
 */
function kubeconfigIn(folder: string, { cluster, token }: Credentials): AsProbe {
  const file = join(folder, 'kubeconfig')
  const users = [
    { name: 'itself', user: { token } },
    { name: 'gateway', user: { token, ...AS_THE_GATEWAY } },
  ]
  const contexts = users.map(({ name }) => ({ name, context: { cluster: 'it', user: name } }))
  const clusters = [{ name: 'it', cluster }]
  const text = stringify({ apiVersion: 'v1', kind: 'Config', clusters, users, contexts })
  writeFileSync(file, text, { mode: 0o600 })
  const flags = [`--kubeconfig=${file}`, '--request-timeout=10s']
  return { itself: [...flags, '--context=itself'], asGateway: [...flags, '--context=gateway'] }
}

async function untilBound({ itself }: AsProbe, signal: AbortSignal): Promise<void> {
  const args = [...itself, 'create', '--raw', REVIEWS, '-f', '-']
  await untilCertain(signal, async () => {
    const { code, stdout, stderr } = await kubectl(args, REVIEW)
    if (code === 0 && isGranted(stdout)) return { result: true }
    return { because: code === 0 ? `ClusterRole ${ROLE} does not count for it` : stderr.trim() }
  })
}

const isGranted = (review: string): boolean =>
  (JSON.parse(review) as { readonly status: { readonly allowed: boolean } }).status.allowed

/** Whether the gateway's request gets through with the constrained verbs. */
const attempts = ({ asGateway }: AsProbe, signal: AbortSignal): Promise<boolean> =>
  untilCertain(signal, async (tookMs) => {
    const finding = attemptResultOf(await kubectl([...asGateway, 'get', '--raw', PATH]))
    if (finding.kind === 'allowed') return { result: true }
    if (finding.kind === 'refused' && tookMs() > SETTLED_MS) return { result: false }
    return { because: finding.because }
  })

/** The certain result of one poll, or why it is not certain yet. */
type Look = { readonly result: boolean } | { readonly because: string }

/** Polls until the result is certain. @throws Error with the last reason when nothing is certain after LIMIT_MS */
async function untilCertain(
  signal: AbortSignal,
  look: (tookMs: () => number) => Promise<Look>,
): Promise<boolean> {
  const startMs = performance.now()
  const tookMs = (): number => performance.now() - startMs
  for (;;) {
    const seen = await look(tookMs)
    if ('result' in seen) return seen.result
    if (tookMs() > LIMIT_MS) throw unknown(seen.because)
    await delay(LOOK_MS)
    signal.throwIfAborted()
  }
}

/**
 * Reads kubectl's answer to an attempt. Refused is only the probe, for the older verb: that is what an API server
 * without constrained impersonation asks for. Where the impersonated user is refused, the probe was let through.
 */
export function attemptResultOf({ code, stderr }: Pick<KubectlResult, 'code' | 'stderr'>): Finding {
  if (code === 0) return { kind: 'allowed' }
  const [, user, verb] = /User "([^"]*)" cannot (\S+) /.exec(stderr) ?? []
  if (user === USER) return { kind: 'allowed' }
  const isRefused = user === ACCOUNT && verb === 'impersonate'
  return { kind: isRefused ? 'refused' : 'unknown', because: stderr.trim() }
}

const unknown = (because: string): Error =>
  new Error(
    `whether this cluster has constrained impersonation is not certain: account ${PROBE} got\n  ${because}\n` +
      'The gateway needs another right where it is missing, so this stops here. Remove the cause and run it again, or ' +
      'install by kubectl with an overlay that decides it: docs/install.md, Before Kubernetes 1.36.',
  )
