// Starts the virtual cluster and the host that the files of project `sync` share, and stops them after the last file.
import type { TestProject } from 'vitest/node'
import { startSyncPlanes, withSyncers } from './sync-planes.ts'

/** Called by vitest before the first file; the result is called after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const planes = await startSyncPlanes()
  const stop = async (): Promise<void> => {
    await Promise.all([planes.virtual.stop(), planes.host.stop()])
  }
  try {
    project.provide('syncPlanes', await withSyncers(planes))
    return stop
  } catch (error) {
    await stop()
    throw error
  }
}
