// The blocks of docs/install.md on an empty cluster: install, use, upgrade, roll back. There is no kubelet: the test
// writes the status of Deployments, and starts the programs with their accounts and flags. make targets:
// lifecycle.own.test.ts.
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureBinaries } from '../../tools/control-plane/binaries.ts'
import { startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { shellBlocksOf } from '../support/documentation-blocks.ts'
import { eventually } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { mustKubectl } from '../support/kubectl.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
const blocks = shellBlocksOf(PAGE)
const blockWith = (words: string): string =>
  blocks.find((block) => block.includes(words)) ?? `echo 'no block with ${words}'; exit 1`

const plane = await startControlPlane({ log: console.log })
const { kubectl: kubectlPath } = await ensureBinaries(console.log)
const { namespace, name: account } = OPERATOR_ACCOUNT
/** A copy of the files of the page, which the test changes as a user would. */
const folder = mkdtempSync(join(tmpdir(), 'install-'))
for (const part of ['config', 'crds'])
  cpSync(join(ROOT, part), join(folder, part), { recursive: true })
const OVERLAY = join(folder, 'config/overlays/example/kustomization.yaml')

let old: OwnOperator
afterAll(async () => {
  await old?.stop()
  await plane.stop()
  rmSync(folder, { recursive: true })
})

/** Runs a block in a shell with kubectl. */
const runShell = (block: string): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  promisify(execFile)('bash', ['-euc', block], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${dirname(kubectlPath)}${delimiter}${process.env['PATH']}`,
      KUBECONFIG: plane.adminKubeconfig,
    },
  })

const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

/** Writes the status of available Deployments, as kubelet and controllers would. */
async function reportRunning(image: string): Promise<void> {
  for (const name of ['manager', 'gateway', 'delivery']) {
    const seen = await eventually(
      `Deployment ${name} wants ${image}`,
      async () => {
        const text = await kubectl('get', 'deployment', name, '-n', namespace, '-o', 'json')
        return text.includes(`"image": "${image}"`) ? JSON.parse(text) : undefined
      },
      { withinMs: 90_000 },
    )
    const { replicas } = seen.spec
    const counts = {
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
    }
    const status = { observedGeneration: seen.metadata.generation, ...counts }
    const scope = ['-n', namespace, '--subresource=status', '--type=merge']
    await kubectl('patch', 'deployment', name, ...scope, '-p', JSON.stringify({ status }))
  }
}

const imageOf = (tag: string): string => `registry.example.com/platform/management-operator:${tag}`

/** Starts the manager with the arguments of its Deployment. */
async function startManager(): Promise<OwnOperator> {
  const path = 'jsonpath={.spec.template.spec.containers[0].args}'
  const [, ...flags] = JSON.parse(
    await kubectl('get', 'deployment', 'manager', '-n', namespace, '-o', path),
  )
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)
  return startOperator({ kubeconfig, flags })
}

/** Keys and tokens with all fields. */
const objects = (): Promise<string> => kubectl('get', 'oak,dcet', '-o', 'yaml')

describe('docs/install.md', () => {
  test('install', async () => {
    const { stdout } = await runShell(blockWith('kubectl kustomize'))
    expect(stdout).toContain('deployment.apps/manager serverside-applied')
    await reportRunning(imageOf('0.1.0'))
    old = await startManager()
    const works = await runShell(blockWith('kubectl wait crd'))
    expect(works.stdout).toContain('deployment "gateway" successfully rolled out')
    expect(works.stdout).toContain(
      'config.management.platform.sh/platform-manager-config condition met',
    )
  })

  test('use', async () => {
    await runShell('kubectl apply --server-side -k config/samples')
    const wait = 'kubectl wait oak,dcet --all --for=condition=Ready --timeout=30s'
    expect((await runShell(wait)).stdout).toContain('ci-deploy condition met')
  })

  describe('upgrade, with the old and the new manager side by side', () => {
    let before: string
    beforeAll(async () => {
      // Objects that expire within a minute would change during the comparison.
      await runShell('kubectl delete oak one-minute from-git')
      before = await objects()
      writeFileSync(
        OVERLAY,
        readFileSync(OVERLAY, 'utf8').replace('newTag: 0.1.0', 'newTag: 0.2.0'),
      )
    })

    test('shows a difference before the rollout', async () => {
      // Exit code 1 of kubectl diff = there is a difference.
      const { stdout } = await runShell(`${blockWith('kubectl diff').trim()} || [ $? = 1 ]`)
      expect(stdout).toContain(`+        image: ${imageOf('0.2.0')}`)
    })

    test('rolls out the new version', async () => {
      const done = runShell(
        blockWith('config/base\nkubectl apply --server-side -k config/overlays'),
      )
      await reportRunning(imageOf('0.2.0'))
      const { stdout } = await done
      expect(stdout).toContain('deployment "manager" successfully rolled out')
    })

    test('removes objects of earlier versions in namespace default by one command', async () => {
      const name = 'management-operator-manager'
      const scope = ['-n', 'default']
      await kubectl('create', 'role', name, ...scope, '--verb=create', '--resource=events')
      await kubectl('create', 'rolebinding', name, ...scope, `--role=${name}`, '--user=ada')
      // It stands within a sentence.
      const [, command = 'exit 1'] =
        /`(kubectl [^`]*delete role,rolebinding[^`]*)`/.exec(PAGE) ?? []
      await runShell(command)
      expect(await kubectl('get', 'role,rolebinding', ...scope, '-o', 'name')).toBe('')
    })

    test('lets the new manager lead when the old one exits, without a change of keys and tokens', async () => {
      await using next = await startManager()
      expect(await old.stop()).toEqual({ code: 0, signal: null })
      await eventually(
        'the new manager leads',
        () =>
          next.logs().some(({ msg }) => msg === 'acquired the lease, this process leads') ||
          undefined,
        { withinMs: 30_000 },
      )
      await runShell(`kubectl apply --server-side -f - <<'END'
apiVersion: management.platform.sh/v1
kind: OwnedAccessKey
metadata: {name: after-the-upgrade}
spec: {user: ada}
END
kubectl wait oak/after-the-upgrade --for=condition=Ready --timeout=30s
kubectl delete oak after-the-upgrade`)
      expect(withoutList(await objects())).toBe(withoutList(before))
    })
  })

  test('roll back', async () => {
    await runShell(blockWith('set image'))
    const images = 'jsonpath={.items[*].spec.template.spec.containers[*].image}'
    expect(await kubectl('get', 'deployments', '-n', namespace, '-o', images)).toBe(
      Array.from({ length: 3 }, () => imageOf('0.1.0')).join(' '),
    )
  })
})

/** Without the resourceVersion of the list itself, which changes with any write. */
const withoutList = (yaml: string): string => yaml.replace(/^ {2}resourceVersion: .*$/m, '')
