// Starts the control planes that the files of project `cluster` share, or that those of project `private` have one
// after the other; stops them after the last file.
import type { TestProject } from 'vitest/node'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ControlPlane } from '../../tools/control-plane/control-plane.ts'
import { ISSUER, startOperator } from './command-process.ts'
import { recordState } from './control-plane-reset.ts'
import {
  type Coordinates,
  OPERATOR_ACCOUNT,
  coordinatesOf,
  startInstalled,
} from './installed-control-plane.ts'
import { createRaw } from './raw-client.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** One for each worker of project `private`; VITEST_POOL_ID counts them from 1. */
    readonly planes: readonly Coordinates[]
  }
}

/** Called by vitest before the first file; the result is called after the last. */
export const setup = (project: TestProject): Promise<() => Promise<void>> =>
  project.name === 'private' ? startOnePerWorker(project) : startShared(project)

/** A control plane with its operator, which all files use at the same time. */
async function startShared(project: TestProject): Promise<() => Promise<void>> {
  const plane = await startInstalled({ copyOf: project.getProvidedContext().template })
  try {
    const { namespace, name } = OPERATOR_ACCOUNT
    const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
    const operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
    project.provide('controlPlane', coordinatesOf(plane))
    const { pid, directory } = operator
    project.provide('operator', { pid, directory })
    return async () => {
      await operator.stop()
      await plane.stop()
    }
  } catch (error) {
    await plane.stop()
    throw error
  }
}

/** A control plane for each worker, with its state recorded for the reset before each file. */
async function startOnePerWorker(project: TestProject): Promise<() => Promise<void>> {
  const { template } = project.getProvidedContext()
  const workers = Array.from({ length: project.config.maxWorkers })
  const started = await Promise.allSettled(workers.map(() => startRecorded(template)))
  const planes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(planes.map((plane) => plane.stop()))
  }
  const failed = started.find((one) => one.status === 'rejected')
  if (failed !== undefined) {
    await stop()
    throw failed.reason
  }
  project.provide('planes', planes.map(coordinatesOf))
  return stop
}

async function startRecorded(template: string): Promise<ControlPlane> {
  const plane = await startInstalled({ copyOf: template })
  const raw = createRaw(plane.adminKubeconfig, systemClock())
  try {
    await recordState(plane, raw.call)
    return plane
  } catch (error) {
    await plane.stop()
    throw error
  } finally {
    await raw.close()
  }
}
