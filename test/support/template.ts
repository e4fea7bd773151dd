// The data that every control plane of a run starts with: a control plane with the product's manifests. A copy
// starts in half the time, with its kinds and policies in force.
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { installProduct } from './installed-control-plane.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The data folder of the stopped control plane that others copy. */
    readonly template: string
  }
}

/** tools/test.ts names a folder for the template of its run, and removes it; a single file has its own. */
const VARIABLE = 'TEST_TEMPLATE'

/** Called by vitest before the first file of a project; the result is called after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ofRun = process.env[VARIABLE]
  if (ofRun !== undefined && existsSync(ofRun)) {
    project.provide('template', ofRun)
    return async () => undefined
  }
  const made = await makeTemplate()
  if (ofRun !== undefined) await rename(made, ofRun)
  project.provide('template', ofRun ?? made)
  return async () => {
    if (ofRun === undefined) await rm(made, { recursive: true, force: true })
  }
}

/** The data of a control plane with the product's manifests, in a temporary folder. */
async function makeTemplate(): Promise<string> {
  const beside = process.env[VARIABLE] ?? join(tmpdir(), 'template')
  const dataDir = await mkdtemp(`${beside}-`)
  const plane = await startControlPlane({ dataDir, log: console.log })
  try {
    await installProduct(plane)
  } finally {
    await plane.stop()
  }
  return dataDir
}
