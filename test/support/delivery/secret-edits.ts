// What others do to the Secret of a claim.
import { CLAIM_LABEL } from '../../../src/api/names.ts'
import type { MemoryApiServer } from './memory-api-server.ts'
import { type SecretObject, merged } from './server-side-apply.ts'

/** An edit of the Secret by somebody else: what they set is theirs. */
export function editSecret(server: MemoryApiServer, edit: Partial<SecretObject>): void {
  const found = server.object('secrets', 'deploy', 'shop')
  if (found === undefined) throw new Error('there is no Secret to edit')
  server.put('secrets', merged(found, edit, 'kubectl-edit'))
}

/** A Secret of the claim's name that somebody else has made. @param claimUid of another claim; absent = it has no label */
export const foreignSecret = (claimUid?: string): SecretObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'deploy',
    namespace: 'shop',
    uid: 'uid-foreign',
    resourceVersion: '',
    creationTimestamp: '2026-11-21T10:00:00Z',
    ...(claimUid === undefined ? {} : { labels: { [CLAIM_LABEL]: claimUid } }),
  },
  data: { theirs: 'dGhlaXJz' },
})
