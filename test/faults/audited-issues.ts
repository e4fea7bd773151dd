// How often each token was written into a status, as the API server logged it: a watch shows what was stored, and
// nothing of a write that said the same once more.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { GROUP, TOKENS } from '../../src/api/names.ts'
import { auditOf } from '../support/audit.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { OPERATOR_USER } from '../support/installed.ts'

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
