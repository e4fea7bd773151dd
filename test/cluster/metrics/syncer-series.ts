// A syncer for its metrics.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OwnProcess, startServing } from '../../support/command-process.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'

/** A syncer between a control plane and itself, in a new namespace. Nothing owns what it would write, so it writes nothing. */
export async function startSyncerOn(
  plane: TestControlPlane,
  namespace: string,
): Promise<OwnProcess> {
  const config = join(mkdtempSync(join(tmpdir(), 'syncer-')), 'vcluster.yaml')
  writeFileSync(config, '{}')
  await mustKubectl(plane, ['create', 'namespace', namespace])
  return startServing('syncer', {
    flags: [
      `--virtual-kubeconfig=${plane.adminKubeconfig}`,
      `--host-kubeconfig=${plane.adminKubeconfig}`,
      '--virtual-cluster=my-vc',
      `--host-namespace=${namespace}`,
      '--service-name=none',
      `--config=${config}`,
    ],
  })
}
