// `make install` and `make deploy`.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stringify } from 'yaml'
import { imageOverride } from './image.ts'
import { settleImpersonation } from './impersonation.ts'
import { clusterText, kubectl, must } from './kubectl.ts'
import { CONFIG, DEPLOYMENTS, NAMESPACE, SELECTOR, onlyInOurs } from './product.ts'

type Say = (line: string) => void

/** Manifests of objects in the API server: the second is apart, as it has a namespace of its own. */
const INSTALLED = ['base', 'target-namespace'] as const

/** Earlier versions had the right to write events in these; now it is part of the manager's ClusterRole. */
const FORMER = [
  'role/management-operator-manager',
  'rolebinding/management-operator-manager',
  '--namespace=default',
]

/**
 * Applies the objects that need no workload: CRDs, RBAC, policies, and the right to impersonate that this cluster needs.
 *
 * @throws Error when kubectl fails, that right is not certain, or the operator is in another namespace
 */
export async function install(say: Say): Promise<void> {
  say(`installing config/base into ${await clusterText()}`)
  await applyBase(say)
}

/**
 * Does what `install` does, then applies everything with an image and waits until all Deployments run it. The
 * manifests stay as they are: the image is set in a temporary overlay.
 *
 * @param timeout how long to wait for each, such as `5m`
 * @throws Error when `install` would, or a rollout takes longer
 */
export async function deploy(image: string, timeout: string, say: Say): Promise<void> {
  const override = imageOverride(image)
  say(`deploying config/default with image ${image} into ${await clusterText()}`)
  await applyBase(say)
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'deploy-')))
  try {
    // kustomize takes no absolute path to another folder.
    const resources = [relative(folder, realpathSync(join(CONFIG, 'default')))]
    const overlay = { resources, images: [override] }
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(overlay))
    await apply(folder, say)
  } finally {
    rmSync(folder, { recursive: true })
  }
  for (const name of DEPLOYMENTS) await rolledOut(name, timeout, say)
}

async function applyBase(say: Say): Promise<void> {
  await onlyInOurs()
  for (const part of INSTALLED) await apply(join(CONFIG, part), say)
  const removed = await must(['delete', ...FORMER, '--ignore-not-found', '--timeout=60s'])
  if (removed !== '') say(removed.trimEnd())
  await settleImpersonation(say)
}

async function apply(folder: string, say: Say): Promise<void> {
  say((await must(['apply', '--server-side', '-k', folder])).trimEnd())
  await must(['wait', 'crd', '-l', SELECTOR, '--for=condition=Established', '--timeout=60s'])
}

async function rolledOut(name: string, timeout: string, say: Say): Promise<void> {
  say(`waiting for Deployment ${name}, ${timeout} at most`)
  const scope = ['--namespace', NAMESPACE]
  const args = ['rollout', 'status', `deployment/${name}`, `--timeout=${timeout}`, ...scope]
  const { code, stderr } = await kubectl(args)
  if (code === 0) return
  const { stdout: pods } = await kubectl(['get', 'pods', ...scope])
  const { stdout: events } = await kubectl(['events', '--types=Warning', ...scope])
  throw new Error(
    `Deployment ${name} does not run: ${stderr.trim()}\n${pods}${events}`.trimEnd() +
      '\nIt stays as it is; make undeploy takes everything away.',
  )
}
