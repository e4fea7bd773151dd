// Pods of a test node as processes of this machine: manager and gateway with the arguments and the account of their pod.
// All share the network of the machine, so each listens on ports of its own; images say which checkout is run.
import type { Access } from '../../tools/control-plane/access.ts'
import { type OwnProcess, startServing } from './command-process.ts'
import type { LaunchPod, PodContainer } from './pod-run.ts'
import { type Container, type Pod, fieldOf, portOf } from './pod.ts'

/** What runs as the pods of which images. */
export interface ProcessPods {
  readonly plane: Pick<Access, 'serviceAccountKubeconfig'>
  /** The file of the program in an image, by the image's name; `undefined` = the present one. */
  readonly programs: ReadonlyMap<string, string | undefined>
}

const ANY_PORT = '127.0.0.1:0'
/** Log lines by which the servers name their ports, by the name of the container's port. */
const SERVED: Readonly<Record<string, RegExp>> = {
  https: /^serving the (gateway|direct endpoint)$/,
  metrics: /metrics/,
  health: /health/,
}

/** Runs pods as processes. A pod of an unknown image does not start, as if it could not be pulled. */
export function asProcesses({ plane, programs }: ProcessPods): LaunchPod {
  let launched = 0
  return async (pod) => {
    const [spec] = pod.spec.containers
    const [command = '', ...flags] = spec.args ?? []
    const programFile = programs.get(spec.image)
    if (!programs.has(spec.image)) throw new Error(`there is no image ${spec.image}`)
    launched += 1
    // Of a range for documentation, as an EndpointSlice takes no loopback address.
    const podIP = `198.51.100.${launched % 256}`
    const { namespace } = pod.metadata
    const kubeconfig = await plane.serviceAccountKubeconfig(namespace, pod.spec.serviceAccountName)
    const bind = command === 'manager' ? [] : [`--bind-address=${ANY_PORT}`]
    const running = await startServing(command, {
      flags: [`--kubeconfig=${kubeconfig}`, ...bind, ...flags],
      env: environmentOf(pod, spec),
      until: 'serving',
      programFile,
    })
    return containerOf(running, spec, podIP)
  }
}

const environmentOf = (pod: Pod, { env = [] }: Container): Readonly<Record<string, string>> =>
  Object.fromEntries(
    env.map(({ name, value = '', valueFrom }) => [
      name,
      valueFrom ? fieldOf(pod, valueFrom) : value,
    ]),
  )

function containerOf(running: OwnProcess, spec: Container, podIP: string): PodContainer {
  return {
    id: `process://${running.pid}`,
    podIP,
    address: (port) => `127.0.0.1:${servedPort(running, spec, port)}`,
    log: () => running.output().stdout,
    exited: running.exited.then(exitCodeOf),
    end: async (withinMs) => {
      running.kill('SIGTERM')
      const late = setTimeout(() => running.kill('SIGKILL'), withinMs)
      const exit = await running.exited
      clearTimeout(late)
      return exitCodeOf(exit)
    },
  }
}

/** As a container runtime counts: 137 for SIGKILL. */
const exitCodeOf = ({ code, signal }: Awaited<OwnProcess['exited']>): number =>
  code ?? (signal === 'SIGKILL' ? 137 : 128)

function servedPort(running: OwnProcess, spec: Container, port: number): number {
  const { name = '' } = spec.ports?.find((one) => one.containerPort === portOf(spec, port)) ?? {}
  const line = running.logs().find(({ msg, port: at }) => SERVED[name]?.test(msg) && at)
  if (line === undefined) throw new Error(`the container does not serve ${name} yet`)
  return Number(line['port'])
}
