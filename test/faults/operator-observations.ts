// What tests observe of an operator from outside: its writes in the audit log, and its watches in its metrics.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { GROUP, type Resource, TOKENS } from '../../src/api/names.ts'
import { WATCHED } from '../../src/commands/manager/informers.ts'
import { type AuditedWrite, auditOf } from '../support/audit-log.ts'
import type { Operator } from '../support/command-process.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import type { Match } from '../support/fault-proxy.ts'
import { OPERATOR_USER } from '../support/installed-control-plane.ts'
import { sumOf, valueOf } from '../support/metrics-page.ts'
import { repeated } from '../support/tier.ts'

/** API server flags for an audit log with the bodies of status writes of tokens. */
export function tokenAuditFlags(): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'policy.json')
  const resources = [{ group: GROUP, resources: [`${TOKENS.plural}/status`] }]
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [{ level: 'RequestResponse', resources }, { level: 'Metadata' }],
  }
  writeFileSync(file, JSON.stringify(policy))
  return [`--audit-policy-file=${file}`]
}

/**
 * How often the operator wrote a token into the status of each object, by uid. From the audit log: a watch does not
 * show writes that change nothing.
 */
export async function issueCounts(
  plane: Pick<TestControlPlane, 'auditLog' | 'raw'>,
): Promise<ReadonlyMap<string, number>> {
  const lines = await auditOf(plane).linesSince({ offset: 0 }, OPERATOR_USER)
  const uids = lines.map((line) => issuedIn(JSON.parse(line))).filter((uid) => uid !== null)
  return new Map([...Map.groupBy(uids, (uid) => uid)].map(([uid, writes]) => [uid, writes.length]))
}

interface StatusWrite {
  readonly stage: string
  readonly responseStatus?: { readonly code?: number }
  readonly requestObject?: { readonly status?: { readonly token?: string } }
  readonly responseObject?: { readonly metadata?: { readonly uid?: string } }
}

/** The uid; null = no successful write of a token. */
function issuedIn({
  stage,
  responseStatus,
  requestObject,
  responseObject,
}: StatusWrite): string | null {
  const isDone = stage === 'ResponseComplete' && (responseStatus?.code ?? 500) < 300
  return isDone && requestObject?.status?.token ? (responseObject?.metadata?.uid ?? null) : null
}

const QUIET_MS = repeated(2000, 60_000)
const A_MOMENT_MS = 1000
const SOON = { withinMs: 20_000 }

/**
 * Waits until all writes but those to Leases have stopped; returns the writes of the next minute (two seconds in
 * `make test`). `meanwhile` must pass all the time.
 */
export async function writesAtRest(
  plane: TestControlPlane,
  meanwhile: () => Promise<void>,
): Promise<readonly AuditedWrite[]> {
  const audit = auditOf(plane)
  const mark = await eventually(
    'all writes have stopped',
    async () => {
      const now = await audit.mark()
      await staysTrue('the operator is healthy', meanwhile, { forMs: A_MOMENT_MS })
      const writes = await audit.writesSince(now, { notLeases: true })
      if (writes.length > 0) throw new Error(JSON.stringify(writes))
      return now
    },
    SOON,
  )
  await staysTrue('the operator is healthy', meanwhile, { forMs: QUIET_MS })
  return audit.writesSince(mark, { notLeases: true })
}

/** Requests that open a watch. */
export const isWatch: Match = ({ query }) => query.get('watch') === 'true'

/** Requests that open a watch of this resource. */
export const isWatchOf =
  (plural: string): Match =>
  (request) =>
    isWatch(request) && request.path.endsWith(`/${plural}`)

/** How often the operator restarted its watch of each resource for a reason. */
export async function restartsFor(
  reason: string,
  operator: Operator,
  resources: readonly Resource[] = WATCHED,
): Promise<readonly number[]> {
  const metrics = await operator.metrics()
  return resources.map(({ plural }) =>
    valueOf(metrics, `platform_watch_restarts_total{resource="${plural}",reason="${reason}"}`),
  )
}

/** All counts of restarted watches above 0, for error messages. */
export async function allRestarts(operator: Operator): Promise<string> {
  const lines = (await operator.metrics()).split('\n')
  return lines.filter((line) => /^platform_watch_restarts_total.* [^0]/.test(line)).join('\n')
}

/** How many keys a leading operator has in its store. */
export async function storedKeyCount(operator: Operator): Promise<number> {
  return sumOf(await operator.metrics(), 'platform_access_keys')
}
