// `make run`: a real control plane with the operator and the samples on it, to look at. The data
// stays in .run, so the next run goes on where this one ended; `make clean` forgets it.
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ensureBinaries } from './control-plane/binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts'
import { tether } from './tether.ts'

const ROOT = resolve(import.meta.dirname, '..')
const MAIN = join(ROOT, 'src/main.ts')
/** Another folder than .run serves a second run at the same time, such as the test of the README. */
const HOME = resolve(process.env['RUN_DIR'] ?? join(ROOT, '.run'))
const OPERATOR_LOG = join(HOME, 'operator.log')
const OPERATOR_PID = join(HOME, 'operator.pid')
const NAMESPACE = 'platform-system'
const RESTART_AFTER_MS = 1000
/** The operator's token is good for a day; a fresh one is read within a minute. */
const RENEW_TOKEN_EVERY_MS = 12 * 60 * 60 * 1000

const say = (line: string): void => console.log(line)

async function main(): Promise<void> {
  const stopped = new Promise<void>((end) => {
    // Not once: make and the terminal may both send it, and a second one must not cut the stop short.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end())
  })
  mkdirSync(HOME, { recursive: true, mode: 0o700 })
  const controlPlane = await startControlPlane({ dataDir: join(HOME, 'control-plane'), log: say })
  try {
    await install(controlPlane)
    const operator = await keepOperator(controlPlane)
    await applySamples(controlPlane)
    await writeEnvironment(controlPlane)
    sayTour()
    const keeping = keepDaemons(controlPlane)
    await stopped
    await keeping.stop()
    say('stopping the operator, then the control plane')
    await operator.stop()
  } finally {
    await controlPlane.stop()
  }
}

async function kubectl(controlPlane: ControlPlane, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await controlPlane.kubectl(args)
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed:\n${stderr}`)
}

async function install(controlPlane: ControlPlane): Promise<void> {
  say('installing CRDs and RBAC: kubectl apply --server-side -k config/default')
  await kubectl(controlPlane, 'apply', '--server-side', '-k', join(ROOT, 'config/default'))
  await kubectl(
    controlPlane,
    'wait',
    '--for=condition=Established',
    '--timeout=30s',
    'crd',
    '-l',
    'app.kubernetes.io/part-of=management-operator',
  )
}

async function applySamples(controlPlane: ControlPlane): Promise<void> {
  say('applying the samples: kubectl apply --server-side -f config/samples')
  await kubectl(controlPlane, 'apply', '--server-side', '-f', join(ROOT, 'config/samples'))
  await kubectl(controlPlane, 'wait', '--for=condition=Ready', '--timeout=30s', 'oak/ci-deploy')
}

interface Kept {
  stop(): Promise<void>
}

/** Starts the operator, and again whenever it ends: whoever kills it sees what a Deployment does. */
async function keepOperator(controlPlane: ControlPlane): Promise<Kept> {
  const kubeconfig = await controlPlane.serviceAccountKubeconfig(NAMESPACE, 'manager')
  const renewal = setInterval(
    () => void controlPlane.serviceAccountKubeconfig(NAMESPACE, 'manager'),
    RENEW_TOKEN_EVERY_MS,
  )
  const log = createWriteStream(OPERATOR_LOG, { flags: 'a' })
  let stopping = false
  let child = spawnOperator(kubeconfig, log)
  const keep = (): void => {
    child.once('exit', (code, signal) => {
      if (stopping) return
      say(`the operator ended (${signal ?? code}), starting it again`)
      setTimeout(() => {
        if (stopping) return
        child = spawnOperator(kubeconfig, log)
        keep()
      }, RESTART_AFTER_MS)
    })
  }
  keep()
  say(`the operator runs as service account ${NAMESPACE}/manager, its log is ${OPERATOR_LOG}`)
  return {
    stop: async () => {
      stopping = true
      clearInterval(renewal)
      await ended(child)
    },
  }
}

const LOOK_EVERY_MS = 1000

/** Starts the daemons again that end by themselves: whoever kills one sees what a cluster does. */
function keepDaemons({ etcd, apiServer, controllerManager }: ControlPlane): Kept {
  let looking = Promise.resolve()
  const look = async (): Promise<void> => {
    const ended = [etcd, apiServer, controllerManager].filter(({ pid }) => pid === null)
    for (const daemon of ended) await daemon.start()
    if (ended.length > 0) say('the control plane is whole again')
  }
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: unknown) => say(String(error)))
  }, LOOK_EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

function spawnOperator(kubeconfig: string, log: NodeJS.WritableStream): ChildProcess {
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--metrics-bind-address=127.0.0.1:0',
    '--health-probe-bind-address=127.0.0.1:0',
  ]
  // In a group of its own: Ctrl-C is for this process, which ends the operator in its turn.
  const child = spawn(process.execPath, [MAIN, 'manager', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  child.stdout.pipe(log, { end: false })
  child.stderr.pipe(log, { end: false })
  writeFileSync(OPERATOR_PID, `${child.pid}\n`)
  tether(child)
  return child
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((end) => child.once('exit', end))
  child.kill('SIGTERM')
  await exit
}

/** What `. .run/env` sets: kubectl of the control plane's version, its kubeconfig, and our program. */
async function writeEnvironment(controlPlane: ControlPlane): Promise<void> {
  const { kubectl: kubectlPath } = await ensureBinaries(say)
  const bin = join(HOME, 'bin')
  mkdirSync(bin, { recursive: true })
  const wrapper = join(bin, 'management-operator')
  writeFileSync(wrapper, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  const lines = [
    `export KUBECONFIG='${controlPlane.adminKubeconfig}'`,
    `export PATH='${bin}':'${dirname(kubectlPath)}':"$PATH"`,
  ]
  writeFileSync(join(HOME, 'env'), `${lines.join('\n')}\n`)
}

function sayTour(): void {
  const samples =
    readFileSync(join(ROOT, 'config/samples/keys.yaml'), 'utf8').match(/^kind: OwnedAccessKey$/gm)
      ?.length ?? 0
  say(`
Ready: a control plane with the operator and ${samples} sample keys. In another terminal:

  . ${HOME}/env
  kubectl get oak
  kubectl describe oak one-minute
  kubectl explain oak.spec

README.md goes on from here. Ctrl-C ends it; the data stays in ${HOME}.`)
}

await main()
