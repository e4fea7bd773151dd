// Checks of the parts that are in the API server: kinds, policies, rights, settings, the leaders.
import { SHIPPED_POLICIES } from '../../api/installation.gen.ts'
import {
  ACCESS_KEYS,
  ACCESS_KEY_CLAIMS,
  CONFIGS,
  CONTROLLER_NAME,
  DELIVERY_LEASE,
  GROUP,
  LEASES,
  POLICIES,
  POLICY_BINDINGS,
  SUBJECT_ACCESS_REVIEWS,
  TEAMS,
  TOKENS,
  USERS,
  apiVersionOf,
} from '../../api/names.ts'
import type { Config } from '../../api/config.gen.ts'
import type { KubeObject } from '../../api/objects.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { type KubeClient, readServedKinds } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { Lease, LeaseSpec } from '../../kube/leader-election/rules.ts'
import { type CheckResult, found, missing } from './result.ts'
import { type Right, lackOf, shippedRights } from './rights.ts'

const APPLY = 'kubectl apply --server-side -k config/base'

/** Checks that the API server serves the six kinds. */
export async function checkKinds(deps: ClientDeps): Promise<CheckResult> {
  const served = await readServedKinds(deps, GROUP, ACCESS_KEYS.version)
  const all = [ACCESS_KEYS, TOKENS, CONFIGS, USERS, TEAMS, ACCESS_KEY_CLAIMS]
  const absent = all.filter(({ kind }) => !served?.has(kind))
  if (absent.length === 0) return found('the API server serves all six')
  return missing(`the API server does not serve ${names(absent.map(({ kind }) => kind))}: ${APPLY}`)
}

/** Checks that every shipped policy is there with its binding. */
export async function checkPolicies(client: KubeClient): Promise<CheckResult> {
  const absent: string[] = []
  for (const name of SHIPPED_POLICIES)
    for (const resource of [POLICIES, POLICY_BINDINGS])
      if ((await client.get(resource, { name })) === null) absent.push(`${resource.kind} ${name}`)
  if (absent.length === 0) return found(`all ${SHIPPED_POLICIES.length}, with their bindings`)
  return missing(`there is no ${names(absent)}: ${APPLY}`)
}

/** Checks the rights of the accounts of manager, gateway and delivery process. */
export async function checkRights(client: KubeClient, namespace: string): Promise<CheckResult> {
  const rights = shippedRights(namespace)
  const lacks: string[] = []
  for (const right of rights)
    if (!(await isAllowed(client, right, namespace))) lacks.push(lackOf(right))
  if (lacks.length === 0)
    return found(`all ${rights.length} of manager, gateway and delivery process`)
  return missing(`${names(lacks)}: ${APPLY}`)
}

async function isAllowed(
  client: KubeClient,
  { account, attributes }: Right,
  namespace: string,
): Promise<boolean> {
  const user = `system:serviceaccount:${namespace}:${account}`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  const review = {
    apiVersion: apiVersionOf(SUBJECT_ACCESS_REVIEWS),
    kind: SUBJECT_ACCESS_REVIEWS.kind,
    metadata: {},
    spec: { user, groups, resourceAttributes: attributes },
  }
  const answer = await client.create<KubeObject<unknown, { readonly allowed?: boolean }>>(
    SUBJECT_ACCESS_REVIEWS,
    review,
    'check',
  )
  return answer.status?.allowed === true
}

/** Checks that the settings of the Config are in force: then a manager leads and writes. */
export function checkSettings(config: Config | null, name: string): CheckResult {
  if (config === null) return missing(`there is no Config ${name}: is a manager running?`)
  const { conditions = [], observedGeneration } = config.status ?? {}
  const ready = conditions.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'True')
    return missing(`Config ${name} is not ready: ${ready?.message ?? 'no manager has read it'}`)
  if (observedGeneration !== config.metadata.generation)
    return missing(`no manager has read the last change of Config ${name}`)
  return found(`Config ${name} is in force`)
}

/**
 * Checks that a manager holds the Lease. A manager without --leader-elect has none, so its absence is a fault only if none works.
 *
 * @param isManaged whether a manager has worked on the key of the check
 */
export async function checkLease(
  client: KubeClient,
  namespace: string,
  nowMs: number,
  isManaged: boolean,
): Promise<CheckResult> {
  const lease = await client.get<Lease>(LEASES, { name: CONTROLLER_NAME, namespace })
  const where = placeOf(CONTROLLER_NAME, namespace)
  if (lease === null)
    return isManaged
      ? found(`there is no ${where}: the manager runs without --leader-elect`)
      : missing(`there is no ${where}: is a manager running?`)
  return leaseResult(lease.spec ?? {}, { process: 'manager', where }, nowMs)
}

/** Checks that a delivery process holds its Lease. One without --leader-elect has none, and nothing else shows that it runs. */
export async function checkDelivery(
  client: KubeClient,
  namespace: string,
  nowMs: number,
): Promise<CheckResult> {
  const lease = await client.get<Lease>(LEASES, { name: DELIVERY_LEASE, namespace })
  const where = placeOf(DELIVERY_LEASE, namespace)
  if (lease === null)
    return missing(`there is no ${where}: is a delivery process running, with --leader-elect?`)
  return leaseResult(lease.spec ?? {}, { process: 'delivery process', where }, nowMs)
}

const placeOf = (lease: string, namespace: string): string =>
  `Lease ${lease} in namespace ${namespace}`

/** Tolerance beyond the Lease's duration, because this machine's clock may differ. */
const CLOCK_TOLERANCE_MS = 30_000

/** Whether the Lease is held, by the time of its last renewal. @param words which process holds it, and the Lease */
export function leaseResult(
  spec: LeaseSpec,
  { process, where }: { readonly process: string; readonly where: string },
  nowMs: number,
): CheckResult {
  const { holderIdentity = '', leaseDurationSeconds = 0, renewTime } = spec
  if (holderIdentity === '') return missing(`no ${process} holds ${where}`)
  const renewedMs = parseTimestamp(renewTime) ?? 0
  const untilMs = renewedMs + leaseDurationSeconds * 1000 + CLOCK_TOLERANCE_MS
  if (untilMs < nowMs)
    return missing(`${holderIdentity} has not renewed ${where} since ${renewTime ?? 'ever'}`)
  return found(`${holderIdentity} leads`)
}

const MOST_NAMED = 5

/** The first five names, and the number of the others. */
const names = (all: readonly string[]): string =>
  all.length <= MOST_NAMED
    ? all.join(', ')
    : `${all.slice(0, MOST_NAMED).join(', ')} and ${all.length - MOST_NAMED} more`
