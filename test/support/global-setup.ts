// Starts what the files of project `cluster` share, and ends it after the last of them.
import type { TestProject } from 'vitest/node'
import { ISSUER, startOperator } from './command-process.ts'
import { OPERATOR_ACCOUNT, coordinatesOf, startInstalled } from './installed-control-plane.ts'

/** Called by vitest before the first file; the result is called after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
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
