import { paths } from './commands.ts'
import { replaceFile } from './exclusive-file.ts'

const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection']

/**
 * Writes the audit policy of a data folder: one event for each request, when it is answered. A write
 * has one at its start, too: its effect is visible before its answer is logged.
 */
export async function writeAuditPolicy(
  dataDir: string,
  detail: true | 'RequestResponse',
): Promise<void> {
  const level = detail === true ? 'Metadata' : detail
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [
      { level, verbs: WRITES },
      { level, omitStages: ['RequestReceived'] },
    ],
  }
  await replaceFile(paths.auditPolicy(dataDir), JSON.stringify(policy))
}
