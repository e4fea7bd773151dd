// A node for a control plane of a test: pods run there, as processes of this machine. See tools/kubelet/main.go.
import { afterAll } from 'vitest'
import type { Access } from '../../tools/control-plane/access.ts'
import { type Kubelet, startKubelet } from '../../tools/kubelet/kubelet.ts'
import { eventually } from './eventually.ts'
import type { Coordinates } from './installed-control-plane.ts'
import { mustKubectl } from './kubectl.ts'

/** A pod to run. */
interface PodOptions {
  readonly name: string
  /** `default` when absent. */
  readonly namespace?: string
  /** Command of its only container, `main`; a process that does nothing when absent. */
  readonly command?: readonly string[]
  /** More fields of that container, such as `stdin`. */
  readonly container?: object
  /** More fields of the spec. */
  readonly spec?: object
}

/** Starts a node; it is stopped after the last test. Call it while the test file loads, or before the tests. */
export async function startNode(
  controlPlane: Access & Pick<Coordinates, 'dataDir'>,
  nodeName = 'node-1',
): Promise<Kubelet> {
  const kubelet = await startKubelet({ controlPlane, nodeName, log: console.log })
  afterAll(() => kubelet.stop())
  return kubelet
}

/** Creates a pod on a node. */
export async function createPod(
  access: Pick<Access, 'kubectl'>,
  { nodeName }: Pick<Kubelet, 'nodeName'>,
  { name, namespace = 'default', command = [], container = {}, spec = {} }: PodOptions,
): Promise<void> {
  const main = { name: 'main', image: 'example.com/none', command, ...container }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      containers: [main],
      ...spec,
    },
  }
  const input = JSON.stringify(pod)
  // A controller creates the ServiceAccount of a new namespace, without which there is no pod.
  const { code, stderr } = await eventually(
    `namespace ${namespace} has its ServiceAccount`,
    async () => {
      const result = await access.kubectl(['create', '-f', '-'], { input })
      return result.stderr.includes('error looking up service account') ? undefined : result
    },
    { withinMs: 30_000 },
  )
  if (code !== 0) throw new Error(`pod ${name}: ${stderr.trim()}`)
}

/** Creates a pod on a node, and waits until it is ready. */
export async function runPod(
  access: Pick<Access, 'kubectl'>,
  node: Pick<Kubelet, 'nodeName'>,
  options: PodOptions,
): Promise<void> {
  const { name, namespace = 'default' } = options
  await createPod(access, node, options)
  const ready = ['wait', `pod/${name}`, '-n', namespace, '--for=condition=Ready', '--timeout=30s']
  await mustKubectl(access, ready)
}
