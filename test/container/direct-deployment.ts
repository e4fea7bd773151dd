// The Deployment of config/direct on a test node, in a namespace of its own.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { RunningPod } from '../support/pod-run.ts'
import { type TestNode, startTestNode } from '../support/test-node.ts'
import type { Cluster } from './container-cluster.ts'
import { inContainers } from './container-pods.ts'

const ROOT = join(import.meta.dirname, '../..')
const NAMESPACE = 'platform-direct'
const SERVES_WITHIN_MS = 60_000

/** Applies an overlay with this image and one replica, and waits until the controllers have made its pod and it serves. */
export async function deployDirect(
  cluster: Cluster,
  image: string,
): Promise<{ readonly node: TestNode; readonly pod: RunningPod }> {
  const folder = await mkdtemp(join(tmpdir(), 'management-operator-direct-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [newName, newTag] = image.split(':')
  const kustomization = {
    namespace: NAMESPACE,
    resources: [relative(folder, join(ROOT, 'config/direct'))],
    replicas: [{ name: 'direct', count: 1 }],
    images: [{ name: 'management-operator', newName, newTag }],
  }
  await writeFile(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization))
  await cluster.must(['apply', '--server-side', '-k', folder])
  const { kubeconfig, address } = cluster
  const node = await startTestNode({ kubeconfig, launch: inContainers(address) })
  onTestFinished(() => node.stop())
  const pod = await eventually(
    'the pod serves its probes',
    async () => {
      const [running] = node.pods().values()
      return running && (await probe(running, '/healthz')).code === 200 ? running : undefined
    },
    { withinMs: SERVES_WITHIN_MS },
  )
  return { node, pod }
}

/** A GET of a health page of a pod. @throws Error while it does not answer */
export async function probe(
  pod: RunningPod,
  path: string,
): Promise<{ readonly code: number; readonly text: string }> {
  const answer = await fetch(`http://${pod.url(8081)}${path}`)
  return { code: answer.status, text: await answer.text() }
}
