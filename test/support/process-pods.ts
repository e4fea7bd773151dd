// Pods of a test node as processes of this machine: the program with the arguments and the account of their pod. All share
// the network of the machine, so each listens on ports of its own; images say which checkout is run.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Access } from '../../tools/control-plane/access.ts'
import { tether } from '../../tools/tether.ts'
import {
  type Exit,
  type OwnProcess,
  cleanEnv,
  programArgs,
  startServing,
} from './command-process.ts'
import type { LaunchPod, PodContainer } from './pod-run.ts'
import { type Container, type Pod, fieldOf, portOf } from './pod.ts'

/** What runs as the pods of which images. */
export interface ProcessPods {
  readonly plane: Pick<Access, 'serviceAccountKubeconfig'>
  /** The file of the program in an image, by the image's name; `undefined` = the present one. */
  readonly programs: ReadonlyMap<string, string | undefined>
  /** An argument with the address of a process in place of a name in the cluster's DNS, which is not there. */
  readonly resolve: (argument: string) => string
}

const ANY_PORT = '127.0.0.1:0'
/** Log lines by which the servers name their ports, by the name of the container's port. */
const SERVED: Readonly<Record<string, RegExp>> = {
  https: /^serving the (gateway|direct endpoint)$/,
  metrics: /metrics/,
  health: /health/,
}

/** Runs pods as processes. A pod of an unknown image does not start, as if it could not be pulled. */
export function asProcesses({ plane, programs, resolve }: ProcessPods): LaunchPod {
  let launched = 0
  return async (pod) => {
    const [spec] = pod.spec.containers
    const [command = '', ...given] = spec.args ?? []
    if (!programs.has(spec.image)) throw new Error(`there is no image ${spec.image}`)
    const programFile = programs.get(spec.image)
    launched += 1
    // Of a range for documentation, as an EndpointSlice takes no loopback address.
    const podIP = `198.51.100.${launched % 256}`
    const { namespace } = pod.metadata
    const kubeconfig = await plane.serviceAccountKubeconfig(namespace, pod.spec.serviceAccountName)
    const bind = command === 'gateway' ? [`--bind-address=${ANY_PORT}`] : []
    const flags = [`--kubeconfig=${kubeconfig}`, ...bind, ...given.map(resolve)]
    const env = environmentOf(pod, spec)
    if (spec.ports === undefined)
      return runToEnd([...programArgs(programFile), command, ...flags], env, podIP)
    const running = await startServing(command, { flags, env, until: 'serving', programFile })
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
    end: (withinMs) => ended(running, running.exited, withinMs),
  }
}

/** A command that serves nothing, such as `check`. */
function runToEnd(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  podIP: string,
): PodContainer {
  const child = spawn(process.execPath, args, {
    env: cleanEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  tether(child)
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text))
  const exited = once(child, 'close').then(([code, signal]): Exit => ({ code, signal }))
  return {
    id: `process://${child.pid}`,
    podIP,
    address: (port) => {
      throw new Error(`the container has no port ${port}`)
    },
    log: () => log,
    exited: exited.then(exitCodeOf),
    end: (withinMs) => ended({ kill: (signal) => void child.kill(signal) }, exited, withinMs),
  }
}

/** Sends SIGTERM, and SIGKILL after `withinMs`; returns the exit code. */
async function ended(
  { kill }: Pick<OwnProcess, 'kill'>,
  exited: Promise<Exit>,
  withinMs: number,
): Promise<number> {
  kill('SIGTERM')
  const late = setTimeout(() => kill('SIGKILL'), withinMs)
  const exit = await exited
  clearTimeout(late)
  return exitCodeOf(exit)
}

/** As a container runtime counts: 137 for SIGKILL. */
const exitCodeOf = ({ code, signal }: Exit): number => code ?? (signal === 'SIGKILL' ? 137 : 128)

function servedPort(running: OwnProcess, spec: Container, port: number): number {
  const { name = '' } = spec.ports?.find((one) => one.containerPort === portOf(spec, port)) ?? {}
  const line = running.logs().find(({ msg, port: at }) => SERVED[name]?.test(msg) && at)
  if (line === undefined) throw new Error(`the container does not serve ${name} yet`)
  return Number(line['port'])
}
