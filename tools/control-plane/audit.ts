import { paths } from './commands.ts'
import { replaceFile } from './exclusive-file.ts'

/** Writes the audit policy of a data folder: one event for each request, when it is answered. */
export async function writeAuditPolicy(
  dataDir: string,
  detail: true | 'RequestResponse',
): Promise<void> {
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: detail === true ? 'Metadata' : detail }],
  }
  await replaceFile(paths.auditPolicy(dataDir), JSON.stringify(policy))
}
