// `make deploy`, `make install` and `make undeploy` without a cluster.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'

const INSTALL = join(import.meta.dirname, '../../../tools/install.ts')

test.each([['deploy', '--image=example.com/none'], ['install'], ['undeploy']])(
  'make %s says how to name a cluster when kubectl has none',
  async (...args) => {
    const { kubectl } = await ensureBinaries(() => undefined)
    const env = { PATH: dirname(kubectl), HOME: '/nonexistent', KUBECONFIG: '/dev/null' }
    const run = promisify(execFile)(process.execPath, [INSTALL, ...args], { env })
    const { code, stderr } = (await run.catch(
      (error: { code: number; stderr: string }) => error,
    )) as {
      readonly code: number
      readonly stderr: string
    }
    expect(code).toBe(1)
    expect(stderr).toMatch(/^no cluster to install into: set KUBECONFIG .*\n$/)
  },
)
