// The blocks of docs/install.md, run as they stand there, from an empty cluster on: install, use, upgrade,
// roll back. No kubelet runs pods here: the test says for them that they run, and starts the programs as
// processes, with the accounts and flags of the Deployments. make targets: lifecycle.own.test.ts.
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
import { mustKubectl } from '../support/must-kubectl.ts'

const ROOT = join(import.meta.dirname, '../..')
const blocks = shellBlocksOf(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))
const blockWith = (words: string): string =>
  blocks.find((block) => block.includes(words)) ?? `echo 'no block with ${words}'; exit 1`

const plane = await startControlPlane({ log: console.log })
const { kubectl: kubectlPath } = await ensureBinaries(console.log)
const { namespace, name: account } = OPERATOR_ACCOUNT
/** A copy of what the page works on, to be changed as a user would. */
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

/** Runs a block as a person does who has kubectl. */
const typed = (block: string): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  promisify(execFile)('bash', ['-euc', block], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${dirname(kubectlPath)}${delimiter}${process.env['PATH']}`,
      KUBECONFIG: plane.adminKubeconfig,
    },
  })

const kubectl = (...args: readonly string[]): Promise<string> => mustKubectl(plane, args)

/** What a kubelet and the controller of Deployments would make true. */
async function sayTheyRun(image: string): Promise<void> {
  for (const name of ['manager', 'gateway']) {
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

/** A pod of the manager, with the arguments that its Deployment gives it. */
async function startManager(): Promise<OwnOperator> {
  const path = 'jsonpath={.spec.template.spec.containers[0].args}'
  const [, ...flags] = JSON.parse(
    await kubectl('get', 'deployment', 'manager', '-n', namespace, '-o', path),
  )
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, account)
  return startOperator({ kubeconfig, flags })
}

/** Keys and tokens with all that is in them. */
const objects = (): Promise<string> => kubectl('get', 'oak,dcet', '-o', 'yaml')

describe('docs/install.md', () => {
  test('install', async () => {
    const { stdout } = await typed(blockWith('kubectl kustomize'))
    expect(stdout).toContain('deployment.apps/manager serverside-applied')
    await sayTheyRun(imageOf('0.1.0'))
    old = await startManager()
    const works = await typed(blockWith('kubectl wait crd'))
    expect(works.stdout).toContain('deployment "gateway" successfully rolled out')
    expect(works.stdout).toContain(
      'config.management.platform.sh/platform-manager-config condition met',
    )
  })

  test('use', async () => {
    await typed('kubectl apply --server-side -k config/samples')
    const wait = 'kubectl wait oak,dcet --all --for=condition=Ready --timeout=30s'
    expect((await typed(wait)).stdout).toContain('ci-deploy condition met')
  })

  describe('upgrade, with the old program and the new one side by side', () => {
    let before: string
    beforeAll(async () => {
      // What ends within a minute would change by itself.
      await typed('kubectl delete oak one-minute from-git')
      before = await objects()
      writeFileSync(
        OVERLAY,
        readFileSync(OVERLAY, 'utf8').replace('newTag: 0.1.0', 'newTag: 0.2.0'),
      )
    })

    test('a look first', async () => {
      // Exit code 1 says that there is a difference.
      const { stdout } = await typed(`${blockWith('kubectl diff').trim()} || [ $? = 1 ]`)
      expect(stdout).toContain(`+        image: ${imageOf('0.2.0')}`)
    })

    test('the block rolls it out', async () => {
      const done = typed(blockWith('config/base\nkubectl apply --server-side -k config/overlays'))
      await sayTheyRun(imageOf('0.2.0'))
      const { stdout } = await done
      expect(stdout).toContain('deployment "manager" successfully rolled out')
    })

    test('one command removes what earlier versions had in namespace default', async () => {
      const name = 'management-operator-manager'
      const scope = ['-n', 'default']
      await kubectl('create', 'role', name, ...scope, '--verb=create', '--resource=events')
      await kubectl('create', 'rolebinding', name, ...scope, `--role=${name}`, '--user=ada')
      await typed(blockWith('delete role,rolebinding'))
      expect(await kubectl('get', 'role,rolebinding', ...scope, '-o', 'name')).toBe('')
    })

    test('the new one leads when the old one ends, and changes no key and no token', async () => {
      await using next = await startManager()
      expect(await old.stop()).toEqual({ code: 0, signal: null })
      await eventually(
        'the new one leads',
        () =>
          next.logs().some(({ msg }) => msg === 'acquired the lease, this process leads') ||
          undefined,
        { withinMs: 30_000 },
      )
      await typed(`kubectl apply --server-side -f - <<'END'
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
    await typed(blockWith('set image'))
    const images = 'jsonpath={.items[*].spec.template.spec.containers[*].image}'
    expect(await kubectl('get', 'deployments', '-n', namespace, '-o', images)).toBe(
      [imageOf('0.1.0'), imageOf('0.1.0')].join(' '),
    )
  })
})

/** Without the resourceVersion of the list itself, which everything moves. */
const withoutList = (yaml: string): string => yaml.replace(/^ {2}resourceVersion: .*$/m, '')
