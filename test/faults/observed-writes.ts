// How often each token was written into a status, as the API server logged it: a watch shows what was stored, and
// nothing of a write that said the same once more.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { GROUP, type Resource, TOKENS } from '../../src/api/names.ts'
import { WATCHED } from '../../src/commands/manager/informers.ts'
import { type AuditedWrite, auditOf } from '../support/audit-log.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import type { Match } from '../support/fault-proxy-rules.ts'
import { OPERATOR_USER } from '../support/installed-control-plane.ts'
import { sumOf, valueOf } from '../support/metrics-text.ts'
import type { Operator } from '../support/process-output.ts'
import { repeated } from '../support/tier.ts'

/** Flags of an API server whose audit log has the bodies of what is written to the status of tokens. */
export function auditedIssues(): readonly string[] {
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

/** Uids of tokens, and how many writes of the operator brought one of them into its status. */
export async function issuesOf(
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

/** null = it is no write that brought a token. */
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
 * What is written in a minute after the last fault (two seconds in `make test`), but to Leases. It begins when nobody writes any
 * more, and `meanwhile` must hold all the time.
 */
export async function writesInAMinute(
  plane: TestControlPlane,
  meanwhile: () => Promise<void>,
): Promise<readonly AuditedWrite[]> {
  const audit = auditOf(plane)
  const mark = await eventually(
    'nobody writes any more',
    async () => {
      const now = await audit.mark()
      await staysTrue('all is well', meanwhile, { forMs: A_MOMENT_MS })
      const writes = await audit.writesSince(now, { notLeases: true })
      if (writes.length > 0) throw new Error(JSON.stringify(writes))
      return now
    },
    SOON,
  )
  await staysTrue('all is well', meanwhile, { forMs: QUIET_MS })
  return audit.writesSince(mark, { notLeases: true })
}

/** Requests that open a watch. */
export const isWatch: Match = ({ query }) => query.get('watch') === 'true'

/** Requests that open a watch of this resource. */
export const isWatchOf =
  (plural: string): Match =>
  (request) =>
    isWatch(request) && request.path.endsWith(`/${plural}`)

/** How often the operator's watches of these resources were opened again for this reason. */
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

/** Every count of watches that were opened again, for the text of an error. */
export async function allRestarts(operator: Operator): Promise<string> {
  const lines = (await operator.metrics()).split('\n')
  return lines.filter((line) => /^platform_watch_restarts_total.* [^0]/.test(line)).join('\n')
}

/** How many keys an operator that leads knows of. */
export async function countedKeys(operator: Operator): Promise<number> {
  return sumOf(await operator.metrics(), 'platform_access_keys')
}
