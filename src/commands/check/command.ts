// `management-operator check`: prints a line for each part of an installation, found or missing.
import { CONFIGS, CONTROLLER_NAME, SECRETS } from '../../api/names.ts'
import type { Config } from '../../api/config.gen.ts'
import type { KubeObject } from '../../api/objects.ts'
import { type KubeClient, type ObjectRef, createClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import { type Clock, sleep, systemClock } from '../../runtime/clock.ts'
import { printText } from '../../runtime/flags.ts'
import {
  checkDelivery,
  checkKinds,
  checkLease,
  checkPolicies,
  checkRights,
  checkSettings,
} from './cluster-checks.ts'
import { type CheckSettings, readCheckSettings } from './flags.ts'
import { checkCertificate, checkIssuer } from './gateway-checks.ts'
import { httpsSender } from '../shared/https.ts'
import { NAME_IT, checkKey } from './key-check.ts'
import { type CheckResult, PARTS, type Part, failureOf, missing, resultOf } from './result.ts'
import { connectCluster, toolClientDeps } from '../shared/cluster-client.ts'
import { processInputs } from '../shared/process.ts'

/**
 * `management-operator check`.
 *
 * @returns the exit code: 1 when a part is missing
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readCheckSettings(argv, processInputs)
  if (invocation.kind !== 'run') return printText(invocation)
  const { settings } = invocation
  const clock = systemClock()
  try {
    const connection = await connectCluster(settings.kubeconfig, clock)
    try {
      return print(
        await checkUntilComplete(settings, toolClientDeps(connection, clock, FIELD_MANAGER), clock),
      )
    } finally {
      await connection.close()
    }
  } catch (error) {
    process.stderr.write(`management-operator check: ${failureOf(error)}\n`)
    return 1
  }
}

const FIELD_MANAGER = `${CONTROLLER_NAME}-check`

/** The result of each part. */
type CheckResults = Readonly<Record<Part, CheckResult>>

const PAUSE_MS = 2000

/** Checks again while a part is missing and there is time. */
async function checkUntilComplete(
  settings: CheckSettings,
  deps: ClientDeps,
  clock: Clock,
): Promise<CheckResults> {
  const dueMs = clock.monotonicMs() + settings.waitMs
  for (;;) {
    const results = await checkAll(settings, deps, clock)
    if (isComplete(results) || clock.monotonicMs() + PAUSE_MS > dueMs) return results
    await sleep(clock, PAUSE_MS, new AbortController().signal)
  }
}

const isComplete = (results: CheckResults): boolean =>
  Object.values(results).every(({ kind }) => kind === 'found')

async function checkAll(
  settings: CheckSettings,
  deps: ClientDeps,
  clock: Clock,
): Promise<CheckResults> {
  const { namespace, configName } = settings
  const client = createClient(deps)
  const kinds = await resultOf(() => checkKinds(deps))
  const policies = await resultOf(() => checkPolicies(client))
  const rights = await resultOf(() => checkRights(client, namespace))
  const config = await client.get<Config>(CONFIGS, { name: configName }).catch(() => null)
  const gateway = settings.gateway ?? gatewayOf(config)
  const send = httpsSender(
    settings.ca ?? (await authorityIn(client, { name: settings.tlsSecret, namespace })),
  )
  const key = await checkKey({ client, clock, send, gateway }).catch((error: unknown) => ({
    result: missing(failureOf(error)),
    isManaged: false,
  }))
  const unknown = missing(`the gateway's address is unknown: ${NAME_IT}`)
  return {
    kinds,
    policies,
    rights,
    settings: checkSettings(config, configName),
    lease: await resultOf(() => checkLease(client, namespace, clock.nowMs(), key.isManaged)),
    delivery: await resultOf(() => checkDelivery(client, namespace, clock.nowMs())),
    certificate: gateway === null ? unknown : await resultOf(() => checkCertificate(gateway, send)),
    issuer: gateway === null ? unknown : await resultOf(() => checkIssuer(gateway, send)),
    key: key.result,
  }
}

function gatewayOf(config: Config | null): string | null {
  const host = config?.status?.platformHost
  return host ? `https://${host}` : null
}

/** The CA in the Secret of the gateway's certificate; null = it has none, or can't be read. */
async function authorityIn(client: KubeClient, ref: ObjectRef): Promise<string | null> {
  const secret = await client
    .get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(SECRETS, ref)
    .catch(() => null)
  const ca = secret?.data?.['ca.crt']
  return ca === undefined ? null : Buffer.from(ca, 'base64').toString('utf8')
}

/** Prints a line for each part. @returns the exit code */
function print(results: CheckResults): number {
  for (const part of PARTS) {
    const { kind, text } = results[part]
    process.stdout.write(`${kind.padEnd(7)}  ${part.padEnd(11)}  ${text}\n`)
  }
  return isComplete(results) ? 0 : 1
}
