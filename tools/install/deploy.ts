// `make install` and `make deploy`.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stringify } from 'yaml'
import { imageOverride } from './image.ts'
import { clusterText, kubectl, must } from './kubectl.ts'

/** Where the kustomizations are. */
export const CONFIG = join(import.meta.dirname, '../../config')

/** The namespace of the shipped manifests. */
export const NAMESPACE = 'platform-system'

/** The Deployments of the shipped manifests. */
export const DEPLOYMENTS = ['manager', 'gateway'] as const

/** What every object of the shipped manifests carries, components included. */
export const OURS = 'app.kubernetes.io/part-of=management-operator'

/** Applies what lives in the API server: CRDs, RBAC, policies. @throws Error when kubectl fails */
export async function install(say: (line: string) => void): Promise<void> {
  say(`installing config/base into ${await clusterText()}`)
  await apply(join(CONFIG, 'base'), say)
}

/**
 * Applies everything with an image and waits until both Deployments run it. The manifests stay as they
 * are: the image is set in a temporary overlay.
 *
 * @param timeout how long to wait for each, such as `5m`
 * @throws Error when kubectl fails or a rollout takes longer
 */
export async function deploy(
  image: string,
  timeout: string,
  say: (line: string) => void,
): Promise<void> {
  const override = imageOverride(image)
  say(`deploying config/default with image ${image} into ${await clusterText()}`)
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

async function apply(folder: string, say: (line: string) => void): Promise<void> {
  say((await must(['apply', '--server-side', '-k', folder])).trimEnd())
  await must(['wait', 'crd', '-l', OURS, '--for=condition=Established', '--timeout=60s'])
}

async function rolledOut(
  name: string,
  timeout: string,
  say: (line: string) => void,
): Promise<void> {
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
